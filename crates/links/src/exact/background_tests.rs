use crate::air::RateControl;
use crate::wifi::Propagation;
use crate::{
    Background, BackgroundFlow, BackgroundWay, Datagrams, Input, LinkConfig, LinkId, Medium, Network,
    NetworkConfig, OtherStation, Output, Position, WifiConfig,
};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use units::wifi::Standard;
use units::{Bitrate, Dbm, Duration, Instant};

const AP: LinkId = LinkId(0);

/// An access point at 54 Mb/s. The client is 3 m from it, and so is another station.
fn config(flows: Vec<BackgroundFlow>) -> NetworkConfig {
    let ap = WifiConfig {
        standard: Standard::A,
        channel: 36,
        rate: Some(Bitrate::from_mbps(54)),
        propagation: Propagation::indoor(Standard::A),
        ..WifiConfig::new("ap", Position { x_mm: 3_000, y_mm: 0 })
    };
    let other = OtherStation {
        name: "other".into(),
        position: Position {
            x_mm: 3_000,
            y_mm: 3_000,
        },
        power: Dbm::from_dbm(15),
        thresholds: crate::air::Thresholds::default(),
        link: AP,
    };
    NetworkConfig {
        links: vec![LinkConfig::Wifi(ap)],
        medium: Medium::Frames,
        background: Background {
            stations: vec![other],
            flows,
        },
        ..NetworkConfig::default()
    }
}

fn flow(way: BackgroundWay, every_ms: Option<u64>) -> BackgroundFlow {
    BackgroundFlow {
        link: AP,
        way,
        bytes: 1_498,
        every: every_ms.map(Duration::from_millis),
        start: Duration::from_millis(100),
    }
}

/// Datagrams of each flow received in that time, and client packets. The client keeps its queue full.
fn ran(config: NetworkConfig, client: bool, time: Duration) -> (Vec<u64>, u64) {
    let (received, own, _) = ran_with_delays(config, client, time);
    (received, own)
}

/// The same, and the delay of each datagram received and what each flow has counted.
fn ran_with_delays(
    config: NetworkConfig,
    client: bool,
    time: Duration,
) -> (Vec<u64>, u64, (Vec<Duration>, Vec<Datagrams>)) {
    let mut received = vec![0; config.background.flows.len()];
    let mut delays = Vec::new();
    let mut own = 0;
    let mut network = Network::new(3, config).unwrap();
    network.handle(Instant::ZERO, Input::Associate(AP));
    let end = Instant::ZERO + time;
    let mut step = Instant::ZERO;
    while step < end {
        while let Some((at, _)) = network.wake_at().filter(|(at, _)| *at <= step) {
            network.tick(at);
            while let Some(output) = network.poll() {
                match output {
                    Output::Background { flow, bytes, delay } => {
                        assert_eq!(bytes, 1_498);
                        received[flow as usize] += 1;
                        delays.push(delay);
                    }
                    Output::Delivered { .. } => own += 1,
                    _ => {}
                }
            }
        }
        if client {
            (0..4).for_each(|token| network.handle(step, up(token)));
        }
        step += Duration::from_millis(1);
    }
    let flows = 0..received.len() as u32;
    let counts = flows.map(|flow| network.background(flow)).collect();
    (received, own, (delays, counts))
}

fn up(token: u64) -> Input {
    Input::Packet(crate::Packet {
        link: AP,
        direction: crate::Direction::Up,
        bytes: 1_498,
        ect: false,
        flow: 0,
        token,
    })
}

#[test]
fn a_pace_is_kept_and_begins_when_it_should() {
    for way in [BackgroundWay::Down(0), BackgroundWay::Up(0)] {
        let (received, _) = ran(config(vec![flow(way, Some(10))]), false, Duration::from_secs(2));
        assert_eq!(received, [190], "{way:?}");
    }
}

/// 248 µs of frame and 34 of DIFS at least, and the longest frames of others at most.
#[test]
fn a_datagram_alone_takes_its_turn_on_the_air() {
    let config = config(vec![flow(BackgroundWay::Up(0), Some(10))]);
    let (received, _, (delays, counts)) = ran_with_delays(config, false, Duration::from_secs(2));
    assert_eq!(delays.len() as u64, received[0]);
    let of_air = Duration::from_micros(248)..Duration::from_millis(2);
    assert!(delays.iter().all(|delay| of_air.contains(delay)), "{delays:?}");
    assert_eq!((counts[0].sent, counts[0].lost), (190, 0));
}

#[test]
fn one_more_always_waits() {
    for control in [RateControl::Fixed, RateControl::Minstrel] {
        let mut config = config(vec![flow(BackgroundWay::Up(0), None)]);
        let LinkConfig::Wifi(ap) = &mut config.links[0] else {
            panic!("it is one")
        };
        ap.control = control;
        if control != RateControl::Fixed {
            ap.rate = None;
        }
        let (received, _) = ran(config, false, Duration::from_millis(2_100));
        // 1,470 bytes of payload at 29.9 Mb/s, less beacons and what joining takes.
        let mbps = received[0] as f64 * 1_470.0 * 8.0 / 2.0 / 1e6;
        assert!((27.5..30.0).contains(&mbps), "{control:?} {mbps}");
    }
}

#[test]
fn who_competes_with_the_client_takes_half_of_the_air() {
    let (alone, alone_own) = ran(config(Vec::new()), true, Duration::from_secs(4));
    let (received, own) = ran(
        config(vec![flow(BackgroundWay::Up(0), None)]),
        true,
        Duration::from_secs(4),
    );
    assert!(alone.is_empty() && alone_own > 6_000, "{alone_own}");
    let share = own as f64 / alone_own as f64;
    assert!((0.42..0.56).contains(&share), "{share}");
    assert!(received[0] > own, "it began earlier: {received:?} {own}");
}

#[test]
fn what_is_for_everyone_reaches_both_and_is_never_repeated() {
    let (received, _) = ran(
        config(vec![flow(BackgroundWay::Everyone, Some(100))]),
        false,
        Duration::from_secs(4),
    );
    // 39 probes, each at the client and at the other station; beacons may meet one.
    assert!((76..=78).contains(&received[0]), "{received:?}");
}

#[test]
fn a_full_queue_is_waited_for() {
    let mut config = config(vec![
        flow(BackgroundWay::Up(0), None),
        flow(BackgroundWay::Up(0), None),
    ]);
    let LinkConfig::Wifi(ap) = &mut config.links[0] else {
        panic!("it is one")
    };
    ap.queue = crate::QueueConfig::tail_drop(crate::QueueLimit::Packets(1));
    let (received, _, (_, counts)) = ran_with_delays(config, false, Duration::from_secs(2));
    for (received, count) in received.iter().zip(counts) {
        let waiting = count.sent - count.lost - received;
        assert!(count.lost > 0 && waiting <= 2, "{count:?} {received}");
    }
    // One place in the queue besides what is being tried.
    let sum: u64 = received.iter().sum();
    assert!(sum > 3_500, "{received:?}");
}

#[test]
fn datagrams_from_nobody_are_refused() {
    let refused = |flow| Network::new(1, config(vec![flow])).unwrap_err().to_string();
    let nobody = refused(flow(BackgroundWay::Up(7), None));
    assert!(nobody.contains("flow 0"), "{nobody}");
    let nowhere = refused(BackgroundFlow {
        link: LinkId(4),
        ..flow(BackgroundWay::Everyone, Some(100))
    });
    assert!(nowhere.contains("flow 0"), "{nowhere}");
    let coarse = NetworkConfig {
        medium: Medium::Exchanges,
        ..config(vec![flow(BackgroundWay::Everyone, Some(100))])
    };
    let refused = Network::new(1, coarse).unwrap_err().to_string();
    assert!(refused.contains("exact medium"), "{refused}");
}

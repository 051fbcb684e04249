//! Tests through [`Network`], with the inputs and outputs of the coarse medium.

use crate::air::wlan::Wlan;
use crate::air::{FrameKind, RateControl, Subtype};
use crate::{
    Direction, DropReason, Fault, Input, LinkConfig, LinkId, LinkState, Medium, Network, NetworkConfig,
    Output, Packet, Position, WifiConfig,
};
use alloc::string::ToString;
use alloc::vec::Vec;
use units::wifi::Standard;
use units::{Bitrate, Db, Duration, Instant};

const NEAR: LinkId = LinkId(0);
const FAR: LinkId = LinkId(1);

fn ap(name: &str, x_mm: i64, channel: u8) -> WifiConfig {
    WifiConfig {
        standard: Standard::A,
        channel,
        propagation: crate::wifi::Propagation::indoor(Standard::A),
        ..WifiConfig::new(name, Position { x_mm, y_mm: 0 })
    }
}

fn config(aps: &[WifiConfig]) -> NetworkConfig {
    NetworkConfig {
        links: aps.iter().cloned().map(LinkConfig::Wifi).collect(),
        medium: Medium::Frames,
        monitor: true,
        ..NetworkConfig::default()
    }
}

/// Two access points on one channel.
fn two() -> NetworkConfig {
    config(&[ap("near", 3_000, 36), ap("far", 12_000, 36)])
}

struct Driver {
    network: Network,
    now: Instant,
    outputs: Vec<(Instant, Output)>,
}

impl Driver {
    fn new(config: NetworkConfig) -> Self {
        Self {
            network: Network::new(7, config).unwrap(),
            now: Instant::ZERO,
            outputs: Vec::new(),
        }
    }

    /// A network with these links up.
    fn joined(config: NetworkConfig, links: &[LinkId]) -> Self {
        let mut driver = Self::new(config);
        for &link in links {
            driver.input(Input::Associate(link));
        }
        driver.run_for(1_500);
        for &link in links {
            assert_eq!(driver.network.state(link), LinkState::Up, "{:?}", driver.outputs);
        }
        driver.outputs.clear();
        driver
    }

    fn input(&mut self, input: Input) {
        self.network.handle(self.now, input);
        self.collect();
    }

    fn send(&mut self, link: LinkId, direction: Direction, token: u64) {
        self.input(Input::Packet(Packet {
            link,
            direction,
            bytes: 1_500,
            ect: true,
            flow: 0,
            token,
        }));
    }

    /// A packet to the client.
    fn send_down(&mut self, bytes: u32, flow: u32, token: u64) {
        self.input(Input::Packet(Packet {
            link: NEAR,
            direction: Direction::Down,
            bytes,
            ect: true,
            flow,
            token,
        }));
    }

    /// Delays in ms of a stream's packets. The stream was sent at this interval from `begun` on.
    fn late(&self, begun: Instant, every_ms: u64, count: u64) -> Vec<f64> {
        let late = self.outputs.iter().filter_map(|(at, output)| match output {
            Output::Delivered { packet, .. } if packet.token < count => {
                let sent = begun + Duration::from_millis(every_ms) * packet.token as u32;
                Some(at.since(sent).as_secs_f64() * 1e3)
            }
            _ => None,
        });
        late.collect()
    }

    fn run_for(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        while let Some((due, _)) = self.network.wake_at().filter(|(due, _)| *due <= end) {
            self.network.tick(due);
            self.collect();
        }
        self.network.tick(end);
        self.now = end;
        self.collect();
    }

    fn collect(&mut self) {
        self.outputs
            .extend(core::iter::from_fn(|| self.network.poll_due()));
    }

    fn delivered(&self, link: LinkId) -> Vec<u64> {
        let tokens = self.outputs.iter().filter_map(|(_, output)| match output {
            Output::Delivered { packet, .. } if packet.link == link => Some(packet.token),
            _ => None,
        });
        tokens.collect()
    }

    fn dropped(&self) -> Vec<(u64, DropReason)> {
        let drops = self.outputs.iter().filter_map(|(_, output)| match output {
            Output::Dropped { packet, reason } => Some((packet.token, *reason)),
            _ => None,
        });
        drops.collect()
    }

    fn states(&self, link: LinkId) -> Vec<(u64, LinkState)> {
        let states = self.outputs.iter().filter_map(|&(at, output)| match output {
            Output::State { link: of, state } if of == link => Some((at.as_millis(), state)),
            _ => None,
        });
        states.collect()
    }
}

#[test]
fn joining_takes_what_the_access_point_says() {
    let mut near = ap("near", 3_000, 36);
    near.join.scan = Duration::from_millis(100);
    near.join.associate = Duration::from_millis(16);
    near.join.dhcp = Duration::from_millis(250);
    let mut driver = Driver::new(config(&[near, ap("far", 12_000, 48)]));
    // The first beacon is over by then.
    driver.run_for(10);
    driver.input(Input::Associate(NEAR));
    driver.input(Input::Associate(FAR));
    driver.run_for(2_000);
    let [(_, joining), (carrier_at, carrier), (up_at, up)] = driver.states(NEAR)[..] else {
        panic!("{:?}", driver.states(NEAR))
    };
    assert_eq!(
        (joining, carrier, up),
        (LinkState::Joining, LinkState::Carrier, LinkState::Up)
    );
    assert!((126..132).contains(&carrier_at), "{carrier_at}");
    assert!((250..256).contains(&(up_at - carrier_at)), "{up_at}");
    assert!((1_050..1_070).contains(&driver.states(FAR)[2].0));
}

#[test]
fn joining_succeeds_at_any_moment_and_on_a_busy_channel() {
    for round in 0..8 {
        let mut driver = Driver::joined(two(), &[NEAR]);
        driver.run_for(13 * round);
        driver.input(Input::Associate(FAR));
        // The air is the bottleneck: the access point's queue is never empty.
        for token in 0..4_000 {
            driver.send(NEAR, Direction::Down, token);
            if token % 4 == 3 {
                driver.run_for(1);
            }
        }
        driver.run_for(500);
        assert!(
            driver.delivered(NEAR).len() > 2_000,
            "{}",
            driver.delivered(NEAR).len()
        );
        assert_eq!(
            driver.network.state(FAR),
            LinkState::Up,
            "{:?}",
            driver.states(FAR)
        );
    }
}

#[test]
fn packets_pass_both_ways_through_wire_and_air() {
    let mut driver = Driver::joined(two(), &[NEAR, FAR]);
    for token in 0..50 {
        driver.send(NEAR, Direction::Down, token);
        driver.send(NEAR, Direction::Up, 100 + token);
        driver.send(FAR, Direction::Up, 200 + token);
    }
    driver.run_for(1_000);
    let mut near = driver.delivered(NEAR);
    near.sort_unstable();
    assert_eq!(near, (0..50).chain(100..150).collect::<Vec<_>>());
    assert_eq!(driver.delivered(FAR), (200..250).collect::<Vec<_>>());
    assert_eq!(driver.dropped(), []);
    let counters = driver.network.counters(NEAR);
    assert_eq!((counters.delivered, counters.dropped), (100, 0));
    assert!(
        counters.frames >= 100 && counters.airtime > Duration::from_millis(25),
        "{counters:?}"
    );
    for link in [NEAR, FAR] {
        for direction in [Direction::Up, Direction::Down] {
            assert_eq!(driver.network.queue(link, direction).packets, 0);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut driver = Driver::joined(two(), &[NEAR, FAR]);
        (0..300)
            .for_each(|token| driver.send(if token % 2 == 0 { NEAR } else { FAR }, Direction::Down, token));
        driver.run_for(500);
        driver.outputs
    };
    assert_eq!(run(), run());
}

#[test]
fn what_is_on_its_way_is_lost_with_an_access_point_that_is_switched_off() {
    let mut driver = Driver::joined(two(), &[NEAR]);
    (0..80).for_each(|token| driver.send(NEAR, Direction::Down, token));
    driver.run_for(15);
    driver.input(Input::Fault(NEAR, Fault::Down(true)));
    driver.run_for(2_000);
    let arrived = driver.delivered(NEAR).len();
    assert!((5..70).contains(&arrived), "{arrived}");
    let lost = driver.dropped();
    assert_eq!(arrived + lost.len(), 80);
    assert!(
        lost.iter().all(|(_, reason)| *reason == DropReason::Fault),
        "{lost:?}"
    );
    assert_eq!(driver.states(NEAR).len(), 1, "it is noticed at once");
    driver.outputs.clear();
    driver.input(Input::Fault(NEAR, Fault::Down(false)));
    driver.input(Input::Associate(NEAR));
    driver.run_for(1_500);
    assert_eq!(driver.network.state(NEAR), LinkState::Up);
}

#[test]
fn a_black_hole_swallows_packets_and_goes_on_with_beacons() {
    let mut driver = Driver::joined(two(), &[NEAR]);
    (0..20).for_each(|token| driver.send(NEAR, Direction::Down, token));
    driver.run_for(8);
    driver.input(Input::Fault(NEAR, Fault::Blackhole(true)));
    driver.outputs.clear();
    driver.send(NEAR, Direction::Up, 99);
    driver.run_for(3_000);
    assert_eq!(driver.delivered(NEAR), []);
    assert_eq!(driver.network.state(NEAR), LinkState::Up);
    let beacons = driver.outputs.iter().filter(|(_, output)| {
        matches!(output, Output::Beacon { link: NEAR, signal } if *signal > units::Dbm::from_dbm(-60))
    });
    assert!(beacons.count() > 25);
    driver.input(Input::Fault(NEAR, Fault::Blackhole(false)));
    driver.send(NEAR, Direction::Up, 100);
    driver.run_for(100);
    assert_eq!(driver.delivered(NEAR), [100]);
}

#[test]
fn a_signal_that_sinks_slows_frames_down_and_ends_the_association() {
    let mut driver = Driver::joined(two(), &[NEAR, FAR]);
    let before = driver.network.signal(NEAR).unwrap();
    assert_eq!(
        driver.network.rate(NEAR, Direction::Down),
        Some(Bitrate::from_mbps(54))
    );
    driver.input(Input::Fault(NEAR, Fault::Attenuation(Db::from_db(35))));
    assert_eq!(before - driver.network.signal(NEAR).unwrap(), Db::from_db(35));
    driver.send(NEAR, Direction::Down, 1);
    driver.run_for(100);
    assert_eq!(driver.delivered(NEAR), [1]);
    let slow = driver.network.rate(NEAR, Direction::Down).unwrap();
    assert!(slow < Bitrate::from_mbps(54), "{slow}");
    let data = core::iter::from_fn(|| driver.network.overheard());
    let rates: Vec<Bitrate> = data
        .filter(|frame| matches!(frame.kind, FrameKind::Data { subtype: Subtype::Data, token, .. } if token != Wlan::OURS))
        .map(|frame| frame.mode.rate())
        .collect();
    assert_eq!(rates.last(), Some(&slow));
    driver.input(Input::Fault(NEAR, Fault::Attenuation(Db::from_db(90))));
    let at = driver.now.as_millis();
    driver.run_for(1_500);
    // Seven beacons and the probe.
    let [(lost_at, LinkState::Down)] = driver.states(NEAR)[..] else {
        panic!("{:?}", driver.states(NEAR))
    };
    assert!((700..1_000).contains(&(lost_at - at)), "{}", lost_at - at);
    assert_eq!(driver.network.state(FAR), LinkState::Up);
}

#[test]
fn who_walks_hears_one_better_and_the_other_worse() {
    let mut driver = Driver::joined(config(&[ap("near", 0, 36), ap("far", 40_000, 48)]), &[NEAR, FAR]);
    let [near, far] = [NEAR, FAR].map(|link| driver.network.signal(link).unwrap());
    driver.input(Input::Moved(Position {
        x_mm: 30_000,
        y_mm: 0,
    }));
    assert!(driver.network.signal(NEAR).unwrap() < near);
    assert!(driver.network.signal(FAR).unwrap() > far);
    driver.run_for(3_000);
    let strongest = |link: LinkId| {
        let beacons = driver.outputs.iter().filter_map(|(_, output)| match output {
            Output::Beacon { link: of, signal } if *of == link => Some(*signal),
            _ => None,
        });
        beacons.max().unwrap()
    };
    let off = strongest(FAR) - driver.network.signal(FAR).unwrap();
    assert!(off.as_centi().abs() <= 2, "{off}");
}

#[test]
fn packets_to_a_poor_access_point_do_not_hold_up_those_to_a_good_one() {
    let mut far = ap("far", 12_000, 36);
    far.rate = Some(Bitrate::from_mbps(6));
    let mut driver = Driver::joined(config(&[ap("near", 3_000, 36), far]), &[NEAR, FAR]);
    (0..150).for_each(|token| driver.send(FAR, Direction::Up, token));
    (0..20).for_each(|token| driver.send(NEAR, Direction::Up, token));
    driver.run_for(90);
    assert_eq!(driver.delivered(NEAR).len(), 20, "they take turns");
    assert!(driver.delivered(FAR).len() < 50);
}

#[test]
fn what_cannot_be_together_is_refused() {
    let mut other = ap("far", 12_000, 36);
    other.standard = Standard::G;
    other.channel = 6;
    let mut first = ap("near", 0, 6);
    first.standard = Standard::B;
    let refused = Network::new(1, config(&[first, other])).unwrap_err().to_string();
    assert!(refused.contains("channel 6"), "{refused}");
    let mut wavering = ap("far", 12_000, 36);
    wavering.propagation.implementation_loss = Db::from_db(9);
    let refused = Network::new(1, config(&[ap("near", 0, 36), wavering]))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("`far`"), "{refused}");
    let mut learning = ap("near", 0, 36);
    learning.control = RateControl::Minstrel;
    let coarse = NetworkConfig {
        medium: Medium::Exchanges,
        ..config(&[learning])
    };
    let refused = Network::new(1, coarse).unwrap_err().to_string();
    assert!(refused.contains("exact medium"), "{refused}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[test]
fn flows_that_are_kept_apart_do_not_wait_for_each_other() {
    let wait = |fq_codel| {
        let near = WifiConfig {
            fq_codel,
            rate: Some(Bitrate::from_mbps(6)),
            ..ap("near", 3_000, 36)
        };
        let mut driver = Driver::joined(config(&[near]), &[NEAR]);
        let begun = driver.now;
        for token in 0..200 {
            // One flow of 12 Mb/s, and a small packet of another.
            (0..10).for_each(|more| driver.send_down(1_500, 1, 1_000 + token * 10 + more));
            driver.send_down(100, 2, token);
            driver.run_for(10);
        }
        driver.run_for(1_000);
        driver.late(begun, 10, 200)
    };
    let (shared, apart) = (wait(false), wait(true));
    // 5 ms of wire, and a frame or two of the other flow. In a shared queue, all 200 queued packets.
    assert_eq!(apart.len(), 200, "none is lost");
    assert!(mean(&apart) < 20.0, "{}", mean(&apart));
    assert!(
        shared.len() < 150 && mean(&shared) > 200.0,
        "{} {}",
        shared.len(),
        mean(&shared)
    );
}

#[test]
fn a_client_that_saves_power_has_its_packets_after_a_beacon() {
    let wait = |power_save| {
        let config = NetworkConfig {
            power_save,
            ..config(&[ap("near", 3_000, 36)])
        };
        let mut driver = Driver::joined(config, &[NEAR]);
        let begun = driver.now;
        for token in 0..100 {
            driver.send_down(500, 0, token);
            driver.run_for(37);
        }
        driver.run_for(300);
        let up = driver.now;
        driver.send(NEAR, Direction::Up, 1_000);
        driver.run_for(100);
        let sent = driver.outputs.iter().find_map(|(at, output)| match output {
            Output::Delivered { packet, .. } if packet.token == 1_000 => Some(at.since(up)),
            _ => None,
        });
        assert!(
            sent.is_some_and(|time| time < Duration::from_millis(15)),
            "it need not wait to send: {sent:?}"
        );
        driver.late(begun, 37, 100)
    };
    let (awake, asleep) = (wait(false), wait(true));
    assert_eq!((awake.len(), asleep.len()), (100, 100));
    assert!(mean(&awake) < 7.0, "{}", mean(&awake));
    // Half a beacon interval (102.4 ms) on top.
    assert!((45.0..70.0).contains(&mean(&asleep)), "{}", mean(&asleep));
    assert!(asleep.iter().all(|&late| late < 125.0), "{asleep:?}");
}

#[test]
fn a_radio_that_sleeps_wakes_for_the_beacons_of_one() {
    let sleeping = |config: NetworkConfig| NetworkConfig {
        power_save: true,
        ..config
    };
    let refused = Network::new(1, sleeping(two())).unwrap_err().to_string();
    assert!(
        refused.contains("channel 36") && refused.contains("wakes for the beacons of one"),
        "{refused}"
    );
    let apart = config(&[ap("near", 3_000, 36), ap("far", 12_000, 48)]);
    assert!(Network::new(1, sleeping(apart.clone())).is_ok());
    let coarse = NetworkConfig {
        medium: Medium::Exchanges,
        ..sleeping(apart)
    };
    let refused = Network::new(1, coarse).unwrap_err().to_string();
    assert!(refused.contains("saves power"), "{refused}");
}

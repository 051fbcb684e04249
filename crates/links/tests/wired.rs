//! Cables and cells through the public contract.

mod common;

use common::{Driver, Fate, packet};
use links::*;
use proptest::prelude::*;
use units::{Bitrate, Bytes, Duration, Instant, Ratio};

const LINK: LinkId = LinkId(0);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn cable(rate_mbps: u64, delay: Duration) -> CableConfig {
    CableConfig::symmetric("c", Bitrate::from_mbps(rate_mbps), delay)
}

fn network(link: LinkConfig) -> Driver {
    Driver::new(7, vec![link])
}

#[test]
fn a_packet_takes_its_transmission_and_propagation_time() {
    let mut driver = network(LinkConfig::Cable(cable(12, ms(10))));
    driver.send(Instant::ZERO, packet(LINK, Direction::Down, 1_500, 1));
    driver.send(Instant::ZERO, packet(LINK, Direction::Down, 1_500, 2));
    driver.run_until(Instant::from_secs(1));
    assert_eq!(driver.delivered_at(1), Some(Instant::from_millis(11)));
    assert_eq!(driver.delivered_at(2), Some(Instant::from_millis(12)));
}

#[test]
fn the_directions_of_a_cable_do_not_disturb_each_other() {
    let mut driver = network(LinkConfig::Cable(cable(12, ms(10))));
    driver.send(Instant::ZERO, packet(LINK, Direction::Down, 1_500, 1));
    driver.send(Instant::ZERO, packet(LINK, Direction::Up, 1_500, 2));
    driver.run_until(Instant::from_secs(1));
    assert_eq!(driver.delivered_at(1), driver.delivered_at(2));
}

#[test]
fn a_queue_of_one_product_holds_at_least_thirty_packets() {
    // 12 Mb/s × 20 ms = 20 packets, so 30 are queued while one is in service.
    let mut driver = network(LinkConfig::Cable(cable(12, ms(10))));
    for token in 0..40 {
        driver.send(Instant::ZERO, packet(LINK, Direction::Down, 1_500, token));
    }
    assert_eq!(driver.network.queue(LINK, Direction::Down).packets, 30);
    driver.run_until(Instant::from_secs(1));
    assert_eq!(driver.count(Fate::Dropped(DropReason::QueueFull)), 9);
    assert_eq!(driver.network.counters(LINK).delivered, 31);
}

#[test]
fn a_limit_in_bytes_counts_bytes() {
    let mut config = cable(12, ms(10));
    config.down.queue = QueueConfig::tail_drop(QueueLimit::Bytes(Bytes::new(1_000)));
    let mut driver = network(LinkConfig::Cable(config));
    for token in 0..12 {
        driver.send(Instant::ZERO, packet(LINK, Direction::Down, 100, token));
    }
    assert_eq!(
        driver.network.queue(LINK, Direction::Down).bytes,
        Bytes::new(1_000)
    );
    assert_eq!(driver.count(Fate::Dropped(DropReason::QueueFull)), 1);
}

#[test]
fn a_new_rate_keeps_what_was_already_sent() {
    // 1,500 bytes at 12 Mb/s take 1 ms; after half of it, the other half takes 1 ms at 6 Mb/s.
    let mut driver = network(LinkConfig::Cable(cable(12, Duration::ZERO)));
    driver.send(Instant::ZERO, packet(LINK, Direction::Down, 1_500, 1));
    let (up, down) = (Bitrate::from_mbps(12), Bitrate::from_mbps(6));
    driver.input(
        Instant::from_micros(500),
        Input::Fault(LINK, Fault::Rate { up, down }),
    );
    driver.run_until(Instant::from_secs(1));
    assert_eq!(driver.delivered_at(1), Some(Instant::from_micros(1_500)));
}

#[test]
fn a_rate_of_zero_holds_packets_until_it_ends() {
    let mut driver = network(LinkConfig::Cable(cable(12, Duration::ZERO)));
    let rate = |mbps| Fault::Rate {
        up: Bitrate::from_mbps(mbps),
        down: Bitrate::from_mbps(mbps),
    };
    driver.input(Instant::ZERO, Input::Fault(LINK, rate(0)));
    driver.send(Instant::ZERO, packet(LINK, Direction::Up, 1_500, 1));
    assert_eq!(driver.network.wake_at(), None);
    driver.input(Instant::from_secs(5), Input::Fault(LINK, rate(12)));
    driver.run_until(Instant::from_secs(6));
    assert_eq!(driver.delivered_at(1), Some(Instant::from_millis(5_001)));
}

#[test]
fn a_blackhole_swallows_queue_service_and_flight_without_a_sign() {
    let mut driver = network(LinkConfig::Cable(cable(12, ms(5))));
    for token in 0..20 {
        driver.send(Instant::ZERO, packet(LINK, Direction::Down, 1_500, token));
    }
    // At 8.5 ms three have arrived, five are in flight, one is in service, eleven are queued.
    let at = Instant::from_micros(8_500);
    driver.input(at, Input::Fault(LINK, Fault::Blackhole(true)));
    driver.send(at, packet(LINK, Direction::Down, 1_500, 20));
    driver.run_until(Instant::from_secs(1));
    assert_eq!(driver.network.counters(LINK).delivered, 3);
    assert_eq!(driver.count(Fate::Dropped(DropReason::Fault)), 18);
    assert_eq!(driver.states(), [], "nothing but the traffic tells");
    driver.input(Instant::from_secs(1), Input::Fault(LINK, Fault::Blackhole(false)));
    driver.send(Instant::from_secs(1), packet(LINK, Direction::Down, 1_500, 21));
    driver.run_until(Instant::from_secs(2));
    assert_eq!(driver.delivered_at(21), Some(Instant::from_millis(1_006)));
}

#[test]
fn a_link_that_goes_down_says_so_and_comes_back_empty() {
    let mut driver = network(LinkConfig::Cable(cable(12, ms(5))));
    driver.send(Instant::ZERO, packet(LINK, Direction::Down, 1_500, 1));
    driver.input(Instant::from_millis(1), Input::Fault(LINK, Fault::Down(true)));
    driver.send(Instant::from_millis(2), packet(LINK, Direction::Down, 1_500, 2));
    driver.input(Instant::from_millis(3), Input::Fault(LINK, Fault::Down(false)));
    driver.run_until(Instant::from_secs(1));
    assert_eq!(driver.states(), [LinkState::Down, LinkState::Up]);
    assert_eq!(driver.count(Fate::Dropped(DropReason::Fault)), 1);
    assert_eq!(driver.count(Fate::Dropped(DropReason::Detached)), 1);
}

#[test]
fn cables_behind_one_bottleneck_share_its_rate() {
    let mut config = NetworkConfig::from(vec![
        LinkConfig::Cable(CableConfig {
            behind: Some(0),
            ..CableConfig::symmetric("a", Bitrate::from_mbps(999), ms(1))
        }),
        LinkConfig::Cable(CableConfig {
            behind: Some(0),
            ..CableConfig::symmetric("b", Bitrate::from_mbps(999), ms(3))
        }),
    ]);
    config.bottlenecks.push(BottleneckConfig {
        name: "shared".into(),
        up: Bitrate::from_mbps(12),
        down: Bitrate::from_mbps(12),
        queue: QueueConfig::default(),
    });
    let mut driver = Driver::new(1, config);
    for token in 0..4 {
        let link = LinkId((token % 2) as u16);
        driver.send(Instant::ZERO, packet(link, Direction::Down, 1_500, token));
    }
    // A fault on one of them drops only its own packets from the shared queue.
    driver.input(
        Instant::from_micros(100),
        Input::Fault(LinkId(0), Fault::Blackhole(true)),
    );
    driver.run_until(Instant::from_secs(1));
    assert_eq!(driver.count(Fate::Dropped(DropReason::Fault)), 2);
    let arrivals = [1, 3].map(|token| driver.delivered_at(token).unwrap());
    assert_eq!(arrivals, [4_100, 5_100].map(Instant::from_micros));
}

#[test]
fn random_loss_has_its_share() {
    let mut config = cable(1_000, Duration::ZERO);
    config.down.loss = Ratio::from_ppm(100_000);
    let mut driver = network(LinkConfig::Cable(config));
    for token in 0..20_000 {
        driver.send(
            Instant::from_micros(token * 20),
            packet(LINK, Direction::Down, 1_000, token),
        );
    }
    driver.run_until(Instant::from_secs(1));
    let lost = driver.count(Fate::Dropped(DropReason::Loss));
    // Four standard deviations of a binomial count: 4·√(20,000·0.1·0.9) = 170.
    assert!(lost.abs_diff(2_000) < 170, "{lost} of 20,000 at 10 %");
}

#[test]
fn a_cell_holds_what_waits_in_a_hole() {
    let mut config = CellConfig::constant("c", Bitrate::from_mbps(12), ms(10));
    config.holes.spans = vec![(ms(1_000), ms(500))];
    let mut driver = network(LinkConfig::Cell(config));
    driver.send(
        Instant::from_micros(999_500),
        packet(LINK, Direction::Down, 1_500, 1),
    );
    driver.send(
        Instant::from_millis(1_200),
        packet(LINK, Direction::Down, 1_500, 2),
    );
    driver.run_until(Instant::from_secs(3));
    // Half of the first was sent before the hole.
    assert_eq!(driver.delivered_at(1), Some(Instant::from_micros(1_510_500)));
    assert_eq!(driver.delivered_at(2), Some(Instant::from_micros(1_511_500)));
    assert_eq!(driver.states(), []);
}

fn traced(ms_of_opportunities: &[u64]) -> CellConfig {
    let trace: Vec<_> = ms_of_opportunities.iter().map(|&at| ms(at)).collect();
    CellConfig::traced("c", trace.clone(), trace, Duration::ZERO)
}

#[test]
fn a_trace_delivers_as_mahimahi_counts() {
    let mut config = traced(&[5, 5, 10, 20]);
    config.down.queue = QueueConfig::tail_drop(QueueLimit::Packets(100));
    let mut driver = network(LinkConfig::Cell(config));
    // Three small packets and most of a full one share the first opportunity. The rest of the full one uses
    // the second, which also carries 300 bytes of the next.
    for (token, bytes) in [(1, 100), (2, 100), (3, 100), (4, 1_500), (5, 1_500), (6, 1_200)] {
        driver.send(Instant::ZERO, packet(LINK, Direction::Down, bytes, token));
    }
    // The opportunity at 20 ms serves nobody. The trace repeats from 20 ms.
    driver.send(Instant::from_millis(22), packet(LINK, Direction::Down, 1_500, 7));
    driver.run_until(Instant::from_secs(1));
    let arrivals: Vec<_> = (1..=7)
        .map(|token| driver.delivered_at(token).unwrap().as_millis())
        .collect();
    assert_eq!(arrivals, [5, 5, 5, 5, 10, 10, 25]);
}

#[test]
fn opportunities_inside_a_hole_are_lost() {
    let mut config = traced(&[10]);
    config.holes.spans = vec![(ms(15), ms(20))];
    let mut driver = network(LinkConfig::Cell(config));
    for token in 0..3 {
        driver.send(Instant::ZERO, packet(LINK, Direction::Up, 1_500, token));
    }
    driver.run_until(Instant::from_secs(1));
    let arrivals = [0, 1, 2].map(|token| driver.delivered_at(token).unwrap().as_millis());
    assert_eq!(arrivals, [10, 40, 50]);
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let refused = |config: NetworkConfig| Network::new(1, config).unwrap_err().to_string();
    let twice = vec![
        LinkConfig::Cable(cable(1, ms(1))),
        LinkConfig::Cable(cable(1, ms(1))),
    ];
    assert!(refused(twice.into()).contains("give each a name"));
    let back = CellConfig::traced("c", vec![ms(2), ms(1)], vec![ms(1)], ms(1));
    assert!(refused(vec![LinkConfig::Cell(back)].into()).contains("opportunity 1"));
    let empty = CellConfig::traced("c", vec![], vec![ms(1)], ms(1));
    assert!(refused(vec![LinkConfig::Cell(empty)].into()).contains("no period"));
    let behind = CableConfig {
        behind: Some(3),
        ..cable(1, ms(1))
    };
    assert!(refused(vec![LinkConfig::Cable(behind)].into()).contains("bottleneck 3"));
    let mut never = CellConfig::constant("c", Bitrate::from_mbps(1), ms(1));
    never.holes.spans = vec![(ms(0), ms(10))];
    never.holes.period = Some(ms(10));
    assert!(refused(vec![LinkConfig::Cell(never)].into()).contains("leave some coverage"));
    assert!(refused(vec![LinkConfig::Cable(cable(0, ms(1)))].into()).contains("rate of zero"));
    let mut wifi = WifiConfig::new("w", Position::default());
    wifi.channel = 36;
    assert!(refused(vec![LinkConfig::Wifi(wifi)].into()).contains("1 to 13"));
}

#[derive(Debug, Clone)]
enum Step {
    Send {
        gap_us: u64,
        bytes: u32,
        up: bool,
        ect: bool,
    },
    Fault(Fault),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let send =
        (0u64..3_000, 40u32..1_501, any::<bool>(), any::<bool>()).prop_map(|(gap_us, bytes, up, ect)| {
            Step::Send {
                gap_us,
                bytes,
                up,
                ect,
            }
        });
    let fault = prop_oneof![
        any::<bool>().prop_map(Fault::Blackhole),
        any::<bool>().prop_map(Fault::Down),
        (0u64..20, 0u64..20).prop_map(|(up, down)| Fault::Rate {
            up: Bitrate::from_mbps(up),
            down: Bitrate::from_mbps(down)
        }),
    ];
    prop::collection::vec(prop_oneof![40 => send, 1 => fault.prop_map(Step::Fault)], 1..300)
}

fn wired_link() -> impl Strategy<Value = LinkConfig> {
    let queue = prop_oneof![
        Just(QueueConfig::default()),
        Just(QueueConfig::codel(true)),
        Just(QueueConfig::codel(false)),
        (1u32..50).prop_map(|packets| QueueConfig::tail_drop(QueueLimit::Packets(packets))),
        (1u64..30_000).prop_map(|bytes| QueueConfig::tail_drop(QueueLimit::Bytes(Bytes::new(bytes)))),
    ];
    let cable = (1u64..20, 0u64..40, 0u64..20, 0u32..200_000, queue).prop_map(
        |(mbps, delay, jitter, loss, queue)| {
            let wire = Wire {
                jitter: ms(jitter),
                loss: Ratio::from_ppm(loss),
                queue,
                ..Wire::new(Bitrate::from_mbps(mbps), ms(delay))
            };
            LinkConfig::Cable(CableConfig {
                name: "c".into(),
                up: wire,
                down: wire,
                behind: None,
            })
        },
    );
    let cell = prop::collection::vec(0u64..100, 1..30).prop_map(|mut times| {
        times.sort_unstable();
        times.push(101);
        LinkConfig::Cell(traced(&times))
    });
    prop_oneof![2 => cable, 1 => cell]
}

/// Runs the steps, then ends all faults and lets the network drain.
fn play(driver: &mut Driver, steps: &[Step]) {
    let mut now = Instant::ZERO;
    for (token, step) in steps.iter().enumerate() {
        match *step {
            Step::Send {
                gap_us,
                bytes,
                up,
                ect,
            } => {
                now += Duration::from_micros(gap_us);
                let direction = if up { Direction::Up } else { Direction::Down };
                driver.send(
                    now,
                    Packet {
                        ect,
                        ..packet(LINK, direction, bytes, token as u64)
                    },
                );
            }
            Step::Fault(fault) => driver.input(now, Input::Fault(LINK, fault)),
        }
    }
    for fault in [
        Fault::Down(false),
        Fault::Blackhole(false),
        Fault::Rate {
            up: Bitrate::from_mbps(5),
            down: Bitrate::from_mbps(5),
        },
    ] {
        driver.input(now, Input::Fault(LINK, fault));
    }
    driver.run_until(now + Duration::from_secs(60));
}

proptest! {
    #[test]
    fn every_packet_leaves_once_and_in_order(link in wired_link(), steps in steps(), seed: u64) {
        let mut driver = Driver::new(seed, vec![link]);
        play(&mut driver, &steps);
        driver.assert_each_packet_left_once();
        driver.assert_order_kept();
        prop_assert_eq!(driver.network.wake_at(), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_outputs(link in wired_link(), steps in steps(), seed: u64) {
        let [one, two] = [(); 2].map(|()| {
            let mut driver = Driver::new(seed, vec![link.clone()]);
            play(&mut driver, &steps);
            driver.outputs
        });
        prop_assert_eq!(one, two);
    }

    #[test]
    fn another_link_does_not_shift_the_draws(link in wired_link(), steps in steps(), seed: u64) {
        let mut alone = Driver::new(seed, vec![link.clone()]);
        let other = LinkConfig::Cable(CableConfig::symmetric("other", Bitrate::from_mbps(3), ms(4)));
        let mut beside = Driver::new(seed, vec![link, other]);
        play(&mut alone, &steps);
        beside.send(Instant::ZERO, packet(LinkId(1), Direction::Up, 1_000, u64::MAX));
        play(&mut beside, &steps);
        beside.outputs.retain(|(_, output)| common::link_of(output) == LINK);
        prop_assert_eq!(alone.outputs, beside.outputs);
    }

    #[test]
    fn a_cable_is_never_faster_than_its_rate(
        mbps in 1u64..50,
        sends in prop::collection::vec((0u64..2_000, 40u32..1_501), 2..200),
    ) {
        let mut driver = network(LinkConfig::Cable(cable(mbps, ms(3))));
        let mut now = Instant::ZERO;
        for (token, &(gap_us, bytes)) in sends.iter().enumerate() {
            now += Duration::from_micros(gap_us);
            driver.send(now, packet(LINK, Direction::Down, bytes, token as u64));
        }
        driver.run_until(now + Duration::from_secs(10));
        // Between any two arrivals at most rate × time (the first packet's own bits came before).
        driver.assert_windows(|from, to, bytes| bytes <= (Bitrate::from_mbps(mbps) * (to - from)).get());
    }

    #[test]
    fn a_cell_is_never_faster_than_its_trace(
        mut trace in prop::collection::vec(0u64..200, 1..40),
        sends in prop::collection::vec((0u64..8_000, 40u32..1_501), 2..150),
    ) {
        trace.sort_unstable();
        trace.push(201);
        let mut driver = network(LinkConfig::Cell(traced(&trace)));
        let mut now = Instant::ZERO;
        for (token, &(gap_us, bytes)) in sends.iter().enumerate() {
            now += Duration::from_micros(gap_us);
            driver.send(now, packet(LINK, Direction::Down, bytes, token as u64));
        }
        driver.run_until(now + Duration::from_secs(60));
        let upto = |at: Instant| (at.as_millis() / 201) * trace.len() as u64
            + trace.iter().filter(|&&time| time <= at.as_millis() % 201).count() as u64;
        // The opportunity that completed the earlier packet may carry others too, so those of its millisecond
        // count.
        let before = |at: Instant| upto(at - Duration::from_nanos(1));
        driver.assert_windows(|from, to, bytes| bytes <= 1_500 * (upto(to) - before(from)));
    }
}

//! Hosts that use the client's links: they share queues and air with the client, and have their own radios.

mod common;

use common::{Driver, Fate, packet};
use links::wifi::{Propagation, Radio};
use links::*;
use units::wifi::Standard;
use units::{Bitrate, Duration, Instant};

/// The client's link, and the other host's link through it.
const OWN: LinkId = LinkId(0);
const RIVALS: LinkId = LinkId(1);

fn at(x_m: i64) -> Position {
    Position {
        x_mm: x_m * 1_000,
        y_mm: 0,
    }
}

/// A link that the client shares with a host at `x_m`.
fn shared(link: LinkConfig, x_m: i64) -> NetworkConfig {
    NetworkConfig {
        links: vec![link],
        medium: Medium::Frames,
        hosts: vec![OtherHost {
            name: "rival".into(),
            radio: Radio {
                position: at(x_m),
                ..Radio::default()
            },
            thresholds: air::Thresholds::default(),
            links: vec![OWN],
        }],
        ..NetworkConfig::default()
    }
}

/// 12 Mb/s: a packet of 1,500 bytes takes a millisecond.
fn cable() -> LinkConfig {
    LinkConfig::Cable(CableConfig::symmetric(
        "dsl",
        Bitrate::from_mbps(12),
        Duration::from_millis(10),
    ))
}

fn access_point() -> LinkConfig {
    LinkConfig::Wifi(WifiConfig {
        standard: Standard::A,
        channel: 36,
        propagation: Propagation::indoor(Standard::A),
        ..WifiConfig::new("hall", at(0))
    })
}

#[test]
fn hosts_share_the_bottleneck_of_a_cable() {
    let mut driver = Driver::new(7, shared(cable(), 0));
    assert_eq!(driver.network.state(RIVALS), LinkState::Up);
    assert_eq!([OWN, RIVALS].map(|link| driver.network.through(link)), [OWN, OWN]);
    for token in 0..10 {
        let link = if token % 2 == 0 { OWN } else { RIVALS };
        driver.send(Instant::ZERO, packet(link, Direction::Down, 1_500, token));
    }
    driver.run_until(Instant::from_secs(1));
    let arrivals: Vec<_> = (0..10).map(|token| driver.delivered_at(token)).collect();
    let expected: Vec<_> = (1..=10).map(|ms| Some(Instant::from_millis(ms + 10))).collect();
    assert_eq!(arrivals, expected, "one queue for both");
    let counted = [OWN, RIVALS].map(|link| driver.network.counters(link).delivered);
    assert_eq!(counted, [5, 5]);
}

#[test]
fn a_host_joins_with_a_radio_at_its_own_place() {
    let mut driver = Driver::new(7, shared(access_point(), 5));
    driver.input(Instant::ZERO, Input::Associate(RIVALS));
    driver.run_until(Instant::from_secs(2));
    let states = |driver: &Driver| [OWN, RIVALS].map(|link| driver.network.state(link));
    assert_eq!(
        states(&driver),
        [LinkState::Down, LinkState::Up],
        "only one has joined"
    );
    // The client leaves; the other host stays.
    driver.input(Instant::from_secs(2), Input::Moved(at(5_000)));
    driver.send(Instant::from_secs(2), packet(RIVALS, Direction::Down, 1_500, 1));
    driver.send(Instant::from_secs(2), packet(RIVALS, Direction::Up, 1_500, 2));
    driver.send(Instant::from_secs(2), packet(OWN, Direction::Down, 1_500, 3));
    driver.run_until(Instant::from_secs(4));
    assert!(driver.delivered_at(1).is_some() && driver.delivered_at(2).is_some());
    assert_eq!(driver.count(Fate::Dropped(DropReason::Detached)), 1);
    let heard_after = |link| {
        let beacons = driver.outputs.iter().filter(
            |(at, output)| matches!(output, Output::Beacon { link: of, .. } if *of == link && *at > Instant::from_secs(3)),
        );
        beacons.count()
    };
    assert_eq!(heard_after(OWN), 0, "it is five kilometres away");
    assert!(heard_after(RIVALS) > 5);
}

#[test]
fn a_host_that_walks_away_loses_its_access_point_and_nobody_else_does() {
    let mut driver = Driver::new(7, shared(access_point(), 5));
    for link in [OWN, RIVALS] {
        driver.input(Instant::ZERO, Input::Associate(link));
    }
    driver.run_until(Instant::from_secs(2));
    let near = driver.network.signal(RIVALS).unwrap();
    driver.input(Instant::from_secs(2), Input::MovedOther(Other::Host(0), at(20)));
    let farther = driver.network.signal(RIVALS).unwrap();
    assert!(farther < near && driver.network.state(RIVALS) == LinkState::Up);
    let own = driver.network.signal(OWN);
    driver.input(
        Instant::from_secs(2),
        Input::MovedOther(Other::Host(0), at(5_000)),
    );
    driver.run_until(Instant::from_secs(6));
    let states = [OWN, RIVALS].map(|link| driver.network.state(link));
    assert_eq!(states, [LinkState::Up, LinkState::Down]);
    assert_eq!(driver.network.signal(OWN), own);
}

#[test]
fn hosts_share_the_air_of_an_access_point() {
    let mut driver = Driver::new(7, shared(access_point(), 5));
    for link in [OWN, RIVALS] {
        driver.input(Instant::ZERO, Input::Associate(link));
    }
    let (begin, mut token) = (Instant::from_secs(2), 0);
    let mut keep_full = |driver: &mut Driver, links: &[LinkId], from: Instant| {
        let before = [OWN, RIVALS].map(|link| driver.network.counters(link).delivered);
        for ms in 0..1_000 {
            let now = from + Duration::from_millis(ms);
            for &link in links {
                while driver.network.queue(link, Direction::Down).packets < 20 {
                    driver.send(now, packet(link, Direction::Down, 1_500, token));
                    token += 1;
                }
            }
            driver.run_until(now);
        }
        let after = [OWN, RIVALS].map(|link| driver.network.counters(link).delivered);
        [after[0] - before[0], after[1] - before[1]]
    };
    let alone = keep_full(&mut driver, &[OWN], begin)[0];
    let both = keep_full(&mut driver, &[OWN, RIVALS], begin + Duration::from_secs(1));
    assert!(alone > 1_000, "{alone}");
    let total = both[0] + both[1];
    assert!(
        (alone * 9 / 10..=alone * 11 / 10).contains(&total),
        "{both:?} of {alone}"
    );
    assert!(both[1].abs_diff(both[0]) < total / 10, "{both:?}");
}

#[test]
fn a_fault_is_the_same_for_all_hosts() {
    let mut driver = Driver::new(7, shared(cable(), 0));
    driver.input(Instant::ZERO, Input::Fault(OWN, Fault::Down(true)));
    let down = |link| Output::State {
        link,
        state: LinkState::Down,
    };
    let states: Vec<Output> = driver.outputs.iter().map(|(_, output)| *output).collect();
    assert_eq!(states, [down(OWN), down(RIVALS)]);
    driver.input(Instant::ZERO, Input::Fault(OWN, Fault::Down(false)));
    driver.send(Instant::ZERO, packet(RIVALS, Direction::Up, 1_500, 1));
    driver.input(Instant::ZERO, Input::Fault(OWN, Fault::Blackhole(true)));
    driver.send(Instant::from_millis(1), packet(RIVALS, Direction::Up, 1_500, 2));
    driver.run_until(Instant::from_secs(1));
    assert_eq!(driver.count(Fate::Dropped(DropReason::Fault)), 2);
}

#[test]
fn a_fault_of_an_access_point_hits_all_who_use_it() {
    let mut driver = Driver::new(7, shared(access_point(), 5));
    for link in [OWN, RIVALS] {
        driver.input(Instant::ZERO, Input::Associate(link));
    }
    let now = Instant::from_secs(2);
    driver.run_until(now);
    for (link, token) in [(OWN, 1), (RIVALS, 2)] {
        driver.send(now, packet(link, Direction::Down, 1_500, token));
    }
    driver.input(now, Input::Fault(OWN, Fault::Down(true)));
    driver.run_until(Instant::from_secs(5));
    assert_eq!(driver.count(Fate::Dropped(DropReason::Fault)), 2);
    for link in [OWN, RIVALS] {
        assert_eq!(driver.network.state(link), LinkState::Down);
    }
}

#[test]
fn hosts_without_links_or_air_are_refused() {
    let mut config = shared(cable(), 0);
    config.hosts[0].links.push(LinkId(4));
    let error = Network::new(1, config).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`rival` uses link 4, but there are only 1; name one that exists"
    );
    let coarse = NetworkConfig {
        medium: Medium::Exchanges,
        ..shared(access_point(), 5)
    };
    let error = Network::new(1, coarse).unwrap_err();
    assert_eq!(
        error,
        ConfigError::Finer {
            what: "`rival`".into()
        }
    );
}

//! Joining an access point, and losing one.

mod common;

use common::{Driver, Fate, packet};
use links::wifi::{Join, Radio};
use links::*;
use units::{Db, Duration, Instant};

const AP: LinkId = LinkId(0);

fn near() -> Driver {
    Driver::new(
        3,
        vec![LinkConfig::Wifi(WifiConfig::new(
            "a",
            Position { x_mm: 5_000, y_mm: 0 },
        ))],
    )
}

fn up() -> Driver {
    let mut driver = near();
    driver.input(Instant::ZERO, Input::Associate(AP));
    driver.run_until(Instant::from_secs(2));
    assert_eq!(driver.network.state(AP), LinkState::Up);
    driver
}

/// When the link reported each state.
fn history(driver: &Driver) -> Vec<(u64, LinkState)> {
    let states = driver.outputs.iter().filter_map(|&(at, output)| match output {
        Output::State { state, .. } => Some((at.as_millis(), state)),
        _ => None,
    });
    states.collect()
}

fn silence(driver: &mut Driver, at: Instant) {
    driver.input(at, Input::Fault(AP, Fault::Attenuation(Db::from_db(200))));
}

#[test]
fn joining_takes_its_steps() {
    let mut driver = near();
    driver.input(Instant::from_millis(100), Input::Associate(AP));
    driver.run_until(Instant::from_secs(3));
    let steps = [
        (100, LinkState::Joining),
        (140, LinkState::Carrier),
        (1_140, LinkState::Up),
    ];
    assert_eq!(history(&driver), steps);
}

#[test]
fn packets_pass_only_when_it_is_up() {
    let mut driver = near();
    driver.send(Instant::ZERO, packet(AP, Direction::Up, 100, 1));
    driver.input(Instant::from_millis(1), Input::Associate(AP));
    driver.send(Instant::from_millis(500), packet(AP, Direction::Down, 100, 2));
    driver.send(Instant::from_secs(2), packet(AP, Direction::Down, 100, 3));
    driver.send(Instant::from_secs(2), packet(AP, Direction::Up, 100, 4));
    driver.run_until(Instant::from_secs(3));
    assert_eq!(driver.count(Fate::Dropped(DropReason::Detached)), 2);
    assert!(driver.delivered_at(3).is_some() && driver.delivered_at(4).is_some());
}

#[test]
fn associating_twice_is_once() {
    let mut driver = near();
    driver.input(Instant::ZERO, Input::Associate(AP));
    driver.input(Instant::from_millis(20), Input::Associate(AP));
    driver.input(Instant::from_secs(2), Input::Associate(AP));
    driver.run_until(Instant::from_secs(3));
    assert_eq!(history(&driver).len(), 3);
}

#[test]
fn leaving_drops_what_waits() {
    let mut driver = up();
    let at = Instant::from_secs(2);
    for token in 0..50 {
        driver.send(at, packet(AP, Direction::Up, 1_500, token));
        driver.send(at, packet(AP, Direction::Down, 1_500, 50 + token));
    }
    driver.input(at + Duration::from_millis(7), Input::Leave(AP));
    driver.run_until(Instant::from_secs(5));
    driver.assert_each_packet_left_once();
    assert_eq!(history(&driver).last(), Some(&(2_007, LinkState::Down)));
    assert!(driver.count(Fate::Dropped(DropReason::Detached)) > 80);
    // It does not recover by itself.
    driver.run_until(Instant::from_secs(60));
    assert_eq!(driver.network.state(AP), LinkState::Down);
    driver.input(Instant::from_secs(60), Input::Associate(AP));
    driver.run_until(Instant::from_secs(63));
    assert_eq!(driver.network.state(AP), LinkState::Up);
}

#[test]
fn a_silent_access_point_is_lost_after_seven_beacons_and_a_probe() {
    let mut driver = up();
    silence(&mut driver, Instant::from_secs(2));
    driver.run_until(Instant::from_secs(5));
    let (lost, state) = *history(&driver).last().unwrap();
    assert_eq!(state, LinkState::Down);
    // The first beacon is missed within 102.4 ms, the seventh 614.4 ms later. The probe times out 100 ms
    // after that.
    assert!((2_714..=2_818).contains(&lost), "{lost}");
}

#[test]
fn an_access_point_that_comes_back_in_time_is_kept() {
    let mut driver = up();
    silence(&mut driver, Instant::from_secs(2));
    driver.input(
        Instant::from_millis(2_640),
        Input::Fault(AP, Fault::Attenuation(Db::from_db(0))),
    );
    driver.run_until(Instant::from_secs(5));
    assert_eq!(driver.network.state(AP), LinkState::Up);
    assert_eq!(history(&driver).len(), 3);
}

#[test]
fn an_access_point_out_of_reach_is_given_up() {
    let mut driver = near();
    silence(&mut driver, Instant::ZERO);
    driver.input(Instant::from_millis(10), Input::Associate(AP));
    driver.run_until(Instant::from_secs(5));
    assert_eq!(
        history(&driver),
        [(10, LinkState::Joining), (100, LinkState::Down)]
    );
}

#[test]
fn a_signal_that_fails_while_associating_is_tried_again() {
    let mut driver = near();
    driver.input(Instant::ZERO, Input::Associate(AP));
    silence(&mut driver, Instant::from_millis(35));
    driver.input(
        Instant::from_millis(100),
        Input::Fault(AP, Fault::Attenuation(Db::from_db(0))),
    );
    driver.run_until(Instant::from_secs(3));
    // Failed at 40 ms, retried 200 ms later, then an address.
    assert_eq!(
        history(&driver)[1..],
        [(240, LinkState::Carrier), (1_240, LinkState::Up)]
    );
}

#[test]
fn dhcp_gets_no_answer_through_a_blackhole_and_asks_again() {
    let mut driver = near();
    driver.input(Instant::ZERO, Input::Fault(AP, Fault::Blackhole(true)));
    driver.input(Instant::ZERO, Input::Associate(AP));
    driver.run_until(Instant::from_secs(6));
    assert_eq!(driver.network.state(AP), LinkState::Carrier);
    driver.input(Instant::from_secs(6), Input::Fault(AP, Fault::Blackhole(false)));
    driver.run_until(Instant::from_secs(20));
    // Messages at 1.04 s, 4 s later, and 8 s after that.
    assert_eq!(history(&driver).last(), Some(&(13_040, LinkState::Up)));
}

#[test]
fn an_access_point_that_is_switched_off_says_so_and_stays_off() {
    let mut driver = up();
    driver.input(Instant::from_secs(3), Input::Fault(AP, Fault::Down(true)));
    assert_eq!(history(&driver).last(), Some(&(3_000, LinkState::Down)));
    driver.input(Instant::from_secs(4), Input::Associate(AP));
    driver.run_until(Instant::from_secs(6));
    assert_eq!(driver.network.state(AP), LinkState::Down);
    let beacons = |driver: &Driver, from| {
        let from = Instant::from_secs(from);
        driver
            .outputs
            .iter()
            .filter(|&&(at, output)| at > from && matches!(output, Output::Beacon { .. }))
            .count()
    };
    assert_eq!(beacons(&driver, 3), 0);
    driver.input(Instant::from_secs(6), Input::Fault(AP, Fault::Down(false)));
    driver.input(Instant::from_secs(6), Input::Associate(AP));
    driver.run_until(Instant::from_secs(8));
    assert_eq!(driver.network.state(AP), LinkState::Up);
    assert!(beacons(&driver, 6) >= 19);
}

#[test]
fn delays_are_the_plans() {
    let mut config = WifiConfig::new("a", Position::default());
    config.join = Join {
        scan: Duration::from_millis(300),
        associate: Duration::from_millis(20),
        dhcp: Duration::from_millis(200),
        ..Join::default()
    };
    let mut driver = Driver::new(1, vec![LinkConfig::Wifi(config)]);
    driver.input(Instant::ZERO, Input::Associate(AP));
    driver.run_until(Instant::from_secs(1));
    assert_eq!(history(&driver).last(), Some(&(520, LinkState::Up)));
}

#[test]
fn walking_away_loses_the_access_point_and_walking_back_does_not_rejoin() {
    let mut driver = up();
    let far = Position {
        x_mm: 500_000,
        y_mm: 0,
    };
    driver.input(Instant::from_secs(2), Input::Moved(far));
    driver.run_until(Instant::from_secs(4));
    assert_eq!(driver.network.state(AP), LinkState::Down);
    driver.input(Instant::from_secs(4), Input::Moved(Radio::default().position));
    driver.run_until(Instant::from_secs(10));
    assert_eq!(driver.network.state(AP), LinkState::Down);
    assert!(
        matches!(driver.outputs.last(), Some((_, Output::Beacon { .. }))),
        "but it hears it"
    );
}

#[test]
fn an_access_point_that_is_carried_away_is_lost_and_heard_again_when_it_is_back() {
    let mut driver = up();
    let here = driver.network.signal(AP).unwrap();
    let far = Position {
        x_mm: 500_000,
        y_mm: 0,
    };
    driver.input(Instant::from_secs(2), Input::Carried(AP, far));
    assert!(driver.network.signal(AP).unwrap() < here);
    driver.run_until(Instant::from_secs(4));
    assert_eq!(driver.network.state(AP), LinkState::Down);
    let before = Position { x_mm: 5_000, y_mm: 0 };
    driver.input(Instant::from_secs(4), Input::Carried(AP, before));
    assert_eq!(driver.network.signal(AP), Some(here));
    driver.input(Instant::from_secs(4), Input::Associate(AP));
    driver.run_until(Instant::from_secs(6));
    assert_eq!(driver.network.state(AP), LinkState::Up);
}

#[test]
fn cables_and_cells_are_always_attached() {
    let cell = CellConfig::constant("c", units::Bitrate::from_mbps(1), Duration::ZERO);
    let mut driver = Driver::new(1, vec![LinkConfig::Cell(cell)]);
    driver.input(Instant::ZERO, Input::Leave(AP));
    driver.input(Instant::ZERO, Input::Associate(AP));
    assert_eq!(
        (driver.network.state(AP), driver.states()),
        (LinkState::Up, vec![])
    );
}

//! Access points of the weighted medium through the public contract: who sends how much, what the client's
//! packets cost, and what its monitor shows.

mod common;

use common::{Driver, Fate, packet};
use links::wifi::{Turn, per_delivered};
use links::*;
use units::wifi::Standard;
use units::{Duration, Instant};

const GOOD: LinkId = LinkId(0);
const POOR: LinkId = LinkId(1);
const JOINED: Instant = Instant::from_secs(2);

fn turn(micros: u64, weight: u32) -> Option<Turn> {
    let packet = Duration::from_micros(micros);
    Some(Turn { packet, weight })
}

fn config(turns: [Option<Turn>; 2]) -> NetworkConfig {
    let point = |(name, turn): (&str, Option<Turn>)| {
        let place = Position {
            x_mm: 30_000,
            y_mm: 0,
        };
        LinkConfig::Wifi(WifiConfig {
            turn,
            ..WifiConfig::new(name, place)
        })
    };
    NetworkConfig {
        links: ["good", "poor"].into_iter().zip(turns).map(point).collect(),
        medium: Medium::Weighted,
        monitor: true,
        ..NetworkConfig::default()
    }
}

/// Both access points joined, at [`JOINED`].
fn joined(turns: [Option<Turn>; 2]) -> Driver {
    let mut driver = Driver::new(1, config(turns));
    for link in [GOOD, POOR] {
        driver.input(Instant::ZERO, Input::Associate(link));
    }
    driver.run_until(JOINED);
    for link in [GOOD, POOR] {
        assert_eq!(driver.network.state(link), LinkState::Up);
    }
    driver
}

/// Keeps the queues of these links filled for a second. Returns the packets that each delivered.
fn saturate<const N: usize>(driver: &mut Driver, links: [LinkId; N]) -> [u64; N] {
    let before = links.map(|link| driver.network.counters(link).delivered);
    for millisecond in 0..1_000 {
        for link in links {
            while driver.network.queue(link, Direction::Down).packets < 20 {
                let token = driver.outputs.len() as u64;
                driver.send(driver.now(), packet(link, Direction::Down, 1_500, token));
            }
        }
        driver.run_until(JOINED + Duration::from_millis(millisecond + 1));
    }
    let mut links = links.into_iter();
    before.map(|before| {
        links
            .next()
            .map_or(0, |link| driver.network.counters(link).delivered)
            - before
    })
}

#[test]
fn weights_decide_who_wins_and_times_how_long_it_lasts() {
    for (micros, weight) in [(3_000, 1), (3_000, 4), (1_000, 16)] {
        let mut driver = joined([turn(500, 1), turn(micros, weight)]);
        let [good, poor] = saturate(&mut driver, [GOOD, POOR]);
        let weight = u64::from(weight);
        assert!(
            poor.abs_diff(good * weight) <= 2 * weight,
            "{poor} of {weight}, {good} of 1"
        );
        let busy = good * 500 + poor * micros;
        assert!((970_000..=1_000_000).contains(&busy), "{busy} µs of the air");
    }
}

#[test]
fn packets_of_the_client_and_beacons_take_no_air() {
    let mut driver = joined([turn(500, 1), turn(3_000, 1)]);
    let beacons = |driver: &Driver| {
        let outputs = driver.outputs.iter();
        outputs
            .filter(|(_, output)| matches!(output, Output::Beacon { link: GOOD, .. }))
            .count()
    };
    let before = beacons(&driver);
    driver.send(JOINED, packet(GOOD, Direction::Up, 1_500, 9_999));
    let [good] = saturate(&mut driver, [GOOD]);
    // The wire of 100 Mb/s holds the packet for 120 µs, and delays it by 5 ms.
    assert_eq!(
        driver.delivered_at(9_999),
        Some(JOINED + Duration::from_micros(5_120))
    );
    assert!(good > 1_980, "the air never idles: {good} packets");
    assert!((9..=10).contains(&(beacons(&driver) - before)));
}

#[test]
fn a_full_queue_drops_the_last_and_a_fault_drops_all() {
    let mut driver = joined([turn(500, 1), turn(3_000, 1)]);
    (0..300).for_each(|token| driver.send(JOINED, packet(POOR, Direction::Down, 100, token)));
    // The first packet reaches the access point after 5 ms.
    driver.run_until(JOINED + Duration::from_millis(7));
    let full = driver.count(Fate::Dropped(DropReason::QueueFull));
    assert_eq!(driver.network.queue(POOR, Direction::Down).packets + full, 300);
    assert!(full > 50, "{full}");
    driver.input(driver.now(), Input::Fault(POOR, Fault::Down(true)));
    driver.run_until(JOINED + Duration::from_secs(1));
    driver.assert_each_packet_left_once();
    assert_eq!(driver.network.queue(POOR, Direction::Down).packets, 0);
}

#[test]
fn a_monitor_shows_the_packet_times() {
    for micros in [500, 3_000] {
        let mut driver = joined([turn(micros, 1), turn(1_000, 1)]);
        saturate(&mut driver, [GOOD]);
        let frames = driver.outputs.iter().filter_map(|(_, output)| match *output {
            Output::Heard { link: GOOD, frame } => Some(frame),
            _ => None,
        });
        let frames: Vec<Heard> = frames.collect();
        assert!(
            frames
                .windows(2)
                .all(|pair| pair[1].number == pair[0].number.next())
        );
        let retries = frames.iter().filter(|frame| frame.retry).count() as f64 / frames.len() as f64;
        let shown = per_delivered(Standard::G, frames[0].rate, 1_500, retries).unwrap();
        let error = shown.as_secs_f64() * 1e6 / micros as f64 - 1.0;
        assert!(error.abs() < 0.02, "{micros} µs: shown {shown:?}");
    }
}

#[test]
fn an_access_point_without_packets_is_refused() {
    for wrong in [None, turn(0, 1), turn(500, 0)] {
        let refused = Network::new(1, config([turn(500, 1), wrong])).unwrap_err();
        assert_eq!(refused, ConfigError::Turn("poor".into()));
    }
}

use super::*;
use crate::config::{BottleneckConfig, QueueConfig};

fn mbps(mbps: u64) -> Bitrate {
    Bitrate::from_mbps(mbps)
}

fn at(x_m: i64) -> Position {
    Position {
        x_mm: x_m * 1_000,
        y_mm: 0,
    }
}

fn wifi(name: &str, x_m: i64, channel: u8) -> LinkConfig {
    LinkConfig::Wifi(WifiConfig {
        channel,
        ..WifiConfig::new(name, at(x_m))
    })
}

fn down(links: Vec<LinkConfig>, moment: Instant, conditions: &[Condition]) -> Bitrate {
    optimal(&links.into(), Direction::Down, moment, at(0), conditions)
}

fn most() -> Bitrate {
    goodput(units::wifi::Standard::G, None, Db::from_db(60))
}

#[test]
fn a_channel_counts_its_best_access_point_only() {
    let near = wifi("near", 3, 6);
    let far = wifi("far", 90, 6);
    let other = wifi("other", 3, 11);
    assert_eq!(down(vec![near.clone(), far.clone()], Instant::ZERO, &[]), most());
    assert_eq!(
        down(vec![near.clone(), other], Instant::ZERO, &[]),
        most() + most()
    );
    let gone = Condition {
        gone: true,
        ..Condition::default()
    };
    let alone = down(vec![far.clone()], Instant::ZERO, &[]);
    assert!(alone < most());
    assert_eq!(
        down(vec![near.clone(), far.clone()], Instant::ZERO, &[gone]),
        alone
    );
    let silenced = Condition {
        attenuation: Db::from_db(200),
        ..Condition::default()
    };
    assert_eq!(down(vec![near, far], Instant::ZERO, &[silenced]), alone);
}

#[test]
fn datagrams_of_one_link_have_its_payload_without_acknowledgements() {
    let stream = |link, direction| Stream {
        link,
        direction,
        payload: Bytes::new(1_472),
    };
    let desk = LinkConfig::Cable(CableConfig::symmetric("c", mbps(15), Duration::ZERO));
    let config: NetworkConfig = vec![wifi("near", 3, 6), wifi("far", 90, 6), desk].into();
    let most_of = |stream: Stream, condition| stream.optimal(&config, Instant::ZERO, config.radio, condition);
    let unharmed = Condition::default();
    let near = most_of(stream(0, Direction::Down), unharmed);
    assert!(near > most() && near < mbps(54), "{near}");
    assert!(most_of(stream(1, Direction::Down), unharmed) < near);
    let cable = most_of(stream(2, Direction::Up), unharmed);
    assert_eq!(cable, Bitrate::from_bps(15_000_000 * 1_472 / 1_500));
    let gone = Condition {
        gone: true,
        ..unharmed
    };
    assert_eq!(most_of(stream(0, Direction::Down), gone), Bitrate::ZERO);
    let shares = |link, direction| stream(link, direction).shares(&config);
    assert_eq!(shares(0, Direction::Up), shares(1, Direction::Down));
    assert_ne!(shares(2, Direction::Up), shares(2, Direction::Down));
}

#[test]
fn the_backhaul_caps_an_access_point() {
    let slow = Condition {
        rate: Some(mbps(15)),
        ..Condition::default()
    };
    let links = vec![wifi("near", 3, 6)];
    assert_eq!(
        down(links, Instant::ZERO, &[slow]),
        Bitrate::from_bps(15_000_000 * 1_448 / 1_500)
    );
}

#[test]
fn cables_and_cells_add_their_payload() {
    let cable = LinkConfig::Cable(CableConfig::symmetric("c", mbps(15), Duration::ZERO));
    let cell = LinkConfig::Cell(CellConfig::constant("l", mbps(30), Duration::ZERO));
    let sum = down(vec![cable, cell], Instant::ZERO, &[]);
    assert_eq!(sum, Bitrate::from_kbps(45_000 * 1_448 / 1_500));
}

#[test]
fn a_shared_bottleneck_counts_once() {
    let behind = |name| {
        LinkConfig::Cable(CableConfig {
            behind: Some(0),
            ..CableConfig::symmetric(name, mbps(999), Duration::ZERO)
        })
    };
    let mut config = NetworkConfig::from(vec![behind("a"), behind("b")]);
    config.bottlenecks.push(BottleneckConfig {
        name: "shared".into(),
        up: mbps(3),
        down: mbps(15),
        queue: QueueConfig::default(),
    });
    let carried = |direction| optimal(&config, direction, Instant::ZERO, at(0), &[]);
    assert_eq!(carried(Direction::Down), payload(mbps(15)));
    assert_eq!(carried(Direction::Up), payload(mbps(3)));
}

#[test]
fn a_trace_counts_the_second_that_begins() {
    // Ten opportunities in the first second of every three, none in the second.
    let trace: Vec<_> = (0..10)
        .map(|n| Duration::from_millis(n * 100))
        .chain([Duration::from_millis(3_000)])
        .collect();
    let cell = LinkConfig::Cell(CellConfig::traced("l", trace.clone(), trace, Duration::ZERO));
    let carried = |ms| down(vec![cell.clone()], Instant::from_millis(ms), &[]);
    let opportunities = |count: u64| payload(Bitrate::from_bps(count * 12_000));
    assert_eq!(carried(0), opportunities(10));
    assert_eq!(carried(550), opportunities(4));
    assert_eq!(carried(1_000), Bitrate::ZERO);
    // The last one of a period and the first of the next coincide.
    assert_eq!(carried(3_000), opportunities(11));
    assert_eq!(carried(6_450), opportunities(5));
}

#[test]
fn holes_count_nothing() {
    let mut config = CellConfig::constant("l", mbps(15), Duration::ZERO);
    config.holes.spans = vec![(Duration::from_millis(500), Duration::from_millis(400))];
    let carried = down(vec![LinkConfig::Cell(config)], Instant::ZERO, &[]);
    assert_eq!(carried, payload(mbps(9)));
}

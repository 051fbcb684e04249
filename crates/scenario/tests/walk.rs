//! `building-walk` on the models that will play it: which access point is best when, and where WiFi is poor.

use links::wifi::{Join, Propagation, Radio, Wall, WifiConfig, goodput};
use links::{Direction, Position};
use scenario::{AccessPoint, Plan, Point, load};
use std::path::Path;
use units::wifi::Standard;
use units::{Bitrate, Db, Duration};

/// Another access point is best once it is this much stronger than the last one: flutter does not count.
const HYSTERESIS: Db = Db::from_db(3);

fn plan() -> Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/building-walk.toml");
    load(&path, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn position(point: Point) -> Position {
    Position {
        x_mm: point.x_mm,
        y_mm: point.y_mm,
    }
}

fn walls(plan: &Plan) -> Vec<Wall> {
    let wall = |wall: &scenario::Wall| Wall {
        from: position(wall.from),
        to: position(wall.to),
        loss: wall.loss,
    };
    plan.place.walls.iter().map(wall).collect()
}

fn config(ap: &AccessPoint) -> WifiConfig {
    let said = ap.propagation;
    let propagation = Propagation {
        reference: said.reference,
        exponent_centi: said.exponent_centi,
        implementation_loss: said.implementation_loss,
        ..Propagation::indoor(ap.standard)
    };
    WifiConfig {
        power: ap.tx_power,
        standard: ap.standard,
        propagation,
        ..WifiConfig::new("ap", position(ap.at))
    }
}

/// Mean signal-to-noise ratio of every access point, towards the client, at that time.
fn snrs(plan: &Plan, at: Duration) -> Vec<Db> {
    let (client, walls) = (plan.client(), walls(plan));
    let radio = Radio {
        position: position(client.position(at)),
        power: client.tx_power,
    };
    plan.access_points()
        .map(|(_, ap)| config(ap).snr(Direction::Down, radio, &walls))
        .collect()
}

fn moments(plan: &Plan) -> impl Iterator<Item = Duration> + use<> {
    (0..plan.duration.as_millis() as u64)
        .step_by(100)
        .map(Duration::from_millis)
}

#[test]
fn the_best_access_point_changes_at_least_four_times() {
    let plan = plan();
    let mut best: Vec<usize> = Vec::new();
    for at in moments(&plan) {
        let snrs = snrs(&plan, at);
        let strongest = (0..snrs.len()).max_by_key(|&ap| snrs[ap]).unwrap();
        if best
            .last()
            .is_none_or(|&last| snrs[strongest] > snrs[last] + HYSTERESIS)
        {
            best.push(strongest);
        }
    }
    assert!(best.len() > 4, "{best:?}");
    let mut different = best.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), 5, "each is best somewhere: {best:?}");
}

#[test]
fn wifi_is_poor_only_in_the_stair_well() {
    let plan = plan();
    let best_mbps = |at| {
        let best = snrs(&plan, at).into_iter().max().unwrap();
        goodput(Standard::G, None, best).as_mbps_f64()
    };
    let poor: Vec<Duration> = moments(&plan).filter(|&at| best_mbps(at) < 11.0).collect();
    assert!(
        (50..120).contains(&poor.len()),
        "poor for {} tenths of a second",
        poor.len()
    );
    let in_the_well = |at: &Duration| (24_000..34_100).contains(&plan.client().position(*at).x_mm);
    assert!(poor.iter().all(in_the_well), "{poor:?}");
}

#[test]
fn one_access_point_carries_twenty_two_megabits() {
    let plan = plan();
    let goodputs = moments(&plan)
        .flat_map(|at| snrs(&plan, at))
        .map(|snr| goodput(Standard::G, None, snr));
    let best = goodputs.max().unwrap();
    assert!(
        (Bitrate::from_mbps(20)..=Bitrate::from_mbps(25)).contains(&best),
        "{best}"
    );
}

#[test]
fn defaults_are_those_of_the_models() {
    for standard in [Standard::A, Standard::B, Standard::G] {
        let (ours, theirs) = (
            scenario::Propagation::indoor(standard),
            Propagation::indoor(standard),
        );
        assert_eq!(ours.reference, theirs.reference);
        assert_eq!(ours.exponent_centi, theirs.exponent_centi);
        assert_eq!(ours.noise_figure, theirs.noise_figure);
        assert_eq!(ours.implementation_loss, theirs.implementation_loss);
    }
    let (ours, theirs) = (scenario::Join::default(), Join::default());
    assert_eq!(
        (ours.scan, ours.associate, ours.dhcp),
        (theirs.scan, theirs.associate, theirs.dhcp)
    );
}

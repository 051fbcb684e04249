//! Every shipped scenario is read, and shows what its name promises.

use scenario::{Change, Effect, FaultTarget, LaneRate, LinkKind, Plan, RateControl, Synthetic, Target, load};
use std::path::{Path, PathBuf};
use units::{Bitrate, Duration};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn shipped(name: &str) -> Plan {
    load(&directory().join(format!("{name}.toml")), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_shipped_scenario_is_valid_and_has_a_sentence() {
    let names = names();
    let promised = [
        "break-before-make",
        "building-walk",
        "dead-but-up",
        "fading",
        "flapping",
        "train",
        "two-homes",
    ];
    assert!(
        promised
            .iter()
            .all(|name| names.iter().any(|known| known == name)),
        "{names:?}"
    );
    for name in names {
        let plan = shipped(&name);
        assert_eq!(plan.name, name);
        assert!(
            plan.sentence.len() > 30 && plan.sentence.ends_with('.'),
            "{name}: {}",
            plan.sentence
        );
        assert!(
            (20..=60).contains(&plan.duration.as_secs()),
            "{name}: {:?}",
            plan.duration
        );
        assert_eq!((plan.cc.as_str(), plan.server_subflows), ("reno", 2), "{name}");
        assert!(!plan.expectations.is_empty(), "{name} expects nothing");
        assert!(plan.links.len() >= 2, "{name} has nothing to choose from");
    }
}

#[test]
fn building_walk_is_the_main_experiment() {
    let plan = shipped("building-walk");
    let aps: Vec<_> = plan.access_points().map(|(_, ap)| ap).collect();
    assert_eq!(aps.len(), 5);
    assert!(
        aps.iter()
            .all(|ap| ap.channel == 6 && ap.rate == RateControl::Auto)
    );
    assert_eq!(plan.duration, Duration::from_secs(60));
    let Some(LinkKind::Cell(lte)) = plan.link("lte").map(|link| &link.kind) else {
        panic!("no LTE")
    };
    assert_eq!(lte.down, LaneRate::Constant(Bitrate::from_mbps(12)));
    assert_eq!(lte.rtt, Duration::from_millis(60));
}

#[test]
fn dead_but_up_kills_the_fastest_link_without_a_sign() {
    let happenings = shipped("dead-but-up").timeline(1);
    let [only] = happenings[..] else {
        panic!("{happenings:?}")
    };
    assert_eq!(
        (only.whom, only.effect),
        (FaultTarget::Link(0), Effect::Blackhole(true))
    );
}

#[test]
fn break_before_make_takes_every_link_for_five_seconds() {
    let plan = shipped("break-before-make");
    let happenings = plan.timeline(1);
    let downs: Vec<_> = happenings
        .iter()
        .filter(|h| h.effect == Effect::Down(true))
        .collect();
    assert_eq!(downs.len(), plan.links.len());
    let back = happenings
        .iter()
        .position(|h| h.effect == Effect::Down(false))
        .unwrap();
    assert_eq!(happenings[back].at - downs[0].at, Duration::from_secs(5));
    // The new address is there before the link says that it is back.
    assert_eq!(happenings[back - 1].effect, Effect::NewAddress);
    assert_eq!(happenings[back - 1].whom, happenings[back].whom);
}

#[test]
fn flapping_goes_down_and_up_every_two_seconds() {
    let happenings = shipped("flapping").timeline(1);
    let of = |effect| {
        happenings
            .iter()
            .filter(move |h| h.effect == effect)
            .map(|h| h.at.as_secs())
    };
    assert!(of(Effect::Down(true)).eq((5..30).step_by(2)));
    assert!(of(Effect::Down(false)).eq((6..30).step_by(2)));
}

#[test]
fn train_has_holes_of_half_a_second_to_three_seconds() {
    let plan = shipped("train");
    let Some(LinkKind::Cell(lte)) = plan.link("lte").map(|link| &link.kind) else {
        panic!("no LTE")
    };
    for seed in 1..=20 {
        let holes = lte.holes.drawn(seed, "lte", plan.duration);
        assert!(holes.len() >= 4, "seed {seed}: {holes:?}");
        let bounds = Duration::from_millis(500)..=Duration::from_secs(3);
        assert!(
            holes.iter().all(|hole| bounds.contains(&hole.lasts)),
            "seed {seed}: {holes:?}"
        );
        assert!(
            holes
                .windows(2)
                .all(|pair| pair[0].at + pair[0].lasts < pair[1].at),
            "seed {seed}"
        );
        assert_eq!(holes, lte.holes.drawn(seed, "lte", plan.duration));
    }
}

#[test]
fn two_homes_share_one_private_network() {
    let plan = shipped("two-homes");
    let subnets: Vec<_> = plan
        .links
        .iter()
        .map(|link| link.subnet.unwrap().to_string())
        .collect();
    assert_eq!(subnets, ["192.168.1.0/24", "192.168.1.0/24"]);
}

#[test]
fn fading_lowers_the_signal_linearly_for_five_seconds() {
    let plan = shipped("fading");
    let [fault] = &plan.faults[..] else {
        panic!("{:?}", plan.faults)
    };
    assert!(matches!(fault.change, Change::Fade { .. }) && fault.target == Target::Links(vec![0]));
    let levels: Vec<i32> = plan
        .timeline(1)
        .iter()
        .map(|happening| match happening.effect {
            Effect::Attenuation(loss) => loss.as_centi(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((levels.len(), levels[0], levels[49]), (50, 140, 7_000));
    assert!(levels.is_sorted());
}

#[test]
fn the_shipped_trace_is_what_its_generator_makes() {
    let made: String = Synthetic::LTE_GAPS
        .times_ms()
        .iter()
        .map(|ms| format!("{ms}\n"))
        .collect();
    let shipped = std::fs::read_to_string(directory().join("traces/lte-gaps.down")).unwrap();
    assert!(
        made == shipped,
        "run `cargo run -p scenario --example lte_trace > scenarios/traces/lte-gaps.down`"
    );
}

#[test]
fn the_shipped_trace_has_its_rate_and_its_gaps() {
    let plan = shipped("lte-gaps");
    let Some(LinkKind::Cell(lte)) = plan.link("lte").map(|link| &link.kind) else {
        panic!("no LTE")
    };
    let LaneRate::Trace(trace) = &lte.down else {
        panic!("no trace")
    };
    assert_eq!(trace.period(), Duration::from_secs(60));
    let mbps = trace.mean().as_mbps_f64();
    assert!((4.0..8.0).contains(&mbps), "{mbps}");
    let gaps = trace
        .times_ms()
        .windows(2)
        .filter(|pair| pair[1] - pair[0] >= 500)
        .count();
    assert!((6..=13).contains(&gaps), "{gaps} gaps");
    assert!(
        trace.longest_gap() < Duration::from_millis(600),
        "{:?}",
        trace.longest_gap()
    );
}

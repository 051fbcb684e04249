//! TCP and MPTCP on the coarse medium: what one access point carries, what the other one costs, and what the
//! engine learns of both.

mod common;

use common::plan;
use sim::{Play, Played, play};
use trace::{PolicyName, What};

/// The good one carries 23.2 Mb/s alone: a packet with 1,448 bytes of payload every 0.5 ms.
const SCENARIO: &str = include_str!("../../../papers/steering/scenario-1.toml");
const ALONE_MBPS: f64 = 1_448.0 * 8.0 / 500.0;

fn played(policy: PolicyName, settings: &[&str]) -> Played {
    let settings: Vec<&str> = ["duration_s=8"].iter().chain(settings).copied().collect();
    let plan = plan(SCENARIO, &settings);
    play(&Play::new(&plan, policy)).unwrap_or_else(|error| panic!("{error}"))
}

/// Megabits per second after the first four seconds.
fn mbps(played: &Played) -> f64 {
    played.run.goodput_series[40..].iter().sum::<u64>() as f64 * 8e-6 / 4.0
}

#[test]
fn tcp_fills_the_air_of_its_access_point() {
    let good = played(PolicyName::Tcp("good".to_owned()), &[]);
    assert!(
        (0.97..=1.0).contains(&(mbps(&good) / ALONE_MBPS)),
        "{}",
        mbps(&good)
    );
    assert!(
        (good.run.optimal_mbps - ALONE_MBPS).abs() < 0.01,
        "{}",
        good.run.optimal_mbps
    );
    // What a loss has held back before is read in these seconds.
    let poor = played(PolicyName::Tcp("poor".to_owned()), &[]);
    assert!(
        (0.95..=1.05).contains(&(mbps(&poor) * 6.0 / ALONE_MBPS)),
        "{}",
        mbps(&poor)
    );
    let behind = ["aps.good.backhaul.rate_mbps=10"];
    let slow = mbps(&played(PolicyName::Tcp("good".to_owned()), &behind));
    assert!((9.2..=9.66).contains(&slow), "{slow}");
}

/// nsdi15 §6.2.1: "MPTCP alone fares poorly".
#[test]
fn the_poor_access_point_costs_the_good_one_most_of_its_air() {
    let both = played(PolicyName::Mptcp, &["aps.poor.wfq.weight=4"]);
    assert!(mbps(&both) < 0.5 * ALONE_MBPS, "{}", mbps(&both));
}

#[test]
fn the_engine_learns_the_packet_times_and_marks_the_poor_one() {
    let marked = played(PolicyName::Ecn, &[]);
    let marks = |name: &str| {
        let mut paths = marked.run.flows[0].paths.iter();
        paths
            .find(|path| path.link == name)
            .map_or(0, |path| path.ce_marks)
    };
    assert!(
        marks("poor") > 0 && marks("good") == 0,
        "{:?}",
        marked.run.flows[0].paths
    );
    let whys = marked.record.events.iter().filter_map(|event| match &event.what {
        What::Decision { link, verb, why, .. } if verb == "mark" && link.as_deref() == Some("poor") => {
            Some(why)
        }
        _ => None,
    });
    let whys: Vec<&String> = whys.collect();
    assert!(
        whys.iter().any(|why| why.contains("a packet takes 3")),
        "{whys:?}"
    );
}

//! Energy that the client's radios spend in virtual time.

mod common;

use common::{CELL, ONE, plan};
use sim::{Play, Played, play};
use trace::PolicyName;

fn played(text: &str, settings: &[&str]) -> Played {
    let plan = plan(text, settings);
    play(&Play::new(&plan, PolicyName::Slowhand)).unwrap()
}

/// WiFi energy of Huang et al. 2012: promotion, active time per second, per megabit down and up, and tail, in
/// J.
const PROMOTION: f64 = 0.124 * 0.079;
const ACTIVE: f64 = 0.133;
const DOWN: f64 = 0.137;
const UP: f64 = 0.283;
const TAIL: f64 = 0.119 * 0.240;

/// Megabits of packets that arrived.
fn megabits(played: &Played, flow: usize) -> f64 {
    played.run.flows[flow].bytes as f64 * 8e-6 * 1_498.0 / 1_470.0
}

#[test]
fn a_clients_radio_spends_the_energy_of_the_paper() {
    let down = played(ONE, &[]);
    // Active in every interval of 100 ms for two seconds.
    let expected = PROMOTION + 2.0 * ACTIVE + DOWN * megabits(&down, 0) + TAIL;
    assert!(
        (down.run.energy_j - expected).abs() < 1e-4,
        "{} {expected}",
        down.run.energy_j
    );
    let up = played(&ONE.replace("\"down\"", "\"up\""), &[]);
    let expected = PROMOTION + 2.0 * ACTIVE + UP * megabits(&up, 0) + TAIL;
    assert!(
        (up.run.energy_j - expected).abs() < 1e-4,
        "{} {expected}",
        up.run.energy_j
    );
}

#[test]
fn more_traffic_costs_more_and_traffic_of_others_costs_nothing() {
    let limited = |mbps: u32| {
        let limit = format!("flows.download.limit_mbps={mbps}");
        played(ONE, &[&limit]).run.energy_j
    };
    let costs = [1, 4, 16].map(limited);
    assert!(0.0 < costs[0] && costs.is_sorted_by(|a, b| a < b), "{costs:?}");
    let theirs = "by = \"other\"\ndirection";
    let other = format!(
        "{}\n[walkers.other]\nat_m = [0, 5]\n",
        ONE.replace("direction", theirs)
    );
    let other = played(&other, &[]);
    assert!(other.run.flows[0].bytes > 0);
    assert_eq!(other.run.energy_j, 0.0);
}

#[test]
fn a_modems_tail_costs_energy_and_a_cable_costs_none() {
    let one = ["flows.down={ transport = \"udp\", over = \"lte\", direction = \"down\", every_ms = 1500 }"];
    let spent = played(CELL, &one).run.energy_j;
    // One datagram in the first 100 ms, and one in the sixteenth interval. Between them and afterwards a tail
    // of 11.6 s at 1.06 W.
    let promoted = 1.211 * 0.260 + 1.288 * 0.2 + 1.06 * (1.4 + 11.6);
    let data = 2.0 * 0.052 * 1_498.0 * 8e-6;
    assert!(
        (spent - promoted - data).abs() < 1e-3,
        "{spent} {promoted} {data}"
    );
    let cable = played(&CELL.replace("cells", "cables"), &[]);
    assert!(cable.run.flows[0].bytes > 0);
    assert_eq!(cable.run.energy_j, 0.0);
}

/// A datagram every 0.6 s, each followed by a tail of 0.24 s unless the radio sleeps.
#[test]
fn a_client_that_saves_power_spends_less() {
    let [awake, sleeping] = ["false", "true"].map(|saves| {
        let saves = format!("walkers.client.power_save={saves}");
        played(ONE, &["flows.download.limit_mbps=0.02", &saves])
            .run
            .energy_j
    });
    assert!(sleeping > 0.0 && sleeping < 0.6 * awake, "{sleeping} {awake}");
}

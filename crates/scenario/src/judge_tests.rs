//! What moved nothing.

use super::*;

const PLAN: &str = "\
sentence = \"x\"
duration_s = 10
[cables.a]
rate_mbps = 1
rtt_ms = 1
[flows.first]
direction = \"down\"
[flows.second]
direction = \"down\"
";

fn plan(expect: &str) -> Plan {
    let text = format!("{PLAN}[[expect]]\npolicy = \"slowhand\"\n{expect}\n");
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    crate::parse("test.toml", text.as_bytes(), &[], &no_files).unwrap_or_else(|problems| panic!("{problems}"))
}

fn run(policy: PolicyName, moved: [u64; 2]) -> Run {
    let flow = |name: &str, bytes: u64| Flow {
        name: name.to_owned(),
        bytes,
        goodput_mbps: bytes as f64 * 8e-7,
        intact: Some(true),
        first_byte_ms: (bytes > 0).then_some(1.0),
        longest_stall_ms: 0.0,
        stall_total_ms: 0.0,
        stalls: 0,
        datagrams: None,
        delay: None,
        jitter_ms: None,
        paths: Vec::new(),
    };
    Run {
        policy,
        case: trace::Case::default(),
        cc: None,
        server: "stock".to_owned(),
        seed: 1,
        duration_s: 10.0,
        flows: vec![flow("first", moved[0]), flow("second", moved[1])],
        links: Vec::new(),
        stations: Vec::new(),
        channels: Vec::new(),
        warmup_s: 0.0,
        energy_j: 0.0,
        optimal_mbps: 1.0,
        goodput_series: Vec::new(),
        levels: trace::Levels::default(),
        notes: Vec::new(),
    }
}

/// What becomes of an expectation, where slowhand moves this much and stock MPTCP nothing.
fn judged(expect: &str, moved: [u64; 2]) -> Vec<(Outcome, String)> {
    let runs = [run(PolicyName::Slowhand, moved), run(PolicyName::Mptcp, [0, 0])];
    let verdicts = judge(&plan(expect), &runs);
    verdicts
        .into_iter()
        .map(|verdict| (verdict.outcome, verdict.to_string()))
        .collect()
}

/// Every condition there is, of a flow that moves something.
const CONDITIONS: [&str; 7] = [
    "intact = true",
    "longest_stall_ms_max = 100",
    "stall_total_ms_max = 100",
    "first_byte_ms_max = 100",
    "goodput_mbps_min = 0.001",
    "moved_mb_min = 0.000001",
    "vs = { policy = \"mptcp\", min = 1 }",
];

#[test]
fn no_condition_holds_for_a_flow_without_bytes() {
    for condition in CONDITIONS {
        let expect = format!("flow = \"first\"\n{condition}");
        for (moved, outcome) in [([1_000_000, 0], Outcome::Holds), ([0, 1_000_000], Outcome::Fails)] {
            let judged = judged(&expect, moved);
            assert_eq!(judged.len(), 1, "{condition}");
            assert_eq!(judged[0].0, outcome, "{}", judged[0].1);
        }
    }
    assert_eq!(
        judged("flow = \"second\"\nintact = true", [5, 0])[0].1,
        "DOES NOT HOLD: slowhand (seed 1): second: data arrives intact; result: no byte moved by second"
    );
}

#[test]
fn every_judged_flow_must_move_bytes() {
    for condition in &CONDITIONS[..4] {
        assert_eq!(judged(condition, [5_000, 0])[0].0, Outcome::Fails, "{condition}");
    }
    for condition in &CONDITIONS[4..] {
        assert_eq!(judged(condition, [5_000, 0])[0].0, Outcome::Holds, "{condition}");
        assert_eq!(judged(condition, [0, 0])[0].0, Outcome::Fails, "{condition}");
    }
}

//! What a plan answers when a world asks it: faults in time, holes, and verdicts at the end.

use scenario::{Effect, FaultTarget, Outcome, Plan, judge, parse};
use trace::{Flow, Run};
use units::{Bitrate, Bytes, Db, Duration};

const BASE: &str = r#"
sentence = "Two cables and an access point."
duration_s = 20
[cables.a]
down_mbps = 50
up_mbps = 5
rtt_ms = 20
[cables.b]
rate_mbps = 50
rtt_ms = 30
[aps.c]
at_m = [0, 0]
channel = 1
backhaul = { rate_mbps = 100, rtt_ms = 5 }
[walkers.client]
at_m = [1, 1]
[flows.down]
direction = "down"
[flows.up]
direction = "up"
size_mb = 2
"#;

fn plan(more: &str) -> Plan {
    let text = format!("{BASE}{more}");
    parse("plan.toml", text.as_bytes(), &[], &|_| {
        Err(std::io::ErrorKind::NotFound.into())
    })
    .unwrap_or_else(|problems| panic!("{problems}"))
}

/// Milliseconds, link and effect of everything that happens.
fn happenings(more: &str) -> Vec<(u128, FaultTarget, Effect)> {
    plan(more)
        .timeline(1)
        .iter()
        .map(|h| (h.at.as_millis(), h.whom, h.effect))
        .collect()
}

#[test]
fn a_fault_begins_ends_and_begins_again() {
    let found = happenings(
        "[[faults]]\nlink = \"b\"\nkind = \"blackhole\"\nat_s = 2\nfor_s = 1\nevery_s = 4\ntimes = 3\n",
    );
    let b = FaultTarget::Link(1);
    let expected = [2, 6, 10].into_iter().flat_map(|s| {
        [
            (s * 1_000, b, Effect::Blackhole(true)),
            (s * 1_000 + 1_000, b, Effect::Blackhole(false)),
        ]
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn a_rate_goes_back_to_what_the_plan_says() {
    let found = happenings("[[faults]]\nlink = \"a\"\nkind = \"rate\"\nrate_mbps = 3\nat_s = 2\nfor_s = 5\n");
    let (slow, up, down) = (
        Bitrate::from_mbps(3),
        Bitrate::from_mbps(5),
        Bitrate::from_mbps(50),
    );
    assert_eq!(
        found,
        [
            (2_000, FaultTarget::Link(0), Effect::Rate { up: slow, down: slow }),
            (7_000, FaultTarget::Link(0), Effect::Rate { up, down }),
        ]
    );
}

#[test]
fn the_backhaul_of_an_access_point_has_rates_too() {
    let found = happenings("[[faults]]\nlink = \"c\"\nkind = \"rate\"\nrate_mbps = 3\nat_s = 2\nfor_s = 5\n");
    let at = |ms, rate| {
        let rate = Bitrate::from_mbps(rate);
        (ms, FaultTarget::Link(2), Effect::Rate { up: rate, down: rate })
    };
    assert_eq!(found, [at(2_000, 3), at(7_000, 100)]);
}

#[test]
fn a_fade_lowers_the_signal_in_steps_and_raises_it_again() {
    let found = happenings(
        "[[faults]]\nlink = \"c\"\nkind = \"fade\"\nloss_db = 30\nover_s = 0.25\nat_s = 2\nfor_s = 3\n",
    );
    let c = FaultTarget::Link(2);
    let at = |ms, db| (ms, c, Effect::Attenuation(Db::from_db(db)));
    assert_eq!(
        found,
        [
            at(2_083, 10),
            at(2_166, 20),
            at(2_250, 30),
            at(5_083, 20),
            at(5_166, 10),
            at(5_250, 0)
        ]
    );
}

#[test]
fn the_busiest_link_is_one_and_the_same_for_each_round() {
    let found = happenings(
        "[[faults]]\nlink = \"busiest\"\nkind = \"down\"\nat_s = [3, 8]\nfor_s = 1\nevery_s = 6\ntimes = 2\n",
    );
    let rounds: Vec<FaultTarget> = found.iter().map(|&(_, whom, _)| whom).collect();
    let round = |round| FaultTarget::Busiest { round };
    assert_eq!(rounds, [round(0), round(0), round(1), round(1)]);
    assert!((3_000..=8_000).contains(&found[0].0));
}

#[test]
fn the_seed_changes_only_drawn_times() {
    let plan = plan("[[faults]]\nlink = \"all\"\nkind = \"down\"\nat_s = [3, 8]\n");
    let first = |seed| plan.timeline(seed)[0].at;
    let times: std::collections::BTreeSet<Duration> = (0..50).map(first).collect();
    assert!(times.len() > 40, "{times:?}");
    assert!(times.iter().all(|at| (3..8).contains(&at.as_secs())));
    assert_eq!(plan.timeline(7).len(), 3);
}

#[test]
fn a_shared_bottleneck_gives_its_rate_to_the_cables_behind_it() {
    let plan = plan(
        "[bottlenecks.street]\nrate_mbps = 40\naqm = \"codel\"\n[cables.x]\nbehind = \"street\"\nrtt_ms = 20\n\
         [cables.y]\nbehind = \"street\"\nrtt_ms = 20\n",
    );
    let behind: Vec<Option<usize>> = plan
        .links
        .iter()
        .filter_map(|link| match &link.kind {
            scenario::LinkKind::Cable(cable) => Some(cable.behind),
            _ => None,
        })
        .collect();
    assert_eq!(behind, [None, None, Some(0), Some(0)]);
    assert_eq!(plan.bottlenecks[0].down, Bitrate::from_mbps(40));
}

#[test]
fn a_count_becomes_several_flows() {
    let plan = plan("[flows.other]\ntransport = \"tcp\"\nover = \"b\"\ndirection = \"down\"\ncount = 2\n");
    let names: Vec<&str> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["down", "up", "other-1", "other-2"]);
    assert_eq!(plan.flows[2].transport, scenario::Transport::Tcp { over: 1 });
}

#[test]
fn the_picture_has_links_walkers_and_faults_in_words() {
    let drawn = plan("[[faults]]\nlink = \"c\"\nkind = \"blackhole\"\nat_s = 2\nfor_s = 1\n").to_trace();
    assert_eq!(drawn.links[2].channel, Some(1));
    assert_eq!(drawn.links[0].rate_mbps, Some(50.0));
    assert_eq!(
        (drawn.walkers[0].points[0].x_m, drawn.walkers[0].points[0].y_m),
        (1.0, 1.0)
    );
    let words: Vec<(f64, &str)> = drawn
        .faults
        .iter()
        .map(|fault| (fault.t_s, fault.what.as_str()))
        .collect();
    assert_eq!(
        words,
        [(2.0, "drops everything silently"), (3.0, "delivers again")]
    );
}

fn run(policy: &str, bytes: u64, stall_ms: f64) -> Run {
    let flow = |name: &str| Flow {
        name: name.to_owned(),
        bytes,
        goodput_mbps: bytes as f64 * 8e-6 / 20.0,
        intact: Some(true),
        first_byte_ms: Some(40.0),
        longest_stall_ms: stall_ms,
        stall_total_ms: stall_ms,
        stalls: 1,
        ..Flow::default()
    };
    Run {
        cc: Some("reno".to_owned()),
        optimal_mbps: 100.0,
        ..Run::of_flows(policy.parse().unwrap(), 1, 20.0, vec![flow("down"), flow("up")])
    }
}

/// The outcome of one expectation about `slowhand`.
fn outcome(condition: &str, runs: &[Run]) -> Outcome {
    let plan = plan(&format!("[[expect]]\npolicy = \"slowhand\"\n{condition}\n"));
    let [verdict] = &judge(&plan, runs)[..] else {
        panic!("one condition, one verdict")
    };
    verdict.outcome
}

#[test]
fn conditions_hold_up_to_their_limit_and_fail_beyond() {
    let ours = run("slowhand", 100_000_000, 300.0);
    let best = run("tcp-best", 80_000_000, 900.0);
    let runs = [ours, best];
    let table = [
        ("intact = true", Outcome::Holds),
        ("longest_stall_ms_max = 300", Outcome::Holds),
        ("longest_stall_ms_max = 299.9", Outcome::Fails),
        ("stall_total_ms_max = 299", Outcome::Fails),
        ("first_byte_ms_max = 40", Outcome::Holds),
        ("first_byte_ms_max = 39", Outcome::Fails),
        ("goodput_mbps_min = 80", Outcome::Holds),
        ("goodput_mbps_min = 81", Outcome::Fails),
        ("flow = \"down\"\ngoodput_mbps_min = 41", Outcome::Fails),
        ("flow = \"down\"\nmoved_mb_min = 100", Outcome::Holds),
        ("flow = \"down\"\nmoved_mb_min = 101", Outcome::Fails),
        ("vs_tcp_best_min = 1.25", Outcome::Holds),
        ("vs_tcp_best_min = 1.26", Outcome::Fails),
        ("vs = { policy = \"tcp-best\", min = 1.2 }", Outcome::Holds),
        ("vs = { policy = \"mptcp\", min = 1.2 }", Outcome::NotRun),
        ("vs_optimal_min = 0.8", Outcome::Holds),
        ("vs_optimal_min = 0.81", Outcome::Fails),
    ];
    for (condition, expected) in table {
        assert_eq!(outcome(condition, &runs), expected, "{condition}");
    }
}

#[test]
fn corrupted_data_and_a_missing_run_are_distinguished() {
    let mut broken = run("slowhand", 1, 0.0);
    broken.flows[1].intact = Some(false);
    let plan = plan("[[expect]]\npolicy = \"slowhand\"\nintact = true\n");
    let verdicts = judge(&plan, &[broken]);
    assert_eq!(verdicts[0].outcome, Outcome::Fails);
    assert_eq!(
        verdicts[0].to_string(),
        "DOES NOT HOLD: slowhand (seed 1): data arrives intact; result: corrupted in up"
    );
    let absent = judge(&plan, &[run("mptcp", 1, 0.0)]);
    assert_eq!(absent[0].outcome, Outcome::NotRun);
}

#[test]
fn every_seed_is_judged_by_itself() {
    let mut second = run("slowhand", 1, 900.0);
    second.seed = 2;
    let plan = plan("[[expect]]\npolicy = \"slowhand\"\nlongest_stall_ms_max = 500\n");
    let outcomes: Vec<(u64, Outcome)> = judge(&plan, &[second, run("slowhand", 1, 10.0)])
        .iter()
        .map(|verdict| (verdict.seed, verdict.outcome))
        .collect();
    assert_eq!(outcomes, [(1, Outcome::Holds), (2, Outcome::Fails)]);
}

#[test]
fn datagrams_alone_have_no_congestion_controller() {
    let radio = "[flows.radio]\ntransport = \"udp\"\nover = \"c\"\ndirection = \"down\"\n";
    let mut plan = plan(radio);
    assert!(plan.sends_by_tcp(), "down and up are MPTCP");
    plan.flows.retain(|flow| flow.name == "radio");
    assert!(!plan.sends_by_tcp());
    plan.flows[0].transport = scenario::Transport::Tcp { over: 0 };
    assert!(plan.sends_by_tcp());
}

#[test]
fn datagrams_have_a_pace() {
    let plan = |pace: &str| {
        let text = format!(
            "sentence = \"x\"\nduration_s = 1\n[aps.a]\nat_m = [1, 0]\nchannel = 6\nbackhaul = {{ rate_mbps = 10, rtt_ms = 2 }}\n\
             [walkers.client]\nat_m = [0, 0]\n[flows.f]\ntransport = \"udp\"\nover = \"a\"\ndirection = \"everyone\"\npayload_bytes = 1000\n{pace}\n"
        );
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        scenario::parse("x.toml", text.as_bytes(), &[], &no_files)
            .unwrap()
            .flows[0]
            .clone()
    };
    for (pace, expected) in [
        ("every_ms = 100", Duration::from_millis(100)),
        ("limit_mbps = 4", Duration::from_millis(2)),
    ] {
        let flow = plan(pace);
        assert_eq!(flow.transport, scenario::Transport::Udp { over: 0 });
        let work = scenario::Work::Datagrams {
            way: scenario::Way::Everyone,
            pace: scenario::Pace::Every(expected),
            payload: Bytes::new(1_000),
        };
        assert_eq!(flow.work, work);
    }
}

use super::series::{kbps, levels, merged, per_step};
use super::*;
use crate::{Event, Flow, LinkState, PlaySchema, PolicyName, RunStart, SubflowEvent, What};
use proptest::prelude::*;
use units::Instant;

fn at(millis: u64, what: What) -> Event {
    Event::new(Instant::from_millis(millis), what)
}

fn run(policy: &PolicyName, seed: u64) -> Run {
    let flow = Flow {
        name: "download".into(),
        bytes: 1_250,
        goodput_mbps: 0.01,
        intact: Some(true),
        first_byte_ms: Some(40.0),
        longest_stall_ms: 250.0,
        stall_total_ms: 250.0,
        stalls: 1,
        datagrams: None,
        delay: None,
        jitter_ms: None,
        paths: Vec::new(),
    };
    Run {
        policy: policy.clone(),
        case: crate::Case::default(),
        cc: Some("reno".into()),
        server: "stock".into(),
        seed,
        duration_s: 1.0,
        flows: vec![flow],
        links: Vec::new(),
        stations: Vec::new(),
        channels: Vec::new(),
        warmup_s: 0.0,
        energy_j: 0.0,
        optimal_mbps: 0.02,
        goodput_series: vec![1_250],
        levels: crate::Levels::default(),
        notes: Vec::new(),
    }
}

fn document(runs: Vec<Run>) -> PlayDocument {
    PlayDocument {
        schema: PlaySchema,
        scenario: "two".into(),
        world: World::Lab,
        seed: 7,
        runs,
        wall_s: 1.0,
    }
}

fn record(policy: PolicyName, seed: u64, rest: Vec<Event>) -> RunRecord {
    let start = RunStart {
        scenario: "two".into(),
        world: World::Lab,
        policy,
        cc: Some("reno".into()),
        server: "stock".into(),
        seed,
        plan: Plan {
            name: "two".into(),
            links: vec![crate::PlanLink::new("ap1", crate::LinkKind::Wifi)],
            ..Plan::default()
        },
    };
    let begin = at(0, What::RunStart(Box::new(start)));
    RunRecord {
        events: std::iter::once(begin).chain(rest).collect(),
    }
}

fn subflow(millis: u64, event: SubflowEvent, backup: bool) -> Event {
    at(
        millis,
        What::Subflow {
            conn: 1,
            link: "ap1".into(),
            event,
            backup,
        },
    )
}

#[test]
fn a_link_is_followed_from_up_to_active_to_gone() {
    let state = |millis, state| {
        at(
            millis,
            What::LinkState {
                link: "ap1".into(),
                state,
            },
        )
    };
    let events = vec![
        state(100, LinkState::Joining),
        state(200, LinkState::Up),
        subflow(300, SubflowEvent::Established, true),
        subflow(500, SubflowEvent::Priority, false),
        subflow(700, SubflowEvent::Closed, false),
        state(800, LinkState::Down),
    ];
    let comparison = Comparison::new(
        &[record(PolicyName::Slowhand, 7, events)],
        &document(vec![run(&PolicyName::Slowhand, 7)]),
    );
    let lanes: Vec<_> = comparison.tracks[0]
        .lanes
        .iter()
        .map(|l| (l.from_ms, l.to_ms, l.level))
        .collect();
    let expected = [
        (200, 300, LaneLevel::Up),
        (300, 500, LaneLevel::Backup),
        (500, 700, LaneLevel::Active),
        (700, 800, LaneLevel::Up),
    ];
    assert_eq!(lanes, expected);
}

#[test]
fn a_link_whose_subflow_is_replaced_stays_in_use() {
    let events = vec![
        subflow(100, SubflowEvent::Established, false),
        subflow(200, SubflowEvent::Requested, false),
        subflow(300, SubflowEvent::Refused, false),
        subflow(400, SubflowEvent::Established, false),
        subflow(401, SubflowEvent::Closed, false),
        subflow(700, SubflowEvent::Closed, false),
    ];
    let comparison = Comparison::new(
        &[record(PolicyName::Slowhand, 7, events)],
        &document(vec![run(&PolicyName::Slowhand, 7)]),
    );
    let lanes = comparison.tracks[0].lanes.iter();
    let lanes: Vec<_> = lanes.map(|lane| (lane.from_ms, lane.to_ms, lane.level)).collect();
    assert_eq!(lanes, [(100, 700, LaneLevel::Active)]);
}

fn bytes(millis: u64, flow: &str, bytes: u64) -> Event {
    let (flow, link) = (flow.to_owned(), "ap1".to_owned());
    at(millis, What::PathBytes { flow, link, bytes })
}

fn fault(millis: u64, applied: bool) -> Event {
    let (link, fault) = ("ap1".to_owned(), "drops".to_owned());
    at(millis, What::Fault { link, fault, applied })
}

fn decided(millis: u64, link: Option<&str>, why: &str) -> Event {
    let (verb, why, link) = ("remove".to_owned(), why.to_owned(), link.map(str::to_owned));
    at(
        millis,
        What::Decision {
            link,
            conn: None,
            verb,
            reason: String::new(),
            why,
        },
    )
}

fn window(millis: u64, conn: u32, bytes: Option<u64>) -> Event {
    at(
        millis,
        What::Window {
            conn,
            bytes,
            why: String::new(),
        },
    )
}

fn drawn(events: Vec<Event>) -> Track {
    let document = document(vec![run(&PolicyName::Slowhand, 7)]);
    let mut comparison = Comparison::new(&[record(PolicyName::Slowhand, 7, events)], &document);
    assert_eq!(comparison.bin_ms, 100);
    comparison.tracks.remove(0)
}

#[test]
fn bytes_become_rates_summed_over_flows() {
    let track = drawn(vec![
        bytes(100, "d", 1_000),
        bytes(200, "d", 3_000),
        bytes(200, "e", 500),
    ]);
    assert_eq!(track.paths.len(), 1);
    // Flow e has one sample: its 500 bytes lie evenly before it.
    assert_eq!(track.paths[0].kbps[..3], [100, 180, 0]);
    assert_eq!(track.goodput_kbps[..2], [100, 0], "from the result's own series");
}

#[test]
fn events_become_marks() {
    let stall = What::Stall {
        flow: "d".into(),
        from_ns: 350_000_000,
        to_ns: 600_000_000,
    };
    let track = drawn(vec![
        fault(250, true),
        fault(260, false),
        decided(300, Some("ap1"), "dead"),
        at(600, stall),
    ]);
    assert_eq!(track.faults.len(), 1, "a fault without effect is not drawn");
    assert_eq!((track.decisions[0].t_ms, track.decisions[0].link), (300, Some(0)));
    assert_eq!(
        track.stalls,
        [Span {
            from_ms: 350,
            to_ms: 600
        }]
    );
}

#[test]
fn windows_are_summed_over_connections() {
    let track = drawn(vec![
        window(310, 1, Some(400_000)),
        window(320, 2, Some(100_000)),
        window(450, 1, None),
    ]);
    assert_eq!(track.window_kb[2..6], [None, Some(500), Some(100), Some(100)]);
    assert!(track.queue_kb.is_empty());
}

#[test]
fn runs_are_labelled_and_rated_within_their_seed() {
    let tcp = PolicyName::Tcp("ap1".into());
    let mut short = document(vec![run(&PolicyName::Slowhand, 1), run(&PolicyName::Slowhand, 2)]);
    let mut single = run(&tcp, 2);
    single.duration_s = 10.0;
    single.goodput_series = vec![25; 100];
    short.runs.push(single);
    let comparison = Comparison::new(&[], &short);
    assert_eq!(comparison.tracks[1].label, "slowhand, seed 2");
    assert_eq!(
        comparison.tracks[0].figures.versus_best, None,
        "no tcp run with seed 1"
    );
    assert_eq!(comparison.tracks[1].figures.versus_best, Some(0.5));
    assert_eq!(comparison.tracks[1].figures.versus_optimal, Some(0.5));
    assert_eq!(comparison.tracks[1].figures.longest_stall_ms, Some(250.0));
}

#[test]
fn a_repeated_run_is_drawn_as_it_was_last() {
    let decided = |why| vec![decided(1, None, why)];
    let records = [
        record(PolicyName::Mptcp, 7, decided("late")),
        record(PolicyName::Mptcp, 7, decided("alone")),
    ];
    let comparison = Comparison::new(&records, &document(vec![run(&PolicyName::Mptcp, 7)]));
    assert_eq!(comparison.tracks[0].decisions[0].why, "alone");
}

#[test]
fn long_runs_get_longer_steps() {
    let mut long = run(&PolicyName::Mptcp, 7);
    long.duration_s = 600.0;
    long.goodput_series = vec![1_000; 6_000];
    let comparison = Comparison::new(&[], &document(vec![long]));
    assert_eq!(
        (comparison.bin_ms, comparison.tracks[0].goodput_kbps.len()),
        (500, 1_200)
    );
    assert!(comparison.tracks[0].goodput_kbps.iter().all(|kbps| *kbps == 80));
}

#[test]
fn a_level_is_unknown_until_it_is_known() {
    let samples = [(150, Some(1_500)), (250, None)];
    assert_eq!(levels(&samples, 100, 4), [None, Some(2), None, None]);
    assert!(levels(&[(1, None)], 100, 4).is_empty());
}

#[test]
fn neighbouring_steps_are_summed_and_missing_ones_are_zero() {
    assert_eq!(merged(&[1, 2, 3], 2, 4), [3, 3, 0, 0]);
    assert_eq!(kbps(&[1_000], 100), [80]);
}

proptest! {
    #[test]
    fn no_byte_is_lost_in_steps(gains in prop::collection::vec((0u64..300, 0u64..1_000_000), 0..60)) {
        let mut sample = (0, 0);
        let samples: Vec<(u64, u64)> = gains.iter().map(|(wait, bytes)| {
            sample = (sample.0 + wait, sample.1 + bytes);
            sample
        }).collect();
        let steps = (sample.0 / 100 + 1) as usize;
        let total: u64 = per_step(&samples, 100, steps).iter().sum();
        // Each step is rounded by itself.
        prop_assert!(total.abs_diff(sample.1) <= steps as u64, "{} of {}", total, sample.1);
    }
}

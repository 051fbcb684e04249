//! Whole runs: scenario in, result and record out.

mod plans;

use lab::stop::Stop;
use lab::without_bpf::without_bpf;
use lab::world::{Play, PlayError, Played, play};
use linux::bpf::WindowKind;
use plans::{DOWNLOAD, deep_cables, plan, two_cables};
use scenario::Plan;
use std::time::Instant;
use trace::{Event, LinkState, PolicyError, PolicyName, SubflowEvent, What};

fn played(plan: &Plan, policy: &str) -> Played {
    let what = Play::new(plan, policy.parse().unwrap());
    play(&what, &Stop::new(), &mut |_| {}).unwrap()
}

fn path_bytes(played: &Played, flow: usize, link: &str) -> u64 {
    let paths = &played.run.flows[flow].paths;
    paths
        .iter()
        .find(|path| path.link == link)
        .map_or(0, |path| path.bytes)
}

#[test]
fn a_download_over_two_cables_is_measured_and_recorded() {
    let plan = two_cables(5, DOWNLOAD);
    let played = played(&plan, "mptcp");
    let run = &played.run;
    assert!(run.intact(), "{run:#?}");
    assert_eq!((run.cc.as_deref(), run.server.as_str()), (Some("reno"), "stock"));
    let paths = path_bytes(&played, 0, "left") + path_bytes(&played, 0, "right");
    assert!(
        path_bytes(&played, 0, "left") > 1_000_000 && path_bytes(&played, 0, "right") > 500_000,
        "{run:#?}"
    );
    // Bytes acknowledged after the last poll are missing; bytes sent twice count twice.
    assert!(
        paths as f64 > 0.8 * run.bytes() as f64,
        "{paths} of {}",
        run.bytes()
    );
    assert!(
        run.goodput_mbps() < run.optimal_mbps && (28.0..30.0).contains(&run.optimal_mbps),
        "{run:#?}"
    );
    assert_eq!(run.goodput_series.len(), 50);
    assert_eq!(run.goodput_series.iter().sum::<u64>(), run.bytes());
    assert_eq!(played.record.summary(), Some(run));
    assert_eq!(played.record.start().unwrap().policy, PolicyName::Mptcp);
    assert!(played.record.events.is_sorted_by_key(|event| event.t_ns));
    let has = |wanted: fn(&What) -> bool| played.record.events.iter().any(|event| wanted(&event.what));
    assert!(has(
        |what| matches!(what, What::OutOfOrder { bytes, .. } if *bytes > 0)
    ));
    let levels = run.levels;
    assert!(
        levels.server_queue_bytes > Some(0) && levels.held_bytes > Some(0),
        "{levels:?}"
    );
    assert_eq!(levels.window_bytes, None, "nobody bounds it");
    assert!(has(
        |what| matches!(what, What::ServerQueue { bytes, .. } if *bytes > 0)
    ));
    assert!(has(|what| matches!(
        what,
        What::Subflow {
            event: SubflowEvent::Established,
            ..
        }
    )));
    assert!(has(|what| matches!(what, What::Lateness(_))));
}

#[test]
fn the_window_keeps_the_servers_queue_short() {
    let plan = deep_cables(8, DOWNLOAD);
    let [ours, without] = ["slowhand", "slowhand-no-window"].map(|policy| played(&plan, policy));
    let report = ours.daemon.as_ref().expect("it has answered");
    assert_eq!(report.levers.window, Ok(WindowKind::Egress));
    let [bounded, unbounded] = [&ours, &without].map(|played| played.run.levels);
    assert!(bounded.window_bytes.is_some(), "{bounded:?}");
    assert_eq!(unbounded.window_bytes, None);
    ensure_short(&ours, &without);
}

/// The same by the other lever: once the window has shrunk, the server queues no more than it allows, plus
/// what was sent twice.
#[test]
fn a_window_clamp_limits_the_servers_queue() {
    let plan = deep_cables(8, DOWNLOAD);
    let what = Play {
        window: Some(WindowKind::Clamp),
        ..Play::new(&plan, PolicyName::Slowhand)
    };
    let played = play(&what, &Stop::new(), &mut |_| {}).unwrap();
    assert!(played.run.intact(), "{:#?}", played.run);
    let report = played.daemon.as_ref().expect("it has answered");
    assert_eq!(report.levers.window, Ok(WindowKind::Clamp));
    // The last window of the first half is in force in the second.
    let (first, second) = played.record.events.split_at(half_of(&played));
    let in_force = first.iter().rev().find_map(window);
    let widest = second.iter().filter_map(window).chain(in_force).max().unwrap();
    let queues = Vec::from_iter(second.iter().filter_map(queue));
    let mean = queues.iter().sum::<u64>() / queues.len() as u64;
    assert!(mean < widest * 3 / 2, "{mean} bytes queued, {widest} may be");
    let moved = played.run.bytes();
    assert!(moved > 20_000_000, "{moved} bytes: a short queue is no art");
}

/// The last lever, where no program can be loaded. It limits new connections, and older ones to which the
/// kernel had not yet given a larger window.
#[test]
fn without_bpf_the_receive_buffer_keeps_the_servers_queue_short() {
    let plan = deep_cables(8, DOWNLOAD);
    let what = Play::new(&plan, PolicyName::Slowhand);
    let ours = without_bpf(|| play(&what, &Stop::new(), &mut |_| {}))
        .unwrap()
        .unwrap();
    let levers = &ours.daemon.as_ref().expect("it has answered").levers;
    assert!(
        levers.window.is_err() && levers.new_connections.is_some(),
        "{levers:?}"
    );
    ensure_short(&ours, &played(&plan, "slowhand-no-window"));
}

/// Asserts that the server queued far less than without a limit, and that a good part of the bytes still
/// arrived.
fn ensure_short(ours: &Played, unbounded: &Played) {
    assert!(ours.run.intact() && unbounded.run.intact());
    let [short, long] = [ours, unbounded].map(|played| played.run.levels.server_queue_bytes.unwrap());
    assert!(short < long / 2, "{short} bytes with a window, {long} without");
    let [moved, all] = [ours, unbounded].map(|played| played.run.bytes());
    assert!(moved > all / 2, "{moved} of {all} bytes: a short queue is no art");
}

/// Number of events in the first half of the run.
fn half_of(played: &Played) -> usize {
    let half_ns = (played.run.duration_s * 0.5e9) as u64;
    played.record.events.partition_point(|event| event.t_ns < half_ns)
}

fn window(event: &Event) -> Option<u64> {
    match event.what {
        What::Window { bytes, .. } => bytes,
        _ => None,
    }
}

fn queue(event: &Event) -> Option<u64> {
    match event.what {
        What::ServerQueue { bytes, .. } => Some(bytes),
        _ => None,
    }
}

#[test]
fn plain_tcp_uses_its_link_only() {
    let played = played(&two_cables(4, DOWNLOAD), "tcp:right");
    assert!(played.run.intact());
    assert_eq!(path_bytes(&played, 0, "left"), 0);
    assert!(path_bytes(&played, 0, "right") > 500_000, "{:#?}", played.run);
    assert!(
        played.run.levels.is_unknown(),
        "plain TCP holds nothing back: {:?}",
        played.run.levels
    );
    assert!(played.run.notes.is_empty(), "{:?}", played.run.notes);
}

#[test]
fn plain_tcp_recovers_after_a_black_hole() {
    let faults = "[[faults]]\nat_s = 2\nfor_s = 2\nlink = \"left\"\nkind = \"down\"\n";
    let plan = two_cables(9, &format!("{DOWNLOAD}{faults}"));
    let played = played(&plan, "tcp:left");
    assert!(played.run.intact(), "{:#?}", played.run);
    let late: u64 = played.run.goodput_series[70..].iter().sum();
    assert!(late > 500_000, "{:?}", played.run.goodput_series);
    let states: Vec<LinkState> = states_of(&played, "left");
    assert_eq!(states, [LinkState::Up, LinkState::Down, LinkState::Up]);
}

fn states_of(played: &Played, name: &str) -> Vec<LinkState> {
    let state = |what: &What| match what {
        What::LinkState { link, state } if link == name => Some(*state),
        _ => None,
    };
    played
        .record
        .events
        .iter()
        .filter_map(|event| state(&event.what))
        .collect()
}

#[test]
fn uploads_requests_and_a_competitor_run_together() {
    let flows = r#"
[flows.up]
direction = "up"
size_mb = 1
[flows.web]
requests = { every_s = 0.2, reply_kb = 20 }
[flows.other]
direction = "down"
transport = "tcp"
over = "right"
"#;
    let played = played(&two_cables(6, flows), "mptcp");
    assert!(played.run.intact(), "{:#?}", played.run);
    let [up, web, other] = &played.run.flows[..] else {
        panic!("{:#?}", played.run)
    };
    assert_eq!(up.bytes, 1_000_000);
    assert!(
        up.paths.iter().map(|path| path.bytes).sum::<u64>() >= 900_000,
        "{up:#?}"
    );
    assert!(web.bytes >= 5 * 20_000 && web.first_byte_ms.is_some(), "{web:#?}");
    assert!(other.paths.iter().all(|path| path.link == "right"), "{other:#?}");
}

#[test]
fn a_fault_hits_the_busiest_link_and_its_effect_is_checked() {
    let fault = "[[faults]]\nat_s = 3\nlink = \"busiest\"\nkind = \"blackhole\"\n";
    let plan = two_cables(6, &format!("{DOWNLOAD}{fault}"));
    let played = played(&plan, "slowhand");
    let [record] = &played.emulator.faults[..] else {
        panic!("{:?}", played.emulator.faults)
    };
    assert_eq!(record.link, links::LinkId(0), "the faster one");
    assert!(record.holds() && record.swallowed > 0, "{record:?}");
    let seen = played.record.events.iter().find_map(|event| match &event.what {
        What::Fault {
            link, applied: true, ..
        } => Some(link.clone()),
        _ => None,
    });
    assert_eq!(seen.as_deref(), Some("left"));
    assert!(played.run.intact(), "{:#?}", played.run);
    let after: u64 = played.run.goodput_series[45..].iter().sum();
    assert!(
        after > 200_000,
        "the other link carries nothing: {:?}",
        played.run.goodput_series
    );
}

#[test]
fn a_link_that_comes_back_has_another_address() {
    let faults = "[[faults]]\nat_s = 2\nfor_s = 1\nlink = \"left\"\nkind = \"down\"\nnew_address = true\n";
    let shared = "subnet = \"192.168.1.0/24\"\n";
    let plan = plan(&format!(
        "sentence = \"A new address.\"\nduration_s = 6\n[cables.left]\nrate_mbps = 20\nrtt_ms = 20\n{shared}\
         [cables.right]\nrate_mbps = 1\nrtt_ms = 20\n{shared}{DOWNLOAD}{faults}"
    ));
    let played = played(&plan, "mptcp");
    assert!(played.run.intact(), "{:#?}", played.run);
    // The application's reads may wait for the slow link; the fast one still carries data.
    let at = |second| {
        played
            .record
            .carried("download", "left", units::Instant::from_secs(second))
    };
    let (back, end) = (at(3), at(6));
    assert!(
        end > back + 1_000_000,
        "{back} when it came back, {end} at the end"
    );
}

#[test]
fn an_access_point_is_joined_and_carries() {
    let plan = plan(&format!(
        "sentence = \"One access point.\"\nduration_s = 6\n[aps.hall]\nat_m = [3, 0]\nchannel = 6\nbackhaul = {{ rate_mbps = 50, rtt_ms = 10 }}\n\
         [walkers.client]\nat_m = [0, 0]\n{DOWNLOAD}"
    ));
    let played = played(&plan, "slowhand");
    assert!(played.run.intact());
    assert_eq!(
        states_of(&played, "hall"),
        [
            LinkState::Down,
            LinkState::Joining,
            LinkState::Carrier,
            LinkState::Up
        ]
    );
    let link = &played.run.links[0];
    assert!(link.frames > 500 && link.airtime_share > 0.1, "{link:?}");
    let heard = played
        .record
        .events
        .iter()
        .filter(|event| matches!(event.what, What::Signal { .. }))
        .count();
    assert!(heard > 30, "{heard} beacons in 6 s");
}

#[test]
fn a_stop_ends_a_run_at_once_and_cleanly() {
    let plan = two_cables(600, DOWNLOAD);
    let stop = Stop::new();
    let ask = stop.clone();
    let asker = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        ask.stop();
    });
    let begun = Instant::now();
    let played = play(&Play::new(&plan, PolicyName::Slowhand), &stop, &mut |_| {}).unwrap();
    asker.join().unwrap();
    assert!(played.stopped && played.run.intact(), "{:#?}", played.run);
    assert!(
        played.run.duration_s < 60.0 && begun.elapsed().as_secs() < 60,
        "{}",
        played.run.duration_s
    );
}

#[test]
fn another_controller_is_allowed_for_the_run_only() {
    let mut plan = two_cables(2, DOWNLOAD);
    plan.cc = "cubic".into();
    let played = played(&plan, "mptcp");
    assert!(
        played.run.intact() && played.run.cc.as_deref() == Some("cubic"),
        "{:#?}",
        played.run
    );
    // Labs of other processes may still need it; this one does not.
    let record =
        std::fs::read_to_string("/run/slowhand/net.ipv4.tcp_allowed_congestion_control").unwrap_or_default();
    let ours = std::process::id().to_string();
    assert!(
        record.lines().all(|line| line.split('\t').next() != Some(&ours)),
        "{record}"
    );
}

#[test]
fn invalid_runs_are_refused_before_anything_is_created() {
    let plan = two_cables(5, DOWNLOAD);
    let refused = |policy: PolicyName| match play(&Play::new(&plan, policy), &Stop::new(), &mut |_| {}) {
        Err(PlayError::Policy(error)) => error,
        other => panic!("{other:?}"),
    };
    let error = refused(PolicyName::Tcp("middle".into()));
    assert_eq!(
        error.to_string(),
        "policy `tcp:middle`: there is no link `middle`; the links are: left, right"
    );
    assert_eq!(refused(PolicyName::TcpBest), PolicyError::Computed);
}

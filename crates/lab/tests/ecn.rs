//! nsdi15's marks and the closed loop on the real kernel. A monitor interface hears two access points of one
//! channel, and the engine compares the cost of a packet over each. The program on the poor link's interface
//! marks as many packets as requested. The client's kernel, which is independent of us, counts the marks too.

mod plans;

use lab::stop::Stop;
use lab::world::{Play, Played, play};
use linux::daemon::MarkReport;
use plans::plan;
use scenario::Plan;
use trace::{LinkMarks, SubflowEvent, What};

/// A download past two access points of one channel, with these keys for each of them and for the flow.
fn two_access_points(medium: &str, seconds: u32, [near, far]: [&str; 2], flow: &str) -> Plan {
    plan(&format!(
        r#"
sentence = "Two access points share one channel."
medium = "{medium}"
duration_s = {seconds}
[aps.near]
channel = 6
at_m = [3, 0]
{near}
[aps.far]
channel = 6
{far}
[walkers.client]
at_m = [0, 0]
[flows.download]
direction = "down"
{flow}
"#
    ))
}

/// A low-latency cable beside a slow one with a deep buffer, in which the server would queue for seconds.
const DEEP_AND_FAR: &str = r#"
sentence = "Two cables, the farther with a deep buffer."
duration_s = 14
[cables.near]
rate_mbps = 20
rtt_ms = 20
queue_packets = 400
[cables.far]
rate_mbps = 20
rtt_ms = 100
queue_packets = 2000
[flows.download]
direction = "down"
size_mb = 30
"#;

/// Plays a good access point and a distant one.
fn played(policy: &str, medium: &str) -> Played {
    let backhaul = "backhaul = { rate_mbps = 100, rtt_ms = 20 }";
    let far = format!("at_m = [46, 0]\ntx_power_dbm = 9\n{backhaul}");
    run(
        policy,
        &two_access_points(medium, 22, [backhaul, &far], "size_mb = 20"),
    )
}

fn run(policy: &str, plan: &Plan) -> Played {
    let what = Play::new(plan, policy.parse().unwrap());
    let played = play(&what, &Stop::new(), &mut |_| {}).unwrap();
    let moved: u64 = played.run.flows.iter().map(|flow| flow.bytes).sum();
    assert!(
        moved > 1_000_000,
        "{moved} bytes: the machine had no time for the lab"
    );
    played
}

fn marks(played: &Played, link: &str) -> Option<MarkReport> {
    let report = played.daemon.as_ref().expect("the daemon reports at the end");
    let link = report.links.iter().find(|known| known.spec.name == link);
    link.expect("a link of the plan").marks
}

/// The decisions about marks, with their links.
fn decisions(played: &Played) -> Vec<(String, String)> {
    let decision = |what: &What| match what {
        What::Decision {
            link: Some(link),
            verb,
            why,
            ..
        } if verb == "mark" => Some((link.clone(), why.clone())),
        _ => None,
    };
    let events = played.record.events.iter();
    events.filter_map(|event| decision(&event.what)).collect()
}

/// The client's kernel has counted exactly the packets that our programs marked on arrival.
///
/// Nothing may be in flight when both are read: the flow has been over for half a second.
fn assert_the_kernel_counted_as_many(played: &Played) {
    let read = &played.run.goodput_series;
    let last = &read[read.len() - 5..];
    assert_eq!(last, [0; 5], "the flow has an end before the run has: {read:?}");
    let report = played.daemon.as_ref().expect("the daemon reports at the end");
    let marked = report.links.iter().filter_map(|link| link.marks);
    // One header may stand for several segments. The kernel counts them by `gso_segs`. A TUN leaves that at
    // 0, and then the header counts once.
    let [made, segments] = marked.fold([0, 0], |[made, segments], marks| {
        [made + marks.counters.made, segments + marks.counters.segments]
    });
    let busy = read.iter().rposition(|bytes| *bytes > 0).unwrap_or(0);
    println!("{made} marked; the flow took {} ms", (busy + 1) * 100);
    let received = played.received_ce.expect("this kernel counts them");
    assert!(
        (made..=segments).contains(&received),
        "{received} came in marked, of {made} headers for {segments} segments: {:#?}",
        report.links
    );
}

#[test]
fn the_poor_access_point_gets_the_requested_share_of_marks() {
    is_marked_as_asked("dcf");
}

#[test]
fn the_exact_medium_gets_the_requested_share_of_marks() {
    is_marked_as_asked("exact");
}

fn is_marked_as_asked(medium: &str) {
    let played = played("ecn", medium);
    assert!(played.run.intact(), "{:#?}", played.run);
    let decisions = decisions(&played);
    assert!(!decisions.is_empty(), "{:#?}", played.daemon);
    assert!(decisions.iter().all(|(link, _)| link == "far"), "{decisions:#?}");
    let MarkReport { counters, .. } = marks(&played, "far").expect("it was marked");
    assert_the_kernel_counted_as_many(&played);
    assert!(
        counters.ect > 0 && counters.asked > 0 && counters.made > 0,
        "{counters:?}"
    );
    assert_eq!(counters.made, counters.asked, "{counters:?}");
    assert_eq!(marks(&played, "near"), None, "the good one never was");
    let told = played.run.links.iter().map(|link| (&*link.name, link.marks));
    let expected = LinkMarks {
        ect: counters.ect,
        not_ect: counters.not_ect,
        asked: counters.asked,
        made: counters.made,
    };
    assert_eq!(
        told.collect::<Vec<_>>(),
        [("near", None), ("far", Some(expected))]
    );
    assert!(played.run.links.iter().all(|link| link.sent_marks.is_none()));
    // All marks belong to the only flow. Several segments may come behind one marked header.
    let paths = played.run.flows[0].paths.iter();
    let ce = paths.map(|path| (&*path.link, path.ce_marks)).collect::<Vec<_>>();
    assert_eq!(ce, [("near", 0), ("far", counters.segments)]);
    let remark = |note: &String| note.starts_with("far: ") && note.contains("ECN-capable packets received");
    assert!(played.run.notes.iter().any(remark), "{:?}", played.run.notes);
}

#[test]
fn slowhand_marks_the_requested_share_too() {
    let played = run("slowhand", &plan(DEEP_AND_FAR));
    assert!(!decisions(&played).is_empty(), "{:#?}", played.daemon);
    assert!(assert_marks_are_those_asked_for(&played) > 0);
}

/// The engine decides how many marks it requests there; the test checks that they are made.
#[test]
fn slowhand_marks_the_requested_share_on_the_exact_medium() {
    let played = played("slowhand", "exact");
    let marked = assert_marks_are_those_asked_for(&played);
    assert_eq!(marked > 0, !decisions(&played).is_empty(), "{:#?}", played.daemon);
}

/// Asserts that the marks are the requested ones. Returns how many there were.
fn assert_marks_are_those_asked_for(played: &Played) -> u64 {
    assert!(played.run.intact(), "{:#?}", played.run);
    assert_the_kernel_counted_as_many(played);
    let links = ["near", "far"].map(|link| {
        let Some(MarkReport { counters, .. }) = marks(played, link) else {
            return 0;
        };
        assert_eq!(counters.made, counters.asked, "{link}: {counters:?}");
        counters.made
    });
    links.iter().sum()
}

#[test]
fn without_the_policy_nothing_is_marked() {
    let played = played("mptcp", "dcf");
    assert!(decisions(&played).is_empty());
    assert!(marks(&played, "far").is_none() && marks(&played, "near").is_none());
    assert_eq!(played.received_ce, Some(0));
}

/// The closed loop acts on airtimes that it can only have from the monitor interface, and the kernel follows.
#[test]
fn the_closed_loop_of_slowhand_steers_by_airtime() {
    // The nearer one has a slow wire behind it, and the farther one a fast one.
    let near = "backhaul = { rate_mbps = 3, rtt_ms = 20 }";
    let far = "at_m = [36, 0]\nbackhaul = { rate_mbps = 50, rtt_ms = 20 }";
    let played = run("slowhand", &two_access_points("dcf", 12, [near, far], ""));
    assert!(played.run.intact(), "{:#?}", played.run);
    let why = &played.daemon.as_ref().expect("the daemon reports at the end").why;
    let measured = |why: &str| why.contains("frames got through") && why.contains("µs of airtime");
    assert!(why.iter().any(|link| measured(&link.why)), "{why:#?}");
    let events = &played.record.events;
    let promoted = events
        .iter()
        .enumerate()
        .find_map(|(at, event)| match &event.what {
            What::Decision {
                link: Some(link),
                verb,
                reason,
                ..
            } if verb == "use" && reason.starts_with("steer-") => Some((at, link)),
            _ => None,
        });
    let (at, promoted) = promoted.expect("one of them is promoted");
    let followed = events[at..].iter().any(|event| {
        matches!(&event.what, What::Subflow { link, event: SubflowEvent::Priority, backup: false, .. } if link == promoted)
    });
    assert!(followed, "{promoted}");
}

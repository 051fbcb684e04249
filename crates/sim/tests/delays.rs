//! How long packets take: one-way delays of datagrams in both kinds of run, and round-trip times of TCP.

mod common;

use common::{ONE, plan};
use sim::{Play, play};
use trace::{Flow, PolicyName, Run};

/// Datagrams of 1,250 bytes take 1 ms on this cable, and 20 ms to the other end.
const CABLE: &str = "sentence = \"Datagrams over a cable.\"\nduration_s = 4\n\
    [cables.wire]\nrate_mbps = 10\nrtt_ms = 40\nqueue_packets = 10\n\
    [cables.spare]\nrate_mbps = 10\nrtt_ms = 10\n\
    [flows.call]\ntransport = \"udp\"\nover = \"wire\"\ndirection = \"down\"\npayload_bytes = 1222\nevery_ms = 10\n";
/// With it two hosts play the scenario.
const TCP: &str = "[flows.bulk]\ntransport = \"tcp\"\nover = \"spare\"\ndirection = \"down\"\n";

fn run(text: &str, settings: &[&str]) -> Run {
    let plan = plan(text, settings);
    let played = play(&Play::new(&plan, PolicyName::Mptcp));
    played.unwrap_or_else(|error| panic!("{error}")).run
}

fn flow(run: &Run, name: &str) -> Flow {
    let found = run.flows.iter().find(|flow| flow.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", run.flows)).clone()
}

/// A flow called `call`, in a scenario of datagrams alone and beside TCP.
fn alone_and_beside_tcp(text: &str, settings: &[&str]) -> [Flow; 2] {
    [text.to_owned(), format!("{text}{TCP}")].map(|text| flow(&run(&text, settings), "call"))
}

#[test]
fn a_datagram_takes_its_time_on_the_cable() {
    for call in alone_and_beside_tcp(CABLE, &[]) {
        let delay = call.delay.unwrap();
        for time in [delay.mean_ms, delay.p50_ms, delay.p99_ms, delay.max_ms] {
            assert!((time - 21.0).abs() < 1e-6, "{delay:?}");
        }
        assert!(call.jitter_ms.unwrap() < 1e-9, "{call:?}");
        let counts = call.datagrams.unwrap();
        assert_eq!(
            (counts.sent - counts.received <= 3, counts.lost),
            (true, 0),
            "{counts:?}"
        );
        assert_eq!(call.intact, None, "datagrams may be lost");
        let path = &call.paths[0];
        assert_eq!((&*path.link, path.bytes), ("wire", call.bytes));
    }
}

#[test]
fn a_pause_of_the_sender_is_no_stall() {
    for call in alone_and_beside_tcp(CABLE, &["flows.call.every_ms=150"]) {
        assert!(call.bytes > 20 * 1_222, "{call:?}");
        assert_eq!(call.stall_total_ms, 0.0, "{call:?}");
    }
}

/// A full queue of ten datagrams, one in transmission, and the cable: 31 ms.
#[test]
fn a_full_queue_delays_and_loses() {
    for call in alone_and_beside_tcp(CABLE, &["flows.call.every_ms=0.5"]) {
        let (delay, counts) = (call.delay.unwrap(), call.datagrams.unwrap());
        assert!((30.0..31.1).contains(&delay.p50_ms), "{delay:?}");
        assert!((30.4..31.1).contains(&delay.max_ms), "{delay:?}");
        assert!(
            delay.mean_ms < delay.p95_ms && delay.p50_ms <= delay.p95_ms,
            "{delay:?}"
        );
        // Of two datagrams sent in 1 ms one is lost.
        let lost = counts.lost as f64 / counts.sent as f64;
        assert!((0.48..0.51).contains(&lost), "{counts:?}");
    }
}

/// A saturated source hands a datagram over when there is room, so that the queue stays short.
#[test]
fn what_a_source_holds_back_is_not_delayed() {
    let saturated = CABLE.replace("every_ms = 10\n", "");
    let call = flow(&run(&saturated, &["cables.wire.queue_packets=1"]), "call");
    let delay = call.delay.unwrap();
    assert!(
        (22.0..23.5).contains(&delay.p50_ms) && delay.max_ms < 23.5,
        "{delay:?}"
    );
}

#[test]
fn a_cable_with_jitter_has_jitter() {
    for call in alone_and_beside_tcp(CABLE, &["cables.wire.jitter_ms=5"]) {
        let (delay, jitter) = (call.delay.unwrap(), call.jitter_ms.unwrap());
        assert!((0.5..5.0).contains(&jitter), "{jitter} {delay:?}");
        assert!(
            delay.p99_ms > delay.p50_ms + 1.0 && delay.max_ms >= delay.p99_ms,
            "{delay:?}"
        );
    }
}

/// 10 ms on the wire behind the access point, and less than 1 ms on the air: 54 Mb/s, nobody else.
#[test]
fn a_datagram_takes_the_wire_and_the_air() {
    let guard = "[walkers.guard]\nat_m = [5, 0]\n[cables.spare]\nrate_mbps = 10\nrtt_ms = 10\n";
    let text = format!("{ONE}{guard}").replace("flows.download", "flows.call");
    let settings = ["flows.call.limit_mbps=1", "flows.call.by=guard", "duration_s=4"];
    for call in alone_and_beside_tcp(&text, &settings) {
        let delay = call.delay.unwrap();
        // Beacons and the client's joining come between.
        assert!((10.2..10.8).contains(&delay.p50_ms), "{delay:?}");
        assert!(delay.max_ms < 13.0 && call.jitter_ms.unwrap() < 1.0, "{call:?}");
    }
    let coarse = run(
        &text,
        &[
            &settings[..],
            &["medium=wfq", "aps.near.wfq={ packet_ms = 2, weight = 1 }"],
        ]
        .concat(),
    );
    let delay = flow(&coarse, "call").delay.unwrap();
    assert!(
        (12.0..12.2).contains(&delay.p50_ms),
        "10 ms of wire, 2 ms of air: {delay:?}"
    );
}

#[test]
fn broadcasts_have_delays_and_no_jitter() {
    let probe = "[flows.call]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"everyone\"\npayload_bytes = 100\n\
        every_ms = 100\n[cables.spare]\nrate_mbps = 10\nrtt_ms = 10\n";
    let quiet = "flows.download.limit_mbps=1";
    for call in alone_and_beside_tcp(&format!("{ONE}{probe}"), &[quiet]) {
        assert_eq!(call.jitter_ms, None);
        let delay = call.delay.unwrap();
        assert!((0.1..5.0).contains(&delay.p50_ms), "{delay:?}");
    }
}

/// 10 ms of cable without a queue, and up to as much as the queue holds when TCP fills it.
#[test]
fn a_sender_reports_its_round_trip_times() {
    let text = format!("{CABLE}{TCP}");
    let settings = ["cables.spare.queue_packets=50"];
    let of = |more: &[&str]| {
        flow(&run(&text, &[&settings[..], more].concat()), "bulk").paths[0]
            .rtt
            .unwrap()
    };
    let (full, idle) = (of(&[]), of(&["flows.bulk.limit_mbps=1"]));
    assert!((10.0..35.0).contains(&idle.p50_ms), "{idle:?}");
    // 50 packets of 1,500 bytes take 60 ms.
    assert!(
        full.p95_ms > 40.0 && full.p50_ms > idle.p50_ms && full.max_ms < 75.0,
        "{full:?}"
    );
    assert!(
        full.p50_ms <= full.p95_ms && full.p95_ms <= full.p99_ms,
        "{full:?}"
    );
    let datagrams = flow(&run(&text, &settings), "call");
    assert_eq!(datagrams.paths[0].rtt, None, "datagrams have no round trip");
}

//! `[tcp]`: what each key of a scenario changes in the hosts.

mod common;

use common::plan;
use sim::{Play, Played, play};
use trace::{PolicyName, SubflowEvent, What};

/// One cable of 50 Mb/s and 100 ms, and a download without end.
const LONG: &str = "sentence = \"x\"\nduration_s = 20\n[cables.wire]\nrate_mbps = 50\nrtt_ms = 100\n\
    [flows.download]\ndirection = \"down\"\n";

/// A fast path and a slow one.
const UNEQUAL: &str = "sentence = \"x\"\nduration_s = 20\n\
    [cables.fast]\nrate_mbps = 20\nrtt_ms = 20\nqueue_packets = 30\n\
    [cables.slow]\nrate_mbps = 2\nrtt_ms = 150\nqueue_packets = 100\n\
    [flows.download]\ndirection = \"down\"\n";

/// An access point at 54 Mb/s, with a wire that is faster.
const AIR: &str = "sentence = \"x\"\nduration_s = 8\nmedium = \"exact\"\n\
    [aps.near]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\n\
    backhaul = { rate_mbps = 100, rtt_ms = 20 }\n[walkers.client]\nat_m = [5, 0]\n\
    [flows.bulk]\ndirection = \"down\"\n";

fn played(text: &str, settings: &[&str]) -> Played {
    let plan = plan(text, settings);
    play(&Play::new(&plan, PolicyName::Mptcp)).unwrap_or_else(|error| panic!("{error}"))
}

/// Megabits per second of the first flow from this second on.
fn mbps(played: &Played, from: usize) -> f64 {
    let counted = &played.run.goodput_series[from * 10..];
    counted.iter().sum::<u64>() as f64 * 8e-6 / (counted.len() as f64 / 10.0)
}

/// Bytes of the first flow over a link, and all of them.
fn over(played: &Played, link: &str) -> (u64, u64) {
    let paths = &played.run.flows[0].paths;
    let own = paths.iter().find(|path| path.link == link);
    (
        own.map_or(0, |path| path.bytes),
        paths.iter().map(|path| path.bytes).sum(),
    )
}

/// With delayed ACKs, a window that grows per ACK is smaller by the square root of two (PFTK, b = 2).
#[test]
fn windows_grow_by_segments_or_by_acks() {
    let lossy = ["cables.wire.loss_percent=0.3", "duration_s=120"];
    let each = mbps(&played(LONG, &lossy), 10);
    let per_ack = mbps(&played(LONG, &[&lossy[..], &["tcp.growth=per-ack"]].concat()), 10);
    println!("{each} and {per_ack} Mb/s");
    assert!((0.6..0.8).contains(&(per_ack / each)), "{each}, {per_ack}");
}

/// A request of one segment and its repetitions are lost for 0.7 s. The RTT is 100 ms. Linux sends again
/// after 300 and 900 ms. With RFC 6298's second, a loss probe leaves after 400 ms, and the time-out comes a
/// second later.
#[test]
fn the_time_out_is_linux_or_that_of_rfc_6298() {
    let dead = "[[faults]]\nkind = \"blackhole\"\nlink = \"wire\"\nat_s = 9.9\nfor_s = 0.7\n";
    let asks = "requests = { every_s = 1, reply_kb = 1 }\n";
    let text = format!("{}{dead}", LONG.replace("direction = \"down\"\n", asks));
    let longest = |settings: &[&str]| played(&text, settings).run.flows[0].longest_stall_ms;
    let (linux, rfc) = (longest(&[]), longest(&["tcp.rto=rfc6298"]));
    println!("{linux} and {rfc} ms");
    assert!((950.0..1_100.0).contains(&linux), "{linux}");
    assert!((1_400.0..1_600.0).contains(&rfc), "{rfc}");
}

/// A window of 64 kB moves 5.12 Mb/s in 100 ms.
#[test]
fn a_set_receive_window_limits_the_rate() {
    let autotuned = mbps(&played(LONG, &[]), 10);
    let set = mbps(&played(LONG, &["tcp.receive_window_kb=64"]), 10);
    println!("{autotuned} and {set} Mb/s");
    assert!(
        autotuned > 30.0 && (4.5..5.12).contains(&set),
        "{autotuned}, {set}"
    );
}

/// In the first second, slow start doubles what it begins with.
#[test]
fn slow_start_begins_with_the_initial_window_and_ends_at_the_threshold() {
    let moved = |settings: &[&str]| {
        let settings = [&["duration_s=1", "cables.wire.rtt_ms=200"], settings].concat();
        played(LONG, &settings).run.flows[0].bytes as f64 / 1_420.0
    };
    let usual = moved(&[]);
    let wider = moved(&["tcp.initial_window_segments=20"]);
    let limited = moved(&["tcp.initial_ssthresh_segments=20"]);
    println!("{usual}, {wider} and {limited} segments");
    // Three windows arrive: 10, 20 and 40 segments, twice as much, and 10, 20 and 21.
    assert!((69.0..72.0).contains(&usual), "{usual}");
    assert!((138.0..142.0).contains(&wider), "{wider}");
    assert!((49.0..53.0).contains(&limited), "{limited}");
}

/// The first connection leaves its threshold to the second one, which then loses less in its slow start.
#[test]
fn the_metrics_cache_spares_a_later_connection_its_losses() {
    let text = "sentence = \"x\"\nduration_s = 20\n\
        [cables.wire]\nrate_mbps = 20\nrtt_ms = 50\nqueue_packets = 60\n\
        [flows.first]\ndirection = \"down\"\nsize_mb = 10\n\
        [flows.second]\ndirection = \"down\"\nsize_mb = 3\nstart_s = 12\n";
    let lost = |settings: &[&str]| {
        let run = played(text, settings).run;
        assert!(run.intact(), "{run:#?}");
        [0, 1].map(|flow: usize| run.flows[flow].paths[0].retransmits)
    };
    let [first, without] = lost(&[]);
    let [again, with] = lost(&["tcp.metrics_cache=true"]);
    println!("{without} and {with} retransmissions");
    assert_eq!(first, again, "nothing is known at the start");
    assert!(without > 20 && with < without / 4, "{without}, {with}");
}

/// A flow of 1 Mb/s fits into either link.
#[test]
fn schedulers_differ_where_one_link_is_enough() {
    let slow = |scheduler: &str| {
        let setting = format!("tcp.scheduler={scheduler}");
        let run = played(UNEQUAL, &[&setting, "flows.download.limit_mbps=1"]);
        let (slow, all) = over(&run, "slow");
        println!("{scheduler}: {slow} of {all}");
        slow as f64 / all as f64
    };
    for scheduler in ["linux", "lowest-rtt", "blest", "ecf"] {
        assert!(slow(scheduler) < 0.1, "{scheduler}");
    }
    for scheduler in ["round-robin", "redundant"] {
        assert!((0.4..0.6).contains(&slow(scheduler)), "{scheduler}");
    }
}

/// A small receive window: a scheduler that fills the slow path makes the fast one wait.
#[test]
fn schedulers_differ_where_a_slow_link_holds_up_a_small_window() {
    let goodput = |settings: &[&str]| {
        let settings = [&["tcp.receive_window_kb=131"], settings].concat();
        mbps(&played(UNEQUAL, &settings), 5)
    };
    let lowest = goodput(&["tcp.scheduler=lowest-rtt"]);
    let rescued = goodput(&[
        "tcp.scheduler=lowest-rtt",
        "tcp.opportunistic_retransmission=true",
    ]);
    let blest = goodput(&["tcp.scheduler=blest"]);
    println!("lowest RTT {lowest}, rescued {rescued}, BLEST {blest} Mb/s");
    assert!(rescued > 2.0 * lowest, "{lowest}, {rescued}");
    assert!(blest > 2.0 * lowest, "{lowest}, {blest}");
}

/// Replies of 200 kB, one after the other: ECF sends their ends over the fast path, although they must wait
/// for it.
#[test]
fn ecf_completes_replies_earlier() {
    let asks = "requests = { every_s = 0.001, reply_kb = 200 }\n";
    let text = UNEQUAL.replace("direction = \"down\"\n", asks);
    let replies = |scheduler: &str| {
        let setting = format!("tcp.scheduler={scheduler}");
        played(&text, &[&setting, "duration_s=60"]).run.flows[0].bytes / 200_000
    };
    let (lowest, ecf) = (replies("lowest-rtt"), replies("ecf"));
    println!("lowest RTT {lowest} replies, ECF {ecf}");
    assert!(ecf > lowest + lowest / 4, "{lowest}, {ecf}");
}

/// Two cables of 100 ms. One by one: SYN and SYN-ACK, data that confirms, then the second handshake.
#[test]
fn syns_leave_one_by_one_or_at_once() {
    let two = LONG.replace("[flows.", "[cables.other]\nrate_mbps = 50\nrtt_ms = 100\n[flows.");
    let second = |settings: &[&str]| {
        let run = played(&two, &[&["duration_s=3"], settings].concat());
        assert_eq!(run.run.flows[0].intact, Some(true));
        let opened = |event: &&trace::Event| matches!(&event.what, What::Subflow { event: SubflowEvent::Established, link, .. } if link == "other");
        let opened = run.record.events.iter().find(opened).expect("it joins");
        opened.t_ns / 1_000_000
    };
    let (one, once) = (second(&[]), second(&["tcp.syns=at-once"]));
    println!("{one} and {once} ms");
    assert!(one >= once + 150, "{one}, {once}");
}

/// A server without MPTCP answers the first SYN as plain TCP, and refuses the others.
#[test]
fn syns_at_once_to_a_server_without_mptcp_leave_plain_tcp() {
    let run = played(UNEQUAL, &["tcp.syns=at-once", "server=legacy"]).run;
    assert_eq!(run.flows[0].paths.len(), 1, "{:?}", run.flows[0].paths);
    assert!(
        run.notes.iter().any(|note| note.contains("fell back")),
        "{:?}",
        run.notes
    );
    assert!(run.flows[0].goodput_mbps > 15.0, "{:?}", run.flows[0]);
}

/// Without airtime for ACKs, the client sends nothing but its association, and all of the air is the access
/// point's. The same the other way round.
#[test]
fn acks_without_airtime_leave_all_of_it_to_data() {
    for direction in ["down", "up"] {
        let flow = format!("flows.bulk.direction={direction}");
        let attempts = |run: &Played, name: &str| {
            let mut stations = run.run.stations.iter();
            let station = stations.find(|station| station.name.starts_with(name));
            station.unwrap_or_else(|| panic!("{name}")).attempts
        };
        let receiver = if direction == "down" { "client@" } else { "near" };
        let with = played(AIR, &[&flow]);
        let without = played(AIR, &[&flow, "tcp.acks_take_air=false"]);
        let (sent, unsent) = (attempts(&with, receiver), attempts(&without, receiver));
        let gain = mbps(&without, 2) / mbps(&with, 2);
        println!("{direction}: {sent} and {unsent} frames, {gain} times the goodput");
        // An access point sends 10 beacons a second.
        assert!(sent > 5_000 && unsent < 150, "{sent}, {unsent}");
        assert!((1.05..1.4).contains(&gain), "{gain}");
        assert_eq!(without.run.flows[0].intact, Some(true));
    }
}

/// On the coarse medium the client's packets take no air anyway, and an upload's ACKs take that of a packet.
#[test]
fn acks_without_airtime_take_none_of_the_coarse_medium() {
    let coarse = AIR
        .replace("\"exact\"", "\"wfq\"")
        .replace("rate_mbps = 54\n", "wfq = { packet_ms = 1, weight = 1 }\n")
        .replace("\"down\"", "\"up\"");
    let [with, without] = [true, false].map(|takes| {
        let setting = format!("tcp.acks_take_air={takes}");
        played(&coarse, &[&setting]).run.links[0].airtime_share
    });
    assert!(with > 0.5 && without < 0.02, "{with}, {without}");
}

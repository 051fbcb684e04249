//! The backhaul wire of an access point, for UDP in virtual time: its rate, delay and queue, shared by all
//! flows over it.

mod common;

use common::plan;
use sim::{Play, Played, play};
use trace::{PolicyName, What};

/// A client at 54 Mb/s with a backhaul of 8 Mb/s, and two flows.
const SLOW: &str = r#"sentence = "A slow wire."
duration_s = 5

[aps.near]
at_m = [0, 0]
standard = "a"
channel = 36
rate_mbps = 54
backhaul = { up_mbps = 2, down_mbps = 8, rtt_ms = 100, queue_packets = 40 }

[walkers.client]
at_m = [5, 0]

[flows.one]
transport = "udp"
over = "near"
direction = "down"
limit_mbps = 6

[flows.two]
transport = "udp"
over = "near"
direction = "down"
limit_mbps = 3
"#;

fn played(settings: &[&str]) -> Played {
    let plan = plan(SLOW, settings);
    play(&Play::new(&plan, PolicyName::Slowhand)).unwrap()
}

/// Goodput of all flows from one second to another, in Mb/s.
fn mbps(played: &Played, seconds: std::ops::Range<usize>) -> f64 {
    let tenths = seconds.start * 10..seconds.end * 10;
    let count = seconds.len() as f64;
    played.run.goodput_series[tenths].iter().sum::<u64>() as f64 * 8e-6 / count
}

fn share(played: &Played, flow: usize) -> f64 {
    let bytes = |flow: usize| played.run.flows[flow].bytes as f64;
    bytes(flow) / (bytes(0) + bytes(1))
}

#[test]
fn two_flows_share_a_slow_wire_and_one_queue() {
    let played = played(&[]);
    // 8 Mb/s of IP packets, of which 1,470 of 1,498 bytes are payload.
    let all = mbps(&played, 1..5);
    assert!((all / (8.0 * 1_470.0 / 1_498.0) - 1.0).abs() < 0.01, "{all}");
    // 1.15 of 9 Mb/s are dropped. Which flow loses them depends on the phases of the two paces at a full
    // queue (Floyd and Jacobson 1991). Either may lose all of it.
    let least = (all - 3.0) / all;
    let most = 6.0 / all;
    assert!(
        (least - 0.01..most + 0.01).contains(&share(&played, 0)),
        "{}",
        share(&played, 0)
    );
    // The air carries 29 Mb/s, so nothing is lost there.
    assert_eq!(played.run.links[0].retries, 0);
}

#[test]
fn saturated_flows_share_it_equally() {
    let one = "flows.one={ transport = \"udp\", over = \"near\", direction = \"down\" }";
    let two = "flows.two={ transport = \"udp\", over = \"near\", direction = \"down\" }";
    let played = played(&[one, two]);
    let all = mbps(&played, 1..5);
    assert!((all / (8.0 * 1_470.0 / 1_498.0) - 1.0).abs() < 0.01, "{all}");
    assert!((share(&played, 0) - 0.5).abs() < 0.02, "{}", share(&played, 0));
}

/// Arrival of the first datagram of a flow, in tenths of a second.
fn arrived(played: &Played, name: &str) -> Option<u64> {
    let events = played.record.events.iter();
    let mut samples = events.filter_map(|event| match &event.what {
        What::AppBytes { flow, bytes } if flow == name && *bytes > 0 => Some(event.t_ns / 100_000_000),
        _ => None,
    });
    samples.next()
}

#[test]
fn a_datagram_takes_half_a_round_trip() {
    // The first datagram is sent at 0 and takes 1.5 ms plus half an RTT.
    for (rtt, tenth) in [(150, 1), (350, 2), (500, 3)] {
        let wire = format!("aps.near.backhaul={{ rate_mbps = 8, rtt_ms = {rtt} }}");
        assert_eq!(
            arrived(&played(&[&wire, "flows.one.limit_mbps=1"]), "one"),
            Some(tenth)
        );
    }
}

#[test]
fn a_datagram_waits_for_the_queue_in_front_of_it() {
    // The first flow fills the queue for four seconds. Then the second flow sends a datagram every 20 ms.
    let second = "flows.two={ transport = \"udp\", over = \"near\", direction = \"down\", payload_bytes = 100, every_ms = 20, start_s = 4 }";
    let at = |mbps: u32, room: u32| {
        let wire = format!("aps.near.backhaul={{ rate_mbps = 8, rtt_ms = 100, queue_packets = {room} }}");
        let first = format!("flows.one.limit_mbps={mbps}");
        arrived(&played(&[&wire, &first, second]), "two").unwrap()
    };
    // 7.13 of 8 Mb/s: no queue. 9.17 Mb/s: an excess of 1.17 Mb/s for four seconds is 391 packets, which take
    // 586 ms.
    assert_eq!(at(7, 1_000), 41);
    assert_eq!(at(9, 1_000), 47);
    // 100 packets take 150 ms. The first datagrams may find the queue full.
    let short = at(9, 100);
    assert!((42..=45).contains(&short), "{short}");
}

#[test]
fn an_upload_is_limited_by_the_wire_but_uses_the_air_fully() {
    let up = |pace: &str| {
        let one = format!("flows.one={{ transport = \"udp\", over = \"near\", direction = \"up\"{pace} }}");
        let two = "flows.two={ transport = \"udp\", over = \"near\", direction = \"up\", limit_mbps = 0.1 }";
        played(&[&one, two])
    };
    let slow = up(", limit_mbps = 1");
    assert!((mbps(&slow, 1..5) - 1.1).abs() < 0.03, "{}", mbps(&slow, 1..5));
    let full = up("");
    let all = mbps(&full, 1..5);
    assert!((all / (2.0 * 1_470.0 / 1_498.0) - 1.0).abs() < 0.01, "{all}");
    // A saturated radio sends all it can, though most of it is lost on the wire.
    let (slow, full) = (&slow.run.links[0], &full.run.links[0]);
    assert!(
        full.airtime_share > 0.6 && slow.airtime_share < 0.1,
        "{full:?} {slow:?}"
    );
}

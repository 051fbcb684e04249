//! `[tcp]`: where the hosts' TCP and MPTCP differ from Linux's defaults.

use super::bytes;
use crate::plan::{Flow, Growth, Link, LinkKind, Rto, Scheduler, Syns, Tcp, Transport, Walker};
use crate::quantity::Quantity;
use crate::section::Section;

/// Segments of a window: at most what RFC 7323 §2.3 allows, and a threshold of at least two (RFC 5681 §3.1).
const MOST_SEGMENTS: i64 = (1 << 30) / 1_448;
const LEAST_THRESHOLD: i64 = 2;

/// A receive window: at least two segments, at most what RFC 7323 §2.3 allows.
const WINDOW: Quantity = Quantity {
    unit: "kB",
    scale: 1e3,
    min: 3.0,
    max: 1_000_000.0,
};

const GROWTH: [(&str, Growth); 2] = [("per-segment", Growth::PerSegment), ("per-ack", Growth::PerAck)];
const RTO: [(&str, Rto); 2] = [("linux", Rto::Linux), ("rfc6298", Rto::Rfc6298)];
const SYNS: [(&str, Syns); 2] = [("one-by-one", Syns::OneByOne), ("at-once", Syns::AtOnce)];
const SCHEDULERS: [(&str, Scheduler); 6] = [
    ("linux", Scheduler::Linux),
    ("lowest-rtt", Scheduler::LowestRtt),
    ("round-robin", Scheduler::RoundRobin),
    ("redundant", Scheduler::Redundant),
    ("blest", Scheduler::Blest),
    ("ecf", Scheduler::Ecf),
];

/// What only connections of several subflows have.
const OF_MPTCP: [&str; 3] = ["scheduler", "opportunistic_retransmission", "syns"];

/// Reads the table of a scenario with these links, walkers and flows.
pub(super) fn read(root: &Section<'_>, links: &[Link], walkers: &[Walker], flows: &[Flow]) -> Tcp {
    let Some(section) = root.child("tcp", "[tcp]") else {
        return Tcp::default();
    };
    let usual = Tcp::default();
    let tcp = Tcp {
        growth: section.choice("growth", &GROWTH).unwrap_or(usual.growth),
        rto: section.choice("rto", &RTO).unwrap_or(usual.rto),
        receive_window: section.amount("receive_window_kb", &WINDOW).map(bytes),
        initial_window: section
            .count("initial_window_segments", 1..=MOST_SEGMENTS)
            .map_or(usual.initial_window, |segments| segments as u32),
        initial_ssthresh: section
            .count("initial_ssthresh_segments", LEAST_THRESHOLD..=MOST_SEGMENTS)
            .map(|segments| segments as u32),
        metrics_cache: section.flag("metrics_cache").unwrap_or(usual.metrics_cache),
        scheduler: section
            .choice("scheduler", &SCHEDULERS)
            .unwrap_or(usual.scheduler),
        opportunistic_retransmission: section
            .flag("opportunistic_retransmission")
            .unwrap_or(usual.opportunistic_retransmission),
        syns: section.choice("syns", &SYNS).unwrap_or(usual.syns),
        acks_take_air: section.flag("acks_take_air").unwrap_or(usual.acks_take_air),
    };
    refuse_without_flows(&section, flows);
    if !tcp.acks_take_air {
        refuse_without_air(&section, links, walkers);
    }
    section.finish();
    tcp
}

/// Refuses keys that no flow of the scenario heeds.
fn refuse_without_flows(section: &Section<'_>, flows: &[Flow]) {
    let has = |wanted: fn(Transport) -> bool| flows.iter().any(|flow| wanted(flow.transport));
    if !has(|transport| !matches!(transport, Transport::Udp { .. })) {
        let what = "[tcp] has no effect: all flows are datagrams";
        section
            .log
            .note(section.at, what, "remove it, or add a flow of TCP or MPTCP");
    } else if !has(|transport| transport == Transport::Mptcp) {
        for key in OF_MPTCP.into_iter().filter(|key| section.has(key)) {
            section.note(
                key,
                format!("`{key}` has no effect: no flow uses MPTCP"),
                "remove it, or add a flow without `transport`",
            );
        }
    }
}

/// Refuses ACKs that need no air where there is none, or where a radio sleeps or is on another channel.
fn refuse_without_air(section: &Section<'_>, links: &[Link], walkers: &[Walker]) {
    let is_wifi = |link: &Link| matches!(link.kind, LinkKind::Wifi(_));
    let is_away = |walker: &Walker| walker.power_save || walker.radio.is_some();
    let (what, instead) = if !links.iter().any(is_wifi) {
        ("there are no access points, so ACKs take no air", "remove it")
    } else if walkers.iter().any(is_away) {
        (
            "ACKs without airtime would reach a radio that sleeps or is on another channel",
            "remove it, or `power_save` and `radio = \"single\"`",
        )
    } else {
        return;
    };
    section.note("acks_take_air", what, instead);
}

//! A peer of an ad hoc network that somebody carries past the client.

mod common;

use common::plan;
use scenario::Plan;
use sim::{Play, Played, play};
use trace::{LinkState, PolicyName, What};

/// An access point and a peer on different channels. Who carries the peer is near the client from 10 to 20 s.
fn passing(flows: &str, settings: &[&str]) -> Plan {
    let text = format!(
        "sentence = \"A peer passes.\"\nduration_s = 30\nmedium = \"exact\"\n\
         [aps.hall]\nat_m = [0, 0]\nstandard = \"g\"\nchannel = 1\n\
         backhaul = {{ rate_mbps = 4, rtt_ms = 20, queue_packets = 100 }}\n\
         [aps.laptop]\nmode = \"ad-hoc\"\ncarried_by = \"colleague\"\nstandard = \"g\"\nchannel = 11\n\
         [walkers.client]\nat_m = [0, 4]\n\
         [walkers.colleague]\nway = [{{ at_m = [-300, 4], t_s = 8 }}, {{ at_m = [-6, 4], t_s = 10 }}, \
         {{ at_m = [6, 4], t_s = 20 }}, {{ at_m = [300, 4], t_s = 22 }}]\n{flows}"
    );
    plan(&text, settings)
}

fn played(plan: &Plan, policy: PolicyName) -> Played {
    play(&Play::new(plan, policy)).unwrap_or_else(|error| panic!("{error}"))
}

/// When the link to the peer was up, in seconds.
fn up(played: &Played) -> Vec<(f64, LinkState)> {
    let of = played.record.events.iter();
    let states = of.filter_map(|event| match &event.what {
        What::LinkState { link, state } if link == "laptop" => Some((event.t_ns as f64 / 1e9, *state)),
        _ => None,
    });
    let ends = states.filter(|(_, state)| matches!(state, LinkState::Up | LinkState::Down));
    ends.filter(|(at, _)| *at > 0.0).collect()
}

/// Megabytes of a flow at the end of each second.
fn growth(played: &Played, name: &str) -> Vec<(f64, f64)> {
    let of = played.record.events.iter();
    let read = of.filter_map(|event| match &event.what {
        What::AppBytes { flow, bytes } if flow == name => {
            Some((event.t_ns as f64 / 1e9, *bytes as f64 / 1e6))
        }
        _ => None,
    });
    read.collect()
}

const BOTH: &str = "[flows.download]\ntransport = \"tcp\"\nover = \"hall\"\ndirection = \"down\"\n\
    [flows.file]\ntransport = \"tcp\"\nover = \"laptop\"\ndirection = \"up\"\n";

#[test]
fn one_radio_serves_an_access_point_and_a_peer_that_passes() {
    let single = [
        "walkers.client.radio=single",
        "walkers.client.slots={ slice_ms = 50, weights = { hall = 3, laptop = 1 }, scan_ms = 50 }",
    ];
    let played = played(&passing(BOTH, &single), PolicyName::Slowhand);
    let file = growth(&played, "file");
    let moved = file.last().expect("the file").1;
    let (before, after) = (9.0, 23.0);
    assert!(
        file.iter()
            .all(|&(at, mb)| (at > before || mb == 0.0) && (at < after || mb == moved)),
        "{file:?}"
    );
    assert!(moved > 1.0, "{moved} MB");
    let download = &played.run.flows[0];
    assert!(download.goodput_mbps > 3.4, "{} Mb/s", download.goodput_mbps);
    let states = up(&played);
    assert!(
        matches!(states[..], [(joined, LinkState::Up), .., (lost, LinkState::Down)]
            if joined > before && joined < 12.0 && lost > 20.0 && lost < 26.0),
        "{states:?}"
    );
}

#[test]
fn datagrams_reach_a_peer_while_it_is_near() {
    let every = "[flows.file]\ntransport = \"udp\"\nover = \"laptop\"\ndirection = \"up\"\nevery_ms = 20\n";
    let played = played(
        &passing(every, &["aps.hall.rate_mbps=54", "aps.laptop.rate_mbps=54"]),
        PolicyName::Mptcp,
    );
    let datagrams = played.run.flows[0].datagrams.as_ref().expect("datagrams");
    // 50 in each of some ten seconds.
    assert!((450..650).contains(&datagrams.received), "{datagrams:?}");
    let file = growth(&played, "file");
    let moved = file.last().expect("the file").1;
    assert!(
        file.iter()
            .all(|&(at, mb)| (at > 9.0 || mb == 0.0) && (at < 23.0 || mb == moved)),
        "{file:?}"
    );
}

#[test]
fn what_comes_from_a_peer_alone_is_as_fast_as_the_air() {
    let down = "[flows.file]\ntransport = \"tcp\"\nover = \"laptop\"\ndirection = \"down\"\n";
    let played = played(&passing(down, &[]), PolicyName::Mptcp);
    // 54 Mb/s carry some 25 Mb/s of TCP, for some nine seconds.
    let bytes = played.run.flows[0].bytes;
    assert!(bytes > 20_000_000, "{bytes} bytes");
}

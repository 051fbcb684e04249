//! A relay in front of the server, in virtual time.

mod common;

use common::plan;
use sim::{CastError, Play, Played, play};
use trace::PolicyName;

const DOWN: &str = "[flows.download]\ndirection = \"down\"\n";
const LEGACY: [&str; 2] = ["server=legacy", "relay.rtt_ms=10"];

/// Two cables, and these flows.
fn cables(flows: &str) -> String {
    format!(
        "sentence = \"Two cables.\"\nduration_s = 8\n[cables.left]\nrate_mbps = 20\nrtt_ms = 20\n\
         [cables.right]\nrate_mbps = 10\nrtt_ms = 40\n{flows}"
    )
}

fn played(flows: &str, policy: PolicyName, settings: &[&str]) -> Played {
    let plan = plan(&cables(flows), settings);
    play(&Play::new(&plan, policy)).unwrap_or_else(|error| panic!("{error}"))
}

fn over(link: &str) -> PolicyName {
    PolicyName::Tcp(link.to_owned())
}

/// Bytes of a flow over `left` and `right`.
fn carried(played: &Played, flow: usize) -> [u64; 2] {
    let paths = &played.run.flows[flow].paths;
    ["left", "right"].map(|link| {
        let of_link = paths.iter().filter(|path| path.link == link);
        of_link.map(|path| path.bytes).sum()
    })
}

fn mbps(played: &Played) -> f64 {
    played.run.bytes() as f64 * 8e-6 / played.run.duration_s
}

fn has_note(played: &Played, note: &str) -> bool {
    played.run.notes.iter().any(|known| known.contains(note))
}

#[test]
fn through_a_relay_a_download_from_a_legacy_server_uses_both_links() {
    // Long enough that losses in slow start, which differ, do not count.
    const LASTS: &str = "duration_s=20";
    for policy in [PolicyName::Mptcp, PolicyName::Slowhand] {
        let with = played(DOWN, policy.clone(), &[&LEGACY[..], &[LASTS]].concat());
        // MPTCP at both ends is what a relay can reach at most.
        let control = played(DOWN, policy, &[LASTS]);
        assert!(with.run.intact(), "{:#?}", with.run);
        let share = mbps(&with) / mbps(&control);
        assert!((0.95..=1.05).contains(&share), "{share}");
        let [left, right] = carried(&with, 0);
        assert!(left > right && right > 2_000_000, "{left}, {right}");
        assert!(
            has_note(
                &with,
                "download took the way `relay: the server speaks plain TCP`"
            ),
            "{:?}",
            with.run.notes
        );
        assert!(!has_note(&with, "fell back"), "{:?}", with.run.notes);
    }
}

#[test]
fn uploads_and_requests_cross_a_relay_beside_a_flow_that_is_bound_to_a_link() {
    let flows = "[flows.upload]\ndirection = \"up\"\n\
                 [flows.pages]\nrequests = { every_s = 0.5, reply_kb = 20 }\n\
                 [flows.rival]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"right\"\nlimit_mbps = 2\n\
                 [flows.talk]\ntransport = \"udp\"\nover = \"left\"\ndirection = \"up\"\nlimit_mbps = 1\n";
    let played = played(flows, PolicyName::Mptcp, &LEGACY);
    assert!(played.run.intact(), "{:#?}", played.run);
    let [left, right] = carried(&played, 0);
    assert!(left > 2_000_000 && right > 1_000_000, "{left}, {right}");
    assert!(
        played.run.flows[1].bytes > 10 * 20_000,
        "{:#?}",
        played.run.flows[1]
    );
    let [left, right] = carried(&played, 2);
    assert!(
        left == 0 && right > 500_000,
        "the agent leaves it alone: {left}, {right}"
    );
    assert!(played.run.flows[3].bytes > 500_000, "{:#?}", played.run.flows[3]);
}

#[test]
fn a_slow_way_behind_the_relay_slows_the_server_and_loses_nothing() {
    let slow = ["server=legacy", "relay.rtt_ms=10", "relay.rate_mbps=6"];
    for flows in [DOWN, "[flows.upload]\ndirection = \"up\"\n"] {
        let behind = played(flows, PolicyName::Mptcp, &slow);
        assert!(behind.run.intact());
        let rate = mbps(&behind);
        assert!((5.0..6.0).contains(&rate), "{rate} Mb/s of {flows}");
    }
    // The links are slower than the server: it may not be far ahead of what they carry.
    let plan = plan(
        &cables("[flows.download]\ndirection = \"down\"\nsize_mb = 12\n"),
        &LEGACY,
    );
    let front = play(&Play::new(&plan, PolicyName::Mptcp)).unwrap();
    assert_eq!(
        front.run.bytes(),
        12_000_000,
        "all of it arrives: {:#?}",
        front.run
    );
}

#[test]
fn plain_tcp_of_one_link_goes_past_the_relay() {
    let played = played(DOWN, over("left"), &LEGACY);
    let [left, right] = carried(&played, 0);
    assert!(
        played.run.intact() && left > 10_000_000 && right == 0,
        "{left}, {right}"
    );
    assert!(!has_note(&played, "took the way"), "{:?}", played.run.notes);
}

#[test]
fn an_mptcp_server_is_reached_directly_from_the_second_connection_on() {
    let flows = "[flows.first]\ndirection = \"down\"\nsize_kb = 200\n\
                 [flows.second]\ndirection = \"down\"\nstart_s = 2\n";
    let played = played(flows, PolicyName::Mptcp, &["relay.rtt_ms=10"]);
    assert!(played.run.intact(), "{:#?}", played.run);
    assert!(
        has_note(&played, "first took the way `relay:"),
        "{:?}",
        played.run.notes
    );
    assert!(
        has_note(&played, "second took the way `direct:"),
        "{:?}",
        played.run.notes
    );
    let [left, right] = carried(&played, 1);
    assert!(left > 5_000_000 && right > 2_000_000, "{left}, {right}");
}

/// The whole round trip is as long as without a relay. Where the server speaks first, its bytes come while
/// the relay confirms.
#[test]
fn a_relay_makes_no_way_longer() {
    let small = "[flows.download]\ndirection = \"down\"\nsize_kb = 1\n";
    let first_byte = |policy: PolicyName, settings: &[&str]| {
        let played = played(small, policy, settings);
        played.run.flows[0].first_byte_ms.unwrap()
    };
    for policy in [over("right"), PolicyName::Mptcp] {
        let without = first_byte(policy.clone(), &["server=legacy"]);
        let with = first_byte(policy, &LEGACY);
        assert!((with - without).abs() < 2.0, "{with} ms, {without} ms without");
    }
}

#[test]
fn the_same_seed_gives_the_same_record() {
    let [one, two] = [(); 2].map(|()| played(DOWN, PolicyName::Slowhand, &LEGACY));
    assert_eq!(one, two);
}

#[test]
fn a_relay_has_ipv4_only() {
    let text = cables(DOWN).replace("[cables.left]", "server_families = \"ipv4-first\"\n[cables.left]");
    let plan = plan(&text, &LEGACY);
    assert_eq!(
        play(&Play::new(&plan, PolicyName::Mptcp)).unwrap_err(),
        CastError::RelayOverV6
    );
}

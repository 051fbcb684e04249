//! Flows whose application fetches a file in blocks over several connections, on the real kernel.

mod plans;

use lab::stop::Stop;
use lab::world::{Play, Played, play};
use plans::plan;
use trace::{Flow, PolicyName};

/// Two cables with a file over both. `flow`: what the application does.
fn played(policy: PolicyName, flow: &str, faults: &str) -> Played {
    let plan = plan(&format!(
        "sentence = \"Two cables.\"\nduration_s = 10\n\
         [cables.slow]\nrate_mbps = 2\nrtt_ms = 20\n\
         [cables.fast]\nrate_mbps = 6\nrtt_ms = 20\n\
         [flows.file]\n{flow}\n{faults}"
    ));
    let what = Play::new(&plan, policy);
    play(&what, &Stop::new(), &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// The bytes of the file that each link carried: the slow one, and the fast one.
fn over(flow: &Flow) -> [u64; 2] {
    ["slow", "fast"].map(|name| {
        let path = flow.paths.iter().find(|path| path.link == name);
        path.map_or(0, |path| path.bytes)
    })
}

const STRIPE: &str = "stripe = { size_mb = 3, block_kb = 64 }";

#[test]
fn a_file_is_striped_over_both_links_for_a_player() {
    let video = format!("{STRIPE}\nvideo = {{ rate_mbps = 4, buffer_s = 1 }}");
    let played = played(PolicyName::Mptcp, &video, "");
    let file = &played.run.flows[0];
    assert_eq!((file.bytes, file.intact), (3_000_000, Some(true)), "{file:?}");
    let [slow, fast] = over(file);
    assert!(slow > 300_000 && fast > slow, "{slow} and {fast} bytes");
    let playback = file.playback.expect("a player");
    assert!(playback.startup_ms.is_some_and(|ms| ms > 0.0), "{playback:?}");
    // 3 MB at 4 Mb/s.
    assert!((playback.played_ms - 6_000.0).abs() < 1.0, "{playback:?}");
    let has = |what: &str| played.run.notes.iter().any(|note| note.contains(what));
    assert!(
        has("playback began after") && !has("fell back"),
        "{:?}",
        played.run.notes
    );
}

#[test]
fn a_policy_for_one_link_leaves_that_one() {
    let played = played(PolicyName::Tcp("fast".to_owned()), STRIPE, "");
    let file = &played.run.flows[0];
    assert_eq!((file.bytes, file.intact), (3_000_000, Some(true)), "{file:?}");
    assert_eq!(over(file)[0], 0);
}

/// Once its link drops everything, and once the link is gone for good.
#[test]
fn the_rest_of_a_block_is_fetched_over_another_link() {
    for kind in ["blackhole", "down"] {
        let fault = format!("[[faults]]\nkind = \"{kind}\"\nlink = \"slow\"\nat_s = 1\n");
        let played = played(PolicyName::Mptcp, STRIPE, &fault);
        let fault = &played.emulator.faults[0];
        assert!(
            fault.holds() && (kind == "down" || fault.swallowed > 0),
            "{fault:?}"
        );
        let file = &played.run.flows[0];
        let whole = (file.bytes, file.intact);
        assert_eq!(whole, (3_000_000, Some(true)), "{kind}: {file:?}");
        assert!(over(file)[0] > 0, "{kind}: {file:?}");
    }
}

#[test]
fn peers_are_spread_over_the_links() {
    let swarm = "swarm = { size_mb = 3, piece_kb = 64, peers = 4 }";
    let played = played(PolicyName::Slowhand, swarm, "");
    let file = &played.run.flows[0];
    assert_eq!((file.bytes, file.intact), (3_000_000, Some(true)), "{file:?}");
    let [slow, fast] = over(file);
    assert!(slow > 300_000 && fast > slow, "{slow} and {fast} bytes");
}

#[test]
fn peers_of_a_link_that_goes_down_continue_over_another() {
    let swarm = "swarm = { size_mb = 3, piece_kb = 64, peers = 4 }";
    let down = "[[faults]]\nkind = \"down\"\nlink = \"slow\"\nat_s = 1\n";
    let played = played(PolicyName::Slowhand, swarm, down);
    let file = &played.run.flows[0];
    assert_eq!((file.bytes, file.intact), (3_000_000, Some(true)), "{file:?}");
    let [slow, fast] = over(file);
    assert!(
        0 < slow && slow < 500_000 && fast > 2_500_000,
        "{slow} and {fast} bytes"
    );
}

//! Flows whose application fetches a file in blocks over several connections.

mod common;

use common::plan;
use sim::{Play, Played, play};
use trace::PolicyName;

/// Two cables, and a file over both.
const TWO: &str = "sentence = \"Two cables.\"\nduration_s = 30\n\
    [cables.slow]\nrate_mbps = 2\nrtt_ms = 20\n\
    [cables.fast]\nrate_mbps = 6\nrtt_ms = 20\n\
    [flows.file]\nstripe = { size_mb = 8, block_kb = 64 }\n";

fn played_under(policy: PolicyName, text: &str, settings: &[&str]) -> Played {
    let plan = plan(text, settings);
    play(&Play::new(&plan, policy)).unwrap_or_else(|error| panic!("{error}"))
}

fn played(text: &str, settings: &[&str]) -> Played {
    played_under(PolicyName::Mptcp, text, settings)
}

/// Bytes that each link carried of the first flow.
fn carried(played: &Played) -> Vec<(&str, u64)> {
    let paths = played.run.flows[0].paths.iter();
    paths.map(|path| (path.link.as_str(), path.bytes)).collect()
}

#[test]
fn a_file_is_striped_over_all_links_by_their_rates() {
    let played = played(TWO, &[]);
    let file = &played.run.flows[0];
    assert_eq!((file.bytes, file.intact), (8_000_000, Some(true)));
    // Of 8 Mb/s, headers take 4 %, and a request for each block one RTT.
    assert!(file.goodput_mbps > 6.0, "{} Mb/s", file.goodput_mbps);
    let over = carried(&played);
    assert_eq!([over[0].0, over[1].0], ["slow", "fast"]);
    assert_eq!(over[0].1 + over[1].1, 8_000_000);
    let share = over[1].1 as f64 / 8e6;
    assert!((0.7..0.8).contains(&share), "{share} over the fast cable");
}

#[test]
fn a_policy_for_one_link_leaves_that_one() {
    let played = played_under(PolicyName::Tcp("slow".to_owned()), TWO, &[]);
    let over = carried(&played);
    assert_eq!(over.len(), 1, "{over:?}");
    assert_eq!(over[0].0, "slow");
}

#[test]
fn one_seed_gives_one_record() {
    let [one, other] = [0, 1].map(|_| played(TWO, &["cables.slow.loss_percent=1"]));
    assert_eq!(one, other);
}

#[test]
fn the_rest_of_a_block_is_fetched_over_another_link() {
    // Its link drops everything, or is gone for good.
    for kind in ["blackhole", "down"] {
        let fault = format!("[[faults]]\nkind = \"{kind}\"\nlink = \"slow\"\nat_s = 3\n");
        let played = played(&format!("{TWO}{fault}"), &[]);
        let file = &played.run.flows[0];
        assert_eq!((file.bytes, file.intact), (8_000_000, Some(true)), "{kind}");
        assert!(file.goodput_mbps > 4.5, "{kind}: {} Mb/s", file.goodput_mbps);
    }
}

#[test]
fn a_link_that_comes_later_takes_part() {
    let down = "[[faults]]\nkind = \"down\"\nlink = \"fast\"\nat_s = 2\nfor_s = 4\n";
    let played = played(&format!("{TWO}{down}"), &[]);
    let file = &played.run.flows[0];
    assert_eq!((file.bytes, file.intact), (8_000_000, Some(true)));
    let fast = carried(&played)[1].1;
    assert!(fast > 3_000_000, "{fast} bytes over the link that returned");
}

#[test]
fn behind_a_relay_it_is_striped_as_without() {
    let played = played(TWO, &["relay.rtt_ms=10"]);
    let file = &played.run.flows[0];
    assert_eq!((file.bytes, file.intact), (8_000_000, Some(true)));
    assert!(file.goodput_mbps > 6.0, "{} Mb/s", file.goodput_mbps);
}

#[test]
fn a_video_is_played_from_its_start_and_waits_for_what_is_late() {
    let film = "[cables.line]\nrate_mbps = 2\nrtt_ms = 20\nqueue_packets = 100\n\
        [flows.film]\nstripe = { size_mb = 2, block_kb = 50 }\nvideo = { rate_mbps = 1, buffer_s = 2 }\n";
    let text = format!("sentence = \"A film.\"\nduration_s = 40\n{film}");
    let of = |settings: &[&str]| {
        let run = played(&text, settings).run;
        (run.flows[0].playback.expect("a player"), run.notes)
    };
    // 16 s of video, of which 2 s take half as long over 2 Mb/s.
    let (quick, notes) = of(&[]);
    assert_eq!(
        (quick.gaps, quick.gap_total_ms, quick.played_ms),
        (0, 0.0, 16_000.0)
    );
    assert!(
        (1_000.0..1_500.0).contains(&quick.startup_ms.unwrap()),
        "{quick:?}"
    );
    assert!(notes[0].contains("film: playback began after "), "{notes:?}");
    // Over 0.5 Mb/s it takes 32 s and more, and no gap is longer than the buffer takes to fill.
    let (slow, _) = of(&["cables.line.rate_mbps=0.5"]);
    assert!(slow.gaps > 2 && slow.longest_gap_ms < 5_500.0, "{slow:?}");
    assert!((12_000.0..16_000.0).contains(&slow.gap_total_ms), "{slow:?}");
    assert_eq!(slow.played_ms, 16_000.0);
    let (none, notes) = of(&["cables.line.rate_mbps=0.001"]);
    assert_eq!((none.startup_ms, none.gaps), (None, 0));
    assert!(notes[0].contains("playback never began"), "{notes:?}");
}

/// Two equal cables, and a file that four peers have.
const PEERS: &str = "sentence = \"A swarm.\"\nduration_s = 30\n\
    [cables.left]\nrate_mbps = 4\nrtt_ms = 20\n\
    [cables.right]\nrate_mbps = 4\nrtt_ms = 20\n\
    [flows.torrent]\nswarm = { size_mb = 10, piece_kb = 128, peers = 4 }\n";

/// Links that the engine has assigned to flows, in the order of time.
fn assigned(played: &Played) -> Vec<&str> {
    let events = played.record.events.iter();
    let links = events.filter_map(|event| match &event.what {
        trace::What::Decision { verb, link, .. } if verb == "assign" => link.as_deref(),
        _ => None,
    });
    links.collect()
}

#[test]
fn the_engine_spreads_peers_evenly() {
    let played = played(PEERS, &[]);
    let torrent = &played.run.flows[0];
    assert_eq!((torrent.bytes, torrent.intact), (10_000_000, Some(true)));
    assert!(torrent.goodput_mbps > 6.5, "{} Mb/s", torrent.goodput_mbps);
    assert_eq!(assigned(&played), ["left", "right", "left", "right"]);
    let over = carried(&played);
    let share = over[0].1 as f64 / 1e7;
    assert!((0.45..0.55).contains(&share), "{over:?}");
}

#[test]
fn peers_of_a_link_that_is_gone_use_the_other() {
    let down = "[[faults]]\nkind = \"down\"\nlink = \"left\"\nat_s = 2\n";
    let played = played(&format!("{PEERS}{down}"), &[]);
    let torrent = &played.run.flows[0];
    assert_eq!((torrent.bytes, torrent.intact), (10_000_000, Some(true)));
    assert_eq!(
        assigned(&played),
        ["left", "right", "left", "right", "right", "right"]
    );
}

#[test]
fn a_silent_peer_is_given_up_after_a_minute() {
    let silent = "[[faults]]\nkind = \"blackhole\"\nlink = \"left\"\nat_s = 2\n";
    let played = played(&format!("{PEERS}{silent}"), &["duration_s=90"]);
    let torrent = &played.run.flows[0];
    assert_eq!((torrent.bytes, torrent.intact), (10_000_000, Some(true)));
    let seconds = torrent.bytes as f64 * 8e-6 / torrent.goodput_mbps;
    assert!((62.0..66.0).contains(&seconds), "{seconds} s");
}

#[test]
fn under_a_policy_for_one_link_all_peers_use_that_one() {
    let played = played_under(PolicyName::Tcp("right".to_owned()), PEERS, &[]);
    let over = carried(&played);
    assert_eq!((over.len(), over[0].0), (1, "right"), "{over:?}");
    assert_eq!(played.run.flows[0].bytes, 10_000_000);
}

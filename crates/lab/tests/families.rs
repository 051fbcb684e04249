//! One connection over IPv4 and IPv6: a scenario says which versions of IP each link and the server have.

mod plans;

use lab::stop::Stop;
use lab::world::{Play, Played, play};
use plans::{DOWNLOAD, plan};
use units::Instant;

/// A download of this many seconds over a link with IPv4 only and one with IPv6 only. The server announces
/// its second address. `more` is additional TOML.
fn mixed(policy: &str, seconds: u32, begins: &str, more: &str) -> Played {
    let plan = plan(&format!(
        "sentence = \"Two versions of IP.\"\nduration_s = {seconds}\nserver_families = \"{begins}\"\n\
         [cables.old]\nrate_mbps = 10\nrtt_ms = 20\n\
         [cables.new]\nrate_mbps = 10\nrtt_ms = 30\nfamilies = \"ipv6\"\n{DOWNLOAD}{more}"
    ));
    play(
        &Play::new(&plan, policy.parse().unwrap()),
        &Stop::new(),
        &mut |_| {},
    )
    .unwrap()
}

/// Bytes that a link had carried at this time.
fn carried(played: &Played, link: &str, until_s: u64) -> u64 {
    played
        .record
        .carried("download", link, Instant::from_secs(until_s))
}

fn survives(begins: &str, lost: &str, kept: &str) {
    let fault = format!("[[faults]]\nat_s = 3\nlink = \"{lost}\"\nkind = \"blackhole\"\n");
    let played = mixed("slowhand", 6, begins, &fault);
    assert!(played.run.intact(), "{:#?}", played.run);
    for link in ["old", "new"] {
        let before = carried(&played, link, 3);
        assert!(before > 500_000, "{link} carried {before} bytes before the fault");
    }
    let (before, after) = (carried(&played, kept, 4), carried(&played, kept, 6));
    assert!(
        after > before + 500_000,
        "{kept}: {before}, and {after} at the end"
    );
}

#[test]
fn a_download_begun_over_ipv4_uses_ipv6_too_and_survives_the_loss_of_ipv4() {
    survives("ipv4-first", "old", "new");
}

#[test]
fn a_download_begun_over_ipv6_uses_ipv4_too_and_survives_the_loss_of_ipv6() {
    survives("ipv6-first", "new", "old");
}

#[test]
fn plain_tcp_goes_to_the_address_that_its_link_can_reach() {
    for (link, other) in [("old", "new"), ("new", "old")] {
        let played = mixed(&format!("tcp:{link}"), 2, "ipv4-first", "");
        assert!(played.run.intact(), "{:#?}", played.run);
        assert!(carried(&played, link, 2) > 500_000, "{link}");
        assert_eq!(carried(&played, other, 2), 0, "{other}");
    }
}

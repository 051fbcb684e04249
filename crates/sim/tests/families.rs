//! One connection over IPv4 and IPv6 in virtual time, as in the lab's `tests/families.rs`.

mod common;

use common::plan;
use sim::{CastError, Play, Played, play};
use units::Instant;

/// A download over a link with IPv4 only and one with IPv6 only.
const TWO: &str = r#"sentence = "Two versions of IP."
duration_s = 6
server_families = "ipv4-first"

[cables.old]
rate_mbps = 10
rtt_ms = 20

[cables.new]
rate_mbps = 10
rtt_ms = 30
families = "ipv6"

[flows.download]
direction = "down"
"#;

fn played(policy: &str, begins: &str, more: &str) -> Played {
    let text = format!("{TWO}{more}");
    let plan = plan(&text, &[&format!("server_families={begins}")]);
    let what = Play {
        events: true,
        ..Play::new(&plan, policy.parse().unwrap())
    };
    play(&what).unwrap()
}

/// Bytes that a link had carried at this time.
fn carried(played: &Played, link: &str, until_s: u64) -> u64 {
    played
        .record
        .carried("download", link, Instant::from_secs(until_s))
}

#[test]
fn a_download_uses_both_families_and_survives_the_loss_of_the_one_it_began_with() {
    for (begins, lost, kept) in [("ipv4-first", "old", "new"), ("ipv6-first", "new", "old")] {
        let fault = format!("[[faults]]\nat_s = 3\nlink = \"{lost}\"\nkind = \"blackhole\"\n");
        let played = played("slowhand", begins, &fault);
        for link in ["old", "new"] {
            let before = carried(&played, link, 3);
            assert!(before > 500_000, "{begins}: {link} carried {before} bytes");
        }
        let (before, after) = (carried(&played, kept, 4), carried(&played, kept, 6));
        assert!(after > before + 500_000, "{begins}: {before}, and {after}");
    }
}

#[test]
fn a_stock_client_joins_at_the_address_that_the_server_announces() {
    for begins in ["ipv4-first", "ipv6-first"] {
        let played = played("mptcp", begins, "");
        for link in ["old", "new"] {
            let bytes = carried(&played, link, 6);
            assert!(bytes > 3_000_000, "{begins}: {link} carried {bytes} bytes");
        }
    }
}

#[test]
fn links_with_both_families_carry_whatever_the_server_has() {
    let both = "families = \"both\"";
    let text = TWO.replace("families = \"ipv6\"", both);
    let text = text.replace("rtt_ms = 20", &format!("rtt_ms = 20\n{both}"));
    for families in ["ipv4", "ipv6", "ipv6-first"] {
        for policy in ["slowhand", "mptcp"] {
            let plan = plan(&text, &[&format!("server_families={families}")]);
            let run = play(&Play::new(&plan, policy.parse().unwrap())).unwrap().run;
            let paths = &run.flows[0].paths;
            let both = paths.len() == 2 && paths.iter().all(|path| path.bytes > 3_000_000);
            assert!(both, "{families}, {policy}: {paths:#?}");
        }
    }
}

#[test]
fn plain_tcp_goes_to_the_address_that_its_link_can_reach() {
    for (link, other) in [("old", "new"), ("new", "old")] {
        let played = played(&format!("tcp:{link}"), "ipv4-first", "");
        assert!(carried(&played, link, 6) > 3_000_000, "{link}");
        assert_eq!(carried(&played, other, 6), 0, "{other}");
    }
}

#[test]
fn ipv6_has_longer_headers() {
    let goodput = |families: &str| {
        let text = TWO.replace("families = \"ipv6\"", &format!("families = \"{families}\""));
        let settings = [&*format!("server_families={families}"), "duration_s=20"];
        let plan = plan(
            &text.replace("rtt_ms = 20", &format!("rtt_ms = 20\nfamilies = \"{families}\"")),
            &settings,
        );
        let run = play(&Play::new(&plan, "tcp:old".parse().unwrap())).unwrap().run;
        run.flows[0].goodput_mbps
    };
    let ratio = goodput("ipv6") / goodput("ipv4");
    // 1,428 and 1,448 bytes of 1,500.
    assert!((ratio - 1_428.0 / 1_448.0).abs() < 0.002, "{ratio}");
}

#[test]
fn datagrams_need_ipv4() {
    let udp = "[flows.call]\ntransport = \"udp\"\nover = \"old\"\ndirection = \"down\"\nlimit_mbps = 1\n";
    let plan = plan(&format!("{TWO}{udp}"), &[]);
    let error = play(&Play::new(&plan, "slowhand".parse().unwrap())).unwrap_err();
    assert_eq!(error, CastError::DatagramsOverV6("call".into()));
}

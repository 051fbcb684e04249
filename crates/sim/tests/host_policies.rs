//! Policies that virtual time alone can play, and those that need what only few worlds report: what links
//! will carry, and what radios draw.

mod common;

use common::plan;
use policy::estimate::phy::Phy;
use policy::{Input, LinkEvent};
use record::Entry;
use sim::{Play, Played, play};
use units::Instant;
use units::wifi::ht::{Band, Guard, Width};

/// The better cable drops everything from 10 s to 20 s, in a slot of its own.
const CABLES: &str = "sentence = \"x\"\nduration_s = 30\n[cables.left]\nrate_mbps = 16\nrtt_ms = 20\n\
    [cables.right]\nrate_mbps = 8\nrtt_ms = 40\n[flows.download]\ndirection = \"down\"\n\
    [[faults]]\nat_s = 10\nfor_s = 10\nlink = \"left\"\nkind = \"blackhole\"\n";

/// An access point whose bits cost less energy than those of the cell.
const RADIOS: &str = "sentence = \"x\"\nduration_s = 24\n\
    [aps.near]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\n\
    backhaul = { rate_mbps = 10, rtt_ms = 20 }\n[cells.lte]\nrate_mbps = 5\nrtt_ms = 40\n\
    [walkers.client]\nat_m = [5, 0]\n[flows.download]\ndirection = \"down\"\n";

fn played(text: &str, policy: &str) -> Played {
    let plan = plan(text, &[]);
    play(&Play::new(&plan, policy.parse().unwrap())).unwrap_or_else(|error| panic!("{error}"))
}

/// Bytes of the download over a link in these seconds.
fn carried(played: &Played, link: &str, seconds: std::ops::Range<u64>) -> u64 {
    let until = |second| {
        played
            .record
            .carried("download", link, Instant::from_secs(second))
    };
    until(seconds.end) - until(seconds.start)
}

#[test]
fn the_omniscient_policy_leaves_a_link_before_it_fails() {
    let run = played(CABLES, "omniscient");
    let [left, right] = ["left", "right"].map(|link| [1..10, 11..20, 21..30].map(|s| carried(&run, link, s)));
    assert!(left[0] > 14_000_000 && right[0] == 0, "{left:?} {right:?}");
    assert!(left[1] == 0 && right[1] > 6_500_000, "{left:?} {right:?}");
    assert!(left[2] > 12_000_000, "{left:?} {right:?}");
    assert!(
        run.run.flows[0].intact == Some(true) && run.run.flows[0].longest_stall_ms < 1_000.0,
        "{:?}",
        run.run.flows
    );
}

#[test]
fn energy_policies_turn_the_dearer_radio_off() {
    let all = played(RADIOS, "mptcp");
    let probing = played(RADIOS, "energy:probing");
    let knowing = played(RADIOS, "energy:omniscient");
    assert!(carried(&all, "lte", 14..24) > 1_000_000);
    assert!(carried(&probing, "lte", 5..10) > 500_000, "it compares for 10 s");
    for run in [&probing, &knowing] {
        assert_eq!(carried(run, "lte", 16..24), 0, "{}", run.run.policy);
        assert!(carried(run, "near", 16..24) > 8_000_000, "{}", run.run.policy);
    }
    assert_eq!(carried(&knowing, "lte", 6..24), 0, "it needs no comparison");
    let joules = [&knowing, &probing, &all].map(|run| run.run.energy_j);
    assert!(joules.is_sorted(), "{joules:?}");
}

/// What the engine learns of links. A recording of its inputs shows that.
fn learned(text: &str, changes: &[&str]) -> Vec<(u16, LinkEvent)> {
    let plan = plan(text, changes);
    let buffer = record::Buffer::default();
    let recorded = Play {
        record: Some(buffer.clone()),
        ..Play::new(&plan, "slowhand".parse().unwrap())
    };
    play(&recorded).unwrap();
    let recording = buffer.take();
    let file = record::File::read(&recording).unwrap();
    let learned = file.entries().filter_map(|entry| match entry.unwrap() {
        Entry::Handle(_, Input::Link(link, event)) => Some((link.0, event)),
        _ => None,
    });
    learned.collect()
}

#[test]
fn the_engine_learns_what_radios_draw() {
    let learned = learned(RADIOS, &["duration_s=1"]);
    let draws = learned
        .iter()
        .filter(|(_, event)| matches!(event, LinkEvent::Draws(_)));
    assert_eq!(draws.count(), 2, "once for each radio: {learned:?}");
}

#[test]
fn the_engine_learns_the_phy_of_an_access_point_for_datagrams_too() {
    let radios = RADIOS.replace("rate_mbps = 54", "ht = { streams = 1 }");
    let datagrams = format!("{radios}transport = \"udp\"\nover = \"near\"\nlimit_mbps = 1\n");
    for text in [&radios, &datagrams] {
        let learned = learned(text, &["duration_s=1"]);
        let phys = learned
            .into_iter()
            .filter(|(_, event)| matches!(event, LinkEvent::Phy(_)));
        let n = Phy::Ht {
            band: Band::Ghz5,
            width: Width::Mhz20,
            guard: Guard::Long,
        };
        assert_eq!(Vec::from_iter(phys), [(0, LinkEvent::Phy(n))]);
    }
}

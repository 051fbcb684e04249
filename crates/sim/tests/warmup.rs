//! The warm-up: what happens in it counts in no figure, in both kinds of run.

mod common;

use common::plan;
use sim::{Play, play};
use trace::{Flow, PolicyName, Run};

/// Datagrams of 1,250 bytes every 10 ms.
const CABLE: &str = "sentence = \"Datagrams over a cable.\"\nduration_s = 4\n\
    [cables.wire]\nrate_mbps = 10\nrtt_ms = 40\nqueue_packets = 100\n[cables.spare]\nrate_mbps = 10\nrtt_ms = 40\n\
    [flows.call]\ntransport = \"udp\"\nover = \"wire\"\ndirection = \"down\"\npayload_bytes = 1222\nevery_ms = 10\n";
/// With it two hosts play the scenario.
const TCP: &str = "[flows.bulk]\ntransport = \"tcp\"\nover = \"spare\"\ndirection = \"down\"\n";
/// An access point, and a guard that begins to send after 2 s.
const AIR: &str = "sentence = \"A station that begins late.\"\nduration_s = 4\n\
    [aps.near]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\nbackhaul = { rate_mbps = 100, rtt_ms = 4 }\n\
    [cables.spare]\nrate_mbps = 10\nrtt_ms = 40\n[walkers.client]\nat_m = [3, 0]\n[walkers.guard]\nat_m = [0, 3]\n\
    [flows.up]\nby = \"guard\"\ntransport = \"udp\"\nover = \"near\"\ndirection = \"up\"\nstart_s = 2\n";

fn run(text: &str, settings: &[&str]) -> Run {
    let plan = plan(text, settings);
    let played = play(&Play::new(&plan, PolicyName::Mptcp));
    played.unwrap_or_else(|error| panic!("{error}")).run
}

fn flow<'r>(run: &'r Run, name: &str) -> &'r Flow {
    let found = run.flows.iter().find(|flow| flow.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", run.flows))
}

#[test]
fn datagrams_and_goodput_count_from_its_end() {
    for text in [CABLE.to_owned(), format!("{CABLE}{TCP}")] {
        let run = run(&text, &["warmup_s=1"]);
        assert_eq!((run.duration_s, run.warmup_s), (4.0, 1.0));
        let call = flow(&run, "call");
        let counts = call.datagrams.unwrap();
        assert!((299..=301).contains(&counts.received), "{counts:?}");
        assert!((299..=301).contains(&counts.sent), "{counts:?}");
        assert_eq!(call.bytes, counts.received * 1_222);
        assert_eq!(call.paths[0].bytes, call.bytes);
        assert!((call.goodput_mbps - 0.9776).abs() < 0.004, "{call:?}");
        let series: u64 = run.goodput_series.iter().sum();
        assert!(series > run.bytes(), "the series is that of the whole run");
    }
}

#[test]
fn a_slow_start_within_it_does_not_count() {
    let text = format!("{CABLE}{TCP}");
    let [cold, warm] = [&[][..], &["warmup_s=2"]].map(|settings| run(&text, settings));
    let (before, after) = (flow(&cold, "bulk"), flow(&warm, "bulk"));
    assert!(
        after.goodput_mbps > before.goodput_mbps + 0.1,
        "{before:?} {after:?}"
    );
    assert!((9.0..9.66).contains(&after.goodput_mbps), "{after:?}");
    assert_eq!(after.first_byte_ms, before.first_byte_ms);
    // What is acknowledged differs from what is read by what is in flight.
    let carried = after.paths[0].bytes as f64 / after.bytes as f64;
    assert!((0.95..1.05).contains(&carried), "{after:?}");
}

/// A black hole from 0.5 to 1.5 s, and a queue of many datagrams from 2 to 2.5 s.
#[test]
fn stalls_and_delays_count_from_its_end() {
    let faults = "[[faults]]\nkind = \"blackhole\"\nlink = \"wire\"\nat_s = 0.5\nfor_s = 1\n\
        [[faults]]\nkind = \"rate\"\nlink = \"wire\"\nat_s = 2\nfor_s = 0.5\nrate_mbps = 0.5\n";
    let text = format!("{CABLE}{TCP}{faults}");
    let of = |warmup: &str| flow(&run(&text, &[warmup]), "call").clone();
    let (all, half, none) = (of("warmup_s=0"), of("warmup_s=1"), of("warmup_s=3"));
    assert!((980.0..1_050.0).contains(&all.longest_stall_ms), "{all:?}");
    assert!(
        (500.0..550.0).contains(&half.longest_stall_ms) && half.stalls == 1,
        "{half:?}"
    );
    assert_eq!((none.stalls, none.longest_stall_ms), (0, 0.0));
    let most = |flow: &Flow| flow.delay.unwrap().max_ms;
    assert!(
        most(&half) > 200.0 && (most(&none) - 21.0).abs() < 1e-6,
        "{half:?} {none:?}"
    );
    assert!(all.datagrams.unwrap().lost > 0 && none.datagrams.unwrap().lost == 0);
}

#[test]
fn shares_of_airtime_are_of_what_counts() {
    for text in [AIR.to_owned(), format!("{AIR}{TCP}")] {
        let [cold, warm] = ["warmup_s=0", "warmup_s=2"].map(|warmup| run(&text, &[warmup]));
        let share = |run: &Run| {
            let mut stations = run.stations.iter();
            stations
                .find(|station| station.name == "guard@36")
                .unwrap()
                .airtime_share
        };
        assert!(
            (share(&warm) / share(&cold) - 2.0).abs() < 0.01,
            "{} {}",
            share(&warm),
            share(&cold)
        );
        assert!(warm.channels[0].idle_share < 0.4 && cold.channels[0].idle_share > 0.6);
        assert!((warm.links[0].airtime_share / cold.links[0].airtime_share - 2.0).abs() < 0.1);
        let frames = |run: &Run| run.links[0].frames;
        assert!(frames(&warm) <= frames(&cold) && frames(&warm) + 60 > frames(&cold));
    }
}

/// One of two cables goes down after 2 s.
#[test]
fn the_optimum_is_that_of_what_counts() {
    let faults = "[[faults]]\nkind = \"down\"\nlink = \"wire\"\nat_s = 2\n";
    let text = format!("{CABLE}{TCP}{faults}").replace("duration_s = 4", "duration_s = 6");
    let [cold, warm] = ["warmup_s=0", "warmup_s=3"].map(|warmup| run(&text, &[warmup]).optimal_mbps);
    assert!(warm < 0.8 * cold && warm > 0.3 * cold, "{warm} {cold}");
}

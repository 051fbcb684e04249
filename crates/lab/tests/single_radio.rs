//! A client with one radio for several access points, under the real kernel's TCP.

#[path = "../../sim/tests/common/cycles.rs"]
mod cycles;
mod plans;

use cycles::cycles;
use lab::stop::Stop;
use lab::world::{Play, Played, play};
use plans::plan;
use scenario::{Plan, Setting};
use std::path::Path;
use trace::{PolicyName, What};

/// Two access points on two channels, with a line of 4 Mb/s behind each.
fn two(more: &str) -> Plan {
    two_with("", more)
}

/// The same, with keys for the client.
fn two_with(client: &str, more: &str) -> Plan {
    plan(&format!(
        "sentence = \"One radio.\"\nduration_s = 12\n\
         [aps.one]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\n\
         backhaul = {{ rate_mbps = 4, rtt_ms = 20, queue_packets = 100 }}\n\
         [aps.two]\nat_m = [8, 0]\nstandard = \"a\"\nchannel = 44\nrate_mbps = 54\n\
         backhaul = {{ rate_mbps = 4, rtt_ms = 20, queue_packets = 100 }}\n\
         [walkers.client]\nat_m = [4, 0]\nradio = \"single\"\n{client}\
         [flows.download]\ndirection = \"down\"\n{more}"
    ))
}

fn played(plan: &Plan, policy: PolicyName) -> Played {
    let what = Play::new(plan, policy);
    let played = play(&what, &Stop::new(), &mut |_| {});
    played.unwrap_or_else(|error| panic!("{error}"))
}

/// Bytes of the download that came over a link.
fn down(played: &Played, name: &str) -> u64 {
    let path = played.run.flows[0].paths.iter().find(|path| path.link == name);
    path.map_or(0, |path| path.bytes)
}

#[test]
fn one_radio_carries_two_slow_lines() {
    let played = played(&two(""), PolicyName::Slowhand);
    let flow = &played.run.flows[0];
    assert_eq!(flow.intact, Some(true), "{flow:?}");
    for link in ["one", "two"] {
        let bytes = down(&played, link);
        assert!(bytes > 1_500_000, "{bytes} bytes over {link} in 12 s");
    }
    let divided = cycles(&played.record);
    let (_, why) = divided.last().expect("a division");
    assert!(why.contains("one") && why.contains("two"), "{why}");
    let note = played
        .run
        .notes
        .iter()
        .any(|note| note.contains("radio of its own"));
    assert!(note, "{:?}", played.run.notes);
}

#[test]
fn the_hosts_of_other_walkers_have_radios_of_their_own() {
    let rival = "[walkers.rival]\nat_m = [1, 1]\n\
        [flows.other]\nby = \"rival\"\ntransport = \"tcp\"\nover = \"one\"\ndirection = \"down\"\n";
    let played = played(&two(rival), PolicyName::Slowhand);
    for flow in &played.run.flows {
        assert_eq!(flow.intact, Some(true), "{flow:?}");
        assert!(flow.bytes > 1_000_000, "{flow:?}");
    }
}

#[test]
fn the_time_of_an_access_point_that_leaves_goes_to_the_other_one() {
    let gone = "[[faults]]\nlink = \"one\"\nkind = \"down\"\nat_s = 6\n";
    let played = played(&two(gone), PolicyName::Slowhand);
    assert!(played.emulator.faults.iter().all(|fault| fault.holds()) && !played.emulator.faults.is_empty());
    let (at, why) = cycles(&played.record).pop().expect("a division");
    assert!(at > 6.0, "{at} s: {why}");
    assert!(!why.contains("one") && why.contains("two"), "{at} s: {why}");
    assert_eq!(played.run.flows[0].intact, Some(true));
    let bytes = down(&played, "two");
    assert!(bytes > 2_500_000, "{bytes} bytes over two in 12 s");
}

#[test]
fn the_slice_changes_during_a_run() {
    let slots = "slots = { slice_ms = 50, slices = [{ at_s = 6, slice_ms = 100 }] }\n";
    let played = played(&two_with(slots, ""), PolicyName::Slowhand);
    let divided = cycles(&played.record);
    let both = |ms: u32| {
        let of = [36, 44].map(|channel| format!("{ms} ms on channel {channel}"));
        let is = move |why: &str| of.iter().all(|slot| why.contains(slot));
        divided.iter().filter(move |(_, why)| is(why)).map(|(at, _)| *at)
    };
    assert!(
        both(45).all(|at| at < 6.1) && both(45).next().is_some(),
        "{divided:?}"
    );
    let changed = both(95).next().expect("a longer slice");
    assert!((6.0..6.5).contains(&changed), "{divided:?}");
    assert_eq!(played.run.flows[0].intact, Some(true));
}

/// A peer holds nothing for a radio that is away, so TCP over it hardly moves.
#[test]
fn what_a_peer_sends_while_the_radio_is_away_is_lost() {
    let plan = plan(
        "sentence = \"One radio, an access point and a peer.\"\nduration_s = 12\n\
         [aps.one]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\n\
         backhaul = { rate_mbps = 2, rtt_ms = 20, queue_packets = 100 }\n\
         [aps.two]\nat_m = [8, 0]\nstandard = \"a\"\nchannel = 44\nrate_mbps = 54\nmode = \"ad-hoc\"\n\
         backhaul = { rate_mbps = 2, rtt_ms = 20, queue_packets = 100 }\n\
         [walkers.client]\nat_m = [4, 0]\nradio = \"single\"\n\
         slots = { slice_ms = 50, weights = { one = 3, two = 1 } }\n\
         [flows.first]\ntransport = \"tcp\"\nover = \"one\"\ndirection = \"down\"\n\
         [flows.second]\ntransport = \"tcp\"\nover = \"two\"\ndirection = \"down\"\n",
    );
    let played = played(&plan, PolicyName::Mptcp);
    let (_, why) = cycles(&played.record).pop().expect("a division");
    assert!(why.contains("peers of two"), "{why}");
    let [first, second] = [0, 1].map(|flow| played.run.flows[flow].bytes);
    assert!(first > 1_500_000, "{first} bytes over the access point");
    assert!(
        0 < second && second < first / 5,
        "{second} bytes over the peer, {first} over the access point"
    );
}

/// Figure 4 of juggler: two access points, each with a line of 100 KB/s, share one radio.
#[test]
fn a_radio_in_turns_carries_nearly_twice_as_much_as_one_access_point() {
    let turns = "walkers.client.slots={ slice_ms = 100, weights = { one = 1, two = 1 }, switch_ms = 3.328 }";
    let rates = ["aps.one.backhaul.rate_mbps=0.8", "aps.two.backhaul.rate_mbps=0.8"];
    let one = mb_after_5_s(&of_figure_4("one.toml", &rates[..1]));
    let both = mb_after_5_s(&of_figure_4("scenario.toml", &[&rates[..], &[turns]].concat()));
    assert!(both > 1.8 * one, "{both} MB over both, {one} over one");
}

fn of_figure_4(file: &str, settings: &[&str]) -> Played {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/juggler-fig4");
    let settings = settings.iter().chain(&["duration_s=20"]);
    let settings: Vec<Setting> = settings
        .flat_map(|setting| Setting::alternatives(setting).expect("a setting"))
        .collect();
    let plan = scenario::load(&folder.join(file), &settings).unwrap_or_else(|error| panic!("{error}"));
    played(&plan, PolicyName::Mptcp)
}

/// What all flows have read since everything was joined.
fn mb_after_5_s(played: &Played) -> f64 {
    let early = |name: &str| {
        let of = played
            .record
            .events
            .iter()
            .filter(|event| event.t_ns <= 5_000_000_000);
        let mut read = of.filter_map(|event| match &event.what {
            What::AppBytes { flow, bytes } if flow == name => Some(*bytes),
            _ => None,
        });
        read.next_back().unwrap_or(0)
    };
    let flows = played.run.flows.iter();
    flows
        .map(|flow| (flow.bytes - early(&flow.name)) as f64 * 1e-6)
        .sum()
}

/// A colleague carries the peer past the client, from the third to the tenth second.
#[test]
fn a_peer_that_passes_gets_a_file() {
    let plan = plan(
        "sentence = \"A peer passes.\"\nduration_s = 16\n\
         [aps.hall]\nat_m = [0, 0]\nstandard = \"g\"\nchannel = 1\n\
         backhaul = { rate_mbps = 2, rtt_ms = 20, queue_packets = 100 }\n\
         [aps.laptop]\nmode = \"ad-hoc\"\ncarried_by = \"colleague\"\nstandard = \"g\"\nchannel = 11\n\
         [walkers.client]\nat_m = [0, 4]\nradio = \"single\"\n\
         slots = { slice_ms = 50, weights = { hall = 3, laptop = 1 }, scan_ms = 50 }\n\
         [walkers.colleague]\nway = [{ at_m = [-300, 4], t_s = 2 }, { at_m = [-6, 4], t_s = 3 }, \
         { at_m = [6, 4], t_s = 10 }, { at_m = [300, 4], t_s = 11 }]\n\
         [flows.download]\ntransport = \"tcp\"\nover = \"hall\"\ndirection = \"down\"\n\
         [flows.file]\ntransport = \"tcp\"\nover = \"laptop\"\ndirection = \"up\"\n",
    );
    let played = played(&plan, PolicyName::Slowhand);
    let events = played.record.events.iter();
    let read: Vec<(f64, u64)> = events
        .filter_map(|event| match &event.what {
            What::AppBytes { flow, bytes } if flow == "file" => Some((event.t_ns as f64 / 1e9, *bytes)),
            _ => None,
        })
        .collect();
    let moved = read.last().expect("the file").1;
    assert!(moved > 500_000, "{moved} bytes");
    let while_near = |&(at, bytes): &(f64, u64)| (at > 2.5 || bytes == 0) && (at < 12.0 || bytes == moved);
    assert!(read.iter().all(while_near), "{read:?}");
    let download = played.run.flows[0].bytes;
    assert!(download > 2_000_000, "{download} bytes");
}

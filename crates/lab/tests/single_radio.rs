//! A client with one radio for several access points, under the real kernel's TCP.

mod plans;

use lab::stop::Stop;
use lab::world::{Play, Played, play};
use plans::plan;
use scenario::Plan;
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

/// Why the radio was divided as it was, each time with its time in seconds.
fn cycles(played: &Played) -> Vec<(f64, String)> {
    let events = played.record.events.iter();
    let cycles = events.filter_map(|event| match &event.what {
        What::Decision { verb, why, .. } if verb == "slots" => Some((event.t_ns as f64 / 1e9, why.clone())),
        _ => None,
    });
    cycles.collect()
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
    let divided = cycles(&played);
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
    let (at, why) = cycles(&played).pop().expect("a division");
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
    let divided = cycles(&played);
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
    let (_, why) = cycles(&played).pop().expect("a division");
    assert!(why.contains("peers of two"), "{why}");
    let [first, second] = [0, 1].map(|flow| played.run.flows[flow].bytes);
    assert!(first > 1_500_000, "{first} bytes over the access point");
    assert!(
        0 < second && second < first / 5,
        "{second} bytes over the peer, {first} over the access point"
    );
}

//! A client with one radio for several access points: its turns, what they carry, and what they cost.

mod common;
#[path = "common/cycles.rs"]
mod cycles;

use common::plan;
use cycles::cycles;
use sim::{Play, Played, play};
use trace::{LinkState, PolicyName, What};
use units::Instant;

/// Two access points on two channels of 802.11a.
const TWO: &str = "sentence = \"One radio.\"\nduration_s = 15\nwarmup_s = 5\nmedium = \"exact\"\n\
    [aps.one]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\n\
    backhaul = { rate_mbps = 100, rtt_ms = 10 }\n\
    [aps.two]\nat_m = [8, 0]\nstandard = \"a\"\nchannel = 44\nrate_mbps = 54\n\
    backhaul = { rate_mbps = 100, rtt_ms = 10 }\n\
    [walkers.client]\nat_m = [4, 0]\nradio = \"single\"\n";

const MPTCP: &str = "[flows.download]\ndirection = \"down\"\n";

/// Datagrams from each access point, as many as it can send.
const UDP: &str = "[flows.first]\ntransport = \"udp\"\nover = \"one\"\ndirection = \"down\"\n\
    [flows.second]\ntransport = \"udp\"\nover = \"two\"\ndirection = \"down\"\n";

fn played(flows: &str, policy: PolicyName, settings: &[&str]) -> Played {
    let plan = plan(&format!("{TWO}{flows}"), settings);
    play(&Play::new(&plan, policy)).unwrap_or_else(|error| panic!("{error}"))
}

/// Megabits per second of a flow after the warm-up.
fn mbps(played: &Played, flow: usize) -> f64 {
    let run = &played.run;
    run.flows[flow].bytes as f64 * 8e-6 / (run.duration_s - run.warmup_s)
}

#[test]
fn one_radio_carries_both_and_pays_for_the_turns() {
    let one = played(MPTCP, PolicyName::Tcp("one".to_owned()), &[]);
    let both = played(MPTCP, PolicyName::Mptcp, &[]);
    let paths = &both.run.flows[0].paths;
    let share = |link: &str| {
        let all: u64 = paths.iter().map(|path| path.bytes).sum();
        let own = paths
            .iter()
            .find(|path| path.link == link)
            .map_or(0, |path| path.bytes);
        own as f64 / all as f64
    };
    assert!(share("one") > 0.2 && share("two") > 0.2, "{paths:?}");
    let (alone, turns) = (mbps(&one, 0), mbps(&both, 0));
    assert!(
        turns > alone * 0.7 && turns < alone,
        "{turns} Mb/s in turns, {alone} over one"
    );
    // One station takes the place of client@36 and client@44.
    let clients = both
        .run
        .stations
        .iter()
        .filter(|station| station.name.starts_with("client"));
    assert_eq!(clients.count(), 1);
    let (_, why) = cycles(&both.record).pop().expect("a division");
    assert!(why.contains("one") && why.contains("two"), "{why}");
}

#[test]
fn slow_lines_behind_both_add_up() {
    let slow = [
        "aps.one.backhaul={ rate_mbps = 4, rtt_ms = 10, queue_packets = 100 }",
        "aps.two.backhaul={ rate_mbps = 4, rtt_ms = 10, queue_packets = 100 }",
    ];
    let one = mbps(&played(MPTCP, PolicyName::Tcp("one".to_owned()), &slow), 0);
    for policy in [PolicyName::Mptcp, PolicyName::Slowhand] {
        let both = mbps(&played(MPTCP, policy.clone(), &slow), 0);
        assert!(
            both > one * 1.6,
            "{policy}: {both} Mb/s over both, {one} over one"
        );
    }
}

#[test]
fn weights_divide_the_time() {
    let weighted = "walkers.client.slots={ slice_ms = 100, weights = { one = 3, two = 1 } }";
    let played = played(UDP, PolicyName::Mptcp, &[weighted]);
    let (first, second) = (mbps(&played, 0), mbps(&played, 1));
    let share = first / (first + second);
    assert!((share - 0.75).abs() < 0.04, "{first} and {second} Mb/s");
}

/// Longer slices mean fewer changes of channel, and longer waits.
#[test]
fn the_slice_changes_during_a_run() {
    let slots = "walkers.client.slots={ slice_ms = 30, slices = [{ at_s = 8, slice_ms = 150 }] }";
    let played = played(UDP, PolicyName::Mptcp, &[slots]);
    let divided = |why: &str, ms: u32| {
        let of = |channel| format!("{ms} ms on channel {channel}");
        why.contains(&of(36)) && why.contains(&of(44))
    };
    let (mut before, mut after) = (0, 0);
    for (at, why) in cycles(&played.record)
        .iter()
        .filter(|(_, why)| why.contains("two"))
    {
        // A cycle of 60 ms ends soon after 8 s.
        if *at < 8.0 {
            before += 1;
            assert!(divided(why, 25), "{at} s: {why}");
        } else {
            after += 1;
            assert!(*at < 8.07 && divided(why, 145), "{at} s: {why}");
        }
    }
    assert!(before > 0 && after == 1, "{before} before, {after} after");
    // Of 30 ms, 5 ms are lost for the change of channel. Of 150 ms, too.
    let always = |slice: &str| {
        let slots = format!("walkers.client.slots.slice_ms={slice}");
        let played = self::played(UDP, PolicyName::Mptcp, &[&slots]);
        mbps(&played, 0) + mbps(&played, 1)
    };
    let (short, long) = (always("30"), always("150"));
    // From 5 to 8 s of the 10 s that count, slices are short.
    let expected = 0.3 * short + 0.7 * long;
    let both = mbps(&played, 0) + mbps(&played, 1);
    assert!(
        (both / expected - 1.0).abs() < 0.03,
        "{both} Mb/s, {expected} expected"
    );
    assert!(
        long > 1.1 * short,
        "{long} Mb/s with long slices, {short} with short ones"
    );
}

/// What arrives at an access point in its slot is delivered at once, and the rest waits for the next slot.
#[test]
fn round_trips_are_short_in_a_slot_and_wait_for_it_otherwise() {
    let thin = "[flows.first]\ntransport = \"tcp\"\nover = \"one\"\ndirection = \"down\"\nlimit_mbps = 1\n\
        [flows.second]\ntransport = \"tcp\"\nover = \"two\"\ndirection = \"down\"\nlimit_mbps = 1\n";
    let plan = plan(&format!("{TWO}{thin}"), &["walkers.client.slots.alpha=0"]);
    let mut what = Play::new(&plan, PolicyName::Mptcp);
    let without = play(&what).unwrap();
    assert!(without.round_trips.iter().all(Vec::is_empty));
    what.round_trips = true;
    let with = play(&what).unwrap();
    assert_eq!(with.run, without.run, "keeping them changes nothing");
    for (flow, samples) in with.round_trips.iter().enumerate() {
        let after = samples.iter().filter(|sample| sample.at >= Instant::from_secs(5));
        let ms: Vec<f64> = after.map(|sample| sample.took.as_secs_f64() * 1e3).collect();
        assert!(
            ms.len() > 400 && samples.iter().all(|sample| sample.link == flow),
            "{ms:?}"
        );
        // A slot has 95 of 200 ms. After an absence of 105 ms an acknowledgement covers two segments. The
        // wire has a round trip of 10 ms, and an acknowledgement is delayed by up to 10 ms more.
        let at_once = ms.iter().filter(|&&ms| ms < 15.0).count() as f64 / ms.len() as f64;
        assert!((0.45..0.75).contains(&at_once), "{at_once}");
        let longest = ms.iter().copied().fold(0.0, f64::max);
        assert!((105.0..130.0).contains(&longest), "{longest} ms");
        assert!(ms.iter().all(|&ms| ms > 10.0));
    }
}

#[test]
fn an_adaptive_cycle_prefers_the_better_access_point() {
    let poor = "aps.two.rate_mbps=6";
    let equal = played(UDP, PolicyName::Mptcp, &[poor, "walkers.client.slots.alpha=0"]);
    let adaptive = played(UDP, PolicyName::Mptcp, &[poor]);
    let sum = |played: &Played| mbps(played, 0) + mbps(played, 1);
    assert!(
        sum(&adaptive) > sum(&equal) * 1.3,
        "{} and {} Mb/s",
        sum(&adaptive),
        sum(&equal)
    );
    assert!(mbps(&adaptive, 1) > 0.05, "the poor one keeps the shortest slot");
}

#[test]
fn nothing_is_lost_while_the_radio_is_away() {
    let thin = "[flows.first]\ntransport = \"udp\"\nover = \"one\"\ndirection = \"down\"\nevery_ms = 20\nstart_s = 4\n\
        [flows.second]\ntransport = \"udp\"\nover = \"two\"\ndirection = \"up\"\nevery_ms = 20\nstart_s = 4\n";
    let played = played(thin, PolicyName::Mptcp, &["walkers.client.slots.alpha=0"]);
    for flow in &played.run.flows {
        let datagrams = flow.datagrams.as_ref().expect("datagrams");
        assert!(datagrams.sent > 400 && datagrams.lost <= 1, "{datagrams:?}");
        let delay = flow.delay.as_ref().expect("delays");
        // Half a cycle of 200 ms.
        assert!(delay.max_ms > 60.0 && delay.max_ms < 250.0, "{delay:?}");
    }
}

#[test]
fn a_scanning_slot_finds_an_access_point_that_comes_later() {
    let late = "[[faults]]\nlink = \"two\"\nkind = \"down\"\nat_s = 0\nfor_s = 5\n";
    let ghz2 = [
        "aps.one.standard=g",
        "aps.two.standard=g",
        "aps.one.channel=1",
        "aps.two.channel=11",
    ];
    let flows = format!("{MPTCP}{late}");
    let second = |scan: &str| {
        let all: Vec<&str> = ghz2.iter().copied().chain([scan]).collect();
        let played = played(&flows, PolicyName::Mptcp, &all);
        let bytes = played.run.flows[0].paths.iter().find(|path| path.link == "two");
        bytes.map_or(0, |path| path.bytes)
    };
    assert_eq!(second("walkers.client.slots.scan_ms=0"), 0);
    assert!(second("walkers.client.slots.scan_ms=40") > 1_000_000);
}

/// The scanning slot hears it in a cycle of 1.1 s, most of which belongs to the other access point.
#[test]
fn an_access_point_that_was_heard_is_joined_before_the_others_have_their_slots() {
    let late = "[[faults]]\nlink = \"two\"\nkind = \"down\"\nat_s = 0\nfor_s = 5\n";
    let settings = [
        "aps.one.standard=g",
        "aps.two.standard=g",
        "aps.one.channel=6",
        "aps.two.channel=11",
        "walkers.client.slots={ slice_ms = 100, weights = { one = 9, two = 1 }, scan_ms = 100 }",
    ];
    let played = played(&format!("{MPTCP}{late}"), PolicyName::Slowhand, &settings);
    let events = played.record.events.iter();
    let first = |of: &dyn Fn(&What) -> bool| {
        let mut found = events
            .clone()
            .filter(|event| event.t_ns > 5_000_000_000 && of(&event.what));
        found.next().expect("it happens").t_ns as f64 / 1e9
    };
    let heard = first(&|what| matches!(what, What::Signal { link, .. } if link == "two"));
    let has = |wanted: LinkState| {
        first(
            &move |what| matches!(what, What::LinkState { link, state } if link == "two" && *state == wanted),
        )
    };
    let (carrier, up) = (has(LinkState::Carrier), has(LinkState::Up));
    assert!(
        carrier - heard < 0.25,
        "heard at {heard}, associated at {carrier} s"
    );
    // Its DHCP server has two answers, each half a second later, and each waits for the next visit.
    assert!(up - heard < 2.5, "heard at {heard}, up at {up} s");
}

/// An access point answers each request of a join 5 ms later. A change of channel takes 15 ms of each slice.
#[test]
fn a_slice_must_hold_the_answer_of_an_access_point() {
    let of = |ms: u32| {
        let slots = format!("walkers.client.slots={{ slice_ms = {ms}, switch_ms = 15 }}");
        played(UDP, PolicyName::Mptcp, &[&slots])
    };
    for ms in [22, 25, 30] {
        let played = of(ms);
        let (first, second) = (mbps(&played, 0), mbps(&played, 1));
        assert!(first > 1.5 && second > 1.5, "{ms} ms: {first} and {second} Mb/s");
    }
    // In 5 ms no join succeeds. The radio stays with the one that it tries while the other one has no slot.
    let short = of(20);
    let (first, second) = (mbps(&short, 0), mbps(&short, 1));
    assert!(
        first.min(second) == 0.0 && first.max(second) > 20.0,
        "{first} and {second} Mb/s"
    );
}

#[test]
fn an_access_point_that_goes_loses_its_slot() {
    let gone = "[[faults]]\nlink = \"one\"\nkind = \"down\"\nat_s = 8\n";
    let played = played(&format!("{MPTCP}{gone}"), PolicyName::Slowhand, &[]);
    let mut after = cycles(&played.record);
    after.retain(|(at, _)| *at >= 8.0);
    // The engine tries to join it again as long as it counts its beacons, and gives up.
    for (at, why) in [after.first(), after.last()].map(|cycle| cycle.expect("a division")) {
        assert!((8.0..12.0).contains(at), "{at} s: {why}");
        assert!(!why.contains("one") && why.contains("two"), "{at} s: {why}");
    }
    assert!(mbps(&played, 0) > 5.0, "{} Mb/s", mbps(&played, 0));
}

#[test]
fn a_peer_has_a_slot_of_its_own_and_loses_what_it_sends_in_the_others() {
    let flows = "[flows.first]\ntransport = \"tcp\"\nover = \"one\"\ndirection = \"down\"\n\
        [flows.second]\ntransport = \"tcp\"\nover = \"two\"\ndirection = \"down\"\n";
    let slots = "walkers.client.slots={ slice_ms = 50, weights = { one = 3, two = 1 } }";
    let slow = [
        slots,
        "aps.one.backhaul.rate_mbps=2",
        "aps.two.backhaul.rate_mbps=2",
        // A shorter queue of the line drops what a whole window of acknowledgements lets go at once.
        "aps.one.backhaul.queue_packets=100",
        "aps.two.backhaul.queue_packets=100",
    ];
    let buffered = played(flows, PolicyName::Mptcp, &slow);
    let peer = [&slow[..], &["aps.two.mode=ad-hoc"]].concat();
    let peer = played(flows, PolicyName::Mptcp, &peer);
    let (_, why) = cycles(&peer.record).pop().expect("a division");
    assert!(why.contains("peers of two"), "{why}");
    // The access point carries its line either way.
    assert!(mbps(&peer, 0) > 0.95 * mbps(&buffered, 0), "{}", mbps(&peer, 0));
    let (over_peer, over_ap) = (mbps(&peer, 1), mbps(&buffered, 1));
    assert!(over_ap > 1.9, "{over_ap}");
    assert!(over_peer < 0.1 * over_ap, "{over_peer}");
    // A frame that outlasts the absence is as good as one that is buffered.
    let stubborn = [&slow[..], &["aps.two.mode=ad-hoc", "air.attempts=64"]].concat();
    let stubborn = mbps(&played(flows, PolicyName::Mptcp, &stubborn), 1);
    assert!(stubborn > 0.5 * over_ap, "{stubborn}");
}

#[test]
fn the_time_of_an_access_point_that_is_dead_goes_to_the_other_one() {
    let dead = "[[faults]]\nlink = \"one\"\nkind = \"blackhole\"\nat_s = 6\n";
    let flows = format!("{MPTCP}{dead}");
    let slots = "walkers.client.slots={ slice_ms = 25, weights = { one = 9, two = 1 } }";
    let played = played(&flows, PolicyName::Slowhand, &[slots]);
    let (_, why) = cycles(&played.record).pop().expect("a division");
    // Of 250 ms, 5 ms are for each change of channel.
    assert!(
        why.contains("20 ms on channel 36 for one") && why.contains("220 ms on channel 44 for two"),
        "{why}"
    );
    // Without it, two has 20 of 250 ms: 2 Mb/s of the 25 that the air carries.
    assert!(mbps(&played, 0) > 10.0, "{} Mb/s", mbps(&played, 0));
}

#[test]
fn no_link_is_suspected_dead_for_its_absence() {
    let played = played(MPTCP, PolicyName::Slowhand, &[]);
    let of = |wanted: &str| {
        let events = played.record.events.iter();
        events
            .filter(|event| matches!(&event.what, What::Decision { verb, .. } if verb == wanted))
            .count()
    };
    // Some 65 cycles. A doubt costs a few probes.
    assert_eq!(of("remove"), 0);
    assert!(of("suspect") <= 3, "{} doubts", of("suspect"));
}

#[test]
fn one_seed_gives_one_record() {
    let one = played(MPTCP, PolicyName::Slowhand, &[]);
    let two = played(MPTCP, PolicyName::Slowhand, &[]);
    assert_eq!(one.record, two.record);
}

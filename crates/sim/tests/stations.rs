//! What stations do on the air, and how much of each channel is idle, in both kinds of run.

mod common;

use common::plan;
use sim::{CastError, Play, play};
use trace::{PolicyName, Run, StationUse};

/// Two access points on two channels, and a guard that sends to one of them.
const AIR: &str = "sentence = \"Two channels.\"\nduration_s = 5\n\
    [aps.near]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\nbackhaul = { rate_mbps = 100, rtt_ms = 4 }\n\
    [aps.quiet]\nat_m = [0, 5]\nstandard = \"a\"\nchannel = 40\nrate_mbps = 54\nbackhaul = { rate_mbps = 100, rtt_ms = 4 }\n\
    [cables.spare]\nrate_mbps = 10\nrtt_ms = 10\n[walkers.client]\nat_m = [3, 0]\n[walkers.guard]\nat_m = [0, 3]\n\
    [flows.up]\nby = \"guard\"\ntransport = \"udp\"\nover = \"near\"\ndirection = \"up\"\n";
/// With it two hosts play the scenario.
const TCP: &str = "[flows.bulk]\ntransport = \"tcp\"\nover = \"spare\"\ndirection = \"down\"\n";

const UNMANAGED: [&str; 2] = ["aps.near.management=false", "aps.quiet.management=false"];

fn run(text: &str, settings: &[&str]) -> Run {
    let plan = plan(text, settings);
    let played = play(&Play::new(&plan, PolicyName::Mptcp));
    played.unwrap_or_else(|error| panic!("{error}")).run
}

fn station<'r>(run: &'r Run, name: &str) -> &'r StationUse {
    let found = run.stations.iter().find(|station| station.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", run.stations))
}

fn idle(run: &Run, channel: u8) -> f64 {
    let found = run.channels.iter().find(|known| known.channel == channel);
    found
        .unwrap_or_else(|| panic!("{channel}: {:?}", run.channels))
        .idle_share
}

/// A frame of 248 µs and its ACK of 28 µs in 394 µs: DIFS and SIFS of 50 µs, a mean backoff of 67.5 µs.
#[test]
fn a_saturated_station_leaves_idle_what_the_rules_ask_for() {
    for text in [AIR.to_owned(), format!("{AIR}{TCP}")] {
        let run = run(&text, &[]);
        let guard = station(&run, "guard@36");
        assert!(
            guard.attempts > 11_000 && guard.collision_probability < 0.05,
            "{guard:?}"
        );
        assert!((0.58..0.66).contains(&guard.airtime_share), "{guard:?}");
        let [busy, quiet] = [36, 40].map(|channel| idle(&run, channel));
        assert!((0.27..0.34).contains(&busy), "{busy}");
        assert!(quiet > 0.97, "beacons only: {quiet}");
        // The access point answers, and sends beacons.
        let near = station(&run, "near");
        let all = guard.airtime_share + near.airtime_share;
        assert!((1.0 - busy - all).abs() < 0.02, "{busy} {all}");
    }
}

/// Two stations 30 m on either side of their access point do not hear each other. Frames that overlap count
/// once for the channel.
#[test]
fn frames_that_overlap_count_once() {
    let other = "[walkers.other]\nat_m = [0, -30]\n[flows.more]\nby = \"other\"\ntransport = \"udp\"\n\
        over = \"near\"\ndirection = \"up\"\n";
    let settings = ["walkers.guard.at_m=[0, 30]", "aps.near.rate_mbps=6"];
    let run = run(&format!("{AIR}{other}"), &[&UNMANAGED[..], &settings].concat());
    let shares = run.stations.iter().map(|station| station.airtime_share);
    let (all, busy) = (shares.sum::<f64>(), 1.0 - idle(&run, 36));
    assert!(all > busy + 0.1, "{all} {busy}: {:?}", run.stations);
    assert!(
        station(&run, "other@36").collision_probability > 0.1,
        "{:?}",
        run.stations
    );
}

#[test]
fn the_coarse_medium_has_no_frames_and_tells_of_no_channel() {
    let coarse = AIR.replace("direction = \"up\"", "direction = \"down\"");
    let turn = |name: &str| format!("aps.{name}.wfq={{ packet_ms = 1, weight = 1 }}");
    let run = run(&coarse, &["medium=wfq", &turn("near"), &turn("quiet")]);
    assert!(run.channels.is_empty() && !run.stations.is_empty(), "{run:?}");
}

#[test]
fn without_management_only_data_is_on_the_air_and_no_radio_leaves() {
    let near = run(AIR, &UNMANAGED);
    assert_eq!(idle(&near, 40), 1.0, "no beacons");
    let names: Vec<&str> = near.stations.iter().map(|station| &*station.name).collect();
    assert_eq!(names, ["guard@36"], "{:?}", near.stations);
    assert_eq!(station(&near, "guard@36").failures, 0, "nobody competes");
    // What it sends is wasted for all of the run, and nobody tells it that it is not associated.
    let far = run(
        AIR,
        &[&UNMANAGED[..], &["walkers.guard.at_m=[0, 900]", "duration_s=30"]].concat(),
    );
    assert!(station(&far, "guard@36").attempts > 10_000, "{:?}", far.stations);
    assert_eq!(far.flows[0].bytes, 0);
    let managed = run(AIR, &["walkers.guard.at_m=[0, 900]"]);
    assert!(
        managed.stations.iter().all(|station| station.name != "guard@36"),
        "{:?}",
        managed.stations
    );
}

/// The client and a guard, both with TCP: they are associated from the start, and the air has nothing but
/// their data.
#[test]
fn hosts_are_associated_from_the_start_with_an_access_point_without_management() {
    let tcp = "[flows.bulk]\ndirection = \"down\"\n[flows.rival]\nby = \"guard\"\ntransport = \"tcp\"\nover = \"near\"\n\
        direction = \"down\"\n";
    let text = AIR.split("[flows.up]").next().unwrap().to_owned() + tcp;
    for policy in [PolicyName::Mptcp, PolicyName::HandoverWarm, PolicyName::Slowhand] {
        let run = |settings: &[&str]| {
            let plan = plan(&text, settings);
            let played = play(&Play::new(&plan, policy.clone()));
            played.unwrap_or_else(|error| panic!("{error}")).run
        };
        let (managed, bare) = (run(&[]), run(&UNMANAGED));
        // By frames, joining takes a second for its address.
        let first_byte = |run: &Run| run.flows[1].first_byte_ms.unwrap();
        assert!(
            first_byte(&managed) > 1_000.0 && first_byte(&bare) < 10.0,
            "{} {}",
            first_byte(&managed),
            first_byte(&bare)
        );
        assert!(
            bare.flows.iter().all(|flow| flow.goodput_mbps > 5.0),
            "{:?}",
            bare.flows
        );
        let near = bare.flows[0].paths.iter().find(|path| path.link == "near");
        assert!(
            near.is_some_and(|path| path.bytes > 100_000),
            "{:?}",
            bare.flows[0]
        );
    }
    let idle_ones = run(&text, &[&UNMANAGED[..], &["aps.quiet.role=never"]].concat());
    assert_eq!(idle(&idle_ones, 40), 1.0, "no beacons");
}

#[test]
fn who_needs_beacons_refuses_an_access_point_without_them() {
    let refused =
        |text: &str, more: &str| sim::check(&plan(text, &[&UNMANAGED[..], &[more]].concat())).unwrap_err();
    for link in ["\"near\"", "\"busiest\"", "\"all\""] {
        let fault = format!("[[faults]]\nkind = \"down\"\nlink = {link}\nat_s = 1\n");
        let tcp = refused(&format!("{AIR}{TCP}{fault}"), "duration_s=5");
        assert!(
            matches!(&tcp, CastError::Unmanaged(link) if link == "near"),
            "{tcp}"
        );
    }
    for key in ["power_save=true", "associated=false"] {
        let sleeps = refused(AIR, &format!("walkers.client.{key}"));
        assert!(
            matches!(&sleeps, CastError::NeedsBeacons { walker, .. } if walker == "client"),
            "{sleeps}"
        );
        assert!(sleeps.about().is_some());
    }
}

//! Losses that a scenario states between an access point and a walker, in both kinds of run.

mod common;

use common::plan;
use sim::{Play, play};
use trace::{PolicyName, Run, StationUse};

/// A guard near its access point, with a flow in each direction.
const AIR: &str = "sentence = \"Losses.\"\nduration_s = 5\nair = { attempts = 2 }\n\
    [aps.near]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\nbackhaul = { rate_mbps = 100, rtt_ms = 4 }\n\
    [cables.spare]\nrate_mbps = 10\nrtt_ms = 10\n[walkers.client]\nat_m = [3, 0]\n[walkers.guard]\nat_m = [0, 3]\n\
    [flows.up]\nby = \"guard\"\ntransport = \"udp\"\nover = \"near\"\ndirection = \"up\"\nevery_ms = 2\n\
    [flows.down]\nby = \"guard\"\ntransport = \"udp\"\nover = \"near\"\ndirection = \"down\"\nevery_ms = 2\n";
const LOSS: &str = "[[losses]]\nfrom = \"guard\"\nto = \"near\"\npercent = 30\n";
/// With it two hosts play the scenario.
const TCP: &str = "[flows.bulk]\ntransport = \"tcp\"\nover = \"spare\"\ndirection = \"down\"\n";

fn run(text: &str) -> Run {
    let plan = plan(text, &[]);
    let played = play(&Play::new(&plan, PolicyName::Mptcp));
    played.unwrap_or_else(|error| panic!("{error}")).run
}

fn station<'r>(run: &'r Run, name: &str) -> &'r StationUse {
    let found = run.stations.iter().find(|station| station.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", run.stations))
}

fn lost(run: &Run, name: &str) -> f64 {
    let flow = run.flows.iter().find(|flow| flow.name == name).unwrap();
    flow.datagrams.unwrap().lost_percent().unwrap()
}

/// Of two attempts both fail: 9 % of the datagrams. The other direction loses nothing.
#[test]
fn each_transmission_is_lost_with_the_share() {
    for text in [format!("{AIR}{LOSS}"), format!("{AIR}{TCP}{LOSS}")] {
        let run = run(&text);
        let guard = station(&run, "guard@36");
        let failed = guard.failures as f64 / guard.attempts as f64;
        assert!((0.27..0.33).contains(&failed), "{guard:?}");
        assert!(
            guard.collision_probability < 0.1,
            "losses are no collisions: {guard:?}"
        );
        let (up, down) = (lost(&run, "up"), lost(&run, "down"));
        assert!((7.0..11.5).contains(&up) && down < 1.0, "{up} {down}");
    }
}

/// The walker sends all the time and is never acknowledged.
#[test]
fn broadcasts_are_lost_too_beside_an_upload() {
    let flows =
        "[flows.hello]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"everyone\"\nevery_ms = 2\n";
    let busy = AIR.replace("direction = \"up\"\nevery_ms = 2", "direction = \"up\"");
    let loss = |from, to| format!("[[losses]]\nfrom = \"{from}\"\nto = \"{to}\"\npercent = 100\n");
    let up = loss("guard", "near");
    let all = [&*up, &loss("near", "guard"), &loss("near", "client")].concat();
    let received = |losses: &str| {
        let run = run(&format!("{busy}{flows}{losses}"));
        let flow = run.flows.iter().find(|flow| flow.name == "hello").unwrap();
        flow.datagrams.unwrap().received
    };
    assert!(received(&up) > 1_000);
    assert_eq!(received(&all), 0);
}

#[test]
fn what_is_lost_entirely_never_arrives() {
    let all = LOSS.replace("30", "100");
    let run = run(&format!("{AIR}{TCP}{all}"));
    assert_eq!(run.flows[0].bytes, 0, "{:?}", run.flows[0]);
    assert!(run.flows[1].bytes > 0);
}

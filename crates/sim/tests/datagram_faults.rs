//! Faults in scenarios whose flows are all datagrams.

mod common;

use common::plan;
use sim::{CastError, Play, check, play};
use trace::{PolicyName, Run, What};

/// A cable and an access point, with 200 datagrams a second over each.
const TEXT: &str = "sentence = \"Datagrams.\"\nduration_s = 8\n\
    [aps.near]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\n\
    backhaul = { rate_mbps = 20, rtt_ms = 4 }\n[cables.wire]\nrate_mbps = 10\nrtt_ms = 10\n\
    [walkers.client]\nat_m = [5, 0]\n\
    [flows.down]\ntransport = \"udp\"\nover = \"wire\"\ndirection = \"down\"\nevery_ms = 5\npayload_bytes = 1200\n\
    [flows.up]\ntransport = \"udp\"\nover = \"wire\"\ndirection = \"up\"\nevery_ms = 5\npayload_bytes = 1200\n\
    [flows.air]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"down\"\nevery_ms = 5\nstart_s = 2\n";

fn run(faults: &str) -> Run {
    let plan = plan(&format!("{TEXT}{faults}"), &[]);
    let played = play(&Play::new(&plan, PolicyName::Mptcp)).unwrap_or_else(|error| panic!("{error}"));
    let faults = played.record.events.iter();
    let faults = faults.filter(|event| matches!(event.what, What::Fault { .. }));
    assert_eq!(faults.count(), plan.timeline(1).len(), "each is in the record");
    assert_eq!(played.run.cc, None, "nothing has a congestion controller");
    played.run
}

/// A fault of two seconds.
fn fault(kind: &str, link: &str) -> String {
    format!("[[faults]]\nkind = \"{kind}\"\nlink = \"{link}\"\nat_s = 3\nfor_s = 2\n")
}

/// The wire loses its two seconds of eight, in both directions.
fn loses_its_time(wire: &Run) {
    near(lost(wire, "down"), 25.0);
    near(lost(wire, "up"), 25.0);
}

/// Datagrams that a flow lost, in percent.
fn lost(run: &Run, name: &str) -> f64 {
    let flow = run.flows.iter().find(|flow| flow.name == name).unwrap();
    flow.datagrams.unwrap().lost_percent().unwrap()
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 4.0, "{value} %, not {expected} %");
}

#[test]
fn a_link_that_drops_everything_loses_its_time() {
    let wire = run(&fault("blackhole", "wire"));
    loses_its_time(&wire);
    near(lost(&wire, "air"), 0.0);
    let air = run(&fault("blackhole", "near"));
    near(lost(&air, "down"), 0.0);
    near(lost(&air, "air"), 100.0 / 3.0);
}

/// An access point must be joined again, which takes 1.04 s after its next beacons.
#[test]
fn a_link_that_goes_down_loses_its_time() {
    loses_its_time(&run(&fault("down", "wire")));
    let air = lost(&run(&fault("down", "near")), "air");
    assert!((50.0..58.0).contains(&air), "{air} %");
}

#[test]
fn a_slow_link_loses_what_it_cannot_carry() {
    let fault = "[[faults]]\nkind = \"rate\"\nlink = \"wire\"\nat_s = 4\nrate_mbps = 1\n";
    let run = run(fault);
    // Each way sends 1.96 Mb/s with headers. Half of the second half is lost, less what is in queues.
    assert!((10.0..26.0).contains(&lost(&run, "down")), "{:?}", run.flows[0]);
    near(lost(&run, "air"), 0.0);
}

#[test]
fn a_signal_that_fades_loses_what_comes_later() {
    let fault = "[[faults]]\nkind = \"fade\"\nlink = \"near\"\nat_s = 5\nloss_db = 90\nover_s = 0.1\n";
    let run = run(fault);
    near(lost(&run, "air"), 50.0);
    near(lost(&run, "down"), 0.0);
}

/// It stands beside the access point for four seconds, and is 4 km away for the other four.
#[test]
fn another_radio_that_walks_away_is_no_longer_heard() {
    let walk = "[walkers.guard]\nway = [{ at_m = [5, 1], t_s = 4 }, { at_m = [4000, 1], t_s = 4.1 }]\n\
        [flows.guard]\nby = \"guard\"\ntransport = \"udp\"\nover = \"near\"\ndirection = \"up\"\nevery_ms = 5\n";
    let fault = "[[faults]]\nkind = \"down\"\nlink = \"wire\"\nat_s = 3\nfor_s = 2\n";
    let run = run(&format!("{walk}{fault}"));
    // The second half is lost, less up to 200 of its 1,600 datagrams, which wait in its queue at the end.
    assert!((37.5..50.5).contains(&lost(&run, "guard")), "{:?}", run.flows);
    near(lost(&run, "air"), 0.0);
}

#[test]
fn datagrams_need_no_congestion_control() {
    let fault = "[[faults]]\nkind = \"down\"\nlink = \"wire\"\nat_s = 3\n";
    let text = format!("{TEXT}{fault}");
    check(&plan(&text, &["cc=bbr"])).unwrap();
    let load = "[flows.load]\ndirection = \"down\"\n";
    let error = check(&plan(&format!("{text}{load}"), &["cc=bbr"])).unwrap_err();
    assert!(matches!(error, CastError::Control { .. }), "{error}");
}

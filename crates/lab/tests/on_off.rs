//! Flows that send and pause in turns: of the client, of a walker, and of a group, in both directions.

mod plans;

use lab::stop::Stop;
use lab::world::{Play, Played, play};
use plans::plan;
use scenario::Plan;
use trace::{Flow, PolicyName};

fn played(plan: &Plan) -> Played {
    play(&Play::new(plan, PolicyName::Mptcp), &Stop::new(), &mut |_| {}).unwrap()
}

/// Turns of 1 s on and 60 s off, so that each flow has one.
fn once(name: &str, keys: &str) -> String {
    format!("[flows.{name}]\non_off = {{ on_s = 1, off_s = 60 }}\n{keys}\n")
}

#[test]
fn the_flows_of_a_walker_and_of_a_group_have_turns_too() {
    let plan = plan(&format!(
        "sentence = \"Flows in turns.\"\nduration_s = 6\n[cables.dsl]\nrate_mbps = 40\nrtt_ms = 20\n\
         [walkers.client]\nat_m = [0, 0]\n[walkers.rival]\nat_m = [1, 1]\n\
         [walkers.visitor]\ncount = 2\nscatter = {{ from_m = [0, 0], to_m = [9, 9] }}\n{}{}{}",
        once("own", "direction = \"up\""),
        once("theirs", "direction = \"down\"\nby = \"rival\""),
        once(
            "visit",
            "direction = \"down\"\nby = \"visitor\"\ntransport = \"tcp\"\nover = \"dsl\""
        ),
    ));
    let played = played(&plan);
    let run = &played.run;
    assert!(run.intact(), "{run:#?}");
    let names = Vec::from_iter(run.flows.iter().map(|flow| flow.name.as_str()));
    assert_eq!(names, ["own", "theirs", "visit-1", "visit-2"]);
    let moved = |flow: &Flow| flow.bytes > 100_000;
    assert!(run.flows.iter().all(moved), "{run:#?}");
    // Without turns, the pause would be a stall of four seconds or more.
    let is_calm = |flow: &Flow| flow.stall_total_ms < 2_000.0;
    assert!(run.flows.iter().all(is_calm), "{run:#?}");
    let late: u64 = run.goodput_series[50..].iter().sum();
    assert_eq!(late, 0, "{:?}", run.goodput_series);
}

/// The link dies in the first turn, for good. What was written still waits in the pause.
#[test]
fn a_link_that_dies_in_a_turn_is_a_stall() {
    let plan = plan(&format!(
        "sentence = \"A turn is cut.\"\nduration_s = 6\n[cables.dsl]\nrate_mbps = 10\nrtt_ms = 20\n{}\
         [[faults]]\nat_s = 1\nlink = \"dsl\"\nkind = \"blackhole\"\n",
        "[flows.own]\ndirection = \"down\"\non_off = { on_s = 2, off_s = 60 }\n"
    ));
    let played = played(&plan);
    let own = &played.run.flows[0];
    assert!(own.longest_stall_ms > 4_000.0, "{own:#?}");
}

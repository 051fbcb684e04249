//! Every shape through every event.

use crate::may_run;
use crate::shapes;
use crate::twins::{Step, play_all, play_all_with};

const EVENTS: &[Step] = &[
    Step::Start,
    Step::Unplug,
    Step::Release,
    Step::Return,
    Step::Renumber,
    Step::Rename,
    Step::Rename,
    Step::Kill,
    Step::Start,
    Step::Down,
    Step::Start,
    Step::Kill,
    Step::Down,
];

#[test]
fn every_host_reaches_with_slowhand_what_it_reaches_without() {
    if may_run() {
        play_all(shapes::ALL, EVENTS);
    }
}

/// The same with an interface for UDP. Events that only repeat others are left out.
#[test]
fn every_host_reaches_the_same_with_networks_for_flows() {
    let events = &[
        Step::Start,
        Step::Unplug,
        Step::Release,
        Step::Return,
        Step::Renumber,
        Step::Rename,
        Step::Kill,
        Step::Start,
        Step::Down,
    ];
    if may_run() {
        play_all_with("[networks]\n", shapes::ALL, events);
    }
}

/// The same with an agent, to which connections over plain TCP are redirected. It knows nothing of links, so
/// fewer events suffice.
#[test]
fn every_host_reaches_the_same_with_an_agent() {
    let events = &[
        Step::Start,
        Step::Unplug,
        Step::Release,
        Step::Return,
        Step::Kill,
        Step::Down,
    ];
    if may_run() {
        play_all_with("[relay]\nway = \"direct\"\n", shapes::ALL, events);
    }
}

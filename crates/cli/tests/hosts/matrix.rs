//! Every shape through every event.

use crate::may_run;
use crate::shapes;
use crate::twins::{Step, play_all};

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

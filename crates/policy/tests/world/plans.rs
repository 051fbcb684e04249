//! Plans shared by several test files.

use super::Step;

/// A poor and a good access point on channel 6, both joined and used from the start.
pub const BOTH: &[Step] = &[
    Step::AccessPoint {
        id: 0,
        channel: 6,
        mbps: 6,
        loss_percent: 10,
    },
    Step::AccessPoint {
        id: 1,
        channel: 6,
        mbps: 54,
        loss_percent: 5,
    },
    Step::Signal {
        id: 0,
        dbm: -79,
        db_per_s: 0.0,
    },
    Step::Signal {
        id: 1,
        dbm: -50,
        db_per_s: 0.0,
    },
    Step::Up(0, true),
    Step::Up(1, true),
    Step::Open(0),
    Step::Up(1, false),
    Step::Up(1, true),
];

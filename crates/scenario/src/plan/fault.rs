//! Faults, as in the file. [`crate::Plan::timeline`] lays them out in time.

use units::{Bitrate, Db, Duration};

/// A fault, which ends if the scenario says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// When it happens first.
    pub at: Window,
    /// What it affects.
    pub target: Target,
    /// What happens.
    pub change: Change,
    /// How long it lasts; `None`: for good.
    pub lasts: Option<Duration>,
    /// Whether it happens again.
    pub repeat: Option<Repeat>,
}

/// A time, or a span of which the seed picks one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Not before.
    pub from: Duration,
    /// Not after.
    pub to: Duration,
}

/// What a fault affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// These links (indices in [`super::Plan::links`]).
    Links(Vec<usize>),
    /// The link that delivered most bytes in the second before the fault; the same link recovers.
    Busiest,
}

/// What a fault does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The link stays up and silently drops everything.
    Blackhole,
    /// The link goes down visibly.
    Down {
        /// It comes back with another address.
        new_address: bool,
    },
    /// The bottleneck's rate changes.
    Rate {
        /// From the client.
        up: Bitrate,
        /// To the client.
        down: Bitrate,
    },
    /// The signal falls, linearly in time.
    Fade {
        /// By how much in the end.
        loss: Db,
        /// How long that takes; recovery takes as long.
        over: Duration,
    },
    /// The link's address is replaced by another.
    NewAddress,
}

/// A fault that happens again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// From one beginning to the next.
    pub every: Duration,
    /// How often in all; `None`: until the run ends.
    pub times: Option<u32>,
}

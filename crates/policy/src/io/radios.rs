//! Radios that several links share in turns, and how their time is divided.

use super::ids::LinkId;
use units::{Bytes, Duration};

/// What can happen to a radio whose links take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RadioEvent {
    /// It is there, and its time is divided like this.
    Appeared(Division),
    /// It is gone, and so is its plan.
    Gone,
    /// It has to listen to this link's access point too, on the link's channel.
    Serves {
        /// Which.
        link: LinkId,
        /// How many slices, where cycles are divided by weight.
        weight: u32,
    },
    /// It has to listen to peers without an access point too, on the link's channel.
    AdHoc {
        /// Which.
        link: LinkId,
        /// For so long in each cycle.
        stays: Duration,
    },
    /// It need not listen to this link any more.
    Leaves(LinkId),
    /// It looks for access points for so long in each cycle, on channels 1, 6 and 11 in turn; not at all if
    /// zero.
    Scan(Duration),
    /// This much came over the link in its slot of the cycle that ends.
    Brought(LinkId, Bytes),
    /// A cycle is over: from what it brought follows the next.
    CycleEnded,
}

/// How a radio's time is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// By what each slot brought (nsdi15 §7).
    Adaptive(Rules),
    /// By whole multiples of a slice (juggler §3.3).
    Weighted {
        /// What the radio can do.
        radio: Radio,
        /// One of weight 1.
        slice: Duration,
    },
}

/// For whom the radio listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Occupant {
    /// An access point, or all that are used on one channel.
    Network(LinkId),
    /// Peers without an access point.
    AdHoc(LinkId),
    /// Whoever sends beacons.
    Scan,
}

/// A part of a cycle: first the radio switches, then it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Who.
    pub occupant: Occupant,
    /// Where.
    pub channel: u16,
    /// How long the radio is deaf before.
    pub switch: Duration,
    /// How long it listens.
    pub stays: Duration,
}

/// What a radio can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radio {
    /// Deaf while it changes channel.
    pub switch: Duration,
    /// Deaf while it changes network on one channel.
    pub same_channel: Duration,
    /// No slot is shorter.
    pub least: Duration,
}

/// How an adaptive cycle is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// C, at most [`crate::slot::LONGEST_CYCLE`].
    pub cycle: Duration,
    /// How strongly good channels are preferred: 0 (equal slots) to [`crate::slot::LARGEST_ALPHA`].
    pub alpha: u32,
    /// The radio.
    pub radio: Radio,
}

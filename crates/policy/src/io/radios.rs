//! Radios that several links share in turns, and the division of their time.

use super::ids::LinkId;
use units::{Bytes, Duration};

/// What can happen to a radio whose links take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RadioEvent {
    /// It is present, and its time is divided like this.
    Appeared(Division),
    /// It is gone, and so is its plan.
    Gone,
    /// It must also listen to this link's access point, on the link's channel.
    Serves {
        /// The link.
        link: LinkId,
        /// The number of slices, where cycles are divided by weight.
        weight: u32,
    },
    /// It must also listen to peers without an access point, on the link's channel.
    AdHoc {
        /// The link.
        link: LinkId,
        /// The time spent on them in each cycle.
        stays: Duration,
    },
    /// It need not listen to this link any longer.
    Leaves(LinkId),
    /// It scans for access points for this long in each cycle, on channels 1, 6 and 11 in turn. Zero: it does
    /// not scan.
    Scan(Duration),
    /// Bytes received over the link in its slot of the cycle that ends.
    Brought(LinkId, Bytes),
    /// A cycle is over. The next one follows from what each slot received.
    CycleEnded,
    /// The duration of one slice from the next cycle on, where cycles are divided by weight (juggler §3.4).
    Slice(Duration),
}

/// How a radio's time is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// By what each slot received (nsdi15 §7).
    Adaptive(Rules),
    /// By whole multiples of a slice (juggler §3.3).
    Weighted {
        /// The limits of the radio.
        radio: Radio,
        /// The duration of one slice, which is a slot of weight 1.
        slice: Duration,
    },
}

/// For whom the radio listens in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Occupant {
    /// An access point, or all those in use on one channel.
    Network(LinkId),
    /// Peers without an access point.
    AdHoc(LinkId),
    /// Any access point that sends beacons.
    Scan,
}

/// A part of a cycle: the radio switches first, and then listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// For whom it listens.
    pub occupant: Occupant,
    /// The channel.
    pub channel: u16,
    /// The time for which the radio is deaf before the slot.
    pub switch: Duration,
    /// The time for which it listens.
    pub stays: Duration,
}

/// The limits of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radio {
    /// The time for which it is deaf when it changes channel.
    pub switch: Duration,
    /// The time for which it is deaf when it changes network on one channel.
    pub same_channel: Duration,
    /// The shortest slot.
    pub least: Duration,
}

/// How an adaptive cycle is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// C: the duration of a cycle, at most [`crate::slot::LONGEST_CYCLE`].
    pub cycle: Duration,
    /// How strongly good channels are preferred: 0 (equal slots) to [`crate::slot::LARGEST_ALPHA`].
    pub alpha: u32,
    /// The limits of the radio.
    pub radio: Radio,
}

/// Why a cycle cannot be divided as requested, and what would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There are no occupants.
    Nobody,
    /// An occupant has two seats.
    Twice {
        /// The occupant.
        occupant: Occupant,
    },
    /// The cycle is longer than senders' timeouts permit.
    CycleTooLong {
        /// The requested cycle.
        cycle: Duration,
    },
    /// The exponent is larger than useful.
    AlphaTooLarge {
        /// The requested exponent.
        alpha: u32,
    },
    /// An occupant would get less than the least slot.
    TooShort {
        /// The occupant.
        occupant: Occupant,
        /// The slot it would get.
        slot: Duration,
        /// The least slot.
        least: Duration,
    },
    /// Slots and switches take longer than the cycle.
    DoesNotFit {
        /// The number of seats.
        seats: usize,
        /// The least time that they need.
        needed: Duration,
        /// The cycle.
        cycle: Duration,
    },
}

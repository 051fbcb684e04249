//! How a signal changes, and how a radio's time is divided.

use crate::io::radios::{Occupant, Refused, Slot};
use crate::io::{LinkId, RadioId};
use alloc::vec::Vec;
use units::{Duration, Ratio};

/// How a signal changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// It falls towards a hand-off.
    Falling {
        /// The mobility index, in millionths.
        mobility_ppm: i32,
        /// The quality of the link among its candidates.
        quality: Ratio,
        /// Time to the hand-off.
        handoff_in: Duration,
    },
    /// It does not fall, or no other access point is as good.
    Steady,
    /// It is that of another access point of the network.
    Roamed,
}

/// A slot of a cycle, to the millisecond: a smaller change is not worth reporting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listens {
    /// For whom the radio listens.
    pub occupant: Occupant,
    /// The channel.
    pub channel: u16,
    /// For how long, in whole milliseconds.
    pub stays: Duration,
}

impl From<&Slot> for Listens {
    fn from(slot: &Slot) -> Self {
        Self {
            occupant: slot.occupant,
            channel: slot.channel,
            stays: Duration::from_millis(slot.stays.as_millis() as u64),
        }
    }
}

/// How a radio's time is divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cycle {
    /// In each cycle it has these slots.
    Divided {
        /// The radio.
        radio: RadioId,
        /// Its slots.
        slots: Vec<Listens>,
        /// Networks without a slot.
        left_out: Vec<LinkId>,
    },
    /// Its time cannot be divided as requested.
    Undivided {
        /// The radio.
        radio: RadioId,
        /// What prevents it.
        refused: Refused,
    },
}

impl Trend {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Falling { .. } => "signal-falling",
            Self::Steady => "signal-steady",
            Self::Roamed => "roamed",
        }
    }
}

impl Cycle {
    pub(super) const fn id(&self) -> &'static str {
        match self {
            Self::Divided { .. } => "cycle",
            Self::Undivided { .. } => "no-cycle",
        }
    }
}

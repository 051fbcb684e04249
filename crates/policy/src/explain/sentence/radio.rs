//! How a signal changes, and how a radio's time is divided.

use super::{Named, Names};
use crate::io::radios::{Occupant, Refused};
use crate::io::reason::{Cycle, Trend};
use crate::wifi::slot::{LARGEST_ALPHA, LONGEST_CYCLE};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

pub(super) fn trend(trend: Trend) -> String {
    match trend {
        Trend::Steady => String::from("its signal has stopped falling, or no other access point is as good"),
        Trend::Roamed => String::from("moved to another access point of its network: it is measured again"),
        Trend::Falling {
            mobility_ppm,
            quality,
            handoff_in,
        } => {
            let sign = if mobility_ppm < 0 { "-" } else { "" };
            let hundredths = mobility_ppm.unsigned_abs() / 10_000;
            format!(
                "its signal is falling (mobility index {sign}{}.{:02}, quality {quality}): a hand-off is due in {} ms",
                hundredths / 100,
                hundredths % 100,
                handoff_in.as_millis()
            )
        }
    }
}

pub(super) fn cycle(cycle: &Cycle, names: &(impl Names + ?Sized)) -> String {
    match cycle {
        Cycle::Undivided { radio, refused } => format!("radio {}: {refused}", radio.0),
        Cycle::Divided {
            radio,
            slots,
            left_out,
        } => {
            let slots = slots.iter().map(|slot| {
                let (ms, channel) = (slot.stays.as_millis(), slot.channel);
                format!(
                    "{ms} ms on channel {channel} for {}",
                    occupant(slot.occupant, names)
                )
            });
            let slots = slots.collect::<Vec<_>>().join(", ");
            let left_out = left_out
                .iter()
                .map(|&link| format!("; {} has no slot, since others promise more", Named(link, names)));
            format!(
                "radio {}: each cycle has {slots}{}",
                radio.0,
                left_out.collect::<String>()
            )
        }
    }
}

fn occupant(occupant: Occupant, names: &(impl Names + ?Sized)) -> String {
    match occupant {
        Occupant::Network(link) => Named(link, names).to_string(),
        Occupant::AdHoc(link) => format!("peers of {}", Named(link, names)),
        Occupant::Scan => String::from("scanning"),
    }
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(link) => write!(f, "network {}", link.0),
            Self::AdHoc(link) => write!(f, "ad hoc network {}", link.0),
            Self::Scan => f.write_str("scanning"),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("nothing needs a slot: add a network or a scanning slot"),
            Self::Twice { occupant } => write!(f, "{occupant} has two slots: remove one"),
            Self::CycleTooLong { cycle } => write!(
                f,
                "a cycle of {cycle:?} makes senders time out: {LONGEST_CYCLE:?} is the longest"
            ),
            Self::AlphaTooLarge { alpha } => write!(f, "alpha is {alpha}: choose 0 to {LARGEST_ALPHA}"),
            Self::TooShort {
                occupant,
                slot,
                least,
            } => write!(
                f,
                "{occupant} would get {slot:?}, the minimum is {least:?}: give it a longer slot or leave it out"
            ),
            Self::DoesNotFit { seats, needed, cycle } => write!(
                f,
                "{seats} slots and their switches need {needed:?} of a cycle of {cycle:?}: remove one or lengthen the cycle"
            ),
        }
    }
}

impl core::error::Error for Refused {}

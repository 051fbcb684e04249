//! Why a cycle cannot be divided as requested.

use super::{LARGEST_ALPHA, LONGEST_CYCLE, Occupant, Rules, Seat, Share};
use core::fmt;
use units::Duration;

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
            Self::Nobody => f.write_str("there is nothing to listen to: add a network or a scanning slot"),
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
                "{occupant} would listen for {slot:?}, the least is {least:?}: give it a longer slot or leave it out"
            ),
            Self::DoesNotFit { seats, needed, cycle } => write!(
                f,
                "{seats} slots and the switches between them need {needed:?} of a cycle of {cycle:?}: leave one out or lengthen the cycle"
            ),
        }
    }
}

impl core::error::Error for Refused {}

/// Checks the rules and seats before anything is divided.
pub(super) fn check(rules: &Rules, seats: &[Seat]) -> Result<(), Refused> {
    check_occupants(seats.iter().map(|seat| seat.occupant))?;
    if rules.cycle > LONGEST_CYCLE {
        return Err(Refused::CycleTooLong { cycle: rules.cycle });
    }
    if rules.alpha > LARGEST_ALPHA {
        return Err(Refused::AlphaTooLarge { alpha: rules.alpha });
    }
    let short = seats.iter().find_map(|seat| match seat.share {
        Share::Fixed(slot) if slot < rules.radio.least => Some((seat.occupant, slot)),
        Share::Fixed(_) | Share::Adaptive(_) => None,
    });
    let refused = |(occupant, slot)| Refused::TooShort {
        occupant,
        slot,
        least: rules.radio.least,
    };
    short.map_or(Ok(()), |short| Err(refused(short)))
}

/// Checks that there is at least one occupant, and none twice.
pub(super) fn check_occupants(mut occupants: impl Iterator<Item = Occupant> + Clone) -> Result<(), Refused> {
    if occupants.clone().next().is_none() {
        return Err(Refused::Nobody);
    }
    while let Some(occupant) = occupants.next() {
        if occupants.clone().any(|other| other == occupant) {
            return Err(Refused::Twice { occupant });
        }
    }
    Ok(())
}

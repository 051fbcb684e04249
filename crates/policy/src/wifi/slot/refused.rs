//! Why a cycle can not be divided as asked.

use super::{LARGEST_ALPHA, LONGEST_CYCLE, Occupant, Rules, Seat, Share};
use core::fmt;
use units::Duration;

/// Why a cycle can not be divided as asked, and what would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is nobody to listen to.
    Nobody,
    /// An occupant has two seats.
    Twice {
        /// Who.
        occupant: Occupant,
    },
    /// Senders would time out.
    CycleTooLong {
        /// What was asked for.
        cycle: Duration,
    },
    /// The exponent is larger than any use of it.
    AlphaTooLarge {
        /// What was asked for.
        alpha: u32,
    },
    /// Less than the least slot would be left for an occupant.
    TooShort {
        /// Whom.
        occupant: Occupant,
        /// What it would get.
        slot: Duration,
        /// The least.
        least: Duration,
    },
    /// Slots and switches are longer than the cycle.
    DoesNotFit {
        /// How many.
        seats: usize,
        /// What they need at least.
        needed: Duration,
        /// What there is.
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

/// What can be said before anything is divided.
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

/// There is at least one, and none twice.
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

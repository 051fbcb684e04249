//! Whether a cycle can be divided as requested.

use super::{LARGEST_ALPHA, LONGEST_CYCLE, Occupant, Refused, Rules, Seat, Share};

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

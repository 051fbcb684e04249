//! Divides the cycle of a radio into slots: which channel or network it listens to, and for how long.
//!
//! ```
//! use policy::LinkId;
//! use policy::slot::{Occupant, Rules, Seat, Share, divide};
//! use units::Bitrate;
//!
//! let seat = |link, channel, mbps| Seat {
//!     occupant: Occupant::Network(LinkId(link)), channel, share: Share::Adaptive(Bitrate::from_mbps(mbps)),
//! };
//! let mut slots = Vec::new();
//! divide(&Rules::NSDI15, &[seat(0, 40, 20), seat(1, 44, 5)], &mut slots).unwrap();
//! assert_eq!(slots.iter().map(|slot| slot.stays.as_millis()).collect::<Vec<_>>(), [170, 20]);
//! ```
//!
//! A world reports which links share a radio ([`crate::RadioEvent`]) and gets cycles
//! ([`crate::Action::Slots`]).
//!
//! # Sources
//! - nsdi15 §7, Eq. 6: `c_i = b_i^α / Σ_j b_j^α · C`, where b_i is the bytes received in a slot divided by
//!   its length. C ≤ 200 ms, slots of at least 10 ms, α = 2, about 5 ms per switch.
//! - juggler §3.3, §3.4: round robin over virtual networks, each for an integer multiple of the default slice
//!   (100 ms). A scanning slot on another channel each time: 1, 6, 11. Ad hoc networks. Table 1: 3.328 ms per
//!   switch, 0.381 ms on one channel.
//!
//! # Where we differ, and why
//! 1. Eq. 6 leaves no room for minimum and switches. Ours gives each the minimum first and divides the rest:
//!    `share = C − switches − fixed − n·min`, `c_i = min + share·b_i^α/Σ_j b_j^α`. [`printed`] is Eq. 6.
//! 2. Seats are in the order of their channels. So a cycle has the fewest changes of channel, and a switch
//!    between two networks of one channel costs what juggler measured. A radio with one seat never switches.
//! 3. Nanoseconds left by rounding go one each to the first seats in order of their links. A larger b_i may
//!    therefore cost one nanosecond.
//! 4. If all b are zero, the share is divided equally. The same applies to what fixed seats leave if no seat
//!    is adaptive.
//!
//! # Checked by
//! `tests/engine_slots.rs`: through the engine. `tests`: invariants over random seats, the paper's
//! throughputs with two access points, `golden/slot.csv`.

mod refused;
mod rotation;
#[cfg(test)]
mod tests;

pub use crate::io::radios::{Occupant, Radio, Refused, Rules, Slot};
pub use rotation::{Rotation, ScanChannels};

use crate::io::LinkId;
use alloc::vec::Vec;
use units::{Bitrate, Duration};

/// A longer cycle makes senders time out (nsdi15 §7: the least retransmission timeout).
pub const LONGEST_CYCLE: Duration = Duration::from_millis(200);
/// Above this, only the best is listened to. It also limits the arithmetic.
pub const LARGEST_ALPHA: u32 = 4;

/// Keeps a time and a weight of 2⁸⁰ inside 128 bits.
const DAY: Duration = Duration::from_secs(86_400);

/// An occupant's share of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// A share that follows the rate received in its slots.
    Adaptive(Bitrate),
    /// A slot of this length.
    Fixed(Duration),
}

/// An occupant's seat in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// The occupant.
    pub occupant: Occupant,
    /// The channel.
    pub channel: u16,
    /// The share.
    pub share: Share,
}

impl Radio {
    /// As nsdi15 §7 measured it. On one channel, as juggler measured it.
    pub const NSDI15: Self = Self {
        switch: Duration::from_millis(5),
        same_channel: Duration::from_micros(381),
        least: Duration::from_millis(10),
    };
    /// As in juggler's table 1, which sets no least slot.
    pub const JUGGLER: Self = Self {
        switch: Duration::from_micros(3_328),
        same_channel: Duration::from_micros(381),
        least: Duration::ZERO,
    };

    const fn between(&self, from: u16, to: u16) -> Duration {
        if from == to {
            self.same_channel
        } else {
            self.switch
        }
    }
}

impl Rules {
    /// The rules of nsdi15 §7.
    pub const NSDI15: Self = Self {
        cycle: LONGEST_CYCLE,
        alpha: 2,
        radio: Radio::NSDI15,
    };
}

/// Divides a cycle into `slots`, in the order in which the radio visits them. Earlier contents of `slots` are
/// dropped.
///
/// # Errors
/// If the seats do not fit. `slots` is then empty.
pub fn divide(rules: &Rules, seats: &[Seat], slots: &mut Vec<Slot>) -> Result<(), Refused> {
    slots.clear();
    refused::check(rules, seats)?;
    let least = |seat: &Seat| match seat.share {
        Share::Adaptive(_) => rules.radio.least,
        Share::Fixed(stays) => stays,
    };
    take_seats(
        &rules.radio,
        seats
            .iter()
            .map(|seat| (seat.occupant, seat.channel, least(seat))),
        slots,
    );
    let needed = slots.iter().fold(Duration::ZERO, |sum, slot| {
        sum.saturating_add(slot.switch).saturating_add(slot.stays)
    });
    let Some(share) = rules.cycle.checked_sub(needed) else {
        slots.clear();
        return Err(Refused::DoesNotFit {
            seats: seats.len(),
            needed,
            cycle: rules.cycle,
        });
    };
    share_out(share, rules.alpha, seats, slots);
    Ok(())
}

/// Eq. 6 as printed: parts of `cycle` (a day at most) by rates alone, in the order of `rates`. The parts are
/// equal if all rates are zero.
pub fn printed(cycle: Duration, alpha: u32, rates: &[Bitrate]) -> Vec<Duration> {
    let largest = rates.iter().max().copied().unwrap_or_default();
    let weights: Vec<u128> = rates.iter().map(|&rate| weight(rate, largest, alpha)).collect();
    parts(cycle.min(DAY), &weights)
}

/// juggler's cycle: each occupant stays for its weight times `slice`, including the switch before it. The
/// length of the cycle follows.
///
/// # Errors
/// If a weight is zero, or a switch uses up its slot. `slots` is then empty.
pub fn by_weight(
    radio: &Radio,
    slice: Duration,
    seats: &[(Occupant, u16, u32)],
    slots: &mut Vec<Slot>,
) -> Result<(), Refused> {
    slots.clear();
    refused::check_occupants(seats.iter().map(|seat| seat.0))?;
    take_seats(
        radio,
        seats
            .iter()
            .map(|&(occupant, channel, weight)| (occupant, channel, slice.saturating_mul(weight))),
        slots,
    );
    for slot in slots.iter_mut() {
        let listens = slot
            .stays
            .checked_sub(slot.switch)
            .filter(|stays| !stays.is_zero() && *stays >= radio.least);
        let Some(stays) = listens else {
            let refused = Refused::TooShort {
                occupant: slot.occupant,
                slot: slot.stays.saturating_sub(slot.switch),
                least: radio.least,
            };
            slots.clear();
            return Err(refused);
        };
        slot.stays = stays;
    }
    Ok(())
}

/// Sorts occupants by channel, and adds the switches between them.
fn take_seats(radio: &Radio, seats: impl Iterator<Item = (Occupant, u16, Duration)>, slots: &mut Vec<Slot>) {
    slots.extend(seats.map(|(occupant, channel, stays)| Slot {
        occupant,
        channel,
        switch: Duration::ZERO,
        stays,
    }));
    slots.sort_unstable_by_key(|slot| (slot.channel, slot.occupant));
    if slots.len() > 1 {
        let mut before = slots[slots.len() - 1].channel;
        for slot in slots {
            slot.switch = radio.between(before, slot.channel);
            before = slot.channel;
        }
    }
}

/// Adds the rest of the cycle to adaptive seats, or to all if there are none.
fn share_out(share: Duration, alpha: u32, seats: &[Seat], slots: &mut [Slot]) {
    slots.sort_unstable_by_key(|slot| slot.occupant);
    let rate = |slot: &Slot| {
        let seat = seats.iter().find(|seat| seat.occupant == slot.occupant)?;
        match seat.share {
            Share::Adaptive(rate) => Some(rate),
            Share::Fixed(_) => None,
        }
    };
    let largest = slots.iter().filter_map(rate).max();
    let weights: Vec<u128> = slots
        .iter()
        .map(|slot| match (largest, rate(slot)) {
            (Some(largest), Some(rate)) => weight(rate, largest, alpha),
            (Some(_), None) => 0,
            (None, _) => 1,
        })
        .collect();
    for (slot, part) in slots.iter_mut().zip(parts(share, &weights)) {
        slot.stays += part;
    }
    slots.sort_unstable_by_key(|slot| (slot.channel, slot.occupant));
}

/// `(rate / largest)^alpha`, in parts of 2²⁰ to that power. All are equal if the largest is zero.
fn weight(rate: Bitrate, largest: Bitrate, alpha: u32) -> u128 {
    if largest == Bitrate::ZERO {
        return 1;
    }
    let scaled = (u128::from(rate.as_bps()) << 20) / u128::from(largest.as_bps());
    scaled.pow(alpha.min(LARGEST_ALPHA))
}

/// Divides `whole` by weights of at most 2⁸⁰, to the nanosecond. The rest from rounding goes one each to the
/// first with any weight.
fn parts(whole: Duration, weights: &[u128]) -> Vec<Duration> {
    let total: u128 = weights.iter().sum::<u128>().max(1);
    let part = |weight: &u128| Duration::from_nanos((whole.as_nanos() * weight / total) as u64);
    let mut parts: Vec<Duration> = weights.iter().map(part).collect();
    let given: Duration = parts.iter().sum();
    let mut left = if weights.iter().any(|&weight| weight > 0) {
        (whole - given).as_nanos()
    } else {
        0
    };
    for (part, _) in parts.iter_mut().zip(weights).filter(|(_, weight)| **weight > 0) {
        if left > 0 {
            *part += Duration::from_nanos(1);
            left -= 1;
        }
    }
    parts
}

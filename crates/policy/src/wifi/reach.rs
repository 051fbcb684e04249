//! Which of the access points in range a radio should join.
//!
//! A radio can be on few channels at once, and has few station interfaces. Access points of one channel can
//! all be joined, so the channel with the most usable ones comes first.
//!
//! # Where we differ, and why
//! 1. A channel is left only when no access point on it is joined any more. Moving costs all connections at
//!    once, and a scan of other channels costs airtime.
//!
//! # Checked by
//! `tests`; the trials `joins` and `joins-four` of `guest`.

use crate::estimate::signal::EDGE;
use alloc::vec::Vec;
use core::cmp::Reverse;
use units::{Db, Dbm};

/// Least margin above the weakest usable signal. Associations are requested from there on, too.
const LEAST_MARGIN: Db = Db::from_db(1);

/// An access point in range, of a network that may be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audible {
    /// Its channel.
    pub channel: u16,
    /// The signal of its last beacon.
    pub signal: Dbm,
    /// Whether it is joined, or about to be.
    pub joined: bool,
}

/// What a radio can do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Access points.
    pub stations: usize,
    /// Channels.
    pub channels: usize,
}

/// Why an access point is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// Its signal is too weak.
    Weak,
    /// The radio is on as many other channels as it can be.
    OtherChannel,
    /// The radio has no interface left.
    NoInterface,
}

/// For each access point, whether it should be joined, or why not. `held` are channels that others use on the
/// radio.
#[must_use]
pub fn choose(audible: &[Audible], held: &[u16], capacity: Capacity) -> Vec<Result<(), LeftOut>> {
    let on = channels(audible, held, capacity.channels);
    let fits = |one: &Audible| match (one.joined || is_usable(one), on.contains(&one.channel)) {
        (false, _) => Err(LeftOut::Weak),
        (true, false) => Err(LeftOut::OtherChannel),
        (true, true) => Ok(()),
    };
    let mut chosen: Vec<Result<(), LeftOut>> = audible.iter().map(fits).collect();
    let mut order: Vec<usize> = (0..audible.len()).filter(|&at| chosen[at].is_ok()).collect();
    order.sort_by_key(|&at| (Reverse(audible[at].joined), Reverse(audible[at].signal), at));
    for at in order.into_iter().skip(capacity.stations) {
        chosen[at] = Err(LeftOut::NoInterface);
    }
    chosen
}

fn is_usable(one: &Audible) -> bool {
    one.signal - EDGE >= LEAST_MARGIN
}

/// The channels to be on: those in use, then the ones with the most usable access points.
fn channels(audible: &[Audible], held: &[u16], most: usize) -> Vec<u16> {
    let joined = audible.iter().filter(|one| one.joined).map(|one| one.channel);
    let mut on: Vec<u16> = held.iter().copied().chain(joined).collect();
    on.sort_unstable();
    on.dedup();
    let mut others: Vec<u16> = audible.iter().map(|one| one.channel).collect();
    others.sort_unstable();
    others.dedup();
    others.retain(|channel| !on.contains(channel));
    others.sort_by_key(|&channel| {
        let usable = audible
            .iter()
            .filter(|one| one.channel == channel && is_usable(one));
        let best = usable.clone().map(|one| one.signal).max();
        (Reverse(usable.count()), Reverse(best), channel)
    });
    let free = most.saturating_sub(on.len());
    on.extend(others.into_iter().take(free));
    on
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEAK: Result<(), LeftOut> = Err(LeftOut::Weak);
    const OTHER: Result<(), LeftOut> = Err(LeftOut::OtherChannel);
    const FULL: Result<(), LeftOut> = Err(LeftOut::NoInterface);

    const ONE_CHANNEL: Capacity = Capacity {
        stations: 8,
        channels: 1,
    };

    fn at(channel: u16, dbm: i32) -> Audible {
        Audible {
            channel,
            signal: Dbm::from_dbm(dbm),
            joined: false,
        }
    }

    fn joined(channel: u16, dbm: i32) -> Audible {
        Audible {
            joined: true,
            ..at(channel, dbm)
        }
    }

    #[test]
    fn the_channel_with_the_most_usable_access_points_is_chosen() {
        let audible = [at(1, -40), at(6, -60), at(6, -70), at(1, -99)];
        assert_eq!(choose(&audible, &[], ONE_CHANNEL), [OTHER, Ok(()), Ok(()), WEAK]);
    }

    #[test]
    fn of_equal_channels_the_one_with_the_better_signal_is_chosen() {
        let audible = [at(1, -60), at(11, -50)];
        assert_eq!(choose(&audible, &[], ONE_CHANNEL), [OTHER, Ok(())]);
    }

    #[test]
    fn a_channel_in_use_stays_whatever_others_offer() {
        let audible = [joined(1, -85), at(6, -40), at(6, -41), at(1, -70)];
        let expected = [Ok(()), OTHER, OTHER, Ok(())];
        assert_eq!(choose(&audible, &[], ONE_CHANNEL), expected);
        let others = [at(1, -75), at(6, -40)];
        assert_eq!(
            choose(&others, &[1], ONE_CHANNEL),
            [Ok(()), OTHER],
            "the user's own"
        );
    }

    #[test]
    fn two_channels_at_once_are_both_used() {
        let audible = [joined(1, -60), at(6, -40), at(11, -50)];
        let two = Capacity {
            channels: 2,
            ..ONE_CHANNEL
        };
        assert_eq!(choose(&audible, &[], two), [Ok(()), Ok(()), OTHER]);
    }

    #[test]
    fn a_joined_access_point_keeps_its_place_when_the_card_has_no_more() {
        let audible = [at(6, -40), joined(6, -80), at(6, -50)];
        let two = Capacity {
            stations: 2,
            ..ONE_CHANNEL
        };
        assert_eq!(choose(&audible, &[], two), [Ok(()), Ok(()), FULL]);
    }
}

//! Which of the access points in range a radio should join.
//!
//! A radio can be on few channels at once, and has few station interfaces. Access points of one channel can
//! all be joined, so the channel with the most usable ones comes first. Of equal channels, the one with the
//! fastest access point does: a router of two bands is heard better at 2.4 GHz, but is faster at 5 GHz.
//!
//! # Where we differ, and why
//! 1. A channel is left only in two cases: no access point on it is joined any more, or all that are joined
//!    are weak and another channel offers much better. Moving costs all connections of the channel at once.
//! 2. A radio without an interface left gives up a weak access point for a much better one of its channels.
//!
//! # Checked by
//! `tests`; the trials `joins` and `joins-four` of `guest`.

use crate::estimate::signal::EDGE;
use alloc::vec::Vec;
use core::cmp::Reverse;
use units::{Bitrate, Db, Dbm};

/// Least margin above the weakest usable signal. Associations are requested from there on, too.
const LEAST_MARGIN: Db = Db::from_db(1);
/// Margin above the weakest usable signal below which it is time to look at other channels. That is -72 dBm,
/// where 24 Mb/s is the highest rate of 802.11g that still works.
const WEAK_MARGIN: Db = Db::from_db(10);
/// How much better an access point of another channel must be to leave a channel for it.
const MOVES_FOR: Db = Db::from_db(10);

/// An access point in range, of a network that may be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audible {
    /// Its channel.
    pub channel: u16,
    /// The signal of its last beacon.
    pub signal: Dbm,
    /// The throughput to expect from what it and the radio can do at this signal. Zero: not known.
    pub throughput: Bitrate,
    /// Whether it is joined, or about to be.
    pub joined: bool,
    /// Its signal as far as it is certain, if a channel may be left for it.
    pub offer: Option<Dbm>,
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
    /// It is joined and weak. Another one of its channels is much better, and the radio has no interface
    /// left.
    Replaced,
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
    let (kept, others) = order.split_at(capacity.stations.min(order.len()));
    for &at in others {
        chosen[at] = Err(LeftOut::NoInterface);
    }
    if let Some((old, new)) = replaced(audible, kept, others) {
        (chosen[old], chosen[new]) = (Err(LeftOut::Replaced), Ok(()));
    }
    chosen
}

/// The weakest that is joined, and the one to join in its place, if it is weak and the other one much better.
fn replaced(audible: &[Audible], kept: &[usize], others: &[usize]) -> Option<(usize, usize)> {
    let joined = kept.iter().filter(|&&at| audible[at].joined);
    let (signal, old) = joined.map(|&at| (audible[at].signal, at)).min()?;
    let offers = others.iter().filter(|&&at| !audible[at].joined);
    let (offer, new) = offers.filter_map(|&at| Some((audible[at].offer?, at))).max()?;
    (is_weak_signal(signal) && is_much_better(offer, signal)).then_some((old, new))
}

/// Whether something is joined, and all of it so weak that it is time to look at other channels.
#[must_use]
pub fn is_weak(audible: &[Audible]) -> bool {
    let joined = audible.iter().filter(|one| one.joined).map(|one| one.signal);
    joined.max().is_some_and(is_weak_signal)
}

/// Whether an offer is so much better than what is joined that a channel should be left for it.
#[must_use]
pub fn is_much_better(offer: Dbm, joined: Dbm) -> bool {
    offer - joined >= MOVES_FOR
}

fn is_weak_signal(signal: Dbm) -> bool {
    signal - EDGE < WEAK_MARGIN
}

fn is_usable(one: &Audible) -> bool {
    one.signal - EDGE >= LEAST_MARGIN
}

/// The channels to be on: those in use, then the ones with the most usable access points, then the one with
/// the fastest.
fn channels(audible: &[Audible], held: &[u16], most: usize) -> Vec<u16> {
    let joined = audible.iter().filter(|one| one.joined).map(|one| one.channel);
    let mut on = distinct(held.iter().copied().chain(joined));
    let mut others = distinct(audible.iter().map(|one| one.channel));
    others.retain(|channel| !on.contains(channel));
    if on.len() >= most
        && let Some((from, to)) = moves(audible, held, &on)
    {
        on.retain(|&channel| channel != from);
        on.push(to);
        return on;
    }
    others.sort_by_key(|&channel| {
        let usable = audible
            .iter()
            .filter(|one| one.channel == channel && is_usable(one));
        let best = usable.clone().map(|one| (one.throughput, one.signal)).max();
        (Reverse(usable.count()), Reverse(best), channel)
    });
    let free = most.saturating_sub(on.len());
    on.extend(others.into_iter().take(free));
    on
}

fn distinct(channels: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut all: Vec<u16> = channels.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The channel to leave and the one to use instead, of those `on` which the radio is. Channels that others
/// hold are not ours to leave.
fn moves(audible: &[Audible], held: &[u16], on: &[u16]) -> Option<(u16, u16)> {
    let best = |channel: u16| {
        let joined = audible
            .iter()
            .filter(move |one| one.joined && one.channel == channel);
        joined.map(|one| one.signal).max()
    };
    let ours = on.iter().filter(|channel| !held.contains(channel));
    let (worst, from) = ours
        .filter_map(|&channel| Some((best(channel)?, channel)))
        .min()?;
    let elsewhere = audible
        .iter()
        .filter(|one| is_usable(one) && !on.contains(&one.channel));
    let (offer, to) = elsewhere
        .filter_map(|one| Some((one.offer?, one.channel)))
        .max()?;
    (is_weak_signal(worst) && is_much_better(offer, worst)).then_some((from, to))
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
            throughput: Bitrate::ZERO,
            joined: false,
            offer: Some(Dbm::from_dbm(dbm)),
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
    fn of_two_bands_of_a_router_the_faster_one_is_chosen() {
        let with = |mbps, one| Audible {
            throughput: Bitrate::from_mbps(mbps),
            ..one
        };
        let router = [with(65, at(6, -40)), with(390, at(36, -55))];
        assert_eq!(choose(&router, &[], ONE_CHANNEL), [OTHER, Ok(())]);
        let far = [with(65, at(6, -65)), with(26, at(36, -80))];
        assert_eq!(choose(&far, &[], ONE_CHANNEL), [Ok(()), OTHER]);
    }

    #[test]
    fn a_channel_in_use_stays_while_it_is_good_whatever_others_offer() {
        let audible = [joined(1, -71), at(6, -40), at(6, -41), at(1, -75)];
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
    fn a_channel_where_all_is_weak_is_left_for_one_that_is_much_better() {
        let moved = |joined: &[Audible], offer| {
            let audible = [joined, &[offer]].concat();
            choose(&audible, &[], ONE_CHANNEL).pop() == Some(Ok(()))
        };
        let two = [joined(1, -85), joined(1, -73)];
        assert!(moved(&two, at(6, -63)));
        assert!(!moved(&two, at(6, -64)), "not better by enough");
        assert!(
            !moved(&[joined(1, -85), joined(1, -71)], at(6, -40)),
            "one is still good"
        );
        let unsure = Audible {
            offer: Some(Dbm::from_dbm(-64)),
            ..at(6, -40)
        };
        assert!(!moved(&two, unsure));
        let silent = Audible {
            offer: None,
            ..at(6, -40)
        };
        assert!(!moved(&two, silent), "it may have gone");
        assert!(!moved(&[joined(1, -95)], at(6, -82)), "it is of no use");
        let left = choose(&[two[0], two[1], at(6, -63)], &[], ONE_CHANNEL);
        assert_eq!(left, [OTHER, OTHER, Ok(())]);
        let held = choose(&[two[0], two[1], at(6, -63)], &[1], ONE_CHANNEL);
        assert_eq!(
            held,
            [Ok(()), Ok(()), OTHER],
            "the user's own connection is there"
        );
    }

    #[test]
    fn of_two_channels_in_use_the_weaker_one_is_left() {
        let two = Capacity {
            channels: 2,
            ..ONE_CHANNEL
        };
        let audible = [joined(1, -75), joined(6, -80), at(11, -60)];
        assert_eq!(choose(&audible, &[], two), [Ok(()), OTHER, Ok(())]);
        let audible = [joined(1, -60), joined(6, -80), at(11, -60)];
        assert_eq!(choose(&audible, &[], two), [Ok(()), OTHER, Ok(())]);
    }

    #[test]
    fn it_is_time_to_look_around_when_all_that_is_joined_is_weak() {
        assert!(is_weak(&[joined(1, -73), joined(1, -85), at(1, -40)]));
        assert!(!is_weak(&[joined(1, -72), joined(1, -85)]));
        assert!(!is_weak(&[at(1, -85)]), "nothing is joined");
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
    fn a_joined_access_point_that_is_good_keeps_its_place_when_the_card_has_no_more() {
        let audible = [at(6, -40), joined(6, -71), at(6, -50)];
        let two = Capacity {
            stations: 2,
            ..ONE_CHANNEL
        };
        assert_eq!(choose(&audible, &[], two), [Ok(()), Ok(()), FULL]);
    }

    #[test]
    fn a_card_with_one_interface_replaces_a_weak_access_point_by_a_much_better_one() {
        let one = Capacity {
            stations: 1,
            ..ONE_CHANNEL
        };
        let replaced = [Err(LeftOut::Replaced), Ok(())];
        assert_eq!(choose(&[joined(6, -75), at(6, -65)], &[], one), replaced);
        let kept = [Ok(()), FULL];
        assert_eq!(
            choose(&[joined(6, -75), at(6, -66)], &[], one),
            kept,
            "not by enough"
        );
        assert_eq!(
            choose(&[joined(6, -71), at(6, -40)], &[], one),
            kept,
            "it is good"
        );
        let silent = Audible {
            offer: None,
            ..at(6, -40)
        };
        assert_eq!(
            choose(&[joined(6, -75), silent], &[], one),
            kept,
            "it may have gone"
        );
        let two = Capacity { stations: 2, ..one };
        let audible = [joined(6, -50), joined(6, -80), at(6, -60), at(6, -55)];
        let expected = [Ok(()), Err(LeftOut::Replaced), FULL, Ok(())];
        assert_eq!(choose(&audible, &[], two), expected);
    }
}

//! Plans of slots for radios that cannot listen to all of their links at once.
//!
//! [`crate::slot`] decides. This module keeps which links share which radio, and hands out a plan when it has
//! changed.
//!
//! # Sources
//! - nsdi15 §7 (a cycle follows from what the previous one received). juggler §3.3 (weights, scanning slot,
//!   ad hoc networks), §3.4 (the slice changes while the radio works).
//!
//! # Where we differ, and why
//! 1. nsdi15 and juggler divide a radio among all its networks. If not all fit into a cycle, the least
//!    promising ones are left out, and reported with the reason. The choice stays for [`RANKED_FOR`].
//! 2. A plan that cannot fit is refused with the reason, and the previous one stays in force.
//! 3. The slices of a link that is proven dead go to the live one with most of them. It keeps one, in order
//!    to be heard again. juggler leaves that to a program (§6.1).
//! 4. Where cycles are divided by weight, they begin with the network that was added last: a newcomer is
//!    visited at once, and a cycle later again. juggler has it wait for its turn. Cycles that follow from
//!    what slots received take at most 200 ms, and begin with the lowest channel.
//!
//! # Checked by
//! `tests/engine_slots.rs`, also which channels are left out; [`crate::slot`]'s own tests.

use crate::choose::rank;
use crate::io::reason::{Cycle, Listens};
use crate::io::{Action, Division, LinkId, RadioEvent, RadioId, Verb};
use crate::known::path::Path;
use crate::known::state::State;
use crate::wifi::slot::{Occupant, Refused, Rotation, Rules, ScanChannels, Slot, by_weight};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::{Bytes, Duration, Instant};

/// More radios than any host has: limits memory.
const MOST_RADIOS: usize = 16;

/// How long a choice of networks stays, unless one comes or goes: a network that is better for a moment is
/// not worth the change.
const RANKED_FOR: Duration = Duration::from_secs(5);

/// The longest cycle that excuses silence. TCP gives up a round trip much earlier.
const LONGEST: Duration = Duration::from_secs(10);

/// All radios and their plans.
#[derive(Debug, Default)]
pub(crate) struct Radios {
    radios: BTreeMap<RadioId, Radio>,
}

#[derive(Debug)]
struct Radio {
    division: Division,
    rotation: Rotation,
    /// The occupants where cycles are divided by weight: the channel and part of each.
    weighted: Vec<(Occupant, u16, Part)>,
    plan: Vec<Slot>,
    reported: Option<Cycle>,
    /// When its networks were last ranked. `None` if one came or went since.
    ranked: Option<Instant>,
    /// The network that was added last. Cycles that are divided by weight begin with it.
    newest: Option<Occupant>,
}

/// An occupant's part of a cycle that is divided by weight.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// A number of slices, whatever their duration.
    Slices(u32),
    /// A time, which is rounded up to whole slices.
    Time(Duration),
}

impl Radios {
    /// Handles an event of a radio.
    pub(crate) fn about(&mut self, now: Instant, state: &mut State, id: RadioId, event: RadioEvent) {
        match event {
            RadioEvent::Appeared(division) if self.radios.len() < MOST_RADIOS => {
                self.radios.entry(id).or_insert_with(|| Radio::new(division));
            }
            RadioEvent::Gone => {
                self.radios.remove(&id);
                state.scans &= !self.radios.is_empty();
            }
            _ => {
                if let RadioEvent::Scan(stays) = event {
                    state.scans = !stays.is_zero();
                }
                if let RadioEvent::Leaves(link) = event
                    && let Some(path) = state.paths.get_mut(&link)
                {
                    path.cycle = Duration::ZERO;
                }
                if let Some(radio) = self.radios.get_mut(&id)
                    && radio.learn(state, event)
                {
                    radio.plan(now, state, id);
                }
            }
        }
    }

    /// Drops a link that is gone from all radios.
    pub(crate) fn forget(&mut self, now: Instant, state: &mut State, link: LinkId) {
        for (&id, radio) in &mut self.radios {
            if radio.remove(link) {
                radio.plan(now, state, id);
            }
        }
    }
}

impl Part {
    /// The number of slices of this duration, at least one where a time is requested.
    fn slices(self, slice: Duration) -> u32 {
        match self {
            Self::Slices(slices) => slices,
            Self::Time(stays) => {
                let slices = stays.as_nanos().div_ceil(slice.as_nanos().max(1)).max(1);
                u32::try_from(slices).unwrap_or(u32::MAX)
            }
        }
    }
}

impl Radio {
    const fn new(division: Division) -> Self {
        let rules = match division {
            Division::Adaptive(rules) => rules,
            Division::Weighted { radio, .. } => Rules {
                radio,
                ..Rules::NSDI15
            },
        };
        Self {
            division,
            rotation: Rotation::new(rules),
            weighted: Vec::new(),
            plan: Vec::new(),
            reported: None,
            ranked: None,
            newest: None,
        }
    }

    /// Records an event. Returns whether a new plan is due.
    fn learn(&mut self, state: &State, event: RadioEvent) -> bool {
        let channel = |link| state.paths.get(&link).and_then(|path| path.spec.channel);
        match event {
            RadioEvent::Serves { link, weight } => {
                channel(link).is_some_and(|channel| self.serve(link, channel, weight))
            }
            RadioEvent::AdHoc { link, stays } => {
                channel(link).is_some_and(|channel| self.serve_peers(link, channel, stays))
            }
            RadioEvent::Leaves(link) => self.remove(link),
            RadioEvent::Scan(stays) => self.scan(stays),
            RadioEvent::Brought(link, bytes) => self.brought(link, bytes),
            RadioEvent::CycleEnded => true,
            RadioEvent::Slice(slice) => self.cut(slice),
            RadioEvent::Appeared(_) | RadioEvent::Gone => false,
        }
    }

    fn serve(&mut self, link: LinkId, channel: u16, weight: u32) -> bool {
        self.rotation.add(link, channel);
        self.weigh(Occupant::Network(link), channel, Part::Slices(weight));
        true
    }

    fn serve_peers(&mut self, link: LinkId, channel: u16, stays: Duration) -> bool {
        self.rotation.add_ad_hoc(link, channel, stays);
        self.weigh(Occupant::AdHoc(link), channel, Part::Time(stays));
        true
    }

    /// Sets the slice of the next cycle. The present cycle keeps its slots.
    fn cut(&mut self, to: Duration) -> bool {
        if let Division::Weighted { slice, .. } = &mut self.division {
            *slice = to;
        }
        false
    }

    fn weigh(&mut self, occupant: Occupant, channel: u16, part: Part) {
        self.ranked = None;
        let before = self.weighted.len();
        self.weighted.retain(|(known, ..)| *known != occupant);
        if self.weighted.len() == before && occupant != Occupant::Scan {
            self.newest = Some(occupant);
        }
        self.weighted.push((occupant, channel, part));
    }

    fn remove(&mut self, link: LinkId) -> bool {
        let before = self.weighted.len();
        let stays = |occupant: Occupant| !matches!(occupant, Occupant::Network(id) | Occupant::AdHoc(id) if id == link);
        self.weighted.retain(|(occupant, ..)| stays(*occupant));
        self.rotation.remove(link);
        self.ranked = None;
        self.weighted.len() != before
    }

    fn scan(&mut self, stays: Duration) -> bool {
        let channels = ScanChannels::new(&ScanChannels::JUGGLER).filter(|_| !stays.is_zero());
        self.weighted.retain(|(occupant, ..)| *occupant != Occupant::Scan);
        if channels.is_some() {
            let first = ScanChannels::JUGGLER[0];
            self.weigh(Occupant::Scan, first, Part::Time(stays));
        }
        self.rotation.set_scan(channels.map(|channels| (channels, stays)));
        true
    }

    fn brought(&mut self, link: LinkId, bytes: Bytes) -> bool {
        self.rotation.received(link, bytes);
        false
    }

    /// Computes the next cycle, and hands it out if it has changed.
    fn plan(&mut self, now: Instant, state: &mut State, id: RadioId) {
        self.rank(now, state);
        if self.weighted.is_empty() {
            if !self.plan.is_empty() {
                self.plan.clear();
                state.push(Action::Slots(id, Vec::new()));
            }
            return;
        }
        let (plan, verdict) = self.next(state);
        let reason = match verdict {
            Ok(()) => {
                if plan != self.plan {
                    self.plan.clone_from(&plan);
                    self.tell_cycle(state);
                    state.push(Action::Slots(id, plan));
                }
                Cycle::Divided {
                    radio: id,
                    slots: self.plan.iter().map(Listens::from).collect(),
                    left_out: self.left_out().to_vec(),
                }
            }
            Err(refused) => Cycle::Undivided { radio: id, refused },
        };
        if self.reported.as_ref() != Some(&reason) {
            self.reported = Some(reason.clone());
            state.remark(None, None, Verb::Slots, reason);
        }
    }

    /// Records how often each network is listened to. A radio with one network never leaves it.
    fn tell_cycle(&self, state: &mut State) {
        let longer =
            |cycle: Duration, slot: &Slot| cycle.saturating_add(slot.switch).saturating_add(slot.stays);
        let cycle = match self.plan.len() {
            0 | 1 => Duration::ZERO,
            _ => self.plan.iter().fold(Duration::ZERO, longer).min(LONGEST),
        };
        for slot in &self.plan {
            if let Occupant::Network(link) = slot.occupant
                && let Some(path) = state.paths.get_mut(&link)
            {
                path.cycle = cycle;
            }
        }
    }

    /// Ranks the networks by what they promise. Those in the present cycle precede others that promise about
    /// as much.
    fn rank(&mut self, now: Instant, state: &State) {
        if self.ranked.is_some_and(|ranked| now - ranked < RANKED_FOR) {
            return;
        }
        self.ranked = Some(now);
        let networks = self.weighted.iter().filter_map(|(occupant, ..)| match occupant {
            Occupant::Network(link) => Some(*link),
            Occupant::AdHoc(_) | Occupant::Scan => None,
        });
        let plan = &self.plan;
        let held = |link| plan.iter().any(|slot| slot.occupant == Occupant::Network(link));
        self.rotation
            .rank(&rank::best_first(&state.paths, networks, held));
    }

    fn left_out(&self) -> &[LinkId] {
        match self.division {
            Division::Adaptive(_) => self.rotation.left_out(),
            Division::Weighted { .. } => &[],
        }
    }

    fn next(&mut self, state: &State) -> (Vec<Slot>, Result<(), Refused>) {
        let mut plan = Vec::new();
        let verdict = match self.division {
            Division::Adaptive(_) => self
                .rotation
                .next_cycle()
                .map(|slots| plan.extend_from_slice(slots)),
            Division::Weighted { radio, slice } => {
                self.next_scan_channel();
                let verdict = by_weight(&radio, slice, &self.seats(state, slice), &mut plan);
                let begins = plan.iter().position(|slot| Some(slot.occupant) == self.newest);
                plan.rotate_left(begins.unwrap_or(0));
                verdict
            }
        };
        (plan, verdict)
    }

    /// The occupants of the next cycle with their slices, where cycles are divided by weight.
    fn seats(&self, state: &State, slice: Duration) -> Vec<(Occupant, u16, u32)> {
        let is = |occupant: Occupant, what: fn(&Path) -> bool| match occupant {
            Occupant::Network(link) => state.paths.get(&link).is_some_and(what),
            Occupant::AdHoc(_) | Occupant::Scan => false,
        };
        let seat =
            |&(occupant, channel, part): &(Occupant, u16, Part)| (occupant, channel, part.slices(slice));
        let mut seats: Vec<_> = self.weighted.iter().map(seat).collect();
        let live = seats.iter().filter(|seat| is(seat.0, Path::is_candidate));
        let Some(heir) = live.max_by_key(|seat| seat.2).map(|seat| seat.0) else {
            return seats;
        };
        let mut freed = 0_u32;
        for (_, _, slices) in seats.iter_mut().filter(|seat| is(seat.0, Path::is_dead)) {
            freed = slices.saturating_sub(1).saturating_add(freed);
            *slices = (*slices).min(1);
        }
        for (_, _, slices) in seats.iter_mut().filter(|seat| seat.0 == heir) {
            *slices = slices.saturating_add(freed);
        }
        seats
    }

    /// Moves the scanning slot on, where cycles are divided by weight.
    fn next_scan_channel(&mut self) {
        let channels = ScanChannels::JUGGLER;
        let scan = self
            .weighted
            .iter_mut()
            .find(|(occupant, ..)| *occupant == Occupant::Scan);
        if let Some((_, channel, _)) = scan {
            let at = channels.iter().position(|known| known == channel).unwrap_or(0);
            *channel = channels[(at + 1) % channels.len()];
        }
    }
}

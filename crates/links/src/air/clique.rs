//! Stations that all hear each other, and hear the same: what a frame does to each of them, it does to all of them at once.
//!
//! A station is in step while it listens, and sees the medium as the others of its clique do: then they have one view, and one clock of slots that
//! have passed. Of each, only the reading of that clock is kept at which its countdown is over, and only the first of them has a deadline. Whoever
//! sends, answers, waits, or has seen something else goes by itself ([`Ears::part`]) until both views are the same again ([`Ears::join`]).
//!
//! # Where we differ, and why
//! 1. Nothing comes out differently: whoever is in step does, draws and is told what it would be by itself.
//! 2. Where anybody moves, all go by themselves from then on: who hears the same would have to be worked out anew.
//!
//! # Checked by
//! `tests`: any plans, with and without cliques, give the same run.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::config::Countdown;
use super::ears::{Ears, is_broken, starting};
use super::hearing::{Audience, Listeners, Run};
use super::radio::{NONE, Phase, Radio};
use super::reception::Outcome;
use super::rival::Rival;
use super::schedule::{NEVER, Schedule};
use super::timing::Timing;

/// Members are numbered within so many of the first.
const MOST: usize = 64;
/// With fewer, going by themselves and together again costs more than it saves.
const LEAST: u32 = 4;
/// The clock's reading that never comes: somebody has nothing to send.
const IDLE: i32 = i32::MAX;
/// When the clock is set back.
const LATE: i32 = 1 << 30;
/// In no clique.
const ALONE: u16 = u16::MAX;

/// Stations that hear the same, and what those in step have in common.
#[derive(Debug, Clone)]
pub(super) struct Clique {
    first: u32,
    members: u64,
    in_step: u64,
    /// How all who are in step see the medium. Of frames that are loud there, it says whether there are any: for all in step or for none, but while
    /// a frame is being followed.
    view: Radio,
    /// Frames on the air that all in step heard begin, and for whom of them they are loud.
    on_air: Vec<(u16, u64)>,
    /// What began beside the frame that they follow.
    rival: Option<Rival>,
    /// Slots that have passed on their clock.
    passed: i32,
    /// When it reads so much, the countdown of a member in step is over.
    due: [i32; MOST],
    /// Whose is over first; the only one in step with a deadline.
    next: Option<u32>,
}

/// Who hears a station, by cliques.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    /// All members do, but for the station itself; for whom of them it is loud.
    pub(super) whole: Vec<(u16, u64)>,
    /// Some do.
    pub(super) partly: Vec<u16>,
    /// Who else does.
    pub(super) loud: Listeners,
    pub(super) faint: Listeners,
}

/// All cliques of an air.
#[derive(Debug, Default)]
pub(super) struct Cliques {
    all: Vec<Clique>,
    /// Each station's; empty where there are none.
    of: Vec<u16>,
}

impl Clique {
    fn new(first: u32, view: Radio) -> Self {
        Self {
            first,
            members: 0,
            in_step: 0,
            view,
            on_air: Vec::new(),
            rival: None,
            passed: 0,
            due: [IDLE; MOST],
            next: None,
        }
    }

    /// Members who go by themselves, in the order of their numbers.
    fn apart(&self) -> Members {
        Members {
            first: self.first,
            bits: self.members & !self.in_step,
        }
    }

    fn together(&self) -> Members {
        Members {
            first: self.first,
            bits: self.in_step,
        }
    }

    const fn place(&self, station: usize) -> usize {
        station - self.first as usize
    }

    /// Slots that a member in step has left to count.
    fn slots(&self, station: usize) -> u16 {
        match self.due[self.place(station)] {
            IDLE => 0,
            due => (due - self.passed).max(0) as u16,
        }
    }

    /// A member in step as it would be by itself.
    fn radio(&self, station: usize, own: &Radio) -> Radio {
        let place = self.place(station);
        let loud = self.on_air.iter().filter(|(_, loud)| loud >> place & 1 == 1);
        Radio {
            slots: self.slots(station),
            loud: loud.count() as u16,
            wants: own.wants,
            in_step: false,
            ..self.view
        }
    }

    /// Those in step for whom any frame is loud.
    fn deafened(&self) -> Members {
        let loud = self.on_air.iter().fold(0, |all, (_, loud)| all | loud);
        Members {
            first: self.first,
            bits: self.in_step & loud,
        }
    }

    /// When the countdown of a member in step ends if the medium stays idle.
    fn access(&self, station: usize, timing: &Timing) -> u64 {
        self.view.from + u64::from(self.slots(station)) * u64::from(timing.slot)
    }

    /// Whose countdown is over first: of several, the one with the lowest number.
    fn choose(&mut self) {
        let least = self.due.iter().fold(IDLE, |least, &due| least.min(due));
        let over = least.max(self.passed);
        let place = self.due.iter().position(|&due| due <= over);
        self.next = place
            .filter(|_| least < IDLE)
            .map(|place| self.first + place as u32);
    }

    /// The medium becomes busy.
    fn freeze(&mut self, now: u64, timing: &Timing, countdown: Countdown) {
        // What is left of as many slots as a radio can have says how many have passed.
        self.view.slots = u16::MAX;
        self.view.freeze(now, timing, countdown);
        self.passed += i32::from(u16::MAX - self.view.slots);
        if self.passed > LATE {
            self.set_back();
        }
    }

    fn set_back(&mut self) {
        let passed = core::mem::take(&mut self.passed);
        for due in self.due.iter_mut().filter(|due| **due < IDLE) {
            *due = (*due - passed).max(0);
        }
    }

    /// Whether a radio sees the medium as those in step do; whoever comes first says how.
    fn sees_the_same(&self, radio: &Radio, now: u64) -> bool {
        let view = &self.view;
        let both = (view.channel, view.timing) == (radio.channel, radio.timing);
        let same = (view.from, view.broken) == (radio.from, radio.broken) && view.counting;
        both && (self.in_step == 0 || same && view.nav.max(now) == radio.nav.max(now))
    }
}

/// Stations, in the order of their numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members {
    first: u32,
    bits: u64,
}

impl Members {
    const NOBODY: Self = Self { first: 0, bits: 0 };

    const fn count(self) -> u32 {
        self.bits.count_ones()
    }

    /// Those for whom it holds.
    fn only(self, mut holds: impl FnMut(usize) -> bool) -> Self {
        let mut kept = Self::NOBODY;
        for station in self.filter(|&station| holds(station)) {
            kept.add(&self, station);
        }
        kept
    }

    /// Those of a clique who are not among others of it.
    const fn without(self, others: Self) -> Self {
        Self {
            bits: self.bits & !others.bits,
            ..self
        }
    }

    /// Whether bits of the same clique say so of a station.
    pub(super) const fn are_among(self, station: usize, bits: u64) -> bool {
        bits >> (station - self.first as usize) & 1 == 1
    }

    /// One more, of those.
    fn add(&mut self, of: &Self, station: usize) {
        self.first = of.first;
        self.bits |= 1 << (station - of.first as usize);
    }
}

impl Iterator for Members {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.bits == 0 {
            return None;
        }
        let place = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some((self.first + place) as usize)
    }
}

impl Radio {
    /// Whether nothing sets it apart from others that only listen and count down.
    fn is_plain(&self) -> bool {
        let listens = self.phase == Phase::Listening && self.counting && self.is_idle();
        // A countdown for nothing is kept by the station itself.
        let counts = self.wants || self.slots == 0;
        listens && counts && !self.fresh && !self.monitor && !self.in_step
    }
}

impl Cliques {
    /// Finds the cliques among stations, the first `count` of those who have audiences, and notes in the audiences who of them hears whom.
    pub(super) fn form(radios: &[Radio], count: usize, audiences: &mut [Audience]) -> Self {
        let mut found = Self {
            all: Vec::new(),
            of: vec![ALONE; audiences.len()],
        };
        let mut known: BTreeMap<(u32, u8, u8), Vec<(u16, Vec<Run>)>> = BTreeMap::new();
        for (station, radio) in radios.iter().enumerate().take(count) {
            let hearers = audiences[station].all_and(station as u32);
            let Some(lead) = hearers.first() else { continue };
            let known = known
                .entry((lead.start, radio.channel, radio.timing))
                .or_default();
            let same = known.iter().rev().find(|(_, theirs)| *theirs == hearers);
            let near = same.filter(|(of, _)| found.all[usize::from(*of)].place(station) < MOST);
            let of = near.map_or(found.all.len() as u16, |&(of, _)| of);
            if of == ALONE {
                return Self::default();
            }
            if near.is_none() {
                found.all.push(Clique::new(station as u32, *radio));
                known.push((of, hearers));
            }
            found.of[station] = of;
            let clique = &mut found.all[usize::from(of)];
            clique.members |= 1 << clique.place(station);
        }
        found.keep_large();
        for (station, audience) in audiences.iter_mut().enumerate() {
            audience.reach = found.reach(station as u32, audience).map(Box::new);
        }
        found
    }

    fn keep_large(&mut self) {
        let large = |clique: &Clique| clique.members.count_ones() >= LEAST;
        let mut kept = 0;
        let numbers: Vec<u16> = (self.all.iter())
            .map(|clique| {
                let number = if large(clique) { kept } else { ALONE };
                kept += u16::from(large(clique));
                number
            })
            .collect();
        self.all.retain(large);
        for of in self.of.iter_mut().filter(|of| **of != ALONE) {
            *of = numbers[usize::from(*of)];
        }
        if self.all.is_empty() {
            *self = Self::default();
        }
    }

    /// Which cliques hear a station; `None`: nobody in any does.
    fn reach(&self, from: u32, audience: &Audience) -> Option<Reach> {
        let of = |station: u32| self.of.get(station as usize).copied().unwrap_or(ALONE);
        // How many of each clique do, and for whom it is loud.
        let mut hearing: BTreeMap<u16, (u32, u64)> = BTreeMap::new();
        let mut hears = |station: u32, loud: u64| {
            if let Some(clique) = self.all.get(usize::from(of(station))) {
                let (count, bits) = hearing.entry(of(station)).or_default();
                *count += 1;
                *bits |= loud << clique.place(station as usize);
            }
        };
        audience.loud.runs().flatten().for_each(|station| hears(station, 1));
        audience.faint.runs().flatten().for_each(|station| hears(station, 0));
        if hearing.is_empty() {
            return None;
        }
        let (mut whole, mut partly) = (Vec::new(), Vec::new());
        for (number, (count, loud)) in hearing {
            let members = self.all[usize::from(number)].members.count_ones();
            if count + u32::from(of(from) == number) == members {
                whole.push((number, loud));
            } else {
                partly.push(number);
            }
        }
        let is_other = |station: &u32| !whole.iter().any(|&(number, _)| number == of(*station));
        Some(Reach {
            loud: audience.loud.runs().flatten().filter(is_other).collect(),
            faint: audience.faint.runs().flatten().filter(is_other).collect(),
            whole,
            partly,
        })
    }

    fn of(&mut self, station: usize) -> Option<&mut Clique> {
        let number = *self.of.get(station)?;
        self.all.get_mut(usize::from(number))
    }
}

impl<S: Schedule> Ears<'_, S> {
    /// Members of a clique that go by themselves.
    pub(super) fn apart(&self, clique: u16) -> Members {
        self.cliques.all[usize::from(clique)].apart()
    }

    /// From now on a station goes by itself.
    pub(super) fn part(&mut self, station: usize) {
        if !self.radios[station].in_step {
            return;
        }
        let Some(clique) = self.cliques.of(station) else {
            unreachable!("whoever is in step is so with others of its clique")
        };
        let timing = &self.timings[usize::from(clique.view.timing)];
        let radio = clique.radio(station, &self.radios[station]);
        self.radios[station] = radio;
        let place = clique.place(station);
        clique.in_step &= !(1 << place);
        clique.due[place] = IDLE;
        if radio.wants && radio.counting {
            self.schedule.set(station, starting(radio.access(timing)));
        }
        if clique.next == Some(station as u32) {
            clique.choose();
            if radio.counting {
                set_next(clique, timing, self.schedule);
            }
        }
    }

    /// All members of a clique go by themselves.
    pub(super) fn part_all(&mut self, clique: u16) {
        for station in self.cliques.all[usize::from(clique)].together() {
            self.part(station);
        }
    }

    /// There are no cliques any more; whether there were any.
    pub(super) fn dissolve(&mut self) -> bool {
        let were = !self.cliques.all.is_empty();
        for clique in 0..self.cliques.all.len() as u16 {
            self.part_all(clique);
        }
        *self.cliques = Cliques::default();
        were
    }

    /// A station goes on with the others of its clique, if it sees the medium as they do.
    #[inline]
    pub(super) fn join(&mut self, station: usize, now: u64) {
        let radio = &mut self.radios[station];
        if !radio.is_plain() {
            return;
        }
        let Some(clique) = self.cliques.of(station) else {
            return;
        };
        if !clique.sees_the_same(radio, now) {
            return;
        }
        if clique.in_step == 0 {
            clique.view = *radio;
            (clique.passed, clique.next) = (0, None);
            clique.on_air.clear();
        }
        radio.in_step = true;
        let place = clique.place(station);
        clique.in_step |= 1 << place;
        self.schedule.set(station, NEVER);
        if radio.wants {
            clique.due[place] = clique.passed + i32::from(radio.slots);
            let timing = &self.timings[usize::from(radio.timing)];
            let own = (clique.slots(station), station as u32);
            let earlier = |next: u32| own < (clique.slots(next as usize), next);
            if clique.next.is_none_or(earlier) {
                if let Some(next) = clique.next.replace(station as u32) {
                    self.schedule.set(next as usize, NEVER);
                }
                set_next(clique, timing, self.schedule);
            }
        }
    }

    /// A frame begins that all in step hear; those whose deadline is too near to notice go by themselves.
    pub(super) fn hold_back(&mut self, number: u16, now: u64) {
        let clique = &self.cliques.all[usize::from(number)];
        let timing = &self.timings[usize::from(clique.view.timing)];
        let notices = now + timing.blind;
        let Some(next) = clique.next.filter(|_| clique.view.counting) else {
            return;
        };
        if clique.access(next as usize, timing) >= notices {
            return;
        }
        for station in clique.together() {
            let clique = &self.cliques.all[usize::from(number)];
            if self.radios[station].wants && clique.access(station, timing) < notices {
                self.part(station);
            }
        }
    }

    /// A frame begins, as those in step see it.
    pub(super) fn begin_together(&mut self, (number, loud): (u16, u64), id: u16, now: u64) {
        let flight = self.flights.get(id);
        let clique = &mut self.cliques.all[usize::from(number)];
        if clique.in_step == 0 || clique.view.channel != flight.channel {
            return;
        }
        clique.on_air.push((id, loud));
        let view = &mut clique.view;
        if view.lock == NONE {
            view.lock = id;
            view.disturbed = view.loud > 0;
            clique.rival = None;
            if view.counting {
                let timing = &self.timings[usize::from(view.timing)];
                clique.freeze(now, timing, self.rules.countdown);
                if let Some(next) = clique.next {
                    self.schedule.set(next as usize, NEVER);
                }
            }
            return;
        }
        view.disturbed = true;
        self.turn_together(number, id);
    }

    /// Those in step who turn from the frame that they follow to one that has just begun; whoever does not do as most others goes by itself.
    fn turn_together(&mut self, number: u16, id: u16) {
        let clique = &mut self.cliques.all[usize::from(number)];
        let (held, new) = (self.flights.get(clique.view.lock), self.flights.get(id));
        let (together, kept) = (clique.together(), clique.view.lock);
        let turning = together.only(|station| self.ether.captures(station as u32, held, new));
        let staying = together.without(turning);
        if turning.count() > staying.count() {
            clique.view.lock = id;
            clique.rival = Some(Rival::of(held));
            self.part_from(staying, |radio| radio.lock = kept);
        } else {
            if new.start < held.payload {
                clique.rival = Some(Rival::of(new));
            }
            self.part_from(turning, |radio| radio.lock = id);
        }
    }

    fn part_from(&mut self, stations: Members, set: impl Fn(&mut Radio)) {
        for station in stations {
            self.part(station);
            set(&mut self.radios[station]);
        }
    }

    /// A frame ends, as those in step see it.
    pub(super) fn end_together(&mut self, number: u16, id: u16, quiet: bool, now: u64) {
        let flight = self.flights.get(id);
        let clique = &mut self.cliques.all[usize::from(number)];
        let known = clique.on_air.iter().position(|&(known, _)| known == id);
        let Some(known) = known.filter(|_| clique.in_step != 0 && clique.view.channel == flight.channel) else {
            return;
        };
        clique.on_air.swap_remove(known);
        let view = &mut clique.view;
        if view.lock == id {
            if quiet || flight.sure && !view.disturbed {
                (view.lock, view.broken) = (NONE, false);
                view.nav = view.nav.max(flight.nav);
            } else {
                self.let_go_together(number, id, now);
            }
        }
        self.go_on_together(number, now);
    }

    /// Lets the countdown go on if the medium is idle now and was not before; whoever finds it otherwise than most others goes by itself.
    fn go_on_together(&mut self, number: u16, now: u64) {
        let clique = &mut self.cliques.all[usize::from(number)];
        if clique.view.counting || clique.view.lock != NONE {
            return;
        }
        let deafened = clique.deafened();
        let idle = clique.together().without(deafened);
        clique.view.loud = u16::from(deafened.count() > idle.count());
        if clique.view.loud > 0 {
            for station in idle {
                self.part(station);
                self.go_on(station, now);
            }
            return;
        }
        let timing = &self.timings[usize::from(clique.view.timing)];
        deafened.for_each(|station| self.part(station));
        let clique = &mut self.cliques.all[usize::from(number)];
        clique.view.resume(now, timing);
        if clique.next.is_some_and(|next| clique.slots(next as usize) == 0) {
            clique.choose();
        }
        set_next(clique, timing, self.schedule);
    }

    /// Each of those in step makes what it can of a frame; whoever makes something else of it than most others goes by itself.
    fn let_go_together(&mut self, number: u16, id: u16, now: u64) {
        let clique = &self.cliques.all[usize::from(number)];
        let (together, rival, flight) = (clique.together(), clique.rival, self.flights.get(id));
        let lost = |ears: &Self, station: usize| {
            rival.is_some_and(|rival| ears.ether.is_lost(station as u32, flight, &rival))
        };
        let mut made = [Outcome::Missed, Outcome::Broken, Outcome::Decoded].map(|outcome| (outcome, Members::NOBODY));
        for station in together {
            let outcome = if lost(self, station) {
                Outcome::Missed
            } else {
                self.outcome(station, id)
            };
            made[outcome as usize].1.add(&together, station);
        }
        made.sort_by_key(|(_, stations)| stations.count());
        let [others @ .., (most, _)] = made;
        for (outcome, stations) in others {
            for station in stations {
                self.part(station);
                self.make_of(station, id, outcome);
                self.go_on(station, now);
            }
        }
        let view = &mut self.cliques.all[usize::from(number)].view;
        view.lock = NONE;
        view.broken = is_broken(most, self.rules);
        if most == Outcome::Decoded {
            view.nav = view.nav.max(flight.nav);
        }
    }
}

fn set_next<S: Schedule>(clique: &Clique, timing: &Timing, schedule: &mut S) {
    if let Some(next) = clique.next {
        schedule.set(next as usize, starting(clique.access(next as usize, timing)));
    }
}

#[cfg(test)]
#[path = "clique_tests.rs"]
mod tests;

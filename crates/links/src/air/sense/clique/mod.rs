//! Stations that all hear each other, and hear the same: a frame has the same effect on all of them, so it is
//! applied once.
//!
//! A station is in step while it listens and sees the medium as the others of its clique do. Stations in step
//! share one view and one clock of slots passed. For each, only the clock value at which its countdown ends
//! is kept, and only the first of them has a deadline. A station that sends, answers, waits, or has seen
//! something else leaves step (`Ears::part`) until both views are the same again (`Ears::join`).
//!
//! # Where we differ, and why
//! 1. No result differs: a station in step does, draws and reports what it would on its own.
//! 2. Once any station moves, no station is in step from then on: who hears the same would have to be worked
//!    out again.
//!
//! # Checked by
//! `tests`: any plans, with and without cliques, give the same run.

mod form;
mod step;

use alloc::vec::Vec;

use super::hearing::Listeners;
use super::radio::{Phase, Radio};
use crate::air::phy::timing::Timing;
use crate::air::rx::rival::Rival;
use crate::config::Countdown;

/// Members' numbers are within this range of the first one's.
const MOST: usize = 64;
/// Least number of members. With fewer, leaving and rejoining the common countdown takes about the time that
/// it saves.
pub(in crate::air) const LEAST: u32 = 16;
/// A clock value that is never reached: the station has nothing to send.
const IDLE: i32 = i32::MAX;
/// The clock value at which the clock is set back.
const LATE: i32 = 1 << 30;
/// The number that stands for no clique.
const ALONE: u16 = u16::MAX;

/// Stations that hear the same, and the common state of those in step.
#[derive(Debug, Clone)]
pub(super) struct Clique {
    first: u32,
    members: u64,
    in_step: u64,
    /// How all in step see the medium. For loud frames it says only whether there are any: for all in step or
    /// for none, except while a frame is being followed.
    view: Radio,
    /// Frames on the air whose beginning all in step heard, and for which of them they are loud.
    on_air: Vec<(u16, u64)>,
    /// What began during the frame that they follow.
    rival: Option<Rival>,
    /// Slots that have passed on their clock.
    passed: i32,
    /// The clock value at which the countdown of a member in step ends.
    due: [i32; MOST],
    /// The member whose countdown ends first: the only one in step with a deadline.
    next: Option<u32>,
}

/// Who hears a station, by cliques.
#[derive(Debug, Clone, Default)]
pub(in crate::air) struct Reach {
    /// Cliques of which all members hear it, except the station itself, and for which of them it is loud.
    pub(in crate::air) whole: Vec<(u16, u64)>,
    /// Cliques of which only some members hear it.
    pub(super) partly: Vec<u16>,
    /// All other stations that hear it.
    pub(in crate::air) loud: Listeners,
    pub(super) faint: Listeners,
}

/// All cliques of an air.
#[derive(Debug, Default)]
pub(in crate::air) struct Cliques {
    all: Vec<Clique>,
    /// Each station's clique. Empty if there are none.
    of: Vec<u16>,
}

impl Cliques {
    #[inline]
    pub(in crate::air) fn may_take(&self, radio: &Radio) -> bool {
        !self.all.is_empty() && radio.is_plain()
    }

    fn of(&mut self, station: usize) -> Option<&mut Clique> {
        let number = *self.of.get(station)?;
        self.all.get_mut(usize::from(number))
    }
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

    /// Members that are not in step, by number.
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

    /// Members in step for whom any frame is loud.
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

    /// Finds the member whose countdown ends first. Of several, the one with the lowest number.
    fn choose(&mut self) {
        let width = u64::BITS - self.members.leading_zeros();
        let due = &self.due[..width as usize];
        let least = due.iter().fold(IDLE, |least, &due| least.min(due));
        let over = least.max(self.passed);
        let place = due.iter().position(|&due| due <= over);
        self.next = place
            .filter(|_| least < IDLE)
            .map(|place| self.first + place as u32);
    }

    /// Stops the countdowns, because the medium becomes busy.
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

    /// Whether a radio sees the medium as those in step do. If none is in step, the first one sets the view.
    fn sees_the_same(&self, radio: &Radio, now: u64) -> bool {
        let view = &self.view;
        let both = (view.channel, view.timing) == (radio.channel, radio.timing);
        let same = (view.from, view.broken) == (radio.from, radio.broken) && view.counting;
        both && (self.in_step == 0 || same && view.nav.max(now) == radio.nav.max(now))
    }
}

/// Stations, in the order of their numbers.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Members {
    first: u32,
    bits: u64,
}

impl Members {
    const NOBODY: Self = Self { first: 0, bits: 0 };

    const fn count(self) -> u32 {
        self.bits.count_ones()
    }

    /// Members for which `holds` is true.
    fn only(self, mut holds: impl FnMut(usize) -> bool) -> Self {
        let mut kept = Self::NOBODY;
        for station in self.filter(|&station| holds(station)) {
            kept.add(&self, station);
        }
        kept
    }

    /// Members that are not among `others` of the same clique.
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

    /// Adds a station of the same clique.
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

#[cfg(test)]
mod tests;

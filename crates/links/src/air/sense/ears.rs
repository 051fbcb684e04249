//! What the beginning and end of a frame do to everybody who hears it: the two hottest loops.

use alloc::vec::Vec;
use core::ops::Range;
use units::Rng;

use super::clique::{Cliques, Reach};
use super::hearing::{Audience, Run};
use super::radio::{Phase, Radio};
use crate::air::io::Kind;
use crate::air::phy::timing::Timing;
use crate::air::rx::reception::{Ether, Outcome};
use crate::air::schedule::{NEVER, Schedule};
use crate::air::transmission::flight::{Flights, NONE};
use crate::config::{Eifs, Rules};

/// Deadline of a countdown: after everything that ends at the same time.
pub(in crate::air) const fn starting(at: u64) -> u64 {
    at << 1 | 1
}

/// Deadline of the end of a frame or a wait.
pub(in crate::air) const fn ending(at: u64) -> u64 {
    at << 1
}

/// What a station must react to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::air) enum Heard {
    /// A frame for it, or for everybody. For an aggregate, which of its frames, one bit each.
    Frame(u64),
    /// It waits for a response, and another frame has arrived.
    Other,
    /// It waits for a response, and what was on the air cannot be distinguished from noise.
    Noise,
    /// It was about to use an idle medium without a backoff, and the medium has become busy.
    Interrupted,
}

/// All who listen, while one frame begins or ends.
pub(in crate::air) struct Ears<'a, S> {
    pub(in crate::air) radios: &'a mut [Radio],
    pub(in crate::air) cliques: &'a mut Cliques,
    pub(in crate::air) schedule: &'a mut S,
    pub(in crate::air) timings: &'a [Timing],
    pub(in crate::air) rules: &'a Rules,
    pub(in crate::air) flights: &'a Flights,
    pub(in crate::air) ether: &'a mut Ether,
    pub(in crate::air) rngs: &'a mut [Rng],
    pub(in crate::air) heard: &'a mut Vec<(u32, Heard)>,
    /// Monitors that have decoded the frame that ends. For an aggregate, which of its frames, one bit each.
    pub(in crate::air) overheard: &'a mut Vec<(u32, u64)>,
}

impl<S: Schedule> Ears<'_, S> {
    /// A frame begins.
    pub(in crate::air) fn begin(&mut self, id: u16, audience: &Audience, now: u64) {
        let (loud, faint) = audience.by_themselves();
        if let Some(reach) = &audience.reach {
            self.begin_at_cliques(id, reach, now);
        }
        for run in loud.runs() {
            for station in places(&run) {
                self.begin_at(station, id, now, true);
            }
        }
        for run in faint.runs() {
            for station in places(&run) {
                self.begin_at(station, id, now, false);
            }
        }
    }

    fn begin_at_cliques(&mut self, id: u16, reach: &Reach, now: u64) {
        let flight = self.flights.get(id);
        let (from, to) = (flight.from as usize, flight.to);
        for &clique in &reach.partly {
            self.part_all(clique);
        }
        if let Some(to) = to {
            self.part(to as usize);
        }
        for &(clique, loud) in &reach.whole {
            if to.is_none() {
                self.part_all(clique);
            }
            self.hold_back(clique, now);
            let apart = self.apart(clique);
            for station in apart.filter(|&station| station != from) {
                self.begin_apart(station, id, now, apart.are_among(station, loud));
            }
            self.begin_together((clique, loud), id, now);
        }
    }

    /// [`Ears::begin_at`] as a separate function: otherwise these few calls would keep the compiler from
    /// inlining the common ones.
    #[inline(never)]
    fn begin_apart(&mut self, station: usize, id: u16, now: u64, loud: bool) {
        self.begin_at(station, id, now, loud);
    }

    #[inline(always)]
    fn begin_at(&mut self, station: usize, id: u16, now: u64, loud: bool) {
        let flight = self.flights.get(id);
        if self.radios[station].channel != flight.channel {
            return;
        }
        self.radios[station].loud += u16::from(loud);
        if flight.kind == Kind::Noise {
            self.sense(station, now);
        } else {
            self.notice(station, id, now, u16::from(loud));
        }
    }

    #[inline]
    fn notice(&mut self, station: usize, id: u16, now: u64, own: u16) {
        let radio = &mut self.radios[station];
        if radio.phase == Phase::Transmitting {
            return;
        }
        if radio.lock != NONE {
            radio.disturbed = true;
            let held = self.flights.get(radio.lock);
            if self.ether.captures(station as u32, held, self.flights.get(id)) {
                radio.lock = id;
            }
            return;
        }
        radio.lock = id;
        radio.disturbed = radio.loud > own;
        self.stop_counting(station, now);
    }

    /// Handles energy without a preamble.
    fn sense(&mut self, station: usize, now: u64) {
        let radio = &mut self.radios[station];
        radio.disturbed = true;
        if radio.phase != Phase::Transmitting {
            self.stop_counting(station, now);
        }
    }

    #[inline]
    fn stop_counting(&mut self, station: usize, now: u64) {
        let radio = &mut self.radios[station];
        let timing = &self.timings[usize::from(radio.timing)];
        if radio.counting && !radio.is_committed(now, timing) {
            radio.freeze(now, timing, self.rules.countdown);
            if radio.wants && radio.phase == Phase::Listening {
                self.schedule.set(station, NEVER);
            }
            if radio.fresh {
                self.heard.push((station as u32, Heard::Interrupted));
            }
        }
    }

    /// A frame ends.
    pub(in crate::air) fn end(&mut self, id: u16, audience: &Audience, now: u64) {
        let quiet = self.flights.get(id).sure && self.flights.is_alone(id);
        let (loud, faint) = audience.by_themselves();
        if let Some(reach) = &audience.reach {
            self.end_at_cliques(id, reach, quiet, now);
        }
        for run in loud.runs() {
            for station in places(&run) {
                self.end_at(station, id, quiet, now, true);
            }
        }
        for run in faint.runs() {
            for station in places(&run) {
                self.end_at(station, id, quiet, now, false);
            }
        }
        // Cliques came first: what follows goes by the stations' numbers.
        if self.heard.len() > 1 {
            self.heard.sort_unstable_by_key(|&(station, _)| station);
        }
        if self.overheard.len() > 1 {
            self.overheard.sort_unstable_by_key(|&(station, _)| station);
        }
    }

    fn end_at_cliques(&mut self, id: u16, reach: &Reach, quiet: bool, now: u64) {
        let flight = self.flights.get(id);
        let (from, to) = (flight.from as usize, flight.to.map(|to| to as usize));
        for &(clique, loud) in &reach.whole {
            let apart = self.apart(clique);
            let others = apart.filter(|&station| station != from);
            for station in others.clone() {
                self.end_apart(station, id, quiet, now, apart.are_among(station, loud));
            }
            self.end_together(clique, id, quiet, now);
            // The frame's receiver is about to answer.
            others
                .filter(|&station| Some(station) != to)
                .for_each(|station| self.join(station, now));
        }
    }

    /// Ends a frame for a station that hears it by itself, as [`Ears::begin_apart`] begins one.
    #[inline(never)]
    fn end_apart(&mut self, station: usize, id: u16, quiet: bool, now: u64, loud: bool) {
        self.end_at(station, id, quiet, now, loud);
    }

    #[inline(always)]
    fn end_at(&mut self, station: usize, id: u16, quiet: bool, now: u64, loud: bool) {
        if self.radios[station].channel == self.flights.get(id).channel {
            self.radios[station].loud -= u16::from(loud);
            self.let_go(station, id, quiet);
            self.go_on(station, now);
        }
    }

    #[inline]
    fn let_go(&mut self, station: usize, id: u16, quiet: bool) {
        let radio = &self.radios[station];
        if radio.lock != id {
            return;
        }
        let flight = self.flights.get(id);
        let outcome = if quiet || flight.sure && !radio.disturbed && flight.to != Some(station as u32) {
            self.ether.got = u64::MAX;
            Outcome::Decoded
        } else {
            self.outcome(station, id)
        };
        self.make_of(station, id, outcome);
    }

    /// What a station that followed a frame to its end decodes of it.
    pub(in crate::air) fn outcome(&mut self, station: usize, id: u16) -> Outcome {
        let rng = &mut self.rngs[station];
        self.ether.outcome(self.flights, id, station as u32, rng)
    }

    /// Processes the outcome of a frame at a station.
    #[inline(always)]
    pub(super) fn make_of(&mut self, station: usize, id: u16, outcome: Outcome) {
        let (radio, flight) = (&mut self.radios[station], self.flights.get(id));
        let (number, decoded) = (station as u32, outcome == Outcome::Decoded);
        radio.lock = NONE;
        radio.broken = is_broken(outcome, self.rules);
        if decoded && radio.monitor {
            self.overheard.push((number, self.ether.got));
        }
        if decoded && flight.to.is_none_or(|to| to == number) {
            self.heard.push((number, Heard::Frame(self.ether.got)));
            return;
        }
        if decoded {
            radio.nav = radio.nav.max(flight.nav);
        }
        if radio.phase == Phase::Awaiting {
            let heard = if outcome == Outcome::Missed {
                Heard::Noise
            } else {
                Heard::Other
            };
            self.heard.push((number, heard));
        }
    }

    /// Lets a countdown continue if the medium is idle now and was not before.
    #[inline]
    pub(in crate::air) fn go_on(&mut self, station: usize, now: u64) {
        let radio = &mut self.radios[station];
        if radio.counting || !radio.is_idle() {
            return;
        }
        let timing = &self.timings[usize::from(radio.timing)];
        radio.resume(now, timing);
        if radio.wants && radio.phase == Phase::Listening {
            self.schedule.set(station, starting(radio.access(timing)));
        }
    }
}

/// Whether EIFS follows this outcome of a frame.
pub(super) fn is_broken(outcome: Outcome, rules: &Rules) -> bool {
    match outcome {
        Outcome::Decoded => false,
        Outcome::Broken => true,
        Outcome::Missed => rules.eifs == Eifs::AfterAnyError,
    }
}

const fn places(run: &Run) -> Range<usize> {
    run.start as usize..run.end as usize
}

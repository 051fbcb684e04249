//! What a frame's beginning and end do to everybody who hears it: the two loops in which the time goes.

use alloc::vec::Vec;
use core::ops::Range;
use units::Rng;

use super::config::{Eifs, Rules};
use super::flight::{Flight, Flights};
use super::hearing::{Audience, Run};
use super::io::Kind;
use super::radio::{NONE, Phase, Radio};
use super::reception::{Ether, Outcome};
use super::schedule::{NEVER, Schedule};
use super::timing::Timing;

/// When a countdown ends: after everything that ends at the same moment.
pub(super) const fn starting(at: u64) -> u64 {
    at << 1 | 1
}

/// When a frame or a wait ends.
pub(super) const fn ending(at: u64) -> u64 {
    at << 1
}

/// What a station must react to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// A frame for it, or for everybody; of an aggregate, which of its frames, one bit each.
    Frame(u64),
    /// It waits for an answer, and a frame has arrived that is none.
    Other,
    /// It waits for an answer, and what was on the air cannot be told from noise.
    Noise,
    /// It was about to use an idle medium without a backoff, and the medium has become busy.
    Interrupted,
}

/// All who listen, while one frame begins or ends.
pub(super) struct Ears<'a, S> {
    pub(super) radios: &'a mut [Radio],
    pub(super) schedule: &'a mut S,
    pub(super) timings: &'a [Timing],
    pub(super) rules: &'a Rules,
    pub(super) flights: &'a Flights,
    pub(super) ether: &'a mut Ether,
    pub(super) rngs: &'a mut [Rng],
    pub(super) heard: &'a mut Vec<(u32, Heard)>,
    /// Monitors that have made sense of the frame that ends; of an aggregate, of which of its frames, one bit each.
    pub(super) overheard: &'a mut Vec<(u32, u64)>,
}

impl<S: Schedule> Ears<'_, S> {
    /// A frame begins.
    pub(super) fn begin(&mut self, id: u16, audience: &Audience, now: u64) {
        let flight = self.flights.get(id);
        let (is_noise, channel) = (flight.kind == Kind::Noise, flight.channel);
        for run in audience.loud.runs() {
            for station in places(&run) {
                if self.radios[station].channel != channel {
                    continue;
                }
                self.radios[station].loud += 1;
                if is_noise {
                    self.sense(station, now);
                } else {
                    self.notice(station, id, now, 1);
                }
            }
        }
        for run in audience.faint.runs() {
            for station in places(&run) {
                if self.radios[station].channel == channel {
                    self.notice(station, id, now, 0);
                }
            }
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

    /// Energy without a preamble.
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
    pub(super) fn end(&mut self, id: u16, audience: &Audience, now: u64) {
        let flights = self.flights;
        let flight = flights.get(id);
        let quiet = flight.sure && flights.is_alone(id);
        for run in audience.loud.runs() {
            for station in places(&run) {
                if self.radios[station].channel != flight.channel {
                    continue;
                }
                self.radios[station].loud -= 1;
                self.let_go(station, id, flight, quiet);
                self.go_on(station, now);
            }
        }
        for run in audience.faint.runs() {
            for station in places(&run) {
                self.let_go(station, id, flight, quiet);
                self.go_on(station, now);
            }
        }
    }

    #[inline]
    fn let_go(&mut self, station: usize, id: u16, flight: &Flight, quiet: bool) {
        let radio = &mut self.radios[station];
        if radio.lock != id {
            return;
        }
        radio.lock = NONE;
        let number = station as u32;
        let outcome = if quiet || flight.sure && !radio.disturbed && flight.to != Some(number) {
            self.ether.got = u64::MAX;
            Outcome::Decoded
        } else {
            self.ether
                .outcome(self.flights, id, number, &mut self.rngs[station])
        };
        radio.broken = match outcome {
            Outcome::Decoded => false,
            Outcome::Broken => true,
            Outcome::Missed => self.rules.eifs == Eifs::AfterAnyError,
        };
        let decoded = outcome == Outcome::Decoded;
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

    /// Lets a countdown go on if the medium is idle now and was not before.
    #[inline]
    pub(super) fn go_on(&mut self, station: usize, now: u64) {
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

const fn places(run: &Run) -> Range<usize> {
    run.start as usize..run.end as usize
}

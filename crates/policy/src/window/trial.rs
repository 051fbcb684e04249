//! Finds the smallest window that costs nothing, by small reversible trials on the live connection.
//!
//! The formula's factor suits no two sets of links: small windows win beside deep buffers, larger ones on
//! long thin paths, and no sign visible to a client tells the cases apart. So the present factor (A) and a
//! candidate (B) alternate in the order A B B A, which cancels any steady drift. Each is measured after it
//! has settled.
//!
//! A smaller candidate stays if it costs less than 2 % of goodput, a larger one if it gains more than 3 %. A
//! failed one is tried again more rarely each time. A gain that is not clear after four turns must hold for
//! four more, B A A B: over WiFi two turns differ by as much by chance.
//!
//! # Sources
//! - Manual experiments with fixed windows (docs/window.md, "What was tried"): 1, 2 and 4 products each won
//!   on some links.
//! - Counterbalanced order (A B B A), as common in experiments: a steady drift affects both alike.
//!
//! # Where we differ, and why
//! 1. From a gradient search: a ratchet of "2 % is nothing" would give the connection away step by step. So
//!    every smaller candidate is compared with the best goodput of the last ten minutes, not only with its
//!    neighbour. A loss that turns do not show is undone (6).
//! 2. An application that does not fill its links says nothing about windows. Nothing is tried then, and a
//!    running trial is dropped.
//! 3. The first step up is short: an eighth too much fits into most queues, a quarter overflows some. More
//!    window gives ever less gain. After a step with a clear gain, the next is twice as long. After one with
//!    little gain the next would only queue, so it waits as if it had failed often.
//! 4. Links that carry what they have shown they can (95 %) are not offered more, and a gain under 3 % is
//!    refused. It could only queue, and what overflows is missing for a round trip through the full queue.
//!    Two turns over WiFi differ by more than the least gain, and every candidate accepted by chance is the
//!    next one's starting point.
//! 5. If no link has a queue, a smaller window has nothing to remove and is not tried. An application that
//!    asks for a third of the links' capacity from the start looks like full links. Without this rule its
//!    window fell to no more than that third. When it then asked for all, it got a fifth of the capacity for
//!    minutes.
//! 6. What a smaller window costs when a queue overflows by chance does not show in turns of a second.
//!    Congestion windows grow only while they are full, and they are full only if the connection's window
//!    permits. So it is undone, for a minute at least, if for four seconds less arrives than the links carry.
//! 7. A closed window, nearly all of which is out-of-order data behind a loss, is not a matter of
//!    percentages. Half as much again is tried at once, and again after two turns, until the window is open
//!    or more has no effect. Random losses keep a window of 1.25 products closed for a fifth of the time.
//!    Deep buffers and slow links do that, too, but there more has no effect, and the trial is undone.
//! 8. If a link loses at random, nothing smaller is tried: turns differ by more than it would cost. Its cost,
//!    a repair that is lost again, comes every few seconds. On `window-lossy` with bbr, such trials left
//!    0.955 of stock's goodput after two minutes.
//! 9. If a step stays after one in the other direction has stayed, one of the two did so by chance. Each time
//!    that happens, the next trial waits twice as long. Without that, some sets of links in the model
//!    alternated for good, every 43 s.
//!
//! # Checked by
//! `window::tests`, against a fluid model of links and sender.

use super::asked::LITTLE_PERCENT;
use crate::estimate::meter::{Mark, rate_since};
use crate::estimate::pause::Pause;
use units::{Bitrate, Bytes, Duration, Instant};

/// Sixteenths of `Σ rate · longest RTT`.
pub(super) type Factor = u64;

/// A quarter more than what is in flight when every link is full.
pub(super) const DEFAULT: Factor = 20;
/// Exactly what is in flight when every link is full.
const PRODUCT: Factor = 16;
const LEAST: Factor = 12;
const MOST: Factor = 128;
/// Least goodput of a smaller window, in thousandths of the larger one's.
const KEEP: u64 = 980;
/// Least goodput of a larger window, in thousandths of the smaller one's.
const GAIN: u64 = 1_030;
/// Percentage of the links' capacity above which the gain of a larger window could not be told from chance.
const FULL: u64 = 95;
/// A gain of this many thousandths needs no second look, and makes another one likely.
const CLEAR: u64 = 1_080;
const FIRST_PAUSE: Duration = Duration::from_secs(4);
const LONGEST_PAUSE_S: u64 = 60;
type Pauses = Pause<LONGEST_PAUSE_S>;
/// How long a goodput counts as what the connection can reach.
const MEMORY: Duration = Duration::from_secs(600);
/// While nothing is tried, arrivals are measured over this time. This many shortfalls in a row are not
/// chance.
const LOOKED_AT: Duration = Duration::from_secs(2);
const SHORT_FOR: u32 = 2;
/// The turns in which the candidate is in force.
const TURNS: [bool; 8] = [false, true, true, false, true, false, false, true];
/// Turns after which the candidate is first judged.
const FIRST_LOOK: usize = 4;

/// Turns after which a larger window is judged, if the old one was often closed.
const CLOSED_LOOK: usize = 2;

/// The inputs of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// Bytes received on the connection so far.
    pub(super) received: Bytes,
    /// The capacity of all links together.
    pub(super) capacity: Bitrate,
    /// The longest base round-trip time.
    pub(super) rtt: Duration,
    /// Whether the window was often closed.
    pub(super) closed: bool,
    /// Whether one of the links had a queue lately.
    pub(super) queued: bool,
    /// Whether one of the links loses at random.
    pub(super) lossy: bool,
}

/// The trials of one connection.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    factor: Factor,
    phase: Phase,
    pause: Pauses,
    upwards: bool,
    /// Whether the last step up gained so much that the next may be twice as long.
    bold: bool,
    /// Whether the last step that stayed went up, and how long to wait once one in the other direction has
    /// stayed.
    went_up: Option<bool>,
    turned: Pauses,
    /// Between attempts to add half as much again.
    closed: Pauses,
    best: Bitrate,
    best_at: Instant,
    rest: Rest,
}

/// Arrivals while nothing is tried.
#[derive(Debug, Clone, Copy, Default)]
struct Rest {
    since: Mark,
    /// Shortfalls in a row: intervals in which less arrived than the links carry.
    short: u32,
}

impl Rest {
    /// Whether less has arrived for some time.
    fn is_short(&mut self, now: Instant, reading: Reading) -> bool {
        let span = now - self.since.0;
        if span < LOOKED_AT {
            return false;
        }
        let rate = rate_since(self.since, now, reading.received);
        let asked = rate >= reading.capacity.percent(LITTLE_PERCENT);
        let short = asked && span < LOOKED_AT * 2 && rate < reading.capacity.percent(FULL);
        *self = Self {
            since: (now, reading.received),
            short: if short { self.short + 1 } else { 0 },
        };
        self.short >= SHORT_FOR
    }
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Rest,
    Turn(Turn),
}

#[derive(Debug, Clone, Copy)]
struct Turn {
    candidate: Factor,
    /// Whether it is tried because the window was often closed.
    closed: bool,
    number: usize,
    begins: Instant,
    ends: Instant,
    at_begin: Option<Bytes>,
    /// Bytes received in the turns of the present factor and of the candidate.
    sums: [u64; 2],
}

impl Trial {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            factor: DEFAULT,
            phase: Phase::Rest,
            pause: Pause::new(FIRST_PAUSE),
            upwards: true,
            bold: false,
            went_up: None,
            turned: Pause::new(FIRST_PAUSE),
            closed: Pause::new(FIRST_PAUSE),
            best: Bitrate::ZERO,
            best_at: now,
            rest: Rest::default(),
        }
    }

    /// The present factor.
    pub(super) const fn factor(&self) -> Factor {
        match self.phase {
            Phase::Turn(turn) if TURNS[turn.number] => turn.candidate,
            _ => self.factor,
        }
    }

    /// The factor when a link's queue will soon be lost: no trials, and nothing beyond what is in flight.
    pub(super) fn caution(&mut self, now: Instant) -> Factor {
        self.interrupt(now, false);
        self.factor.min(PRODUCT)
    }

    /// Interrupts trials, because the links changed or the traffic shows nothing: starts from the formula, or
    /// waits.
    pub(super) fn interrupt(&mut self, now: Instant, links_changed: bool) {
        if links_changed {
            *self = Self {
                upwards: self.upwards,
                best_at: self.best_at,
                rest: self.rest,
                ..Self::new(now)
            };
        }
        self.rest(now);
    }

    fn rest(&mut self, now: Instant) {
        self.phase = Phase::Rest;
        self.pause.rest(now);
    }

    pub(super) fn advance(&mut self, now: Instant, reading: Reading) {
        let rests = matches!(self.phase, Phase::Rest);
        if rests && reading.lossy && self.factor < DEFAULT {
            return self.take_back(now);
        }
        if rests && self.rest.is_short(now, reading) && self.factor < DEFAULT {
            return self.take_back(now);
        }
        match self.phase {
            Phase::Rest if reading.closed && self.closed.is_over(now) => {
                self.set_out(now, reading, self.factor * 3 / 2, true);
            }
            Phase::Rest if self.pause.is_over(now) => self.begin(now, reading),
            Phase::Rest => {}
            Phase::Turn(turn) => self.turn(now, turn, reading),
        }
    }

    /// Undoes a smaller window that costs more than the turns have shown.
    fn take_back(&mut self, now: Instant) {
        self.factor = DEFAULT;
        self.pause.longest();
        (self.bold, self.upwards, self.went_up) = (false, false, None);
        self.rest(now);
    }

    fn begin(&mut self, now: Instant, reading: Reading) {
        if !self.upwards && (reading.lossy || !reading.queued) {
            self.upwards = true;
            return self.rest(now);
        }
        let step = (self.factor / 8).max(1);
        let candidate = match (self.upwards, self.bold) {
            (true, true) => self.factor + 2 * step,
            (true, false) => self.factor + step,
            (false, _) => self.factor - step,
        };
        self.set_out(now, reading, candidate, false);
    }

    fn set_out(&mut self, now: Instant, reading: Reading, candidate: Factor, closed: bool) {
        if !(LEAST..=MOST).contains(&candidate) {
            return self.fail(now, closed);
        }
        let (begins, ends) = span(now, reading);
        self.phase = Phase::Turn(Turn {
            candidate,
            closed,
            number: 0,
            begins,
            ends,
            at_begin: None,
            sums: [0; 2],
        });
    }

    fn turn(&mut self, now: Instant, mut turn: Turn, reading: Reading) {
        if now >= turn.begins && turn.at_begin.is_none() {
            (turn.at_begin, turn.begins) = (Some(reading.received), now);
        }
        let (Some(at_begin), true) = (turn.at_begin, now >= turn.ends) else {
            self.phase = Phase::Turn(turn);
            return;
        };
        let rate = (reading.received - at_begin).per(now - turn.begins);
        if rate < reading.capacity.percent(LITTLE_PERCENT) {
            return self.interrupt(now, false);
        }
        if turn.number == 0 && turn.candidate > self.factor && rate >= reading.capacity.percent(FULL) {
            self.upwards = false;
            return self.rest(now);
        }
        turn.sums[usize::from(TURNS[turn.number])] += rate.as_bps();
        turn.number += 1;
        let look = if turn.closed { CLOSED_LOOK } else { FIRST_LOOK };
        if turn.number.is_multiple_of(look) && (turn.closed || !self.is_doubtful(&turn)) {
            return self.judge(now, turn);
        }
        (turn.begins, turn.ends) = span(now, reading);
        turn.at_begin = None;
        self.phase = Phase::Turn(turn);
    }

    /// Whether a gain may be chance, and turns are left to check.
    fn is_doubtful(&self, turn: &Turn) -> bool {
        let [present, candidate] = turn.means();
        let gain = thousandths(candidate, present);
        turn.number < TURNS.len() && turn.candidate > self.factor && (GAIN..CLEAR).contains(&gain)
    }

    fn judge(&mut self, now: Instant, turn: Turn) {
        let [present, candidate] = turn.means();
        if now - self.best_at > MEMORY || present > self.best {
            (self.best, self.best_at) = (present, now);
        }
        let gain = thousandths(candidate, present);
        let (larger, was) = (turn.candidate > self.factor, present.max(self.best));
        let stays = if larger {
            gain >= GAIN
        } else {
            thousandths(candidate, was) >= KEEP
        };
        if !stays {
            return self.fail(now, turn.closed);
        }
        (self.factor, self.pause) = (turn.candidate, Pause::new(FIRST_PAUSE));
        self.bold = larger && gain >= CLEAR;
        if turn.closed {
            self.closed = Pause::new(FIRST_PAUSE);
            return self.rest(now);
        }
        let turned = self.went_up.replace(larger) == Some(!larger);
        if turned {
            self.turned.double();
            self.pause = self.turned;
        }
        if larger && !self.bold {
            self.pause.longest();
        }
        if turned || self.pause.is_longest() {
            return self.rest(now);
        }
        self.phase = Phase::Rest;
        self.pause.rest_for(now, FIRST_PAUSE / 8);
    }

    fn fail(&mut self, now: Instant, closed: bool) {
        self.rest(now);
        if closed {
            return self.closed.failed(now);
        }
        self.bold = false;
        self.pause.double();
        self.upwards = !self.upwards;
    }
}

impl Turn {
    /// Goodput of the present factor and of the candidate.
    fn means(&self) -> [Bitrate; 2] {
        let turns = (self.number as u64 / 2).max(1);
        self.sums.map(|sum| Bitrate::from_bps(sum / turns))
    }
}

const fn thousandths(rate: Bitrate, of: Bitrate) -> u64 {
    rate.as_bps().saturating_mul(1_000) / if of.as_bps() == 0 { 1 } else { of.as_bps() }
}

/// When a turn has settled, and when it has been measured for long enough: several of the longest round
/// trips.
fn span(now: Instant, reading: Reading) -> (Instant, Instant) {
    let settled = now + reading.rtt * 4 + Duration::from_millis(100);
    (
        settled,
        settled + (reading.rtt * 8).max(Duration::from_millis(400)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(50);

    struct Run {
        trial: Trial,
        now: Instant,
        received: Bytes,
    }

    impl Run {
        fn step(&mut self, mbps: impl Fn(Factor) -> u64) {
            self.now += STEP;
            self.received += Bitrate::from_mbps(mbps(self.trial.factor())) * STEP;
            let reading = Reading {
                received: self.received,
                capacity: Bitrate::from_mbps(100),
                rtt: Duration::from_millis(50),
                closed: false,
                queued: true,
                lossy: false,
            };
            self.trial.advance(self.now, reading);
        }

        /// How long nothing is tried after another factor was accepted.
        fn rest_after_a_step(&mut self, mbps: impl Fn(Factor) -> u64) -> Duration {
            let before = self.trial.factor;
            while self.trial.factor == before {
                self.step(&mbps);
                assert!(self.now < Instant::from_secs(600), "{before} stays for ever");
            }
            let stayed = self.now;
            while matches!(self.trial.phase, Phase::Rest) {
                self.step(&mbps);
            }
            self.now - stayed
        }
    }

    #[test]
    fn alternating_steps_are_tried_ever_more_rarely() {
        let mut run = Run {
            trial: Trial::new(Instant::ZERO),
            now: Instant::ZERO,
            received: Bytes::ZERO,
        };
        let more_is_better = |factor| if factor > DEFAULT { 80 } else { 70 };
        let all_the_same = |_| 80;
        let up = run.rest_after_a_step(more_is_better);
        let down = run.rest_after_a_step(all_the_same);
        let up_again = run.rest_after_a_step(more_is_better);
        assert!(up < Duration::from_secs(1), "{up:?}");
        assert!(down >= FIRST_PAUSE * 2, "{down:?}");
        assert!(up_again >= FIRST_PAUSE * 4, "{up_again:?}");
    }
}

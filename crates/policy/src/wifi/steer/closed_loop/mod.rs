//! The default: the efficient access points first, a poor one only while that brings more, found out by
//! trying.
//!
//! | stage | who carries | what ends it |
//! |---|---|---|
//! | alone | the efficient ones | they bring less than the best of the others could alone, or leave air idle, for a while → trial |
//! | trial | and the best of the others | the verdict: more in all → shared; otherwise → alone, and a longer pause before the next |
//! | shared | and those whose trial was won | a pause has passed, or the efficient ones bring more than before → probe |
//! | probe | the efficient ones | they bring as much alone as all did → alone; they stop rising → shared, and a longer pause |
//!
//! An access point that was promoted to use idle air is *held*: its packets are marked, the more the fuller
//! the air is.
//!
//! # Sources
//! - The project's steering study: demote above 1.2 times the best packet time; promote when the goodput
//!   stays under 0.95 of what the other could carry while the air is idle; probe every 10 s, doubling to 60
//!   s, for as long as goodput still rises.
//! - nsdi15 §5.2: the 20 %, the cap of 5 %, and what scenarios 1 and 2 ask for.
//!
//! # Where we differ, and why
//! 1. What the others could carry is reckoned with the air that strangers leave: in a busy place every access
//!    point is slow, and promoting a poor one makes it worse.
//! 2. Every promotion is a trial: noise, an idle application or a coupled sender may have led to it.
//! 3. A probe is won by bringing as much as all did together, not by a formula: true for coupled and
//!    uncoupled senders.
//! 4. A probe comes early when the efficient ones bring more by themselves: their uplink has become free.
//! 5. Evidence is gathered, not awaited in a row: under noise no second is without an exception.
//!
//! # Checked by
//! `steer::tests`: nsdi15's scenarios in a fluid model, with noise, strangers, changing uplinks and packet
//! times.

mod stages;
mod watched;

use super::lanes::Lanes;
use super::smooth::Smooth;
use super::{POOR_ABOVE_PERCENT, Ramp, Reading, Step, Why, is_above};
use crate::io::LinkId;
use alloc::vec::Vec;
use stages::Stage;
use units::{Bytes, Duration, Instant, Ratio};
use watched::{Pause, Watched};

/// A poor access point must come this close to the best one to be efficient again, in percent.
const EFFICIENT_UNDER_PERCENT: u64 = 110;

/// The closed loop of one channel.
#[derive(Debug, Clone)]
pub struct ClosedLoop {
    packet: Bytes,
    watched: Vec<Watched>,
    lanes: Lanes,
    busy: Smooth,
    stage: Stage,
    /// The marking rate of the promoted, and whether they are held by it.
    hold: Ramp,
    held: bool,
    trials: Pause,
    probes: Pause,
    hints: Pause,
    looked: Option<Instant>,
    /// Why the others carry or do not, once something was found out by trying.
    found: Option<Why>,
}

impl Default for ClosedLoop {
    /// For full-sized packets over IPv4 with time stamps.
    fn default() -> Self {
        Self::new(Bytes::new(1_448))
    }
}

impl ClosedLoop {
    /// For packets with this much payload.
    pub const fn new(packet: Bytes) -> Self {
        Self {
            packet,
            watched: Vec::new(),
            lanes: Lanes::new(),
            busy: Smooth::over(Duration::from_secs(1)),
            stage: Stage::ALONE,
            hold: Ramp::new(),
            held: false,
            trials: Pause::NONE,
            probes: Pause::NONE,
            hints: Pause::NONE,
            looked: None,
            found: None,
        }
    }

    /// As [`super::Steering::look`].
    pub fn look(&mut self, now: Instant, reading: &Reading<'_>, steps: &mut Vec<Step>) {
        let passed = self.looked.map_or(Duration::ZERO, |looked| now - looked);
        self.looked = Some(now);
        self.measure(now, reading);
        if self.classify() {
            self.start_anew();
        } else {
            self.advance(now, passed, reading.wanting);
        }
        self.order(now, steps);
    }

    fn measure(&mut self, now: Instant, reading: &Reading<'_>) {
        self.lanes.meet(reading.points);
        self.busy.read(now, reading.busy.as_raw());
        self.watched
            .retain(|watched| reading.points.iter().any(|point| point.link == watched.link));
        for point in reading.points {
            self.watch(point.link).read(now, point);
        }
    }

    fn watch(&mut self, link: LinkId) -> &mut Watched {
        let known = self.watched.iter().position(|watched| watched.link == link);
        let at = known.unwrap_or_else(|| {
            self.watched.push(Watched::new(link));
            self.watched.len() - 1
        });
        &mut self.watched[at]
    }

    /// Tells the efficient from the poor; whether that changed.
    fn classify(&mut self) -> bool {
        let Some(best) = self.best() else { return false };
        let mut changed = false;
        for watched in &mut self.watched {
            let limit = if watched.efficient {
                POOR_ABOVE_PERCENT
            } else {
                EFFICIENT_UNDER_PERCENT
            };
            let efficient = watched.time() == best || !is_above(watched.time(), best, limit);
            changed |= efficient != watched.efficient;
            watched.efficient = efficient;
            watched.promoted &= !efficient;
        }
        changed
    }

    fn best(&self) -> Option<Duration> {
        self.watched.iter().map(Watched::time).min()
    }

    /// First those that are to carry, then those that are not: at no time does nobody.
    fn order(&mut self, now: Instant, steps: &mut Vec<Step>) {
        let Some(best) = self.best() else { return };
        let probing = matches!(self.stage, Stage::Probe { .. });
        let rate = self.marking_rate(now);
        let busy = Ratio::from_fraction(self.busy.get(), Ratio::ONE.as_raw());
        for watched in &self.watched {
            let rate = if watched.promoted { rate } else { Ratio::ZERO };
            self.lanes
                .mark(watched.link, rate, Why::Held { rate, busy }, steps);
        }
        for carries in [true, false] {
            for watched in &self.watched {
                if (watched.efficient || (watched.promoted && !probing)) == carries {
                    let why = self.reason(watched, best);
                    self.lanes.backup(watched.link, !carries, why, steps);
                }
            }
        }
    }

    fn reason(&self, watched: &Watched, best: Duration) -> Why {
        let packet_time = watched.time();
        match self.found {
            _ if watched.efficient => Why::Efficient { packet_time, best },
            Some(found) => found,
            None => Why::Poor { packet_time, best },
        }
    }
}

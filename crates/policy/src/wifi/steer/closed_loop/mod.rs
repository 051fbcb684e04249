//! The default: uses the efficient access points first, and a poor one only while trials show that it raises
//! goodput.
//!
//! | stage | carrying | what ends it |
//! |---|---|---|
//! | alone | the efficient ones | less than the best other could carry, for a while → trial |
//! | trial | also the best of the others | more in total → shared; otherwise → alone, and a longer pause |
//! | shared | also those whose trial succeeded | a pause is over, or the efficient ones carry more → probe |
//! | probe | the efficient ones | as much as all together → alone; no rise → shared, and a longer pause |
//!
//! # Sources
//! - The project's steering study: demote above 1.2 times the best packet time. Promote when the goodput
//!   stays under 0.95 of what the other could carry while the air is idle. Probe every 10 s, doubling to 60
//!   s, for as long as goodput still rises.
//! - nsdi15 §5.2: the 20 %, the cap of 5 %, and the requirements of scenarios 1 and 2.
//!
//! # Where we differ, and why
//! 1. What the others could carry is computed with the air that other stations leave: in a busy place every
//!    access point is slow, and promoting a poor one makes it worse.
//! 2. Every promotion is a trial: noise, an idle application or a coupled sender may have caused it.
//! 3. A probe succeeds if the efficient ones carry as much as all did together. No formula is used, so it
//!    holds for coupled and uncoupled senders.
//! 4. A probe comes early when the efficient ones carry more by themselves: their uplink has become free.
//! 5. A shortage is accumulated, and need not be uninterrupted: under noise every second has an exception.
//! 6. Idle air is no evidence. Trials of it cost more than they gain, with coupled and uncoupled senders
//!    (papers/steering).
//!
//! # Checked by
//! `steer::tests`: nsdi15's scenarios in a fluid model, with noise, strangers, changing uplinks and packet
//! times.

mod stages;
mod tuning;
mod watched;

use super::lanes::Lanes;
use super::smooth::Smooth;
use super::{POOR_ABOVE_PERCENT, Reading, Steer, Step, is_above};
use crate::estimate::experiment::Pause;
use crate::io::LinkId;
use alloc::vec::Vec;
use stages::Stage;
use tuning::{EFFICIENT_UNDER_PERCENT, LONGEST_PAUSE_S};
use units::{Bytes, Duration, Instant};
use watched::Watched;

/// The closed loop of one channel.
#[derive(Debug, Clone)]
pub struct ClosedLoop {
    packet: Bytes,
    watched: Vec<Watched>,
    lanes: Lanes,
    busy: Smooth,
    stage: Stage,
    trials: Pause<LONGEST_PAUSE_S>,
    /// The goodput of the efficient ones, or of all, when a trial last failed.
    against: u64,
    probes: Pause<LONGEST_PAUSE_S>,
    hints: Pause<LONGEST_PAUSE_S>,
    looked: Option<Instant>,
    /// Steer the others carry data or not, once a trial has shown it.
    found: Option<Steer>,
}

impl Default for ClosedLoop {
    /// For full-sized packets over IPv4 with timestamps.
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
            trials: Pause::new(Duration::ZERO),
            against: 0,
            probes: Pause::new(Duration::ZERO),
            hints: Pause::new(Duration::ZERO),
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
        self.order(steps);
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

    /// Separates the efficient from the poor. Returns whether that changed.
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

    /// Promotes before it demotes: one access point is in use at all times.
    fn order(&mut self, steps: &mut Vec<Step>) {
        let Some(best) = self.best() else { return };
        let probing = matches!(self.stage, Stage::Probe { .. });
        for carries in [true, false] {
            for watched in &self.watched {
                if (watched.efficient || (watched.promoted && !probing)) == carries {
                    let because = self.reason(watched, best);
                    self.lanes.backup(watched.link, !carries, because, steps);
                }
            }
        }
    }

    fn reason(&self, watched: &Watched, best: Duration) -> Steer {
        let packet_time = watched.time();
        match self.found {
            _ if watched.efficient => Steer::Efficient { packet_time, best },
            Some(found) => found,
            None => Steer::Poor { packet_time, best },
        }
    }
}

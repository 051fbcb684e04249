//! nsdi15's steering: marks on every access point that is clearly worse than the best one.
//!
//! # Sources
//! - nsdi15 §5.2: mark where the packet time is at least 20 % above the best one's, at the rate of equation
//!   5, never above 5 %.
//!
//! # Where we differ, and why
//! 1. The rate moves in small steps ([`Ramp`]); the paper's may jump.
//! 2. The form of the rate can be chosen ([`Form`]).
//!
//! # Checked by
//! `steer::tests`.

use super::lanes::Lanes;
use super::{Form, Measured, POOR_ABOVE_PERCENT, Ramp, Ratio, Reading, Steer, Step, best_time, is_above};
use crate::io::LinkId;
use alloc::vec::Vec;
use units::Instant;

/// Marks packets of the poor access points of one channel.
#[derive(Debug, Clone)]
pub struct Marking {
    form: Form,
    ramps: Vec<(LinkId, Ramp)>,
    lanes: Lanes,
}

impl Marking {
    /// Marks at the rate given by this form.
    pub const fn new(form: Form) -> Self {
        Self {
            form,
            ramps: Vec::new(),
            lanes: Lanes::new(),
        }
    }

    /// As [`super::Steering::look`].
    pub fn look(&mut self, now: Instant, reading: &Reading<'_>, steps: &mut Vec<Step>) {
        self.lanes.meet(reading.points);
        self.ramps
            .retain(|(link, _)| reading.points.iter().any(|point| point.link == *link));
        let Some(best) = best_time(reading.points) else {
            return;
        };
        for point in reading.points {
            let poor = is_above(point.packet_time, best, POOR_ABOVE_PERCENT) && point.packet_time > best;
            let target = if poor {
                self.form.rate(Measured {
                    packet_time: point.packet_time,
                    rtt: point.rtt,
                    base_rtt: point.base_rtt,
                })
            } else {
                Ratio::ZERO
            };
            let ramp = self.ramp(point.link);
            if point.packet_time == best {
                ramp.release();
            }
            let rate = ramp.towards(now, target);
            let because = Steer::Marked {
                rate,
                target,
                packet_time: point.packet_time,
                best,
            };
            self.lanes.mark(point.link, rate, because, steps);
        }
    }

    fn ramp(&mut self, link: LinkId) -> &mut Ramp {
        let at = self
            .ramps
            .iter()
            .position(|(known, _)| *known == link)
            .unwrap_or_else(|| {
                self.ramps.push((link, Ramp::default()));
                self.ramps.len() - 1
            });
        &mut self.ramps[at].1
    }
}

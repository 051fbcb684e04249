//! The baseline: one access point at a time, with the others as backups.
//!
//! # Sources
//! - Kandula et al. 2008, "FatVAP: aggregating AP backhaul capacity to maximize throughput", and juggler §3:
//!   a radio that serves one access point at a time. nsdi15 §3 names them as prior ways without interference
//!   between subflows.
//!
//! # Where we differ, and why
//! 1. The others become backups instead of being suspended by power save: on one channel the radio hears them
//!    anyway.
//! 2. The present one is kept while no other is 20 % better: each change costs a window.
//!
//! # Checked by
//! `steer::tests`.

use super::lanes::Lanes;
use super::{AccessPoint, POOR_ABOVE_PERCENT, Reading, Steer, Step, is_above};
use crate::io::LinkId;
use alloc::vec::Vec;

/// One access point at a time.
#[derive(Debug, Clone)]
pub struct OnOff {
    current: Option<LinkId>,
    lanes: Lanes,
}

impl Default for OnOff {
    fn default() -> Self {
        Self {
            current: None,
            lanes: Lanes::new(),
        }
    }
}

impl OnOff {
    /// As [`super::Steering::look`].
    pub fn look(&mut self, reading: &Reading<'_>, steps: &mut Vec<Step>) {
        self.lanes.meet(reading.points);
        let Some(best) = reading
            .points
            .iter()
            .min_by_key(|point| (point.packet_time, point.link))
        else {
            self.current = None;
            return;
        };
        let held = reading
            .points
            .iter()
            .find(|point| Some(point.link) == self.current);
        let chosen = held.filter(|held| !is_clearly_better(best, held)).unwrap_or(best);
        self.current = Some(chosen.link);
        self.lanes.backup(
            chosen.link,
            false,
            Steer::OnlyOne {
                chosen: chosen.packet_time,
            },
            steps,
        );
        for other in reading.points.iter().filter(|point| point.link != chosen.link) {
            let because = Steer::OneAtATime {
                packet_time: other.packet_time,
                best: chosen.packet_time,
            };
            self.lanes.backup(other.link, true, because, steps);
        }
    }
}

fn is_clearly_better(best: &AccessPoint, held: &AccessPoint) -> bool {
    best.packet_time < held.packet_time && is_above(held.packet_time, best.packet_time, POOR_ABOVE_PERCENT)
}

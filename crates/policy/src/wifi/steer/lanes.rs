//! The orders in force for each access point, so that only changes are ordered.

use super::{AccessPoint, Order, Steer, Step};
use crate::io::LinkId;
use alloc::vec::Vec;
use units::Ratio;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lane {
    link: LinkId,
    backup: bool,
    mark: Ratio,
}

/// The orders in force on one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lanes(Vec<Lane>);

impl Lanes {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Drops the access points that are gone, and adds new ones as they are. Returns whether any came or
    /// went.
    pub(super) fn meet(&mut self, points: &[AccessPoint]) -> bool {
        let before = self.0.len();
        self.0
            .retain(|lane| points.iter().any(|point| point.link == lane.link));
        let mut changed = self.0.len() != before;
        for point in points {
            if self.lane(point.link).is_none() {
                changed = true;
                self.0.push(Lane {
                    link: point.link,
                    backup: point.backup,
                    mark: Ratio::ZERO,
                });
            }
        }
        changed
    }

    fn lane(&mut self, link: LinkId) -> Option<&mut Lane> {
        self.0.iter_mut().find(|lane| lane.link == link)
    }

    pub(super) fn backup(&mut self, link: LinkId, backup: bool, because: Steer, steps: &mut Vec<Step>) {
        if let Some(lane) = self.lane(link).filter(|lane| lane.backup != backup) {
            lane.backup = backup;
            let order = Order::Backup(backup);
            steps.push(Step { link, order, because });
        }
    }

    pub(super) fn mark(&mut self, link: LinkId, mark: Ratio, because: Steer, steps: &mut Vec<Step>) {
        if let Some(lane) = self.lane(link).filter(|lane| lane.mark != mark) {
            lane.mark = mark;
            let order = Order::Mark(mark);
            steps.push(Step { link, order, because });
        }
    }
}

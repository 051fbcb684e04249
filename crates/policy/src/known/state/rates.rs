//! Updates the air and the rates of all links before each decision.

use super::State;
use crate::estimate::delivery::Frame;
use crate::io::LinkId;
use crate::known::path::{Path, Tally};
use crate::known::tuning::{FULL_PERCENT, GROWN_AFTER};
use units::{Bitrate, Instant};

impl State {
    /// Records a frame, the one input that arrives thousands of times a second.
    #[inline]
    pub(crate) fn overhear(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        if let Some(air) = self.paths.get_mut(&link).and_then(Path::air) {
            air.hear(now, frame);
        }
    }

    /// Updates what is known of the air of every link.
    pub(crate) fn look_at_air(&mut self, now: Instant) {
        for air in self.paths.values_mut().filter_map(|path| path.air.as_mut()) {
            air.look(now);
        }
    }

    /// Updates the recent goodput and the known capacity of every link: the most that any of its subflows
    /// carried.
    pub(crate) fn look_at_rates(&mut self, now: Instant) {
        self.tally(now);
        let joined = || self.paths.values().filter(|path| path.tally.joined);
        let goodput: Bitrate = joined().map(|path| path.tally.rate).sum();
        let worth: Bitrate = joined().map(|path| path.worth).sum();
        for path in self.paths.values_mut().filter(|path| path.tally.joined) {
            path.shown = path.tally.best;
            let others = worth - path.worth;
            let are_full = goodput - path.tally.rate >= others.percent(FULL_PERCENT);
            let judged = path.tally.grown && others > Bitrate::ZERO && are_full;
            let known = if judged { Bitrate::ZERO } else { path.worth };
            path.worth = path.shown.max(known);
        }
    }

    fn tally(&mut self, now: Instant) {
        for path in self.paths.values_mut() {
            path.tally = Tally::default();
        }
        for subflow in self.conns.values().flat_map(|conn| &conn.subflows) {
            let Some(path) = self.paths.get_mut(&subflow.link) else {
                continue;
            };
            let tally = &mut path.tally;
            tally.joined = true;
            tally.grown |= now - subflow.since >= GROWN_AFTER;
            tally.best = tally.best.max(subflow.arrivals.best_rate(now));
            if !subflow.backup {
                tally.rate = tally.rate + subflow.arrivals.rate(now);
            }
        }
    }
}

//! How much a connection moves, and which link carries it while its traffic is low.
//!
//! [`crate::choose::low_traffic`] uses it, and explains the choice.
//!
//! # Checked by
//! `tests`; `window-request` in the benchmarks.

#[cfg(test)]
mod tests;

use super::tuning::{HIGH, LOW, MARK_EVERY_MS, MARKS, QUICKER_PERCENT};
use crate::estimate::meter::RateMeter;
use crate::io::LinkId;
use units::{Bytes, Duration, Instant};

/// Recent traffic of a connection, and the link that carries it while traffic is low.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    recent: RateMeter<MARKS, MARK_EVERY_MS>,
    /// The link that carries it while traffic is low.
    pub(crate) over: Option<LinkId>,
    is_low: bool,
}

impl Traffic {
    /// Records the bytes moved so far in both directions, and the out-of-order bytes. Returns whether traffic
    /// is low.
    pub(crate) fn look(&mut self, now: Instant, moved: Bytes, held: Bytes) -> bool {
        self.recent.read(now, moved);
        let lately = self.recent.moved();
        if lately > HIGH {
            (self.is_low, self.over) = (false, None);
        } else if self.recent.is_full() && lately > Bytes::ZERO && lately.max(held) <= LOW {
            self.is_low = true;
        }
        self.is_low
    }

    /// The link with the least delay, unless the present one is nearly as quick.
    pub(crate) fn choose(&mut self, delays: &[(LinkId, Duration)]) -> Option<LinkId> {
        let &(quickest, least) = delays.iter().min_by_key(|&&(link, delay)| (delay, link))?;
        let present = delays.iter().find(|(link, _)| Some(*link) == self.over);
        let stays = present.is_some_and(|&(_, delay)| least > delay * QUICKER_PERCENT / 100);
        if !stays {
            self.over = Some(quickest);
        }
        self.over
    }
}

//! Room for what waits for lost bytes, where links lose at random.
//!
//! What has come and waits stands in no queue, so a window that is wider by as much lets the sender queue no more than before, and the other links go on while
//! a loss is repaired. Unless it is no loss but a link that has died: then all that is assigned meanwhile stands before what has to be sent again.
//!
//! # Sources
//! - RFC 8684 §3.3.1: bytes that wait for earlier ones count against the connection's window until these have come.
//!
//! # Where we differ, and why
//! 1. While a link may be dead the room grows no more, and when one was lost, not before something has come of what waits. With links of 30 Mb/s, of which one
//!    loses one segment in a hundred, under bbr: stalls of 130 ms after a cut (most 176), where it goes on growing 186 (most 348; ten runs each).
//! 2. What waits is known here ten to twenty milliseconds late, and at the sender half a round trip later: one repair ([`crate::estimate::losses`]) of all
//!    links' rate has room anyhow. With none of it bbr brought 0.87 of a stock host's goodput.
//!
//! # Checked by
//! `window::tests`; `window-lossy` and `window-mixes` in the benchmarks.

use super::Need;
use units::{Bytes, Duration};

/// What has room on one connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Missed {
    room: Bytes,
    links: usize,
    /// Whether a link was lost, and nothing has come since of what waits.
    lost: bool,
    /// Whether one of the links loses at random.
    goes_on: bool,
}

impl Missed {
    /// Takes in the connection as it is now.
    pub(super) fn look(&mut self, need: &Need) {
        self.goes_on = need.repair > Duration::ZERO;
        self.lost |= need.links < self.links;
        self.links = need.links;
        self.lost &= need.held > self.room;
        self.room = match need.doubted || self.lost {
            true => self.room.min(need.held),
            false => need.held,
        };
    }

    /// Whether links lose, so that there is room, and what waits is to be followed closely.
    pub(super) const fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// How much more may be ahead.
    pub(super) const fn room(&self) -> Bytes {
        if self.goes_on { self.room } else { Bytes::ZERO }
    }
}

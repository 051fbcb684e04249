//! Room for what waits for lost bytes, where links lose at random.
//!
//! What has come and waits stands in no queue, so a window that is wider by as much lets the sender queue no
//! more than before, and the other links go on while a loss is repaired. Unless it is no loss but a link that
//! has died: then all that is assigned meanwhile stands before what has to be sent again.
//!
//! # Sources
//! - RFC 8684 §3.3.1: bytes that wait for earlier ones count against the connection's window until these have
//!   come.
//!
//! # Where we differ, and why
//! 1. While a link may be dead, or a signal sinks or is weak, the room grows no more, and when a subflow in
//!    use was lost, put by or replaced, not before all has come that had been assigned by then. With links of
//!    30 Mb/s, of which one loses one segment in a hundred, under bbr: stalls of 130 ms after a cut (most
//!    176), where it goes on growing 186 (most 348; ten runs each, with room for one round trip beside it).
//! 2. What waits is known here up to ten milliseconds late (more where many connections are read), and at the
//!    sender half a round trip later: one repair ([`crate::estimate::losses`]), and those ten, of all links'
//!    rate have room anyhow. With none of it bbr brought 0.87 of a stock host's goodput.
//! 3. What came twice counts as waiting until the receive queue is empty, and never more than the memory of
//!    that queue: with losses the room is the larger for that.
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
    /// One was lost, put by or replaced: with so many bytes in order all that was assigned before has come.
    lost: Option<Bytes>,
    /// Whether one of the links loses at random.
    goes_on: bool,
}

impl Missed {
    /// Takes in the connection as it is now, with the window in force.
    pub(super) fn look(&mut self, need: &Need, window: Bytes) {
        self.goes_on = need.repair > Duration::ZERO;
        if need.links < self.links {
            self.lost = Some(need.received + window);
        }
        self.links = need.links;
        self.lost = self.lost.filter(|&all| need.received < all);
        self.room = match need.doubted || need.sinking || self.lost.is_some() {
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

//! Leaves room in the window for out-of-order bytes behind a loss, where links lose at random.
//!
//! Out-of-order bytes are in no queue. So a window larger by that amount lets the sender queue no more than
//! before, and the other links continue while a loss is repaired. If a link has died instead, everything
//! assigned meanwhile precedes the bytes that must be resent.
//!
//! # Sources
//! - RFC 8684 §3.3.1: out-of-order bytes count against the connection's window until the missing ones arrive.
//!
//! # Where we differ, and why
//! 1. The room stops growing while a link may be dead, or a signal falls or is weak. If a subflow in use was
//!    lost, demoted or replaced, it stops until everything assigned by then has arrived. Measured with links
//!    of 30 Mb/s, one of which loses one segment in a hundred, under bbr: stalls of 130 ms after a cut (most
//!    176). With room that keeps growing they are 186 ms (most 348; ten runs each, with room for one round
//!    trip beside it).
//! 2. Out-of-order bytes are known here up to ten milliseconds late (more where many connections are
//!    sampled), and at the sender half a round trip later. So there is always room for one repair time
//!    ([`crate::estimate::losses`]) and those ten milliseconds, at the rate of all links. Without it, bbr
//!    reached 0.87 of a stock host's goodput.
//! 3. Duplicates count as out-of-order bytes until the receive queue is empty, but never more than the memory
//!    of that queue. With losses, the room is larger by that.
//!
//! # Checked by
//! `window::tests`; `window-lossy` and `window-mixes` in the benchmarks.

use super::Need;
use units::{Bytes, Duration};

/// The room of one connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Missed {
    room: Bytes,
    links: usize,
    /// A subflow was lost, demoted or replaced: at this many in-order bytes, everything assigned before has
    /// arrived.
    lost: Option<Bytes>,
    /// Whether one of the links loses at random.
    loses: bool,
}

impl Missed {
    /// Updates the room from the present connection and window.
    pub(super) fn look(&mut self, need: &Need, window: Bytes) {
        self.loses = need.repair > Duration::ZERO;
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

    /// Whether links lose, so that there is room, and out-of-order bytes must be sampled often.
    pub(super) const fn loses(&self) -> bool {
        self.loses
    }

    /// Out-of-order bytes, without what has come since a link may be dead.
    pub(super) const fn held(&self) -> Bytes {
        self.room
    }

    /// The room to add to the window.
    pub(super) const fn room(&self) -> Bytes {
        if self.loses { self.room } else { Bytes::ZERO }
    }
}

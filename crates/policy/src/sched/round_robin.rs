//! Round robin: one segment each, in turn, to the subflows with space in their windows.
//!
//! # Sources
//! - The former Linux implementation's `roundrobin` with its defaults, one segment each and limited by the
//!   windows (multipath-tcp/mptcp v0.95, `net/mptcp/mptcp_rr.c`).
//!
//! # Where we differ, and why
//! 1. The number of segments per turn is fixed: with more, round robin approaches lowest-RTT-first and shows
//!    nothing new.
//!
//! # Checked by
//! `sched::tests`. `tests/data_plane.rs`.

use super::{Choice, Connection};
use crate::io::SubflowId;

/// Each subflow in turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundRobin {
    /// The subflow that had the last turn.
    last: Option<SubflowId>,
}

impl RoundRobin {
    /// As [`super::Scheduler::choose`].
    pub fn choose(&mut self, connection: &Connection<'_>) -> Choice {
        if !connection.may_send() {
            return Choice::Wait;
        }
        let count = connection.subflows.len();
        let last = connection
            .subflows
            .iter()
            .position(|view| Some(view.id) == self.last);
        let first = last.map_or(0, |last| last + 1);
        let turn = |(at, _): &(usize, &_)| (at + count - first) % count;
        let next = connection
            .candidates()
            .filter(|(_, view)| view.has_room())
            .min_by_key(turn);
        match next {
            None => Choice::Wait,
            Some((at, view)) => {
                self.last = Some(view.id);
                connection.segment(at)
            }
        }
    }
}

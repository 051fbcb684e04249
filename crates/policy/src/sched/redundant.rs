//! Every byte on every subflow: the delay is that of whichever is first.
//!
//! # Sources
//! - Frömmgen et al., "ReMP TCP: low latency multipath TCP" (ICC 2016); the former Linux implementation's `redundant`
//!   (multipath-tcp/mptcp v0.95, `net/mptcp/mptcp_redundant.c`).
//!
//! # Where we differ, and why
//! 1. A segment goes, once, to all that have room at that moment. The former implementation remembered for each subflow how far
//!    it had come, so that a slow one went on sending what had long arrived over the fast one; here it skips it.
//!
//! # Checked by
//! `sched::tests`.

use super::{Choice, Connection, Set};
use units::Bytes;

/// Everything on every subflow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redundant;

impl Redundant {
    /// As [`super::Scheduler::choose`].
    pub fn choose(self, connection: &Connection<'_>) -> Choice {
        let (mut on, mut most) = (Set::default(), connection.unassigned.min(connection.window_left));
        for (at, view) in connection.candidates().filter(|(_, view)| view.has_room()) {
            on = on.with(at);
            most = most.min(view.mss);
        }
        if on.is_empty() || most == Bytes::ZERO {
            Choice::Wait
        } else {
            Choice::Duplicate { on, most }
        }
    }
}

//! The least round-trip time first: a segment goes to the fastest subflow that has room in its window.
//!
//! # Sources
//! - Raiciu et al., "How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP" (NSDI 2012) §4; the default of
//!   the former Linux implementation (multipath-tcp/mptcp v0.95, `net/mptcp/mptcp_sched.c`).
//!
//! # Where we differ, and why
//! 1. Backups wait until no other subflow is usable; the former implementation also used them for data that every other subflow
//!    had already sent. Here that is [`super::Rescue`]'s business.
//!
//! # Checked by
//! `sched::tests`.

use super::{Choice, Connection};

/// The subflow with the least round-trip time.
#[derive(Debug, Clone, Copy, Default)]
pub struct LowestRtt;

impl LowestRtt {
    /// As [`super::Scheduler::choose`].
    pub fn choose(self, connection: &Connection<'_>) -> Choice {
        match fastest_with_room(connection) {
            Some(subflow) if connection.may_send() => connection.segment(subflow),
            _ => Choice::Wait,
        }
    }
}

/// The fastest candidate that has room; the first of equals.
pub(super) fn fastest_with_room(connection: &Connection<'_>) -> Option<usize> {
    connection
        .candidates()
        .filter(|(_, view)| view.has_room())
        .min_by_key(|(_, view)| view.srtt)
        .map(|(at, _)| at)
}

/// The fastest candidate, with or without room.
pub(super) fn fastest(connection: &Connection<'_>) -> Option<usize> {
    connection
        .candidates()
        .min_by_key(|(_, view)| view.srtt)
        .map(|(at, _)| at)
}

//! Lowest round-trip time first: a segment goes to the fastest subflow with space in its window.
//!
//! # Sources
//! - Raiciu et al., "How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP" (NSDI 2012)
//!   §4; the default of the former Linux implementation (multipath-tcp/mptcp v0.95,
//!   `net/mptcp/mptcp_sched.c`).
//!
//! # Where we differ, and why
//! 1. Backups are used only while no other subflow is usable. The former implementation also used them for
//!    data that every other subflow had already sent. Here [`super::Rescue`] does that.
//!
//! # Checked by
//! `sched::tests`.

use super::{Choice, Connection};

/// Lowest round-trip time first.
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

/// The fastest candidate with space in its window. The first one on a tie.
pub(super) fn fastest_with_room(connection: &Connection<'_>) -> Option<usize> {
    connection
        .candidates()
        .filter(|(_, view)| view.has_room())
        .min_by_key(|(_, view)| view.srtt)
        .map(|(at, _)| at)
}

/// The fastest candidate, whether its window has space or not.
pub(super) fn fastest(connection: &Connection<'_>) -> Option<usize> {
    connection
        .candidates()
        .min_by_key(|(_, view)| view.srtt)
        .map(|(at, _)| at)
}

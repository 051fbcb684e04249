//! Redundant: sends every byte on every subflow, so the fastest one determines the delay.
//!
//! # Sources
//! - Frömmgen et al., "ReMP TCP: low latency multipath TCP" (ICC 2016); the former Linux implementation's
//!   `redundant` (multipath-tcp/mptcp v0.95, `net/mptcp/mptcp_redundant.c`).
//!
//! # Where we differ, and why
//! 1. A segment goes, once, to all subflows with space at that moment. The former implementation kept a
//!    position per subflow, so a slow one kept sending data that had long arrived over the fast one. Here a
//!    slow subflow skips such data.
//!
//! # Checked by
//! `sched::tests`.

use super::{Choice, Connection, Set};
use units::Bytes;

/// Every segment on every subflow.
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

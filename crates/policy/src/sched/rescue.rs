//! When the connection's window is full: reinject the oldest segment on a faster subflow, and slow down the
//! subflow that holds it.
//!
//! # Sources
//! - Raiciu et al., "How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP" (NSDI 2012)
//!   §4.2: opportunistic retransmission (mechanism 1) and penalising slow subflows (mechanism 2: half the
//!   window, at most once a round trip).
//!
//! # Where we differ, and why
//! 1. Only a subflow faster than the holder reinjects: on a slower one the copy would arrive after the
//!    original.
//!
//! # Checked by
//! `sched::tests`.

use super::lowest_rtt::fastest_with_room;
use super::{Connection, View};
use crate::io::SubflowId;
use alloc::vec::Vec;
use units::{Bytes, Instant};

/// What unblocks a blocked connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rescued {
    /// The subflow that reinjects the oldest unacknowledged segment.
    pub again_on: Option<usize>,
    /// The subflow to penalise: halve its window and slow-start threshold.
    pub penalise: Option<usize>,
}

/// Opportunistic retransmission and penalisation.
#[derive(Debug, Clone, Default)]
pub struct Rescue {
    penalised: Vec<(SubflowId, Instant)>,
}

impl Rescue {
    /// Decides what to do if the connection's window is full and a subflow could send. Otherwise nothing.
    pub fn unblock(&mut self, now: Instant, connection: &Connection<'_>) -> Rescued {
        self.penalised
            .retain(|(id, _)| connection.subflows.iter().any(|view| view.id == *id));
        let Some(on) = fastest_with_room(connection) else {
            return Rescued::default();
        };
        let idle = &connection.subflows[on];
        if connection.window_left >= idle.mss || connection.unassigned == Bytes::ZERO || idle.holds_oldest {
            return Rescued::default();
        }
        let holder = connection
            .subflows
            .iter()
            .position(|view| view.holds_oldest && view.srtt > idle.srtt);
        Rescued {
            again_on: holder.map(|_| on),
            penalise: holder.filter(|&holder| self.may_penalise(now, &connection.subflows[holder])),
        }
    }

    fn may_penalise(&mut self, now: Instant, holder: &View) -> bool {
        let last = self.penalised.iter_mut().find(|(id, _)| *id == holder.id);
        match last {
            Some((_, at)) if now - *at < holder.srtt => false,
            Some((_, at)) => {
                *at = now;
                true
            }
            None => {
                self.penalised.push((holder.id, now));
                true
            }
        }
    }
}

//! ECF, earliest completion first: does not use the slow subflow if waiting for the fast one completes
//! earlier.
//!
//! With `k` segments to send, the fast subflow finishes after `n = 1 + k/cwnd_f` of its round trips. The
//! segment waits if that is sooner than one round trip of the slow subflow. It only waits, however, if the
//! slow one would need longer for the rest than two round trips of the fast one.
//!
//! # Sources
//! - Lim, Nahum, Towsley, Gibbens, "ECF: an MPTCP path scheduler to manage heterogeneous paths" (CoNEXT
//!   2017), algorithm 1, with β = ¼ and δ the larger variation of the two round-trip times.
//!
//! # Where we differ, and why
//! 1. Segments and windows are whole numbers, as in the paper's kernel code. Its algorithm uses real numbers.
//!
//! # Checked by
//! `sched::tests`: golden vectors. `tests/data_plane.rs`.

use super::lowest_rtt::{fastest, fastest_with_room};
use super::{Choice, Connection, View};

/// Lowest round-trip time, but waits for the fast subflow if that completes earlier.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ecf {
    /// Hysteresis: after it has waited once, it keeps waiting within a margin of β.
    waiting: bool,
}

impl Ecf {
    /// As [`super::Scheduler::choose`].
    pub fn choose(&mut self, connection: &Connection<'_>) -> Choice {
        let (Some(fast), Some(next)) = (fastest(connection), fastest_with_room(connection)) else {
            return Choice::Wait;
        };
        if !connection.may_send() {
            return Choice::Wait;
        }
        let (fast, slow) = (&connection.subflows[fast], &connection.subflows[next]);
        if fast.id != slow.id && self.waits(fast, slow, connection) {
            return Choice::Wait;
        }
        connection.segment(next)
    }

    fn waits(&mut self, fast: &View, slow: &View, connection: &Connection<'_>) -> bool {
        let segments = u128::from(connection.unassigned.get().div_ceil(slow.mss.get().max(1)));
        let (fast_rtt, slow_rtt) = (fast.srtt.as_nanos(), slow.srtt.as_nanos());
        let margin = fast.rttvar.max(slow.rttvar).as_nanos();
        let (fast_window, slow_window) = (u128::from(fast.cwnd.max(1)), u128::from(slow.cwnd.max(1)));
        let quarters = 4 + u128::from(self.waiting);
        let sooner = (fast_window + segments) * fast_rtt * 4 < quarters * (slow_rtt + margin) * fast_window;
        if !sooner {
            self.waiting = false;
            return false;
        }
        let too_slow = segments * slow_rtt >= slow_window * (2 * fast_rtt + margin);
        self.waiting |= too_slow;
        too_slow
    }
}

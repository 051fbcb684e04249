//! BLEST: does not use the slow subflow if its data would block the fast one at the peer's receive window.
//!
//! A segment on the slow subflow is acknowledged after one slow round trip. Meanwhile the fast subflow could
//! send `X = MSS · (cwnd + (r − 1)/2) · r` bytes. `r` is the number of fast round trips in a slow one, and
//! the window grows by one in each. If `λ·X` does not fit into the window beside the slow subflow's bytes in
//! flight, the segment waits for the fast subflow.
//!
//! # Sources
//! - Ferlin, Alay, Mehani, Boreli, "BLEST: blocking estimation-based MPTCP scheduler for heterogeneous
//!   networks" (IFIP Networking 2016) §IV: the estimate, and the adaptation of λ.
//! - The former Linux implementation (multipath-tcp/mptcp v0.95, `net/mptcp/mptcp_blest.c`) for the numbers
//!   that the paper leaves open: λ from 1.0 to 1.3, starting at 1.2; + 0.04 after a slow round trip with
//!   blocking, − 0.01 after one without.
//!
//! # Where we differ, and why
//! 1. `r` is not rounded, and the fast window is the current one: the estimate ignores slow start.
//! 2. "The window less what the slow one has in flight" is the space left in the window plus the fast
//!    subflow's bytes in flight. That is the same with two subflows and correct with more.
//!
//! # Checked by
//! `sched::tests`.

use super::lowest_rtt::{fastest, fastest_with_room};
use super::{Choice, Connection, View};
use units::{Bytes, Instant};

const LEAST: u16 = 1_000;
const MOST: u16 = 1_300;
const FIRST: u16 = 1_200;
const MORE: u16 = 40;
const LESS: u16 = 10;

/// Lowest round-trip time, unless the slow subflow would cause head-of-line blocking.
#[derive(Debug, Clone, Copy)]
pub struct Blest {
    /// λ in thousandths.
    caution: u16,
    blocked: bool,
    adapted: Instant,
}

impl Default for Blest {
    fn default() -> Self {
        Self {
            caution: FIRST,
            blocked: false,
            adapted: Instant::ZERO,
        }
    }
}

impl Blest {
    /// As [`super::Scheduler::choose`].
    pub fn choose(&mut self, now: Instant, connection: &Connection<'_>) -> Choice {
        let (Some(fast), Some(next)) = (fastest(connection), fastest_with_room(connection)) else {
            return Choice::Wait;
        };
        if !connection.may_send() {
            self.blocked |= connection.unassigned > Bytes::ZERO;
            return Choice::Wait;
        }
        let (fast, slow) = (&connection.subflows[fast], &connection.subflows[next]);
        if fast.id != slow.id {
            self.adapt(now, slow);
            if self.would_block(fast, slow, connection.window_left) {
                return Choice::Wait;
            }
        }
        connection.segment(next)
    }

    /// λ in thousandths: the safety factor on the fast subflow's estimated bytes.
    pub const fn caution(&self) -> u16 {
        self.caution
    }

    fn adapt(&mut self, now: Instant, slow: &View) {
        if now - self.adapted < slow.srtt {
            return;
        }
        let caution = if self.blocked {
            self.caution + MORE
        } else {
            self.caution - LESS
        };
        self.caution = caution.clamp(LEAST, MOST);
        (self.blocked, self.adapted) = (false, now);
    }

    fn would_block(&self, fast: &View, slow: &View, window_left: Bytes) -> bool {
        let scaled = u128::from(fast_bytes(fast, slow)).saturating_mul(u128::from(self.caution)) / 1_000;
        // The fast subflow's bytes in flight will be acknowledged by then, which frees their space.
        let fast_in_flight = fast.mss * u64::from(fast.in_flight);
        scaled > u128::from((window_left + fast_in_flight).saturating_sub(slow.mss).get())
    }
}

/// Bytes that the fast subflow could send during one round trip of the slow one.
fn fast_bytes(fast: &View, slow: &View) -> u64 {
    // Fast round trips per slow one, in units of 2⁻¹⁶.
    let trips = (slow.srtt.as_nanos() << 16)
        .checked_div(fast.srtt.as_nanos())
        .unwrap_or(1 << 16)
        .clamp(1 << 16, 1 << 32);
    let growth = (trips - (1 << 16)) / 2;
    let window = (u128::from(fast.cwnd) << 16) + growth;
    let bytes = u128::from(fast.mss.get()).saturating_mul(window.saturating_mul(trips) >> 32);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

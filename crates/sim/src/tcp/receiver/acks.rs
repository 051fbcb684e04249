//! When to acknowledge.

use units::{Duration, Instant};

/// Longest delay of an ACK (`TCP_DELACK_MIN`).
const DELAY: Duration = Duration::from_millis(40);
/// Number of ACKs that leave at once at the start (`TCP_MAX_QUICKACKS`).
const QUICK: u8 = 16;
/// Number of them after a mark.
const QUICK_AFTER_MARK: u8 = 2;

/// State of delayed ACKs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acks {
    /// ACKs that still leave at once.
    quick: u8,
    /// Whether a segment has arrived whose ACK is delayed.
    waits: bool,
    now: bool,
    at: Option<Instant>,
}

impl Default for Acks {
    fn default() -> Self {
        Self {
            quick: QUICK,
            waits: false,
            now: false,
            at: None,
        }
    }
}

impl Acks {
    /// A segment has arrived in order. `early`: others behind a hole wait.
    pub(super) fn in_order(&mut self, now: Instant, early: bool) {
        if self.waits || early || self.quick > 0 {
            self.now = true;
        } else {
            self.waits = true;
            self.at = Some(now + DELAY);
        }
    }

    /// The next ACK leaves at once.
    pub(super) const fn at_once(&mut self) {
        self.now = true;
    }

    /// The next ACKs leave at once.
    pub(super) fn quick(&mut self) {
        self.quick = self.quick.max(QUICK_AFTER_MARK);
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.now || self.at.is_some_and(|at| at <= now)
    }

    pub(super) const fn due_at(&self) -> Option<Instant> {
        self.at
    }

    /// Records that an ACK has left.
    pub(super) const fn sent(&mut self) {
        if self.now || self.waits {
            self.quick = self.quick.saturating_sub(1);
        }
        (self.waits, self.now, self.at) = (false, false, None);
    }
}

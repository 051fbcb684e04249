//! What models of senders in virtual time have in common.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens when; of two things at one time the one that was told first.
pub struct Agenda<T, E> {
    events: BinaryHeap<Reverse<(T, u64, E)>>,
    told: u64,
}

impl<T: Ord, E: Ord> Agenda<T, E> {
    pub fn new() -> Self {
        Self {
            events: BinaryHeap::new(),
            told: 0,
        }
    }

    pub fn at(&mut self, time: T, event: E) {
        self.told += 1;
        self.events.push(Reverse((time, self.told, event)));
    }

    pub fn take(&mut self) -> Option<(T, E)> {
        let Reverse((time, _, event)) = self.events.pop()?;
        Some((time, event))
    }
}

/// While a loss is repaired: proportional rate reduction (RFC 6937).
pub struct Repair {
    in_flight: u32,
    delivered: u32,
    sent: u32,
}

impl Repair {
    /// Of a sender with this window before the loss.
    pub fn new(cwnd: u32) -> Self {
        Self {
            in_flight: cwnd.max(1),
            delivered: 0,
            sent: 0,
        }
    }

    /// How much may go out now that `newly` segments more have arrived; whoever asks sends it.
    pub fn may_send(&mut self, newly: u32, ssthresh: u32, in_flight: u32) -> u32 {
        self.delivered += newly;
        let may = if in_flight > ssthresh {
            let due = u64::from(self.delivered) * u64::from(ssthresh);
            (due.div_ceil(u64::from(self.in_flight)) as u32).saturating_sub(self.sent)
        } else {
            let behind = self.delivered.saturating_sub(self.sent).max(newly) + 1;
            (ssthresh - in_flight).min(behind)
        };
        let may = if self.sent == 0 { may.max(1) } else { may };
        self.sent += may;
        may
    }
}

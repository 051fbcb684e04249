//! Sending end of a connection's data: what is written, assigned, acknowledged, and what is to be assigned
//! again.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c` (`__mptcp_push_pending`, `__mptcp_clean_una`,
//!   `__mptcp_retransmit_pending_data`: everything that is not acknowledged is assigned again, from the
//!   start), `net/mptcp/options.c` (`ack_update_msk`: the window's end never moves back).
//!
//! # Checked by
//! `tests` below, `tests/hosts.rs`.

/// Data from the application to the subflows.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// First byte that the peer has not acknowledged.
    first: u64,
    /// First byte that was never assigned.
    next: u64,
    written: u64,
    is_finished: bool,
    data_fin: DataFin,
    window_end: u64,
    /// Bytes to be assigned again, before new ones.
    again: Option<(u64, u64)>,
}

/// Progress of DATA_FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum DataFin {
    #[default]
    Unsent,
    Sent,
    Acknowledged,
}

impl Outgoing {
    /// Takes bytes that the application writes.
    pub(super) fn write(&mut self, bytes: u64) {
        debug_assert!(!self.is_finished, "written after the end");
        self.written += bytes;
    }

    pub(super) const fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Where the data ends, once the application has finished.
    pub(super) fn end(&self) -> Option<u64> {
        self.is_finished.then_some(self.written)
    }

    /// Whether the application has finished, and the peer has everything and, with MPTCP, knows that it does.
    pub(super) fn is_done(&self, mptcp: bool) -> bool {
        let knows = !mptcp || self.data_fin == DataFin::Acknowledged;
        self.is_finished && self.first == self.written && knows
    }

    /// Ends the data with DATA_FIN, once the application has finished and all data is assigned. Returns
    /// whether that happens now.
    pub(super) fn end_data(&mut self) -> bool {
        let ends = self.is_finished && self.data_fin == DataFin::Unsent && self.unassigned() == 0;
        if ends {
            self.data_fin = DataFin::Sent;
        }
        ends
    }

    /// Where the data ends, while DATA_FIN is sent and not acknowledged.
    pub(super) fn data_fin(&self) -> Option<u64> {
        (self.data_fin == DataFin::Sent).then_some(self.written)
    }

    /// Whether data or DATA_FIN was sent that is not acknowledged.
    pub(super) fn is_outstanding(&self) -> bool {
        self.unacknowledged() > 0 || self.data_fin == DataFin::Sent
    }

    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// Bytes that the peer has not acknowledged, assigned or not.
    pub(super) const fn backlog(&self) -> u64 {
        self.written - self.first
    }

    /// Bytes that were assigned and are not acknowledged.
    pub(super) const fn unacknowledged(&self) -> u64 {
        self.next - self.first
    }

    /// Bytes that have been written and not assigned, those to be reinjected included.
    pub(super) fn unassigned(&self) -> u64 {
        let again = self.again.map_or(0, |(from, until)| until - from);
        again + self.written - self.next
    }

    /// Bytes that the peer's window allows to be assigned.
    pub(super) fn window_left(&self) -> u64 {
        let position = self.again.map_or(self.next, |(from, _)| from);
        self.window_end.saturating_sub(position)
    }

    /// Assigns up to `most` bytes: their first, and how many.
    pub(super) fn assign(&mut self, most: u64) -> (u64, u64) {
        if let Some((from, until)) = self.again {
            let bytes = most.min(until - from);
            self.again = (from + bytes < until).then_some((from + bytes, until));
            return (from, bytes);
        }
        let from = self.next;
        let bytes = most.min(self.written - from);
        self.next += bytes;
        (from, bytes)
    }

    /// The peer expects this byte next, and has this window. Returns whether that is progress.
    pub(super) fn acknowledge(&mut self, data_ack: u64, window: u64) -> bool {
        let ends = data_ack == self.written + 1 && self.data_fin != DataFin::Unsent;
        if data_ack > self.next && !ends {
            return false;
        }
        self.window_end = self.window_end.max(data_ack + window);
        let is_news = ends && self.data_fin == DataFin::Sent;
        if is_news {
            self.data_fin = DataFin::Acknowledged;
        }
        let data_ack = data_ack.min(self.next);
        if data_ack <= self.first {
            return is_news;
        }
        self.first = data_ack;
        if let Some((from, until)) = self.again {
            let from = from.max(data_ack);
            self.again = (from < until).then_some((from, until));
        }
        true
    }

    /// Everything that is not acknowledged is assigned again.
    pub(super) fn reinject_all(&mut self) {
        self.again = (self.first < self.next).then_some((self.first, self.next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_acknowledged_is_assigned_again_before_new_data() {
        let mut outgoing = Outgoing::default();
        outgoing.write(100);
        outgoing.acknowledge(0, 80);
        assert_eq!((outgoing.unassigned(), outgoing.window_left()), (100, 80));
        assert_eq!(outgoing.assign(60), (0, 60));
        assert!(outgoing.acknowledge(20, 60));
        outgoing.reinject_all();
        assert_eq!((outgoing.unassigned(), outgoing.window_left()), (80, 60));
        assert_eq!(outgoing.assign(10), (20, 10));
        // An ACK of what was to be assigned again shortens it.
        assert!(outgoing.acknowledge(45, 0));
        assert_eq!(outgoing.assign(100), (45, 15));
        assert_eq!(outgoing.assign(100), (60, 40));
        assert_eq!(outgoing.unassigned(), 0);
        outgoing.finish();
        assert!(!outgoing.acknowledge(101, 0), "never assigned");
        assert!(outgoing.acknowledge(100, 0) && outgoing.is_done(false));
        assert!(!outgoing.is_done(true) && outgoing.end_data() && !outgoing.end_data());
        assert_eq!(outgoing.data_fin(), Some(100));
        assert!(outgoing.acknowledge(101, 0) && outgoing.is_done(true));
        assert!(!outgoing.is_outstanding() && outgoing.data_fin().is_none());
        assert!(!outgoing.acknowledge(101, 0), "nothing new");
    }
}

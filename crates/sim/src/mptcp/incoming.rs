//! Receiving end of a connection's data: reassembly from all subflows, and the receive window.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c` (`__mptcp_move_skb`, `mptcp_data_queue_ofo`,
//!   `mptcp_rcv_space_adjust`), `net/ipv4/tcp_input.c` (`tcp_rcvbuf_grow`), `net/mptcp/options.c`
//!   (`mptcp_set_rwin`).
//! - `bpf/window.bpf.c` and `docs/window.md` for a cap.
//!
//! # Where we differ, and why
//! 1. An application reads at once, so the window closes for bytes that are out of order only. A relay reads
//!    what it can pass on, and the window closes for the rest, too.
//! 2. A buffer's memory is a fixed multiple of its window. Linux measures it for each packet.
//!
//! # Checked by
//! `tests` below.

use super::config::ReceiveBuffer;
use policy::Ahead;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// Window at the start of a connection with autotuning.
const FIRST_WINDOW: u64 = 65_535;
/// Bytes of the first RTT, from which autotuning starts: ten segments.
const FIRST_SPACE: u64 = 14_480;

/// Data that has arrived.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Next byte in order.
    next: u64,
    /// The first byte that is not read. `None`: the application reads at once.
    read: Option<u64>,
    /// Ranges of bytes behind it that have arrived, in order, not adjacent.
    ranges: VecDeque<(u64, u64)>,
    /// Bytes in these ranges.
    held: u64,
    /// Where the peer's data ends, once it says so.
    end: Option<u64>,
    /// Whether everything up to there had arrived when [`Incoming::take_end`] was last called.
    was_over: bool,
    most: u64,
    window: u64,
    cap: Option<Ahead>,
    /// Autotuning: bytes of the best RTT, where the present RTT began, and when.
    space: u64,
    from: u64,
    since: Instant,
}

impl Incoming {
    pub(super) fn new(buffer: ReceiveBuffer) -> Self {
        let most = buffer.most();
        let window = match buffer {
            ReceiveBuffer::Autotuned(_) => most.min(FIRST_WINDOW),
            ReceiveBuffer::Window(_) => most,
        };
        Self {
            next: 0,
            read: None,
            ranges: VecDeque::new(),
            held: 0,
            end: None,
            was_over: false,
            most,
            window,
            cap: None,
            space: FIRST_SPACE,
            from: 0,
            since: Instant::ZERO,
        }
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) const fn held(&self) -> u64 {
        self.held
    }

    /// From now on bytes wait until they are read.
    pub(super) const fn hold_back(&mut self) {
        if self.read.is_none() {
            self.read = Some(self.next);
        }
    }

    /// Bytes in order that are not read.
    pub(super) fn unread(&self) -> u64 {
        self.read.map_or(0, |read| self.next - read)
    }

    /// Reads bytes that waited. Returns whether the peer must learn that the window is open again.
    pub(super) fn consume(&mut self, bytes: u64) -> bool {
        let half = self.window / 2;
        let before = self.unread();
        debug_assert!(bytes <= before, "reads {bytes} of {before} bytes");
        if let Some(read) = &mut self.read {
            *read += bytes;
        }
        before >= half && self.unread() < half
    }

    /// Whether all data of the peer has arrived, and there will be no more.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.next >= end)
    }

    /// Whether the end has been reached since the last call.
    pub(super) fn take_end(&mut self) -> bool {
        let is_new = !self.was_over && self.is_over();
        self.was_over |= is_new;
        is_new
    }

    /// Data ACK. DATA_FIN takes the number behind the last byte.
    pub(super) fn data_ack(&self, mptcp: bool) -> u64 {
        self.next + u64::from(mptcp && self.is_over())
    }

    pub(super) fn ends_at(&mut self, end: u64) {
        self.end = Some(end);
    }

    /// Receive window from the next byte on.
    pub(super) fn window(&self) -> u64 {
        let cap = self.cap.map_or(u64::MAX, |cap| {
            let allowed = if self.held > 0 { cap.window } else { cap.usual() };
            allowed.get()
        });
        self.window.min(cap).saturating_sub(self.unread())
    }

    pub(super) const fn cap(&mut self, cap: Option<Ahead>) {
        self.cap = cap;
    }

    /// Takes bytes that are in order on their subflow. Returns whether they filled a hole.
    pub(super) fn take(&mut self, data: u64, bytes: u64) -> bool {
        let until = data + bytes;
        if until <= self.next {
            return false;
        }
        if data > self.next {
            self.hold(data, until);
            return false;
        }
        self.next = until;
        let mut filled = false;
        while let Some((from, until)) = self.ranges.pop_front_if(|range| range.0 <= self.next) {
            self.held -= until - from;
            self.next = self.next.max(until);
            filled = true;
        }
        if filled && self.ranges.is_empty() && self.ranges.capacity() > 16 {
            self.ranges = VecDeque::new();
        }
        filled
    }

    /// Keeps bytes behind a hole.
    fn hold(&mut self, mut from: u64, mut until: u64) {
        // The first range that ends at or behind `from`, and the first that begins behind `until`.
        let first = self.ranges.partition_point(|&(_, end)| end < from);
        let behind = self.ranges.partition_point(|&(start, _)| start <= until);
        for at in first..behind {
            let (start, end) = self.ranges[at];
            self.held -= end - start;
            (from, until) = (from.min(start), until.max(end));
        }
        self.held += until - from;
        if first < behind {
            self.ranges[first] = (from, until);
            if behind - first > 1 {
                self.ranges.drain(first + 1..behind);
            }
        } else {
            self.ranges.insert(first, (from, until));
        }
    }

    /// Lets the window grow. `rtt`: the longest of the subflows, as measured on the peer's data.
    pub(super) fn tune(&mut self, now: Instant, rtt: Duration) {
        if rtt.is_zero() || now - self.since < rtt {
            return;
        }
        let read = self.read.unwrap_or(self.next);
        let copied = read - self.from;
        if copied > self.space && self.window < self.most {
            let double = copied * 2;
            let more = u128::from(double) * u128::from(copied - self.space) / u128::from(self.space.max(1));
            let early = self.ranges.back().map_or(0, |&(_, until)| until - self.next);
            let wanted = double + 2 * more as u64 + early;
            self.window = self.window.max(wanted.min(self.most));
        }
        self.space = self.space.max(copied);
        self.from = read;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Rng};

    fn incoming() -> Incoming {
        Incoming::new(ReceiveBuffer::Window(Bytes::from_kib(64)))
    }

    #[test]
    fn any_order_with_repeats_and_overlaps_is_reassembled() {
        let mut random = Rng::named(1, "reassembly");
        for _ in 0..200 {
            let mut incoming = incoming();
            let mut seen = [false; 300];
            while incoming.next() < 280 {
                let data = random.below(280);
                let bytes = 1 + random.below(20);
                let before = incoming.held();
                let filled = incoming.take(data, bytes);
                (data..data + bytes).for_each(|byte| seen[byte as usize] = true);
                let next = seen.iter().position(|&seen| !seen).unwrap() as u64;
                assert_eq!(incoming.next(), next);
                let held = seen[next as usize..].iter().filter(|&&seen| seen).count() as u64;
                assert_eq!(incoming.held(), held);
                assert!(!filled || before > held, "{before}, {held}");
            }
        }
    }

    #[test]
    fn unread_bytes_close_the_window_and_reading_opens_it_again() {
        let mut incoming = incoming();
        let most = incoming.window();
        incoming.hold_back();
        incoming.take(0, most);
        assert_eq!((incoming.window(), incoming.unread()), (0, most));
        assert!(!incoming.consume(most / 2 - 1), "less than half of it is open");
        assert!(incoming.consume(2), "half of it is");
        assert!(!incoming.consume(100), "the peer knows that");
        assert_eq!(incoming.window(), most / 2 + 101);
    }

    #[test]
    fn the_window_follows_the_rate_up_to_its_limit() {
        let rtt = Duration::from_millis(50);
        let mut incoming = Incoming::new(ReceiveBuffer::Autotuned(Bytes::new(1_000_000)));
        assert_eq!(incoming.window(), 65_535);
        let mut now = Instant::ZERO;
        for bytes in [14_480, 28_960, 57_920] {
            now += rtt;
            incoming.take(incoming.next(), bytes);
            incoming.tune(now, rtt);
        }
        // Twice what came, and twice the growth of it.
        assert_eq!(incoming.window(), 57_920 * 6);
        now += rtt;
        incoming.take(incoming.next(), 1_000_000);
        incoming.tune(now, rtt);
        assert_eq!(incoming.window(), 600_000);
        let (window, missed) = (Bytes::new(300_000), Bytes::new(100_000));
        incoming.cap(Some(Ahead { window, missed }));
        assert_eq!(incoming.window(), 200_000);
        incoming.take(incoming.next() + 1, 10);
        assert_eq!(incoming.window(), 300_000, "room for what is behind a loss");
    }
}

//! Applications with a clock of their own: sources of a fixed rate, and requests on a schedule.
//!
//! # Where we differ, and why
//! 1. A source of a fixed rate writes every 10 ms what has become due.
//! 2. The schedule of requests stays fixed, as in the lab: a request that is due while the last one is
//!    unanswered is written as soon as that is answered.
//!
//! # Checked by
//! `tests` below.

use crate::mptcp::Connection;
use units::{Bitrate, Duration, Instant};

/// Interval at which a source of a fixed rate writes.
const INTERVAL: Duration = Duration::from_millis(10);

/// A source that offers data at a fixed rate.
#[derive(Debug, Clone, Copy)]
pub struct Limited {
    rate: Bitrate,
    /// Bytes to write. `None`: without end.
    bytes: Option<u64>,
    began: Option<Instant>,
    written: u64,
}

impl Limited {
    /// A source that writes this many bytes, or without end, once its connection is open.
    pub const fn new(rate: Bitrate, bytes: Option<u64>) -> Self {
        Self {
            rate,
            bytes,
            began: None,
            written: 0,
        }
    }

    /// Bytes that have become due and are not written.
    fn due(&mut self, now: Instant) -> u64 {
        let began = *self.began.get_or_insert(now);
        let offered = (self.rate * now.since(began)).get();
        offered.min(self.bytes.unwrap_or(u64::MAX)) - self.written
    }

    pub(super) fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Instant> {
        if !connection.is_open() {
            return None;
        }
        let due = self.due(now);
        self.written += connection.write(due);
        if self.bytes == Some(self.written) {
            connection.finish_once();
            return None;
        }
        Some(now + INTERVAL)
    }
}

/// Requests on a schedule, one at a time.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    every: Duration,
    request: u64,
    reply: u64,
    due: Option<Instant>,
    asked: u64,
    answered: u64,
    /// Bytes of the present request that are not written.
    left: u64,
}

impl Schedule {
    /// A request of `request` bytes per interval, each answered with `reply` bytes.
    pub fn new(every: Duration, request: u64, reply: u64) -> Self {
        Self {
            every,
            request: request.max(1),
            reply: reply.max(1),
            due: None,
            asked: 0,
            answered: 0,
            left: 0,
        }
    }

    /// When the latest answered request was due. Without one: the beginning of the run.
    pub fn answered_from(&self) -> Instant {
        match self.latest() {
            Some(latest) if self.answered == self.asked => latest,
            Some(latest) if self.answered > 0 => latest - self.every,
            _ => Instant::ZERO,
        }
    }

    /// When the latest request was due. Each is due an interval before the next.
    fn latest(&self) -> Option<Instant> {
        let due = self.due.filter(|_| self.asked > 0)?;
        Some(due - self.every)
    }

    /// When each request was due that is unanswered at the end of the run: the present one, and those that
    /// wait behind it.
    pub fn unanswered(&self, end: Instant) -> impl Iterator<Item = Instant> {
        let present = self.latest().filter(|_| self.asked > self.answered);
        let behind = self.due.filter(|_| present.is_some());
        let behind = std::iter::successors(behind, |&due| Some(due + self.every));
        present
            .into_iter()
            .chain(behind)
            .take_while(move |&due| due < end)
    }

    /// Requests written so far, or begun.
    pub const fn asked(&self) -> u64 {
        self.asked
    }

    /// Requests whose reply is complete.
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// Takes note of what has been read, and begins a request that is due. Returns when the next one is due.
    fn advance(&mut self, now: Instant, read: u64) -> Option<Instant> {
        let due = *self.due.get_or_insert(now);
        self.answered = (read / self.reply).min(self.asked);
        if self.answered == self.asked && due <= now {
            self.asked += 1;
            self.left += self.request;
            self.due = Some(due + self.every);
        }
        self.due.filter(|_| self.answered == self.asked)
    }

    pub(super) fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Instant> {
        if !connection.is_open() {
            return None;
        }
        let next = self.advance(now, connection.read());
        self.left -= connection.write(self.left);
        next
    }
}

/// The end that answers a [`Schedule`].
#[derive(Debug, Clone, Copy)]
pub struct Replies {
    request: u64,
    reply: u64,
    answered: u64,
    left: u64,
}

impl Replies {
    /// Answers each request of a [`Schedule`] with `reply` bytes.
    pub fn new(request: u64, reply: u64) -> Self {
        Self {
            request: request.max(1),
            reply: reply.max(1),
            answered: 0,
            left: 0,
        }
    }

    pub(super) fn run(&mut self, connection: &mut Connection) {
        let complete = connection.read() / self.request;
        self.left += (complete - self.answered) * self.reply;
        self.answered = complete;
        self.left -= connection.write(self.left);
        if self.left == 0 && connection.is_at_end() {
            connection.finish_once();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_offers_its_rate_and_no_more_than_its_bytes() {
        let mut source = Limited::new(Bitrate::from_mbps(8), Some(25_000));
        assert_eq!(source.due(Instant::from_secs(3)), 0);
        assert_eq!(source.due(Instant::from_millis(3_010)), 10_000);
        source.written = 10_000;
        assert_eq!(source.due(Instant::from_millis(3_015)), 5_000);
        assert_eq!(source.due(Instant::from_secs(9)), 15_000);
    }

    #[test]
    fn a_request_waits_for_the_reply_to_the_last_one_and_the_schedule_stays() {
        let mut schedule = Schedule::new(Duration::from_millis(200), 100, 1_000);
        let at = |ms| Some(Instant::from_millis(ms));
        assert_eq!(schedule.advance(Instant::from_millis(50), 0), None);
        assert_eq!((schedule.asked(), schedule.left), (1, 100));
        assert_eq!(schedule.advance(Instant::from_millis(400), 999), None);
        assert_eq!((schedule.asked(), schedule.answered()), (1, 0));
        let due = |schedule: &Schedule| -> Vec<u128> {
            let due = schedule.unanswered(Instant::from_millis(490));
            due.map(|due| due.since(Instant::ZERO).as_millis()).collect()
        };
        assert_eq!(due(&schedule), [50, 250, 450]);
        assert_eq!(schedule.advance(Instant::from_millis(500), 1_000), None);
        assert_eq!(schedule.answered_from(), Instant::from_millis(50));
        assert_eq!(
            (schedule.asked(), schedule.answered()),
            (2, 1),
            "it was due at 250 ms"
        );
        assert_eq!(schedule.advance(Instant::from_millis(510), 2_000), None);
        assert_eq!(
            (schedule.asked(), schedule.answered()),
            (3, 2),
            "it was due at 450 ms"
        );
        assert_eq!(schedule.advance(Instant::from_millis(520), 3_000), at(650));
        assert_eq!(schedule.answered_from(), Instant::from_millis(450));
        assert_eq!(due(&schedule), []);
    }
}

//! Byte ranges of a file, which one end requests and the other sends.
//!
//! Data has no content here. So the world tells both ends what the next request is about.
//!
//! # Checked by
//! `tests/blocks.rs`.

use crate::mptcp::Connection;
use std::collections::VecDeque;

/// Bytes of a request: a usual one over HTTP.
const REQUEST: u64 = 500;

/// The end that requests ranges.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fetch {
    /// Bytes of requests that are not written.
    left: u64,
}

impl Fetch {
    /// Requests another range.
    pub const fn request(&mut self) {
        self.left += REQUEST;
    }

    pub(super) fn run(&mut self, connection: &mut Connection) {
        self.left -= connection.write(self.left);
    }
}

/// The end that sends them.
#[derive(Debug, Clone, Default)]
pub struct Ranges {
    /// Bytes of each range whose request has not arrived.
    requested: VecDeque<u64>,
    answered: u64,
    /// Bytes that are not written.
    left: u64,
}

impl Ranges {
    /// The next request is about this many bytes.
    pub fn expect(&mut self, bytes: u64) {
        self.requested.push_back(bytes);
    }

    pub(super) fn run(&mut self, connection: &mut Connection) {
        let complete = connection.read() / REQUEST;
        while self.answered < complete {
            self.left += self.requested.pop_front().unwrap_or(0);
            self.answered += 1;
        }
        self.left -= connection.write(self.left);
        if self.left == 0 && connection.is_at_end() {
            connection.finish_once();
        }
    }
}

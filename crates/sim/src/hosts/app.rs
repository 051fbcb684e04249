//! Applications: what is written when, and what is measured of what is read.
//!
//! Both ends of a connection know the plan. The side that sends objects knows by the bytes that it has read
//! which one is requested.
//!
//! # Checked by
//! `tests/hosts.rs`.

use super::paced::{Limited, Replies, Schedule};
use super::ranges::{Fetch, Ranges};
use crate::mptcp::Connection;
use std::sync::Arc;
use units::{Duration, Instant};

/// Application at one end of a connection.
#[derive(Debug, Clone)]
pub enum App {
    /// Reads.
    Sink,
    /// Writes without end.
    Bulk,
    /// Writes this many bytes, then finishes.
    Object(u64),
    /// Writes in turns.
    OnOff(OnOff),
    /// Writes at a fixed rate.
    Limited(Limited),
    /// Sends requests on a schedule.
    Schedule(Schedule),
    /// Answers requests of a schedule.
    Replies(Replies),
    /// Requests objects, one after the other.
    Requests(Box<Exchange>),
    /// Answers requests.
    Answers(Box<Exchange>),
    /// Requests byte ranges.
    Fetch(Fetch),
    /// Sends byte ranges.
    Ranges(Ranges),
    /// Asks a relay first.
    Convert(Box<Convert>),
    /// Nothing by itself: a relay reads and writes.
    Carried,
}

/// An application whose agent asks a relay for the connection to its server (RFC 8803).
#[derive(Debug, Clone)]
pub struct Convert {
    application: App,
    is_asked: bool,
    is_confirmed: bool,
}

impl Convert {
    /// Bytes of a request: header, Connect and Cookie.
    pub const REQUEST: u64 = 68;
    /// Bytes of a reply without TLVs. The report that a server speaks MPTCP takes 16 more.
    pub const REPLY: u64 = 4;

    /// Runs this application once the relay has confirmed.
    pub const fn new(application: App) -> Self {
        Self {
            application,
            is_asked: false,
            is_confirmed: false,
        }
    }

    fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Instant> {
        if !self.is_asked && connection.is_open() {
            connection.write(Self::REQUEST);
            self.is_asked = true;
        }
        if !self.is_confirmed && connection.read() < Self::REPLY {
            return None;
        }
        if !self.is_confirmed {
            connection.skip(Self::REPLY);
            self.is_confirmed = true;
        }
        self.application.run(now, connection)
    }
}

/// A source that is on and off in turns.
#[derive(Debug, Clone, Copy)]
pub struct OnOff {
    turns: scenario::OnOff,
    /// When the first turn began.
    began: Option<Instant>,
    is_on: bool,
    written: u64,
}

impl OnOff {
    /// A source that begins with writing.
    pub const fn new(turns: scenario::OnOff) -> Self {
        Self {
            turns,
            began: None,
            is_on: false,
            written: 0,
        }
    }

    /// Bytes written so far.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Whether the present turn is one of writing.
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Writes what it can if it is on. Returns when the present turn ends.
    fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Instant> {
        if !connection.is_open() {
            return None;
        }
        let began = *self.began.get_or_insert(now);
        let (is_on, left) = self.turns.at(now.since(began));
        self.is_on = is_on;
        if is_on {
            self.written += connection.write(u64::MAX);
        }
        Some(now + left)
    }
}

/// A finished request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Size of the object.
    pub bytes: u64,
    /// When it was requested.
    pub from: Instant,
    /// When all of it had been read.
    pub until: Instant,
}

/// Objects that one end requests and the other sends.
#[derive(Debug, Clone)]
pub struct Exchange {
    sizes: Arc<[u64]>,
    request: u64,
    think: Duration,
    /// Objects that are done, and the bytes that had to be read for them.
    done: usize,
    threshold: u64,
    began: Option<Instant>,
    resumes: Instant,
    /// Bytes of the present object or request that are not written.
    left: u64,
    transfers: Vec<Transfer>,
}

impl Exchange {
    /// Objects of these sizes, each requested with `request` bytes, `think` after the last one.
    pub fn new(sizes: Arc<[u64]>, request: u64, think: Duration) -> Self {
        Self {
            sizes,
            request: request.max(1),
            think,
            done: 0,
            threshold: 0,
            began: None,
            resumes: Instant::ZERO,
            left: 0,
            transfers: Vec::new(),
        }
    }

    /// Finished requests, at the end that makes them.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    fn request(&mut self, now: Instant, connection: &mut Connection) -> Option<Instant> {
        if let Some(from) = self.began {
            if connection.read() < self.threshold {
                return self.write(connection);
            }
            let bytes = self.sizes[self.done];
            self.transfers.push(Transfer {
                bytes,
                from,
                until: now,
            });
            self.began = None;
            self.done += 1;
            self.resumes = now + self.think;
        }
        let Some(&bytes) = self.sizes.get(self.done) else {
            connection.finish_once();
            return None;
        };
        if !connection.is_open() || now < self.resumes {
            return (now < self.resumes).then_some(self.resumes);
        }
        self.began = Some(now);
        self.threshold += bytes;
        self.left = self.request;
        self.write(connection)
    }

    fn answer(&mut self, connection: &mut Connection) -> Option<Instant> {
        while self.done < self.sizes.len() && connection.read() >= self.threshold + self.request {
            self.threshold += self.request;
            self.left += self.sizes[self.done];
            self.done += 1;
        }
        if self.left == 0 && connection.is_at_end() {
            connection.finish_once();
        }
        self.write(connection)
    }

    fn write(&mut self, connection: &mut Connection) -> Option<Instant> {
        if self.left > 0 {
            self.left -= connection.write(self.left);
        }
        None
    }
}

impl App {
    /// Reads and writes what it can. Returns when it wants to be called again whatever happens.
    pub(super) fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Instant> {
        match self {
            Self::Sink => {
                if connection.is_at_end() {
                    connection.finish_once();
                }
                None
            }
            Self::Bulk => {
                connection.write(u64::MAX);
                None
            }
            Self::Object(left) => {
                *left -= connection.write(*left);
                if *left == 0 {
                    connection.finish_once();
                }
                None
            }
            Self::OnOff(source) => source.run(now, connection),
            Self::Limited(source) => source.run(now, connection),
            Self::Schedule(schedule) => schedule.run(now, connection),
            Self::Replies(replies) => {
                replies.run(connection);
                None
            }
            Self::Requests(exchange) => exchange.request(now, connection),
            Self::Answers(exchange) => exchange.answer(connection),
            Self::Fetch(fetch) => {
                fetch.run(connection);
                None
            }
            Self::Ranges(ranges) => {
                ranges.run(connection);
                None
            }
            Self::Convert(convert) => convert.run(now, connection),
            Self::Carried => None,
        }
    }

    /// Requests another byte range, if it is [`App::Fetch`].
    pub const fn request_range(&mut self) {
        if let Self::Fetch(fetch) = self {
            fetch.request();
        }
    }

    /// Takes note of the bytes that the next request is about, if it is [`App::Ranges`].
    pub fn expect_request(&mut self, bytes: u64) {
        if let Self::Ranges(ranges) = self {
            ranges.expect(bytes);
        }
    }

    /// The application itself, also behind an agent.
    pub fn own(&self) -> &Self {
        match self {
            Self::Convert(convert) => convert.application.own(),
            own => own,
        }
    }

    /// Finished requests. Empty unless the application makes requests.
    pub fn transfers(&self) -> &[Transfer] {
        match self {
            Self::Requests(exchange) => exchange.transfers(),
            _ => &[],
        }
    }
}

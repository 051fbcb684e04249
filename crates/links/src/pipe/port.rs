//! One direction of a bottleneck: a queue, served at a rate or by a trace.
//!
//! The driver calls [`Port::serve`] at the time of [`Port::due`], until it returns nothing.

use alloc::boxed::Box;
use units::{Bitrate, Bytes, Duration, Instant};

use super::holes::Holes;
use super::opportunities::{OPPORTUNITY, Opportunities};
use crate::config::{CellRate, QueueConfig};
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry, Queue};
use crate::{DropReason, LinkId};

#[derive(Debug)]
pub(crate) struct Port {
    queue: Queue,
    server: Server,
    holes: Holes,
}

#[derive(Debug)]
enum Server {
    Rate(RateServer),
    Trace(Box<TraceServer>),
}

/// Serves one packet at a time, bit by bit.
#[derive(Debug)]
struct RateServer {
    rate: Bitrate,
    job: Option<Job>,
}

#[derive(Debug)]
struct Job {
    entry: Entry,
    since: Instant,
    /// Remaining bits at `since`, × 10⁹.
    left: u128,
    done: Option<Instant>,
}

/// Serves as many bytes as fit into each opportunity.
#[derive(Debug)]
struct TraceServer {
    opportunities: Opportunities,
    /// A packet in service, and how many of its bytes remain.
    partial: Option<(Entry, u32)>,
    /// The opportunity in use, and its remaining bytes.
    current: Option<(Instant, u32)>,
}

impl Port {
    /// A bottleneck of constant rate.
    pub(crate) fn at_rate(rate: Bitrate, rtt: Duration, queue: QueueConfig) -> Self {
        Self::cellular(
            &CellRate::Constant(rate),
            rtt,
            queue,
            Holes::new(&crate::config::Holes::default()),
        )
    }

    /// A bottleneck with holes in its coverage.
    pub(crate) fn cellular(rate: &CellRate, rtt: Duration, queue: QueueConfig, holes: Holes) -> Self {
        let (mean, server) = match rate {
            CellRate::Constant(rate) => (
                *rate,
                Server::Rate(RateServer {
                    rate: *rate,
                    job: None,
                }),
            ),
            CellRate::Trace(times) => {
                let opportunities = Opportunities::new(times);
                (
                    opportunities.mean(),
                    Server::Trace(Box::new(TraceServer::new(opportunities))),
                )
            }
        };
        Self {
            queue: Queue::new(queue, mean, rtt),
            server,
            holes,
        }
    }

    /// The queued packets, without the one in service.
    pub(crate) fn depth(&self) -> Depth {
        self.queue.depth()
    }

    /// Whether a packet of this many bytes would be accepted.
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        !self.queue.is_full_for(bytes)
    }

    pub(crate) fn push(&mut self, now: Instant, entry: Entry, exits: &mut Exits) {
        self.queue.push(now, entry, exits);
        match &mut self.server {
            Server::Rate(server) => server.start(now, &mut self.queue, &self.holes, exits),
            Server::Trace(server) => server.wake(now),
        }
    }

    /// When it is due next.
    pub(crate) fn due(&self) -> Option<Instant> {
        match &self.server {
            Server::Rate(server) => server.job.as_ref()?.done,
            Server::Trace(server) => server.due(&self.queue, &self.holes),
        }
    }

    /// The next packet whose last bit leaves at `now`.
    pub(crate) fn serve(&mut self, now: Instant, exits: &mut Exits) -> Option<Entry> {
        match &mut self.server {
            Server::Rate(server) => {
                let job = server
                    .job
                    .take_if(|job| job.done.is_some_and(|done| done <= now))?;
                server.start(now, &mut self.queue, &self.holes, exits);
                Some(job.entry)
            }
            Server::Trace(server) => server.serve(now, &mut self.queue, &self.holes, exits),
        }
    }

    /// Continues at another rate. The packet in service keeps the progress it has made. A trace ignores the
    /// new rate.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        if let Server::Rate(server) = &mut self.server {
            server.set_rate(now, rate, &self.holes);
        }
    }

    /// Drops all packets of `link`, including the one in service.
    pub(crate) fn purge(&mut self, now: Instant, link: LinkId, reason: DropReason, exits: &mut Exits) {
        let belongs = |entry: &Entry| entry.packet.link == link;
        let in_service = match &mut self.server {
            Server::Rate(server) => server.job.take_if(|job| belongs(&job.entry)).map(|job| job.entry),
            Server::Trace(server) => server
                .partial
                .take_if(|(entry, _)| belongs(entry))
                .map(|(entry, _)| entry),
        };
        if let Some(entry) = in_service {
            exits.drop(now, entry.packet, reason);
        }
        self.queue.purge(now, link, reason, exits);
        if let Server::Rate(server) = &mut self.server {
            server.start(now, &mut self.queue, &self.holes, exits);
        }
    }
}

impl RateServer {
    fn start(&mut self, now: Instant, queue: &mut Queue, holes: &Holes, exits: &mut Exits) {
        if self.job.is_some() {
            return;
        }
        self.job = queue.pop(now, exits).map(|entry| Job {
            entry,
            since: now,
            left: u128::from(entry.packet.bytes) * 8 * NANOS,
            done: self
                .rate
                .time_for(Bytes::new(entry.packet.bytes.into()))
                .map(|work| holes.finish(now, work)),
        });
    }

    fn set_rate(&mut self, now: Instant, rate: Bitrate, holes: &Holes) {
        let old = u128::from(self.rate.as_bps());
        self.rate = rate;
        let Some(job) = &mut self.job else {
            return;
        };
        let sent = holes.worked(job.since, now).as_nanos() * old;
        job.left = job.left.saturating_sub(sent);
        job.since = now;
        job.done = (rate != Bitrate::ZERO).then(|| {
            let work = job.left.div_ceil(u128::from(rate.as_bps()));
            holes.finish(now, Duration::from_nanos(u64::try_from(work).unwrap_or(u64::MAX)))
        });
    }
}

const NANOS: u128 = 1_000_000_000;

impl TraceServer {
    fn new(opportunities: Opportunities) -> Self {
        Self {
            opportunities,
            partial: None,
            current: None,
        }
    }

    fn is_idle(&self, queue: &Queue) -> bool {
        self.partial.is_none() && queue.is_empty()
    }

    /// Handles an arrival at `now`: earlier opportunities are lost.
    fn wake(&mut self, now: Instant) {
        self.opportunities.skip_to_after(now);
    }

    fn due(&self, queue: &Queue, holes: &Holes) -> Option<Instant> {
        // An opportunity inside a hole is lost. The search for the next one starts at the end of the hole.
        (!self.is_idle(queue)).then(|| holes.out_of(self.opportunities.at()))
    }

    fn serve(&mut self, now: Instant, queue: &mut Queue, holes: &Holes, exits: &mut Exits) -> Option<Entry> {
        while !self.is_idle(queue) {
            let room = match self.current.take() {
                Some((at, room)) if at == now => room,
                _ => self.next_opportunity(now, holes)?,
            };
            let left_over = self.fill(now, room, queue, exits);
            if let Some((entry, room)) = left_over {
                self.current = (room > 0).then_some((now, room));
                return Some(entry);
            }
        }
        None
    }

    fn next_opportunity(&mut self, now: Instant, holes: &Holes) -> Option<u32> {
        let covered = holes.out_of(self.opportunities.at());
        self.opportunities.skip_to(covered);
        (self.opportunities.at() <= now).then(|| {
            self.opportunities.advance();
            OPPORTUNITY
        })
    }

    /// Spends `room` bytes on the packet in service. Returns the packet if it is complete, and the remaining
    /// room.
    fn fill(
        &mut self,
        now: Instant,
        room: u32,
        queue: &mut Queue,
        exits: &mut Exits,
    ) -> Option<(Entry, u32)> {
        let (entry, left) = match self.partial.take() {
            Some(partial) => partial,
            None => queue.pop(now, exits).map(|entry| (entry, entry.packet.bytes))?,
        };
        if left > room {
            self.partial = Some((entry, left - room));
            return None;
        }
        Some((entry, room - left))
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;

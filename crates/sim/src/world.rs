//! One run: the medium, its traffic, and virtual time.
//!
//! The loop follows the contract of `links`: whatever is due first happens next, a deadline of the medium or
//! the next datagram of a flow. Nothing else advances time. A second of a quiet network therefore costs
//! nothing, and one seed gives one run.

use links::air::schedule::Schedule;
use links::air::{
    Air, AirConfig, AirError, Fate, Input, Medium, Output, Overheard, Packet, Stamp, StationId,
};
use units::{Duration, Instant};

use crate::queue::EventQueue;
use crate::times::Delays;
use crate::traffic::{Flow, HEADERS, Pace, Tally, with_flow};

/// Datagrams that a saturated flow keeps at its station: one in transmission and one to follow.
const AHEAD: u32 = 2;
/// The same for a station that aggregates: one window in transmission, and as much to follow.
const AHEAD_OF_AGGREGATES: u32 = 128;

/// Bytes per opportunity of a traced cell, which has no station on the air. As many small datagrams as fit
/// must be available.
const OPPORTUNITY_BYTES: u32 = 1_500;

/// Retry interval of a saturated flow that found the queue full.
const AGAIN: Duration = Duration::from_millis(1);

/// A medium with traffic on it. The medium is the air unless stated otherwise.
#[derive(Debug)]
pub struct World<M = Air> {
    medium: M,
    flows: Vec<Flow>,
    /// Datagrams that each flow keeps at its station if it is saturated.
    ahead: Vec<u32>,
    /// Datagrams of each flow that are there now.
    standing: Vec<u32>,
    /// Flows with a scheduled retry.
    again: Vec<bool>,
    tallies: Vec<Tally>,
    /// Delays of each flow. Empty: not measured.
    delays: Vec<Delays>,
    /// Per flow: time that its datagrams have spent before they reach the medium.
    before: Vec<Duration>,
    /// Flows by the time of their next datagram.
    due: EventQueue<u32>,
    now: Instant,
}

impl World {
    /// An air at its start, with the flows that will use it.
    pub fn new(seed: u64, air: &AirConfig, flows: Vec<Flow>) -> Result<Self, AirError> {
        Self::scheduled(seed, air, flows)
    }
}

impl<S: Schedule> World<Air<S>> {
    /// As [`World::new`], with another data structure for the air's deadlines.
    pub fn scheduled(seed: u64, air: &AirConfig, flows: Vec<Flow>) -> Result<Self, AirError> {
        let medium = Air::scheduled(seed, air)?;
        Ok(Self::on(medium, air, flows))
    }

    /// The air, to read its counters.
    pub const fn air(&self) -> &Air<S> {
        &self.medium
    }

    /// Makes [`World::overheard`] return what a monitor interface of this station would show from now on.
    pub fn monitor(&mut self, station: StationId) {
        self.medium.monitor(station);
    }

    /// Next frame that a monitor has heard. The token of its packet is the number of its flow.
    pub fn overheard(&mut self) -> Option<Overheard> {
        self.medium.poll_overheard().map(with_flow)
    }
}

impl<M: Medium> World<M> {
    /// Any medium at its start, whose stations are those of `air`, with the flows that will use it.
    pub fn on(medium: M, air: &AirConfig, flows: Vec<Flow>) -> Self {
        let ahead = flows.iter().map(|flow| ahead(air, &flows, flow)).collect();
        let mut due = EventQueue::default();
        for (number, flow) in flows.iter().enumerate() {
            due.push(flow.start, number as u32);
        }
        Self {
            medium,
            tallies: vec![Tally::default(); flows.len()],
            delays: Vec::new(),
            before: Vec::new(),
            standing: vec![0; flows.len()],
            again: vec![false; flows.len()],
            flows,
            ahead,
            due,
            now: Instant::ZERO,
        }
    }

    /// Makes each saturated flow keep this many more datagrams in flight to its station.
    pub fn with_under_way(mut self, more: &[u32]) -> Self {
        for (ahead, more) in self.ahead.iter_mut().zip(more) {
            *ahead = ahead.saturating_add(*more);
        }
        self
    }

    /// Measures the one-way delays of all flows. `before`: per flow, the time that its datagrams have spent
    /// before they reach the medium.
    pub(crate) fn measuring_delays(mut self, before: Vec<Duration>) -> Self {
        self.delays = vec![Delays::default(); self.flows.len()];
        self.before = before;
        self
    }

    /// Forgets the delays measured so far.
    pub(crate) fn forget_delays(&mut self) {
        self.delays.iter_mut().for_each(Delays::clear);
    }

    /// Delays of each flow so far. Empty unless they are measured.
    pub(crate) fn delays(&self) -> &[Delays] {
        &self.delays
    }

    /// The medium, to read its counters.
    pub const fn medium(&self) -> &M {
        &self.medium
    }

    /// The medium, to poll its outputs.
    pub const fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// Passes an input to the medium at the current time.
    pub fn handle(&mut self, input: Input) {
        self.medium.handle(self.now, input);
        self.take_outputs();
    }

    /// Results of each flow so far.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Sum of the results of all flows so far.
    pub fn total(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |sum, tally| Tally {
            offered: sum.offered + tally.offered,
            received: sum.received + tally.received,
            payload_bytes: sum.payload_bytes + tally.payload_bytes,
            lost: sum.lost + tally.lost,
        })
    }

    /// Runs for `time`.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let limit = self.due.first().map_or(end, |due| due.min(end));
            self.now = self.medium.advance(limit);
            self.take_outputs();
            while self.due.first().is_some_and(|due| due <= self.now) {
                self.send_due();
            }
        }
    }

    fn send_due(&mut self) {
        let Some((now, number)) = self.due.pop() else {
            return;
        };
        let flow = number as usize;
        match self.flows[flow].pace {
            Pace::Saturated if std::mem::take(&mut self.again[flow]) => {
                self.send(now, number);
                self.grow(now, number);
            }
            Pace::Saturated => (0..self.ahead[flow]).for_each(|_| self.send(now, number)),
            Pace::Constant(interval) => {
                self.send(now, number);
                self.due.push(now + interval, number);
            }
        }
        self.take_outputs();
    }

    fn send(&mut self, now: Instant, number: u32) {
        let flow = &self.flows[number as usize];
        self.tallies[number as usize].offered += 1;
        self.standing[number as usize] += 1;
        let packet = Packet {
            flow: number,
            ..Packet::new(flow.to, flow.payload + HEADERS, Stamp::new(number, now).token())
        };
        self.medium.handle(now, Input::Send(flow.from, packet));
    }

    fn take_outputs(&mut self) {
        while let Some((at, output)) = self.medium.poll_due() {
            match output {
                Output::Received { packet, .. } => self.received(at, packet),
                Output::Done { packet, fate, .. } => self.done(at, Stamp::read(packet.token).flow(), fate),
            }
        }
    }

    fn received(&mut self, now: Instant, packet: Packet) {
        let stamp = Stamp::read(packet.token);
        let flow = stamp.flow() as usize;
        let tally = &mut self.tallies[flow];
        tally.received += 1;
        tally.payload_bytes += u64::from(packet.bytes - HEADERS);
        if let Some(delays) = self.delays.get_mut(flow) {
            delays.record(self.before[flow] + stamp.age(now));
        }
    }

    fn done(&mut self, now: Instant, number: u32, fate: Fate) {
        let flow = number as usize;
        self.standing[flow] -= 1;
        if !matches!(fate, Fate::Acknowledged | Fate::Unknown) {
            self.tallies[flow].lost += 1;
        }
        match (self.flows[flow].pace, fate) {
            (Pace::Constant(_), _) => {}
            (Pace::Saturated, Fate::QueueFull) => self.grow(now, number),
            (Pace::Saturated, _) => self.send(now, number),
        }
    }

    /// Schedules a retry for a saturated flow that found the queue full. Retries send one datagram at a time.
    fn grow(&mut self, now: Instant, number: u32) {
        let flow = number as usize;
        if self.standing[flow] < self.ahead[flow] && !std::mem::replace(&mut self.again[flow], true) {
            self.due.push(now + AGAIN, number);
        }
    }
}

/// Datagrams that a saturated flow keeps at its station. All flows of a station together fit into its queue.
fn ahead(air: &AirConfig, flows: &[Flow], flow: &Flow) -> u32 {
    let Some(station) = air.stations.get(flow.from.0 as usize) else {
        return AHEAD.max(OPPORTUNITY_BYTES.div_ceil(flow.payload + HEADERS) + 1);
    };
    if station.ht.is_none() {
        return AHEAD;
    }
    let sharing = flows.iter().filter(|other| other.from == flow.from).count();
    let room = station.queue / sharing.max(1);
    (room as u32).clamp(AHEAD, AHEAD_OF_AGGREGATES)
}

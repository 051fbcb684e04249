//! One run: the air, its traffic, and virtual time.
//!
//! The loop is the contract of `links`: whatever is due first, the air's next deadline or a flow's next datagram, happens next. Nothing else
//! advances the time, so that a second of a quiet network costs nothing, and one seed gives one run.

use links::air::schedule::Schedule;
use links::air::{Air, AirConfig, AirError, Fate, Input, Medium, Output, Overheard, Packet, StationId};
use units::{Duration, Instant};

use crate::queue::EventQueue;
use crate::traffic::{Flow, HEADERS, Pace, Tally};

/// Datagrams that a saturated flow keeps at its station: one to be tried and one to follow it.
const AHEAD: u32 = 2;
/// The same of a station that aggregates: a window that is being tried, and as many to follow.
const AHEAD_OF_AGGREGATES: u32 = 128;

/// Beyond the stations of the air are cells, whose recordings carry so many bytes at a time: as many small datagrams as fit must be there.
const OPPORTUNITY_BYTES: u32 = 1_500;

/// A saturated flow that found no room tries again after this.
const AGAIN: Duration = Duration::from_millis(1);

/// A medium with traffic on it: the air, unless another is asked for.
#[derive(Debug)]
pub struct World<M = Air> {
    medium: M,
    flows: Vec<Flow>,
    /// Datagrams that each flow keeps at its station, if it is saturated.
    ahead: Vec<u32>,
    /// Datagrams of each that are there now.
    standing: Vec<u32>,
    /// Those that will try again soon.
    again: Vec<bool>,
    tallies: Vec<Tally>,
    /// Flows by when they send next.
    due: EventQueue<u32>,
    now: Instant,
}

impl World {
    /// An air at its start, and the flows that will use it.
    pub fn new(seed: u64, air: &AirConfig, flows: Vec<Flow>) -> Result<Self, AirError> {
        Self::scheduled(seed, air, flows)
    }
}

impl<S: Schedule> World<Air<S>> {
    /// As [`World::new`], with another structure for the air's deadlines.
    pub fn scheduled(seed: u64, air: &AirConfig, flows: Vec<Flow>) -> Result<Self, AirError> {
        let medium = Air::scheduled(seed, air)?;
        Ok(Self::on(medium, air, flows))
    }

    /// The air, to ask it what happened.
    pub const fn air(&self) -> &Air<S> {
        &self.medium
    }

    /// From now on [`World::overheard`] tells what a monitor interface of this station would show.
    pub fn monitor(&mut self, station: StationId) {
        self.medium.monitor(station);
    }

    /// The next frame that a monitor has heard.
    pub fn overheard(&mut self) -> Option<Overheard> {
        self.medium.poll_overheard()
    }
}

impl<M: Medium> World<M> {
    /// Any medium at its start, whose stations are those of `air`, and the flows that will use it.
    pub fn on(medium: M, air: &AirConfig, flows: Vec<Flow>) -> Self {
        let ahead = flows.iter().map(|flow| ahead(air, &flows, flow)).collect();
        let mut due = EventQueue::default();
        for (number, flow) in flows.iter().enumerate() {
            due.push(flow.start, number as u32);
        }
        Self {
            medium,
            tallies: vec![Tally::default(); flows.len()],
            standing: vec![0; flows.len()],
            again: vec![false; flows.len()],
            flows,
            ahead,
            due,
            now: Instant::ZERO,
        }
    }

    /// Saturated flows keep so many datagrams more between them and their stations.
    pub fn with_under_way(mut self, more: &[u32]) -> Self {
        for (ahead, more) in self.ahead.iter_mut().zip(more) {
            *ahead = ahead.saturating_add(*more);
        }
        self
    }

    /// The medium, to ask it what happened.
    pub const fn medium(&self) -> &M {
        &self.medium
    }

    /// The medium, to ask it for what it has to tell.
    pub const fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// Something happens to the medium now.
    pub fn handle(&mut self, input: Input) {
        self.medium.handle(self.now, input);
        self.take_outputs();
    }

    /// What came of each flow so far.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// What came of all flows so far.
    pub fn total(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |sum, tally| Tally {
            offered: sum.offered + tally.offered,
            received: sum.received + tally.received,
            payload_bytes: sum.payload_bytes + tally.payload_bytes,
            lost: sum.lost + tally.lost,
        })
    }

    /// Lets that much time pass.
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
            ..Packet::new(flow.to, flow.payload + HEADERS, number.into())
        };
        self.medium.handle(now, Input::Send(flow.from, packet));
    }

    fn take_outputs(&mut self) {
        while let Some((at, output)) = self.medium.poll_due() {
            match output {
                Output::Received { packet, .. } => {
                    let tally = &mut self.tallies[packet.token as usize];
                    tally.received += 1;
                    tally.payload_bytes += u64::from(packet.bytes - HEADERS);
                }
                Output::Done { packet, fate, .. } => self.done(at, packet.token as u32, fate),
            }
        }
    }

    fn done(&mut self, now: Instant, number: u32, fate: Fate) {
        let flow = number as usize;
        self.standing[flow] -= 1;
        if matches!(fate, Fate::GivenUp | Fate::QueueFull | Fate::Withdrawn) {
            self.tallies[flow].lost += 1;
        }
        match (self.flows[flow].pace, fate) {
            (Pace::Constant(_), _) => {}
            (Pace::Saturated, Fate::QueueFull) => self.grow(now, number),
            (Pace::Saturated, _) => self.send(now, number),
        }
    }

    /// A saturated flow for which there was no room tries again, one datagram at a time.
    fn grow(&mut self, now: Instant, number: u32) {
        let flow = number as usize;
        if self.standing[flow] < self.ahead[flow] && !std::mem::replace(&mut self.again[flow], true) {
            self.due.push(now + AGAIN, number);
        }
    }
}

/// How many datagrams a saturated flow keeps at its station: all of a station's together fit into its queue.
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

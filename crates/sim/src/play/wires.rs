//! Cells and cables beside the air: the same models as in the lab, in virtual time.
//!
//! Each wire has two ends, numbered after the stations of the air, the far one first. A flow over a wire is
//! therefore a flow between two stations like any other.
//!
//! # Where we differ, and why
//! 1. A saturated source hands over a packet when there is room before the bottleneck, and is done with it
//!    when it has left the bottleneck. The lab, whose kernels give no such signal, sends at the pace of the
//!    bottleneck instead.
//!
//! # Checked by
//! `wires_tests`, `tests/play.rs`, `cli`'s `tests/both_worlds.rs`.

use std::collections::VecDeque;

use links::air::{Destination, Fate, Output, Packet, Stamp, StationId};
use links::{
    ConfigError, Counters, Direction, DropReason, Input, LinkId, Network, NetworkConfig, Output as Passed,
};
use units::Instant;

use crate::traffic::{Flow, Pace};

/// All wires of a run.
#[derive(Debug)]
pub(super) struct Wires {
    network: Network,
    /// Number of the first end.
    first: u32,
    /// Two per wire: see [`place_of`].
    ways: Vec<Way>,
    /// Per flow: whether it is saturated.
    saturated: Vec<bool>,
    outputs: VecDeque<(Instant, Output)>,
}

/// One direction of a wire.
#[derive(Debug, Default)]
struct Way {
    /// Packets that saturated sources hold back until there is room.
    held: VecDeque<Packet>,
    /// Packets queued at the bottleneck or in it, in order.
    waiting: VecDeque<Packet>,
    /// Number of packets that have neither arrived nor been lost.
    under_way: usize,
}

const DIRECTIONS: [Direction; 2] = [Direction::Down, Direction::Up];

/// Index of a direction among the ways, and of its sender among the ends.
fn place_of(link: LinkId, direction: Direction) -> usize {
    usize::from(link.0) * 2 + usize::from(direction == Direction::Up)
}

/// Ends of wire number `wire`: the far one and the client's. They are numbered after `stations` stations.
pub(super) fn ends(stations: usize, wire: usize) -> [StationId; 2] {
    [0, 1].map(|end| StationId((stations + wire * 2 + end) as u32))
}

impl Wires {
    /// All wires at their start, numbered after `stations` stations.
    pub(super) fn new(
        seed: u64,
        config: NetworkConfig,
        stations: usize,
        flows: &[Flow],
    ) -> Result<Self, ConfigError> {
        let count = config.links.len();
        Ok(Self {
            network: Network::new(seed, config)?,
            first: stations as u32,
            ways: (0..count * 2).map(|_| Way::default()).collect(),
            saturated: flows.iter().map(|flow| flow.pace == Pace::Saturated).collect(),
            outputs: VecDeque::new(),
        })
    }

    /// Whether this station is the end of a wire.
    pub(super) fn own(&self, station: StationId) -> bool {
        station.0 >= self.first
    }

    /// Sends a packet from one end to the other.
    pub(super) fn send(&mut self, now: Instant, from: StationId, packet: Packet) {
        let place = (from.0 - self.first) as usize;
        if self.saturated[Stamp::read(packet.token).flow() as usize] {
            self.ways[place].held.push_back(packet);
        } else {
            self.hand_over(now, place, packet);
        }
        self.settle(now);
    }

    /// Runs up to `now`.
    pub(super) fn tick(&mut self, now: Instant) {
        self.network.tick(now);
        self.settle(now);
    }

    pub(super) fn wake_at(&self) -> Option<(Instant, &'static str)> {
        self.network.wake_at()
    }

    pub(super) fn poll_due(&mut self) -> Option<(Instant, Output)> {
        self.outputs.pop_front()
    }

    pub(super) fn has_output(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Counters of a wire.
    pub(super) fn counters(&self, wire: usize) -> Counters {
        self.network.counters(LinkId(wire as u16))
    }

    fn hand_over(&mut self, now: Instant, place: usize, packet: Packet) {
        let way = &mut self.ways[place];
        way.waiting.push_back(packet);
        way.under_way += 1;
        let packet = links::Packet {
            link: LinkId((place / 2) as u16),
            direction: DIRECTIONS[place % 2],
            bytes: packet.bytes,
            ect: false,
            flow: packet.flow,
            token: packet.token,
        };
        self.network.handle(now, Input::Packet(packet));
    }

    /// Processes all outputs, and hands over packets for which there is room now.
    fn settle(&mut self, now: Instant) {
        loop {
            while let Some((at, output)) = self.network.poll_due() {
                match output {
                    Passed::Delivered { packet, .. } => self.arrive(at, packet),
                    Passed::Dropped { packet, reason } => self.lose(at, packet, reason),
                    Passed::Beacon { .. }
                    | Passed::Heard { .. }
                    | Passed::Background { .. }
                    | Passed::Radio(_)
                    | Passed::State { .. } => {}
                }
            }
            (0..self.ways.len()).for_each(|place| self.leave(now, place));
            let next = (0..self.ways.len()).find(|&place| self.has_room(place));
            let Some(place) = next else { return };
            if let Some(packet) = self.ways[place].held.pop_front() {
                let token = Stamp::new(Stamp::read(packet.token).flow(), now).token();
                self.hand_over(now, place, Packet { token, ..packet });
            }
        }
    }

    /// Whether there is room for the next packet that a source holds.
    fn has_room(&self, place: usize) -> bool {
        let (link, direction) = (LinkId((place / 2) as u16), DIRECTIONS[place % 2]);
        let fits = |packet: &Packet| self.network.has_room(link, direction, packet.bytes);
        self.ways[place].held.front().is_some_and(fits)
    }

    /// Reports packets that have left the bottleneck as done to their sources.
    fn leave(&mut self, now: Instant, place: usize) {
        let (link, direction) = (LinkId((place / 2) as u16), DIRECTIONS[place % 2]);
        let beyond = self.network.in_flight(link, direction).packets;
        let before = self.ways[place].under_way - beyond;
        while self.ways[place].waiting.len() > before {
            if let Some(packet) = self.ways[place].waiting.pop_front() {
                self.done(now, place, packet, Fate::Acknowledged);
            }
        }
    }

    fn arrive(&mut self, at: Instant, packet: links::Packet) {
        let place = place_of(packet.link, packet.direction);
        self.ways[place].under_way -= 1;
        let [from, to] = self.ends_of(place);
        let received = Output::Received {
            station: to,
            from,
            packet: carried(to, &packet),
        };
        self.outputs.push_back((at, received));
    }

    fn lose(&mut self, at: Instant, packet: links::Packet, reason: DropReason) {
        let place = place_of(packet.link, packet.direction);
        let way = &mut self.ways[place];
        way.under_way -= 1;
        let flow = |token| Stamp::read(token).flow();
        let of = flow(packet.token);
        let mut known = way.waiting.iter().map(|waiting| flow(waiting.token) == of);
        // A packet dropped at a full queue is the last one. Other losses are in order of arrival.
        let lost = if reason == DropReason::QueueFull {
            known.rposition(|same| same)
        } else {
            known.position(|same| same)
        };
        if let Some(lost) = lost {
            way.waiting.remove(lost);
        }
        let fate = match reason {
            DropReason::QueueFull => Fate::QueueFull,
            DropReason::Aqm | DropReason::Loss | DropReason::Retries => Fate::GivenUp,
            DropReason::Detached | DropReason::Fault => Fate::Withdrawn,
        };
        let [_, to] = self.ends_of(place);
        self.done(at, place, carried(to, &packet), fate);
    }

    fn done(&mut self, at: Instant, place: usize, packet: Packet, fate: Fate) {
        let [station, _] = self.ends_of(place);
        let done = Output::Done {
            station,
            packet,
            fate,
        };
        self.outputs.push_back((at, done));
    }

    /// Sender and receiver of a direction.
    fn ends_of(&self, place: usize) -> [StationId; 2] {
        let [far, near] = ends(self.first as usize, place / 2);
        match DIRECTIONS[place % 2] {
            Direction::Down => [far, near],
            Direction::Up => [near, far],
        }
    }
}

fn carried(to: StationId, packet: &links::Packet) -> Packet {
    Packet::new(Destination::Station(to), packet.bytes, packet.token)
}

#[cfg(test)]
#[path = "wires_tests.rs"]
mod tests;

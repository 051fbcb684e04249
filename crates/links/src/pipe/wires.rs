//! The wired segments of all links: which part is due first, and what it does then.

use alloc::vec::Vec;
use units::{Bitrate, Instant};

use super::build::Parts;
use super::cellular::Radio;
use super::lane::Lane;
use super::port::Port;
use super::timers::Timers;
use crate::config::NetworkConfig;
use crate::io::side;
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry};
use crate::{Direction, DropReason, LinkId};

/// The wired segments of all links.
#[derive(Debug)]
pub(crate) struct Wires {
    /// Due times of the ports, then of the lanes.
    timers: Timers,
    segments: Vec<Segment>,
    ports: Vec<Port>,
    /// Two for every link: see [`lane_of`].
    lanes: Vec<Lane>,
}

/// Wired segment of one link: a cable, a cell, or the backhaul of an access point.
#[derive(Debug)]
pub(super) struct Segment {
    /// Numbers of its ports, by [`side`].
    pub(super) ports: [usize; 2],
    /// A cell's radio.
    pub(super) radio: Option<Radio>,
}

/// Index of the lane of this link and direction.
fn lane_of(link: LinkId, direction: Direction) -> usize {
    2 * usize::from(link.0) + side(direction)
}

impl Wires {
    /// Builds the segments from a checked configuration.
    pub(crate) fn new(seed: u64, config: &NetworkConfig) -> Self {
        let Parts {
            segments,
            ports,
            lanes,
        } = Parts::build(seed, config);
        Self {
            timers: Timers::new(ports.len() + lanes.len()),
            segments,
            ports,
            lanes,
        }
    }

    /// The deadline of the port or lane that is due first, and its number among the timers.
    pub(crate) fn first(&self) -> Option<(Instant, usize)> {
        self.timers.first()
    }

    /// Name of the reason for which a part is due.
    pub(crate) fn reason(&self, part: usize) -> &'static str {
        if part < self.ports.len() {
            "transmission"
        } else {
            "propagation"
        }
    }

    /// Handles a packet that reaches a link's bottleneck.
    pub(crate) fn enter(&mut self, now: Instant, entry: Entry, exits: &mut Exits) {
        let segment = &mut self.segments[usize::from(entry.packet.link.0)];
        if let Some(radio) = &mut segment.radio {
            radio.touch(now);
        }
        let port = segment.ports[side(entry.packet.direction)];
        self.ports[port].push(now, entry, exits);
        self.set_port_timer(port);
    }

    /// Runs a part that is due. `arrive` gets each packet that reaches the end of its wire.
    pub(crate) fn run(
        &mut self,
        now: Instant,
        part: usize,
        exits: &mut Exits,
        mut arrive: impl FnMut(Entry, &mut Exits),
    ) {
        let Some(lane) = part.checked_sub(self.ports.len()) else {
            return self.serve(now, part, exits);
        };
        while let Some(entry) = self.lanes[lane].pop(now) {
            arrive(entry, exits);
        }
        self.set_lane_timer(lane);
    }

    fn serve(&mut self, now: Instant, port: usize, exits: &mut Exits) {
        while let Some(mut entry) = self.ports[port].serve(now, exits) {
            entry.since = now;
            let lane = lane_of(entry.packet.link, entry.packet.direction);
            let radio = self.segment(entry.packet.link).radio.as_ref();
            let ready = radio.map_or(now, Radio::ready);
            self.lanes[lane].push(now, ready, entry, exits);
            self.set_lane_timer(lane);
        }
        self.set_port_timer(port);
    }

    /// Packets queued at a link's bottleneck. A shared bottleneck counts the packets of all its links.
    pub(crate) fn queue(&self, link: LinkId, direction: Direction) -> Depth {
        self.ports[self.segment(link).ports[side(direction)]].depth()
    }

    /// Whether a packet of this many bytes would fit there.
    pub(crate) fn has_room(&self, link: LinkId, direction: Direction, bytes: u32) -> bool {
        self.ports[self.segment(link).ports[side(direction)]].has_room(bytes)
    }

    /// Packets on the wire behind the bottleneck.
    pub(crate) fn in_flight(&self, link: LinkId, direction: Direction) -> Depth {
        self.lanes[lane_of(link, direction)].depth()
    }

    /// Rates by [`side`].
    pub(crate) fn set_rate(&mut self, now: Instant, link: LinkId, rates: [Bitrate; 2]) {
        for (port, rate) in self.segment(link).ports.into_iter().zip(rates) {
            self.ports[port].set_rate(now, rate);
            self.set_port_timer(port);
        }
    }

    /// Drops everything on the link's wires because of a fault.
    pub(crate) fn purge(&mut self, now: Instant, link: LinkId, exits: &mut Exits) {
        for direction in [Direction::Up, Direction::Down] {
            let port = self.segment(link).ports[side(direction)];
            self.ports[port].purge(now, link, DropReason::Fault, exits);
            self.set_port_timer(port);
            let lane = lane_of(link, direction);
            self.lanes[lane].purge(now, DropReason::Fault, exits);
            self.set_lane_timer(lane);
        }
    }

    fn segment(&self, link: LinkId) -> &Segment {
        &self.segments[usize::from(link.0)]
    }

    fn set_port_timer(&mut self, port: usize) {
        self.timers.set(port, self.ports[port].due());
    }

    fn set_lane_timer(&mut self, lane: usize) {
        self.timers.set(self.ports.len() + lane, self.lanes[lane].due());
    }
}

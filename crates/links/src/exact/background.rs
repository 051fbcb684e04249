//! Background traffic on the exact medium: datagrams of other stations, and broadcasts of access points.
//!
//! # Where we differ, and why
//! 1. Other stations exist from the start and exchange data without association.
//! 2. Their datagrams begin and end at the access point. They do not use the wired segment behind it.
//! 3. If a saturated sender finds the queue full, it tries again 1 ms later.
//!
//! # Checked by
//! `background_tests`; `cli`'s `tests/both_worlds.rs`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use units::{Duration, Instant};

use super::cast::{Cast, Member};
use crate::air::{Destination, Fate, Packet, Stamp, StationId};
use crate::config::{BackgroundFlow, BackgroundWay, NetworkConfig};
use crate::{ConfigError, Datagrams, LinkId};

/// Datagrams that a saturated sender without 802.11n keeps in its station's queue.
const AHEAD: usize = 2;
/// The same for a sender that aggregates: one window in flight, and as many to follow.
const AHEAD_OF_AGGREGATES: usize = 128;
/// Interval between attempts to enqueue while the queue is full.
const AGAIN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Background {
    flows: Vec<Flow>,
    /// When each flow sends next, with its index.
    due: BTreeSet<(Instant, u32)>,
}

#[derive(Debug)]
struct Flow {
    from: StationId,
    to: Destination,
    bytes: u32,
    /// `None`: saturated.
    every: Option<Duration>,
    /// Datagrams that a saturated flow enqueues at once.
    ahead: usize,
    datagrams: Datagrams,
}

impl Background {
    pub(super) fn new(config: &NetworkConfig, cast: &Cast<'_>) -> Result<Self, ConfigError> {
        let mut background = Self {
            flows: Vec::new(),
            due: BTreeSet::new(),
        };
        for (number, flow) in config.background.flows.iter().enumerate() {
            let unknown = ConfigError::Background(number);
            let (from, to) = ends(cast, flow).ok_or(unknown)?;
            let sender = &cast.wlan.air.stations[from.0 as usize];
            let ahead = match sender.ht {
                None => AHEAD,
                Some(_) => (sender.queue / config.background.flows.len()).clamp(AHEAD, AHEAD_OF_AGGREGATES),
            };
            background.flows.push(Flow {
                from,
                to,
                bytes: flow.bytes,
                every: flow.every,
                ahead,
                datagrams: Datagrams::default(),
            });
            let start = Instant::ZERO + flow.start;
            background.due.insert((start, number as u32));
        }
        Ok(background)
    }

    /// When a flow sends next.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.first().map(|&(at, _)| at)
    }

    /// The next flow due at or before `now`: its time, its index and the number of datagrams.
    pub(super) fn next(&mut self, now: Instant) -> Option<(Instant, u32, usize)> {
        let &(at, number) = self.due.first().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, number));
        let flow = &self.flows[number as usize];
        let Some(every) = flow.every else {
            return Some((
                at,
                number,
                core::mem::replace(&mut self.flows[number as usize].ahead, 1),
            ));
        };
        self.due.insert((at + every, number));
        Some((at, number, 1))
    }

    /// The next datagram of a flow, sent now, and its sender.
    pub(super) fn datagram(&mut self, now: Instant, number: u32) -> (StationId, Packet) {
        let flow = &mut self.flows[number as usize];
        flow.datagrams.sent += 1;
        let packet = Packet {
            flow: number,
            ..Packet::new(flow.to, flow.bytes, Stamp::new(number, now).token())
        };
        (flow.from, packet)
    }

    /// Handles the end of a sender's datagram. Returns whether the sender enqueues another one at once.
    pub(super) fn is_done(&mut self, now: Instant, number: u32, fate: Fate) -> bool {
        let flow = &mut self.flows[number as usize];
        flow.datagrams.lost += u64::from(!matches!(fate, Fate::Acknowledged | Fate::Unknown));
        let saturated = flow.every.is_none();
        if saturated && fate == Fate::QueueFull {
            // Of several that found none, one looks for room, and each that leaves lets another follow.
            flow.ahead = if self.due.insert((now + AGAIN, number)) {
                1
            } else {
                flow.ahead + 1
            };
        }
        saturated && fate != Fate::QueueFull
    }

    /// Datagrams of a flow since the start.
    pub(super) fn datagrams(&self, number: u32) -> Datagrams {
        self.flows[number as usize].datagrams
    }
}

fn ends(cast: &Cast<'_>, flow: &BackgroundFlow) -> Option<(StationId, Destination)> {
    let ap = station(cast, flow.link)?;
    let other = |number: usize| cast.others.get(number).copied();
    Some(match flow.way {
        BackgroundWay::Down(to) => (ap, Destination::Station(other(to)?)),
        BackgroundWay::Up(from) => (other(from)?, Destination::Station(ap)),
        BackgroundWay::Everyone => (ap, Destination::Everyone),
    })
}

fn station(cast: &Cast<'_>, link: LinkId) -> Option<StationId> {
    let of = |member: &&Member<'_>| member.link == link;
    cast.members.iter().find(of).map(|member| member.station)
}

#[cfg(test)]
#[path = "background_tests.rs"]
mod tests;

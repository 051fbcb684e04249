//! Datagrams of hosts beside their TCP.
//!
//! # Where we differ, and why
//! 1. A saturated flow has no socket whose buffer blocks it. It finds the room in the queues by itself. Two
//!    datagrams are sent for each that arrives, until one is lost. From then on, one is sent for each that
//!    arrives. A lost one is replaced after [`AGAIN`].
//!
//! # Checked by
//! `tests/host_plays.rs`.

use super::others::Others;
use crate::tcp::packet::{Kind, Packet};
use links::{Direction, LinkId};
use scenario::{Pace, Plan, Transport, Way, Work};
use units::{Duration, Instant};

/// Time after which a saturated flow replaces a lost datagram.
const AGAIN: Duration = Duration::from_millis(1);
/// A saturated flow looks for more room if nothing was lost for this long.
const CALM: Duration = Duration::from_secs(1);

/// All flows of datagrams.
#[derive(Debug)]
pub(super) struct Datagrams(Vec<Source>);

#[derive(Debug)]
struct Source {
    /// Index in [`Plan::flows`].
    flow: usize,
    link: LinkId,
    direction: Direction,
    /// Bytes of payload.
    payload: u16,
    pace: Pace,
    /// When the next datagram is sent even if none arrives.
    next: Option<Instant>,
    /// Datagrams that a saturated flow sends now.
    ready: u32,
    /// Lost datagrams that wait for room in the queues.
    waiting: u32,
    lost_at: Option<Instant>,
}

impl Datagrams {
    pub(super) fn new(plan: &Plan, others: &Others) -> Self {
        let flows = plan.flows.iter().enumerate();
        let sources = flows.filter_map(|(index, flow)| {
            let Transport::Udp { over } = flow.transport else {
                return None;
            };
            let Work::Datagrams { way, pace, payload } = flow.work else {
                return None;
            };
            let direction = match way {
                Way::Down => Direction::Down,
                Way::Up => Direction::Up,
                Way::Everyone => return None,
            };
            Some(Source {
                flow: index,
                link: others.link_of(others.host_of(flow.by)?, over)?,
                direction,
                payload: payload.get() as u16,
                pace,
                next: Some(Instant::ZERO + flow.start),
                ready: 0,
                waiting: 0,
                lost_at: None,
            })
        });
        Self(sources.collect())
    }

    /// When the next datagram is sent even if none arrives.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.0.iter().filter_map(|source| source.next).min()
    }

    /// The next datagram to send now.
    pub(super) fn due(&mut self, now: Instant) -> Option<(LinkId, Direction, Packet)> {
        self.0.iter_mut().find_map(|source| source.due(now))
    }

    /// Records that a datagram has arrived.
    pub(super) fn arrived(&mut self, now: Instant, flow: u32) {
        let Some(source) = self.saturated(flow) else {
            return;
        };
        let calm = source.lost_at.is_none_or(|at| now - at > CALM);
        source.ready += if calm { 2 } else { 1 };
    }

    /// Records that a datagram is lost.
    pub(super) fn lost(&mut self, now: Instant, flow: u32) {
        let Some(source) = self.saturated(flow) else {
            return;
        };
        source.lost_at = Some(now);
        source.waiting += 1;
        source.next = source.next.or(Some(now + AGAIN));
    }

    fn saturated(&mut self, flow: u32) -> Option<&mut Source> {
        let mut sources = self.0.iter_mut();
        sources.find(|source| source.flow == flow as usize && source.pace == Pace::Saturated)
    }
}

impl Source {
    fn due(&mut self, now: Instant) -> Option<(LinkId, Direction, Packet)> {
        if let Some(at) = self.next.filter(|at| *at <= now) {
            self.ready += 1;
            self.next = match self.pace {
                Pace::Every(every) => Some(at + every),
                Pace::Saturated => {
                    self.waiting = self.waiting.saturating_sub(1);
                    (self.waiting > 0).then_some(now + AGAIN)
                }
            };
        }
        self.ready = self.ready.checked_sub(1)?;
        let packet = Packet {
            conn: self.flow as u32,
            to_server: self.direction == Direction::Up,
            kind: Kind::Datagram,
            bytes: self.payload,
            sent: now,
            ..Packet::EMPTY
        };
        Some((self.link, self.direction, packet))
    }
}

//! Backhaul wires of access points: full models for the exact medium, and their output pace for the coarse
//! one.
//!
//! # Where we differ, and why
//! 1. A saturated source keeps as many datagrams on the wire as fit there, in addition to those queued at the
//!    access point. It sends the next one when one arrives. A datagram that meets a full queue is sent again
//!    a millisecond later.
//! 2. With the coarse medium a wire is a pace, not a queue. What a saturated source sends through a slow wire
//!    arrives evenly at the wire's rate, half an RTT later. If that would be inexact, the plan is rejected.
//!
//! # Checked by
//! `tests/backhaul.rs`, `tests/play.rs`.

use links::CableConfig;
use scenario::models::queue;
use scenario::{AccessPoint, Pace, Plan, Transport, Way, Work};
use units::{Bitrate, Bytes, Duration};

use super::error::CastError;
use crate::traffic::{self, HEADERS};

/// Model of the wire behind an access point.
pub(super) fn cable(name: &str, ap: &AccessPoint) -> CableConfig {
    let wire = |rate: Bitrate| links::Wire {
        queue: queue(ap.backhaul.queue),
        ..links::Wire::new(rate, ap.backhaul.rtt / 2)
    };
    CableConfig {
        name: name.to_owned(),
        up: wire(ap.backhaul.up),
        down: wire(ap.backhaul.down),
        behind: None,
    }
}

/// A flow, and the wire behind the access point that it uses.
pub(super) struct Backhaul<'p> {
    pub(super) plan: &'p Plan,
    pub(super) over: usize,
    pub(super) ap: &'p AccessPoint,
    /// Highest rate of the air.
    pub(super) air_rate: Bitrate,
    pub(super) payload: Bytes,
}

impl Backhaul<'_> {
    fn packet(&self) -> Bytes {
        self.payload + Bytes::new(u64::from(HEADERS))
    }

    /// Datagrams of a saturated flow that are in flight to the access point: its share of what the wire holds
    /// while the air keeps up.
    pub(super) fn under_way(&self, way: Way, pace: Pace) -> u32 {
        if way != Way::Down || pace != Pace::Saturated {
            return 0;
        }
        let rate = self.ap.backhaul.down.min(self.air_rate);
        let held = rate * (self.ap.backhaul.rtt / 2);
        let share = self.packet().get() * self.saturated() as u64;
        u32::try_from(held.get().div_ceil(share)).unwrap_or(u32::MAX)
    }

    /// Number of saturated downlink flows over this wire.
    fn saturated(&self) -> usize {
        let here = |flow: &&scenario::Flow| {
            let down = matches!(
                flow.work,
                Work::Datagrams {
                    way: Way::Down,
                    pace: Pace::Saturated,
                    ..
                }
            );
            down && flow.transport == Transport::Udp { over: self.over }
        };
        self.plan.flows.iter().filter(here).count().max(1)
    }

    /// Pace and delay at which the flow's datagrams arrive at the access point of the coarse medium.
    pub(super) fn passed(&self, way: Way, pace: Pace) -> Result<(traffic::Pace, Duration), CastError> {
        let own = traffic::Pace::of(pace);
        if way != Way::Down {
            return Ok((own, Duration::ZERO));
        }
        if self.ap.backhaul.down >= self.air_rate {
            return Ok((own, self.ap.backhaul.rtt / 2));
        }
        if self.is_shared() {
            return Err(CastError::Backhaul {
                link: self.plan.links[self.over].name.clone(),
                needed: self.air_rate,
            });
        }
        let least = self.ap.backhaul.down.time_for(self.packet());
        let least = least.unwrap_or(Duration::MAX);
        let interval = match pace {
            Pace::Every(interval) if interval > least => interval,
            Pace::Every(_) | Pace::Saturated => least,
        };
        Ok((traffic::Pace::Constant(interval), self.ap.backhaul.rtt / 2))
    }

    fn is_shared(&self) -> bool {
        let over = |flow: &&scenario::Flow| flow.transport == Transport::Udp { over: self.over };
        self.plan.flows.iter().filter(over).count() > 1
    }
}

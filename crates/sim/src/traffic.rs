//! UDP traffic: flows and their results.

use links::air::wlan::Wlan;
use links::air::{Destination, FrameKind, Overheard, Stamp, StationId};
use units::{Duration, Instant};

/// One stream of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Sender.
    pub from: StationId,
    /// Receiver. Probes are broadcast.
    pub to: Destination,
    /// Payload of a datagram, in bytes.
    pub payload: u32,
    /// When the next datagram is sent.
    pub pace: Pace,
    /// When the first datagram is sent.
    pub start: Instant,
}

/// When a flow sends its next datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The station's queue always contains one more.
    Saturated,
    /// One per interval.
    Constant(Duration),
}

impl Pace {
    /// Pace of a scenario.
    pub const fn of(pace: scenario::Pace) -> Self {
        match pace {
            scenario::Pace::Saturated => Self::Saturated,
            scenario::Pace::Every(interval) => Self::Constant(interval),
        }
    }
}

/// A frame of which the token is the number of its datagram's flow.
pub(crate) fn with_flow(mut frame: Overheard) -> Overheard {
    if let FrameKind::Data { token, .. } = &mut frame.kind
        && *token != Wlan::OURS
    {
        *token = Stamp::read(*token).flow().into();
    }
    frame
}

/// Headers of UDP and IPv4 around the payload, in bytes.
pub const HEADERS: u32 = 28;

/// Results of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Datagrams handed to the sender's queue.
    pub offered: u64,
    /// Datagrams received for the first time. A broadcast counts at each receiver.
    pub received: u64,
    /// Payload of these, in bytes.
    pub payload_bytes: u64,
    /// Datagrams that the sender gave up, had no room for or no receiver for, or dropped from its queue.
    pub lost: u64,
}

impl Tally {
    /// What was counted since `earlier`.
    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            offered: self.offered - earlier.offered,
            received: self.received - earlier.received,
            payload_bytes: self.payload_bytes - earlier.payload_bytes,
            lost: self.lost - earlier.lost,
        }
    }

    /// Mean payload rate over `time`, in Mb/s.
    pub fn mbps(&self, time: Duration) -> f64 {
        self.payload_bytes as f64 * 8e-6 / time.as_secs_f64()
    }
}

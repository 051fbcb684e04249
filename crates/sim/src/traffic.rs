//! UDP traffic: who sends what to whom, and what came of it.

use links::air::{Destination, StationId};
use units::{Duration, Instant};

/// One stream of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Who sends.
    pub from: StationId,
    /// To whom; probes go to everyone.
    pub to: Destination,
    /// Payload of a datagram, in bytes.
    pub payload: u32,
    /// When the next one is sent.
    pub pace: Pace,
    /// When the first one is sent.
    pub start: Instant,
}

/// When a flow sends its next datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// There is always one more in the station's queue.
    Saturated,
    /// One in every interval.
    Constant(Duration),
}

impl Pace {
    /// As a scenario has it.
    pub const fn of(pace: scenario::Pace) -> Self {
        match pace {
            scenario::Pace::Saturated => Self::Saturated,
            scenario::Pace::Every(interval) => Self::Constant(interval),
        }
    }
}

/// Headers of UDP and IPv4 around the payload.
pub const HEADERS: u32 = 28;

/// What came of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Datagrams handed to the sender's queue.
    pub offered: u64,
    /// Datagrams received for the first time; a datagram to everyone counts at each receiver.
    pub received: u64,
    /// Payload of those.
    pub payload_bytes: u64,
    /// Datagrams that the sender gave up, had no room for, or had nobody to send to.
    pub lost: u64,
}

impl Tally {
    /// Payload received in that time, in Mb/s.
    pub fn mbps(&self, time: Duration) -> f64 {
        self.payload_bytes as f64 * 8e-6 / time.as_secs_f64()
    }
}

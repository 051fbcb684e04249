//! A relay: where it stands, and what connects it to the server.

use super::{Link, LinkKind};
use units::{Bitrate, Duration};

/// A relay on every way to the server: links end there, and a wire leads on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relay {
    /// Round-trip time between the relay and the server: a part of the RTT of every link.
    pub rtt: Duration,
    /// Rate of the wire between them, in each direction.
    pub rate: Bitrate,
}

impl Link {
    /// Round-trip time to the server over it, without a queue and without the air.
    pub const fn rtt(&self) -> Duration {
        match &self.kind {
            LinkKind::Wifi(ap) => ap.backhaul.rtt,
            LinkKind::Cell(cell) => cell.rtt,
            LinkKind::Cable(cable) => cable.rtt,
        }
    }
}

//! Measures how long nothing has arrived on a plain TCP connection.

use std::net::TcpStream;
use units::{Duration, Instant};

/// Plain TCP reconnects when nothing has arrived for this long and its link is usable.
const TOO_LONG: Duration = Duration::from_secs(1);

/// Time since which nothing has arrived. A hole in the data is not silence: segments behind a loss still
/// arrive.
pub(super) struct Silence {
    since: Instant,
    segments: u32,
    patience: Duration,
}

impl Silence {
    pub(super) const fn new(now: Instant) -> Self {
        Self::lasting(TOO_LONG, now)
    }

    /// With another time that is too long.
    pub(super) const fn lasting(patience: Duration, now: Instant) -> Self {
        Self {
            since: now,
            segments: 0,
            patience,
        }
    }

    /// Ends the silence: something has arrived.
    pub(super) const fn end(&mut self, now: Instant) {
        self.since = now;
    }

    /// Polls a receiver's connection. Returns whether it has been silent for too long.
    pub(super) fn of_peer(&mut self, now: Instant, stream: &TcpStream) -> bool {
        self.look(now, stream, |_| true)
    }

    /// Polls a sender's connection. Only a sender that waits for acknowledgements can be silent.
    pub(super) fn of_acknowledgements(&mut self, now: Instant, stream: &TcpStream) -> bool {
        self.look(now, stream, |info| {
            info.unacked > 0 || info.notsent > units::Bytes::ZERO
        })
    }

    fn look(
        &mut self,
        now: Instant,
        stream: &TcpStream,
        awaits: impl Fn(&linux::info::TcpInfo) -> bool,
    ) -> bool {
        if let Ok(info) = linux::sockopt::tcp_info(stream)
            && (info.segs_in != self.segments || !awaits(&info))
        {
            (self.segments, self.since) = (info.segs_in, now);
        }
        now.since(self.since) >= self.patience
    }
}

//! For how long nothing has come on a connection of plain TCP.

use std::net::TcpStream;
use units::{Duration, Instant};

/// Plain TCP is begun anew when nothing has come for this long and its link is usable.
const TOO_LONG: Duration = Duration::from_secs(1);

/// Since when nothing has come. A hole in the data is not silence: segments behind a loss go on coming.
pub(super) struct Silence {
    since: Instant,
    segments: u32,
}

impl Silence {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            since: now,
            segments: 0,
        }
    }

    /// Something has come.
    pub(super) const fn end(&mut self, now: Instant) {
        self.since = now;
    }

    /// Looks at a receiver's connection; whether it has been silent for too long.
    pub(super) fn of_peer(&mut self, now: Instant, stream: &TcpStream) -> bool {
        self.look(now, stream, |_| true)
    }

    /// Looks at a sender's connection: only who waits for acknowledgements hears silence.
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
        now.since(self.since) >= TOO_LONG
    }
}

//! Events of connections, of any kind.

use super::Reader;
use policy::{ConnEvent, ConnSample, JoinFailure, RemoteId};
use units::Bytes;

impl Reader<'_> {
    pub(super) fn conn_event(&mut self) -> ConnEvent {
        match self.below(10) {
            0..=2 => ConnEvent::Opened,
            3 => ConnEvent::Closed,
            4..=6 => ConnEvent::Sample(ConnSample {
                bytes_received: Bytes::new(self.number()),
                bytes_acked: Bytes::new(self.number()),
                backlog: Bytes::new(self.number()),
                held: Bytes::new(self.number()),
            }),
            7 => ConnEvent::Remote(RemoteId(self.below(4)), self.family()),
            8 => ConnEvent::RemoteGone(RemoteId(self.below(4))),
            _ => ConnEvent::JoinFailed {
                link: self.link(),
                reason: [JoinFailure::Refused, JoinFailure::Timeout, JoinFailure::Local]
                    [usize::from(self.below(3))],
            },
        }
    }
}

//! Packets that each interface has received and sent.
//!
//! # Sources
//! - `include/uapi/linux/if_link.h` (`struct if_stats_msg`, `struct rtnl_link_stats64`),
//!   net/core/rtnetlink.c, Linux 6.18.
//!
//! # Checked by
//! `host::counters::tests`.

use crate::netlink::{Builder, OpenError, Protocol, RequestError, Socket};

const RTM_GETSTATS: u16 = 94;
/// Attribute type of the 64-bit counters, and their filter bit (1 << (1 - 1)).
const IFLA_STATS_LINK_64: u16 = 1;
const FILTER_LINK_64: u32 = 1;
const HEADER_LEN: usize = 12;

/// Packets that an interface has received and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Moved {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

impl Moved {
    /// Reads the first two fields of `struct rtnl_link_stats64`.
    fn parse(stats: &[u8]) -> Option<Self> {
        let (received, rest) = stats.split_first_chunk()?;
        Some(Self {
            received: u64::from_ne_bytes(*received),
            sent: u64::from_ne_bytes(*rest.first_chunk()?),
        })
    }
}

/// Reads the counters of one interface at a time.
#[derive(Debug)]
pub(crate) struct Counters {
    socket: Socket,
    request: Builder,
}

impl Counters {
    pub(crate) fn open() -> Result<Self, OpenError> {
        Ok(Self {
            socket: Socket::open(Protocol::Route)?,
            request: Builder::new(),
        })
    }

    /// Packets that the interface has received since it was created. `None` if it is gone.
    pub(crate) fn received(&mut self, ifindex: u32) -> Option<u64> {
        self.moved(ifindex).map(|moved| moved.received)
    }

    /// Packets that the interface has received and sent since it was created. `None` if it is gone.
    pub(crate) fn moved(&mut self, ifindex: u32) -> Option<Moved> {
        let mut header = [0; HEADER_LEN];
        header[4..8].copy_from_slice(&ifindex.to_ne_bytes());
        header[8..].copy_from_slice(&FILTER_LINK_64.to_ne_bytes());
        self.request.start(RTM_GETSTATS, 0).header(&header);
        let mut moved = None;
        let asked = self.socket.ask(&mut self.request, |message| {
            let stats = message.attrs(HEADER_LEN).find(IFLA_STATS_LINK_64);
            moved = stats.and_then(|stats| Moved::parse(stats.value));
            moved.map(|_| ()).ok_or(RequestError::Malformed {
                what: "interface counters",
            })
        });
        asked.ok().and(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtnl::Rtnl;
    use crate::testing::{index, inside};
    use std::net::UdpSocket;

    #[test]
    fn received_and_sent_packets_are_counted() {
        inside(|| {
            let lo = index(&mut Rtnl::open().unwrap(), "lo");
            let mut counters = Counters::open().unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let before = counters.received(lo).unwrap();
            socket.send_to(b"?", socket.local_addr().unwrap()).unwrap();
            assert_eq!(counters.received(lo).unwrap() - before, 1);
            let moved = counters.moved(lo).unwrap();
            assert_eq!(moved.sent, moved.received);
            assert_eq!(counters.received(9_999), None);
        });
    }
}

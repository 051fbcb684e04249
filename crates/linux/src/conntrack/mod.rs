//! Connection tracking: which marked flows begin and end, and how to make the kernel forget them.
//!
//! The kernel keeps an entry for each flow, with the address by which the flow leaves the host. Once the
//! entry is deleted, the next packet of the flow gets a new entry, and may leave by another address.
//!
//! # Sources
//! - `include/uapi/linux/netfilter/nfnetlink_conntrack.h`; net/netfilter/nf_conntrack_netlink.c
//!   (ctnetlink_del_conntrack, ctnetlink_flush_conntrack), Linux 6.18.
//!
//! # Checked by
//! `tests`, with UDP flows in a namespace of their own.

mod events;
#[cfg(test)]
mod tests;

pub use events::{Event, EventError, Events};

use crate::netlink::{Attrs, Builder, Message, OpenError, Protocol, RequestError, Socket};
use crate::rtnl::Mark;
use crate::sysctl::Key;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

const SUBSYSTEM: u16 = 1 << 8;
const NEW: u16 = SUBSYSTEM;
const GET: u16 = SUBSYSTEM | 1;
const DELETE: u16 = SUBSYSTEM | 2;
/// `struct nfgenmsg`: family, version, and a number that is not used here.
const HEADER_LEN: usize = 4;
const ANY_FAMILY: [u8; HEADER_LEN] = [0; HEADER_LEN];

const CTA_TUPLE_ORIG: u16 = 1;
const CTA_MARK: u16 = 8;
const CTA_COUNTERS_ORIG: u16 = 9;
const CTA_COUNTERS_REPLY: u16 = 10;
const CTA_ID: u16 = 12;
const CTA_MARK_MASK: u16 = 21;
const CTA_COUNTERS_PACKETS: u16 = 1;
const CTA_TUPLE_IP: u16 = 1;
const CTA_TUPLE_PROTO: u16 = 2;
const CTA_IP_V4_SRC: u16 = 1;
const CTA_IP_V4_DST: u16 = 2;
const CTA_IP_V6_SRC: u16 = 3;
const CTA_IP_V6_DST: u16 = 4;
const CTA_PROTO_NUM: u16 = 1;
const CTA_PROTO_SRC_PORT: u16 = 2;
const CTA_PROTO_DST_PORT: u16 = 3;

/// A tracked flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// The kernel's number of its entry, unique while the entry exists. A later entry of the same flow may
    /// get the same number: it is made of the entry's place in memory and of the flow's ends.
    pub id: u32,
    /// Its mark.
    pub mark: u32,
    /// Where it comes from, if its protocol has ports.
    pub local: Option<SocketAddr>,
    /// Where it goes, if its protocol has ports.
    pub remote: Option<SocketAddr>,
    /// The protocol above IP: 17 is UDP.
    pub protocol: u8,
    family: u8,
    /// Its addresses and ports as the kernel encodes them.
    tuple: Vec<u8>,
}

impl Flow {
    /// Parses an event or an entry of a list. `None` if it has no mark.
    fn parse(message: &Message<'_>) -> Option<Self> {
        let attrs = message.attrs(HEADER_LEN);
        let be32 = |kind| {
            Some(u32::from_be_bytes(
                *attrs.clone().find(kind)?.value.first_chunk()?,
            ))
        };
        let tuple = attrs.clone().find(CTA_TUPLE_ORIG)?;
        Some(Self {
            id: be32(CTA_ID)?,
            mark: be32(CTA_MARK)?,
            local: end(tuple.attrs(), [CTA_IP_V4_SRC, CTA_IP_V6_SRC], CTA_PROTO_SRC_PORT),
            remote: end(tuple.attrs(), [CTA_IP_V4_DST, CTA_IP_V6_DST], CTA_PROTO_DST_PORT),
            protocol: protocol(tuple.attrs())?.find(CTA_PROTO_NUM)?.u8()?,
            family: *message.payload.first()?,
            tuple: tuple.value.to_vec(),
        })
    }

    /// Its addresses and ports: the same for every entry of the same flow.
    pub fn ends(&self) -> &[u8] {
        &self.tuple
    }

    /// A flow from 100.64.0.1 and this port to 192.0.2.1, port 7000.
    #[cfg(test)]
    pub(crate) fn of_test(id: u32, port: u16, mark: u32) -> Self {
        Self {
            id,
            mark,
            local: Some(([100, 64, 0, 1], port).into()),
            remote: Some(([192, 0, 2, 1], 7_000).into()),
            protocol: 17,
            family: 2,
            tuple: port.to_be_bytes().to_vec(),
        }
    }
}

fn protocol(tuple: Attrs<'_>) -> Option<Attrs<'_>> {
    Some(tuple.find(CTA_TUPLE_PROTO)?.attrs())
}

/// One end of a flow: its address, of one of these kinds, and its port.
fn end(tuple: Attrs<'_>, addresses: [u16; 2], port: u16) -> Option<SocketAddr> {
    let ip = tuple.clone().find(CTA_TUPLE_IP)?.attrs();
    let address: IpAddr = addresses
        .into_iter()
        .find_map(|kind| ip.clone().find(kind)?.ip())?;
    let port = protocol(tuple)?.find(port)?.be16()?;
    Some(SocketAddr::new(address, port))
}

/// Packets of a flow, since its entry was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packets {
    /// Packets in the direction of the first one.
    pub sent: u64,
    /// Packets in the other direction.
    pub replies: u64,
}

/// Parses the counters of an entry. `None` if the kernel does not count packets.
fn packets(message: &Message<'_>) -> Option<(u32, Packets)> {
    let attrs = message.attrs(HEADER_LEN);
    let count = |kind| {
        let packets = attrs.clone().find(kind)?.attrs().find(CTA_COUNTERS_PACKETS)?;
        Some(u64::from_be_bytes(*packets.value.first_chunk()?))
    };
    let id = u32::from_be_bytes(*attrs.clone().find(CTA_ID)?.value.first_chunk()?);
    Some((
        id,
        Packets {
            sent: count(CTA_COUNTERS_ORIG)?,
            replies: count(CTA_COUNTERS_REPLY)?,
        },
    ))
}

/// The setting by which the kernel counts the packets of flows that begin from then on.
pub fn counts_packets() -> Key {
    Key::new("net.netfilter.nf_conntrack_acct")
}

/// The setting by which the kernel tells of flows that begin and end.
pub fn tells_of_flows() -> Key {
    Key::new("net.netfilter.nf_conntrack_events")
}

/// Why packets of flows could not be read.
#[derive(Debug, Error)]
#[error("packets of flows could not be read from connection tracking")]
pub struct CountError(#[source] RequestError);

/// Why flows could not be listed.
#[derive(Debug, Error)]
#[error("flows could not be listed from connection tracking")]
pub struct ListFlowsError(#[source] RequestError);

/// Why the kernel did not forget flows.
#[derive(Debug, Error)]
#[error("flows could not be deleted from connection tracking")]
pub struct ForgetError(#[source] RequestError);

/// A handle to the connection tracking of the namespace in which it was opened.
#[derive(Debug)]
pub struct Conntrack {
    socket: Socket,
    request: Builder,
}

impl Conntrack {
    /// Opens a handle for the calling thread's namespace.
    pub fn open() -> Result<Self, OpenError> {
        Ok(Self {
            socket: Socket::open(Protocol::Netfilter)?,
            request: Builder::new(),
        })
    }

    /// All flows with this mark.
    pub fn flows_of(&mut self, mark: Mark) -> Result<Vec<Flow>, ListFlowsError> {
        self.request.start(GET, 0).header(&ANY_FAMILY);
        self.request
            .attr(CTA_MARK, &mark.value.to_be_bytes())
            .attr(CTA_MARK_MASK, &mark.mask.to_be_bytes());
        let listed = self
            .socket
            .dump_whole(&mut self.request, |entry| Flow::parse(&entry));
        listed.map_err(ListFlowsError)
    }

    /// The packets of a flow. `None` if its entry is gone.
    ///
    /// The kernel finds it by its addresses and ports. So this takes some microseconds, while
    /// [`Conntrack::packets_of`] walks over the whole table: 6 ms for the 262,144 places of a host with 8 GB.
    pub fn packets(&mut self, flow: &Flow) -> Result<Option<Packets>, CountError> {
        let header = [flow.family, 0, 0, 0];
        self.request.start(GET, 0).header(&header);
        self.request
            .nested(CTA_TUPLE_ORIG, |tuple| _ = tuple.header(&flow.tuple));
        let mut found = None;
        let asked = self.socket.ask(&mut self.request, |entry| {
            found = packets(&entry);
            Ok(())
        });
        match asked {
            Err(error) if error.errno() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(CountError(error)),
            // Another entry may have taken its place.
            Ok(()) => Ok(found.filter(|(id, _)| *id == flow.id).map(|(_, packets)| packets)),
        }
    }

    /// The packets of all flows with this mark, by the number of their entries.
    pub fn packets_of(&mut self, mark: Mark) -> Result<Vec<(u32, Packets)>, CountError> {
        self.request.start(GET, 0).header(&ANY_FAMILY);
        self.request
            .attr(CTA_MARK, &mark.value.to_be_bytes())
            .attr(CTA_MARK_MASK, &mark.mask.to_be_bytes());
        let listed = self.socket.dump_whole(&mut self.request, |entry| packets(&entry));
        listed.map_err(CountError)
    }

    /// Deletes the entry of a flow. No error if it has ended by itself.
    pub fn forget(&mut self, flow: &Flow) -> Result<(), ForgetError> {
        let header = [flow.family, 0, 0, 0];
        self.request.start(DELETE, 0).header(&header);
        self.request
            .nested(CTA_TUPLE_ORIG, |tuple| _ = tuple.header(&flow.tuple))
            .attr(CTA_ID, &flow.id.to_be_bytes());
        match self.socket.request(&mut self.request) {
            Err(error) if error.errno() == Some(libc::ENOENT) => Ok(()),
            outcome => outcome.map_err(ForgetError),
        }
    }

    /// Deletes the entries of all flows with this mark.
    pub fn forget_marked(&mut self, mark: Mark) -> Result<(), ForgetError> {
        self.request.start(DELETE, 0).header(&ANY_FAMILY);
        self.request
            .attr(CTA_MARK, &mark.value.to_be_bytes())
            .attr(CTA_MARK_MASK, &mark.mask.to_be_bytes());
        self.socket.request(&mut self.request).map_err(ForgetError)
    }
}

//! Answers: `struct inet_diag_msg` and its attributes.

use crate::info::{MptcpInfo, TcpInfo, TcpState};
use crate::mptcp_pm::{AddressId, Token};
use crate::netlink::{Attr, Attrs, u32_at};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use units::Bytes;

const LEN: usize = 72;
const CONGESTION_NAME_LEN: usize = 16;
/// Offset of the receive buffer in `SKMEMINFO`, in bytes: the second value (`SK_MEMINFO_RCVBUF`).
const RECEIVE_BUFFER_AT: usize = 4;

/// `INET_DIAG_*`.
pub(super) mod attr {
    pub const INFO: u16 = 2;
    pub const CONG: u16 = 4;
    pub const SKMEMINFO: u16 = 7;
    pub const ULP_INFO: u16 = 19;
    pub const CGROUP_ID: u16 = 21;
    pub const ULP_MPTCP: u16 = 3;
}

/// `MPTCP_SUBFLOW_ATTR_*`.
mod sub {
    pub const TOKEN_REM: u16 = 1;
    pub const TOKEN_LOC: u16 = 2;
    pub const RELWRITE_SEQ: u16 = 3;
    pub const MAP_SEQ: u16 = 4;
    pub const MAP_SFSEQ: u16 = 5;
    pub const SSN_OFFSET: u16 = 6;
    pub const MAP_DATALEN: u16 = 7;
    pub const FLAGS: u16 = 8;
    pub const ID_REM: u16 = 9;
    pub const ID_LOC: u16 = 10;
}

/// Name of a congestion controller.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct CongestionName([u8; CONGESTION_NAME_LEN]);

impl CongestionName {
    /// The name as text, empty if the kernel did not report it.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&b| b == 0).unwrap_or(CONGESTION_NAME_LEN);
        std::str::from_utf8(&self.0[..end]).unwrap_or("")
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut name = [0; CONGESTION_NAME_LEN];
        let len = bytes.len().min(CONGESTION_NAME_LEN);
        name[..len].copy_from_slice(&bytes[..len]);
        Self(name)
    }
}

impl fmt::Display for CongestionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for CongestionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Flags of a subflow (`MPTCP_SUBFLOW_FLAG_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubflowFlags(pub u32);

impl SubflowFlags {
    /// The first subflow of a connection, and the peer agreed to MPTCP on it.
    pub const fn agreed(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether the subflow joined an existing connection, unlike the first one.
    pub const fn joined(self) -> bool {
        self.0 & (1 << 2 | 1 << 3) != 0
    }

    /// The peer made it a backup.
    pub const fn backup_by_peer(self) -> bool {
        self.0 & 1 << 4 != 0
    }

    /// We made it a backup.
    pub const fn backup_by_us(self) -> bool {
        self.0 & 1 << 5 != 0
    }

    /// Whether both ends are authenticated.
    pub const fn fully_established(self) -> bool {
        self.0 & 1 << 6 != 0
    }

    /// Whether the TCP handshake is done.
    pub const fn connected(self) -> bool {
        self.0 & 1 << 7 != 0
    }
}

/// MPTCP data of a TCP socket that is a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MptcpSubflow {
    /// The connection it belongs to.
    pub token: Token,
    /// The peer's token, known after the join.
    pub remote_token: Token,
    /// Subflow sequence of our first byte within the connection.
    pub relwrite_seq: u32,
    /// Data sequence number at which the current mapping begins.
    pub map_seq: u64,
    /// Subflow sequence number at which the current mapping begins.
    pub map_subflow_seq: u32,
    /// Initial subflow sequence number.
    pub ssn_offset: u32,
    /// Length of the current mapping, in bytes.
    pub map_len: u16,
    /// Its flags.
    pub flags: SubflowFlags,
    /// Id of our address.
    pub local_id: AddressId,
    /// Id of the peer's address.
    pub remote_id: AddressId,
}

impl MptcpSubflow {
    fn parse(attrs: Attrs<'_>) -> Option<Self> {
        let mut subflow = Self {
            token: Token(0),
            remote_token: Token(0),
            relwrite_seq: 0,
            map_seq: 0,
            map_subflow_seq: 0,
            ssn_offset: 0,
            map_len: 0,
            flags: SubflowFlags::default(),
            local_id: AddressId(0),
            remote_id: AddressId(0),
        };
        for attr in attrs {
            subflow.read(&attr)?;
        }
        Some(subflow)
    }

    fn read(&mut self, attr: &Attr<'_>) -> Option<()> {
        match attr.kind {
            sub::TOKEN_REM => self.remote_token = Token(attr.u32()?),
            sub::TOKEN_LOC => self.token = Token(attr.u32()?),
            sub::RELWRITE_SEQ => self.relwrite_seq = attr.u32()?,
            sub::MAP_SEQ => self.map_seq = attr.u64()?,
            sub::MAP_SFSEQ => self.map_subflow_seq = attr.u32()?,
            sub::SSN_OFFSET => self.ssn_offset = attr.u32()?,
            sub::MAP_DATALEN => self.map_len = attr.u16()?,
            sub::FLAGS => self.flags = SubflowFlags(attr.u32()?),
            sub::ID_REM => self.remote_id = AddressId(attr.u8()?),
            sub::ID_LOC => self.local_id = AddressId(attr.u8()?),
            _ => {}
        }
        Some(())
    }
}

/// The fixed part of every answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    state: TcpState,
    local: SocketAddr,
    remote: SocketAddr,
    ifindex: Option<u32>,
    cookie: u64,
    receive_queue: Bytes,
    send_queue: Bytes,
    uid: u32,
    inode: u32,
}

impl Header {
    fn parse(payload: &[u8]) -> Option<Self> {
        let header = payload.get(..LEN)?;
        let v6 = i32::from(header[0]) == libc::AF_INET6;
        let queue = |at| Some(Bytes::new(u32_at(header, at)?.into()));
        Some(Self {
            state: TcpState::from_code(header[1]),
            local: end(header, 4, 8, v6)?,
            remote: end(header, 6, 24, v6)?,
            ifindex: u32_at(header, 40).filter(|&ifindex| ifindex != 0),
            cookie: u64::from(u32_at(header, 44)?) | u64::from(u32_at(header, 48)?) << 32,
            receive_queue: queue(56)?,
            send_queue: queue(60)?,
            uid: u32_at(header, 64)?,
            inode: u32_at(header, 68)?,
        })
    }
}

fn end(header: &[u8], port_at: usize, addr_at: usize, v6: bool) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(*header[port_at..].first_chunk()?);
    let addr = if v6 {
        IpAddr::from(*header[addr_at..].first_chunk::<16>()?)
    } else {
        IpAddr::from(*header[addr_at..].first_chunk::<4>()?)
    };
    Some(SocketAddr::new(addr, port))
}

/// A TCP socket, possibly a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// TCP state.
    pub state: TcpState,
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub remote: SocketAddr,
    /// The link to which it is bound.
    pub ifindex: Option<u32>,
    /// The socket cookie, unique until the next boot.
    pub cookie: u64,
    /// Received and not yet read. For a listener, connections not yet accepted.
    pub receive_queue: Bytes,
    /// Written and not yet acknowledged. For a listener, its backlog limit.
    pub send_queue: Bytes,
    /// The user whose program holds it.
    pub uid: u32,
    /// Its inode as in `/proc/PID/fd`, or 0 for a subflow, which no program holds.
    pub inode: u32,
    /// The cgroup in which it was made: the inode of its folder. `None` if the kernel has no cgroups.
    pub cgroup: Option<u64>,
    /// Its counters. `None` in TIME_WAIT.
    pub info: Option<TcpInfo>,
    /// Its congestion controller.
    pub congestion: CongestionName,
    /// Its MPTCP data if it is a subflow.
    pub subflow: Option<MptcpSubflow>,
}

impl TcpSocket {
    pub(super) fn parse(payload: &[u8]) -> Option<Self> {
        let Header {
            state,
            local,
            remote,
            ifindex,
            cookie,
            receive_queue,
            send_queue,
            uid,
            inode,
        } = Header::parse(payload)?;
        let mut socket = Self {
            state,
            local,
            remote,
            ifindex,
            cookie,
            receive_queue,
            send_queue,
            uid,
            inode,
            cgroup: None,
            info: None,
            congestion: CongestionName::default(),
            subflow: None,
        };
        for attr in Attrs::new(&payload[LEN..]) {
            match attr.kind {
                attr::INFO => socket.info = Some(TcpInfo::parse(attr.value)),
                attr::CONG => socket.congestion = CongestionName::from_bytes(attr.value),
                attr::CGROUP_ID => socket.cgroup = attr.value.first_chunk().map(|id| u64::from_ne_bytes(*id)),
                attr::ULP_INFO => socket.subflow = subflow(&attr),
                _ => {}
            }
        }
        Some(socket)
    }
}

fn subflow(ulp: &Attr<'_>) -> Option<MptcpSubflow> {
    MptcpSubflow::parse(ulp.attrs().find(attr::ULP_MPTCP)?.attrs())
}

/// An MPTCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MptcpSocket {
    /// TCP state.
    pub state: TcpState,
    /// Our address and port on the first subflow.
    pub local: SocketAddr,
    /// The peer's address and port on the first subflow.
    pub remote: SocketAddr,
    /// The link to which it is bound.
    pub ifindex: Option<u32>,
    /// The socket cookie, unique until the next boot.
    pub cookie: u64,
    /// Received in order and not yet read.
    pub receive_queue: Bytes,
    /// Written and not yet acknowledged.
    pub send_queue: Bytes,
    /// Its inode as in `/proc/PID/fd`.
    pub inode: u32,
    /// Limit of the memory for received data, or zero if the kernel does not report it.
    pub receive_buffer: Bytes,
    /// Its counters, all zero if the kernel reports none.
    pub info: MptcpInfo,
}

impl MptcpSocket {
    pub(super) fn parse(payload: &[u8]) -> Option<Self> {
        let Header {
            state,
            local,
            remote,
            ifindex,
            cookie,
            receive_queue,
            send_queue,
            inode,
            ..
        } = Header::parse(payload)?;
        let find = |kind| Attrs::new(&payload[LEN..]).find(kind);
        let info = find(attr::INFO).map(|attr| MptcpInfo::parse(attr.value));
        let receive_buffer = find(attr::SKMEMINFO).and_then(|attr| u32_at(attr.value, RECEIVE_BUFFER_AT));
        Some(Self {
            state,
            local,
            remote,
            ifindex,
            cookie,
            receive_queue,
            send_queue,
            inode,
            receive_buffer: Bytes::new(receive_buffer.unwrap_or(0).into()),
            info: info.unwrap_or_default(),
        })
    }
}

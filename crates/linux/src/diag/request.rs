//! Requests: `struct inet_diag_req_v2`.

use super::{Ends, TcpSocket};
use crate::info::TcpState;
use crate::mptcp_pm::Token;
use crate::netlink::Builder;
use std::net::{IpAddr, SocketAddr};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SOCK_DESTROY: u16 = 21;
const LEN: usize = 56;
const INET_DIAG_REQ_PROTOCOL: u16 = 3;
/// Requested optional attributes: bit n − 1 requests attribute n.
const WANTED: u8 = 1 << (super::socket::attr::INFO - 1) | 1 << (super::socket::attr::CONG - 1);
/// Requested attributes of an MPTCP connection.
const WANTED_OF_MPTCP: u8 = WANTED | 1 << (super::socket::attr::SKMEMINFO - 1);
const NO_COOKIE: [u8; 8] = [0xff; 8];

/// A set of TCP states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct States(u32);

impl States {
    /// Established: data flows both ways.
    pub const ESTABLISHED: Self = Self::only(TcpState::Established);
    /// Every state in which data may still arrive.
    pub const CONNECTED: Self = Self(
        Self::only(TcpState::Established).0
            | Self::only(TcpState::FinWait1).0
            | Self::only(TcpState::FinWait2).0
            | Self::only(TcpState::CloseWait).0,
    );
    /// [`CONNECTED`](Self::CONNECTED) and SYN_SENT.
    pub const BEGUN: Self = Self(Self::CONNECTED.0 | Self::only(TcpState::SynSent).0);
    /// This host has sent its FIN.
    pub const CLOSING: Self = Self(
        Self::only(TcpState::FinWait1).0
            | Self::only(TcpState::FinWait2).0
            | Self::only(TcpState::Closing).0
            | Self::only(TcpState::LastAck).0,
    );
    /// Listening.
    pub const LISTEN: Self = Self::only(TcpState::Listen);
    /// All states.
    pub const ALL: Self = Self(0x1fff);

    /// A single state.
    pub const fn only(state: TcpState) -> Self {
        Self(1 << state as u32)
    }
}

/// A request before it is encoded.
pub(super) struct Request {
    kind: u16,
    family: u8,
    protocol: i32,
    states: u32,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    ifindex: u32,
    cookie: [u8; 8],
    flags: u16,
}

impl Request {
    const fn new(v6: bool, protocol: i32, states: States) -> Self {
        let family = (if v6 { libc::AF_INET6 } else { libc::AF_INET }) as u8;
        let (local, remote, ifindex, cookie, flags) = (None, None, 0, NO_COOKIE, 0);
        Self {
            kind: SOCK_DIAG_BY_FAMILY,
            family,
            protocol,
            states: states.0,
            local,
            remote,
            ifindex,
            cookie,
            flags,
        }
    }

    pub(super) fn tcp(ends: &Ends) -> Self {
        let mut request = Self::new(ends.local.is_ipv6(), libc::IPPROTO_TCP, States::ALL);
        request.local = Some(ends.local);
        request.remote = Some(ends.remote);
        request.ifindex = ends.ifindex.unwrap_or(0);
        request
    }

    pub(super) fn end(socket: &TcpSocket) -> Self {
        let ends = Ends {
            local: socket.local,
            remote: socket.remote,
            ifindex: socket.ifindex,
        };
        Self {
            kind: SOCK_DESTROY,
            cookie: socket.cookie.to_ne_bytes(),
            ..Self::tcp(&ends)
        }
    }

    /// A request for one connection. The kernel reads the token from the cookie field of a TCP request and
    /// ignores the other fields.
    pub(super) fn mptcp(token: Token) -> Self {
        let mut request = Self::new(false, libc::IPPROTO_MPTCP, States::ALL);
        request.cookie[..4].copy_from_slice(&token.0.to_ne_bytes());
        request
    }

    pub(super) const fn all_tcp(v6: bool, states: States) -> Self {
        Self::new(v6, libc::IPPROTO_TCP, states)
    }

    pub(super) const fn all_mptcp(v6: bool, states: States) -> Self {
        Self::new(v6, libc::IPPROTO_MPTCP, states)
    }

    pub(super) fn write(&self, builder: &mut Builder) {
        builder.start(self.kind, self.flags).header(&self.header());
        if self.protocol == libc::IPPROTO_MPTCP {
            // 262 exceeds the header's one byte.
            builder.u32(INET_DIAG_REQ_PROTOCOL, self.protocol.cast_unsigned());
        }
    }

    fn header(&self) -> [u8; LEN] {
        let mut header = [0; LEN];
        header[0] = self.family;
        header[1] = u8::try_from(self.protocol).unwrap_or(libc::IPPROTO_RAW as u8);
        header[2] = match self.protocol {
            libc::IPPROTO_MPTCP => WANTED_OF_MPTCP,
            _ => WANTED,
        };
        header[4..8].copy_from_slice(&self.states.to_ne_bytes());
        put_end(&mut header, 8, 12, self.local);
        put_end(&mut header, 10, 28, self.remote);
        header[44..48].copy_from_slice(&self.ifindex.to_ne_bytes());
        header[48..].copy_from_slice(&self.cookie);
        header
    }
}

fn put_end(header: &mut [u8; LEN], port_at: usize, addr_at: usize, end: Option<SocketAddr>) {
    let Some(end) = end else { return };
    header[port_at..port_at + 2].copy_from_slice(&end.port().to_be_bytes());
    match end.ip() {
        IpAddr::V4(v4) => header[addr_at..addr_at + 4].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => header[addr_at..addr_at + 16].copy_from_slice(&v6.octets()),
    }
}

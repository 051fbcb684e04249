//! Socket statistics (`inet_diag`): finds one TCP socket by its addresses, one MPTCP connection by its token,
//! or all of them. It can also close a socket.
//!
//! Exact lookups ([`Diag::tcp`], [`Diag::mptcp`]) take a few microseconds and allocate nothing, so a subflow
//! can be polled every few milliseconds. Dumps ([`Diag::each_tcp`], [`Diag::each_mptcp`]) walk all sockets of
//! the namespace and suit reading many at once.
//!
//! # Facts to know
//! - A subflow that is bound to a link is found only with its `ifindex`. The user-space path manager can bind
//!   it.
//! - Addresses have the kernel's form: an IPv4 subflow of a dual-stack socket is `::ffff:a.b.c.d`.
//!
//! # Sources
//! - `sock_diag(7)`; `include/uapi/linux/inet_diag.h`, `net/ipv4/inet_diag.c`,
//!   `net/mptcp/{diag,mptcp_diag}.c` (Linux 6.18).
//!
//! # Checked by
//! `tests`: live connections, IPv4 and IPv6, against their own sockets and against the output of `ss`. A warm
//! lookup allocates nothing, and no input makes the parsers panic.

mod error;
mod request;
mod socket;
#[cfg(test)]
mod tests;

pub use error::{DiagError, EndError};
pub use request::States;
pub use socket::{CongestionName, MptcpSocket, MptcpSubflow, SubflowFlags, TcpSocket};

use crate::info::TcpState;
use crate::mptcp_pm::Token;
use crate::netlink::{self, Builder, Protocol, RequestError, Socket};
use request::Request;
use std::net::SocketAddr;

/// Identifies a TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub remote: SocketAddr,
    /// The link to which the socket is bound, or `None`.
    pub ifindex: Option<u32>,
}

/// Queries the sockets of one namespace.
#[derive(Debug)]
pub struct Diag {
    socket: Socket,
    request: Builder,
}

impl Diag {
    /// Opens a handle for the calling thread's namespace.
    pub fn open() -> Result<Self, netlink::OpenError> {
        Ok(Self {
            socket: Socket::open(Protocol::SockDiag)?,
            request: Builder::new(),
        })
    }

    /// Finds the TCP socket with these addresses. `None` if there is none. A listener on the port does not
    /// count.
    pub fn tcp(&mut self, ends: &Ends) -> Result<Option<TcpSocket>, DiagError> {
        Request::tcp(ends).write(&mut self.request);
        let mut found = None;
        let asked = self.socket.ask(&mut self.request, |message| {
            found = TcpSocket::parse(message.payload);
            Ok(())
        });
        absent_is_none(asked)?;
        Ok(found.filter(|socket| socket.state != TcpState::Listen))
    }

    /// Finds the MPTCP connection with this token. `None` if there is none.
    pub fn mptcp(&mut self, token: Token) -> Result<Option<MptcpSocket>, DiagError> {
        Request::mptcp(token).write(&mut self.request);
        let mut found = None;
        let asked = self.socket.ask(&mut self.request, |message| {
            found = MptcpSocket::parse(message.payload);
            Ok(())
        });
        absent_is_none(asked)?;
        Ok(found)
    }

    /// Closes a TCP socket at once and resets its peer (`SOCK_DESTROY`; needs CAP_NET_ADMIN and
    /// `CONFIG_INET_DIAG_DESTROY`). If it was the last subflow of a connection that no program holds, the
    /// connection ends with it. A socket that is already closed counts as success.
    pub fn end(&mut self, socket: &TcpSocket) -> Result<(), EndError> {
        Request::end(socket).write(&mut self.request);
        match self.socket.request(&mut self.request) {
            Err(error) if is_absent(&error) => Ok(()),
            ended => Ok(ended?),
        }
    }

    /// Calls `on` for every TCP socket of both families in one of `states`.
    pub fn each_tcp(&mut self, states: States, mut on: impl FnMut(&TcpSocket)) -> Result<(), DiagError> {
        for v6 in [false, true] {
            Request::all_tcp(v6, states).write(&mut self.request);
            let parse = |payload: &[u8]| TcpSocket::parse(payload);
            dump(&mut self.socket, &mut self.request, parse, &mut on)?;
        }
        Ok(())
    }

    /// Calls `on` for every MPTCP socket of both families in one of `states`.
    pub fn each_mptcp(&mut self, states: States, mut on: impl FnMut(&MptcpSocket)) -> Result<(), DiagError> {
        for v6 in [false, true] {
            Request::all_mptcp(v6, states).write(&mut self.request);
            let parse = |payload: &[u8]| MptcpSocket::parse(payload);
            dump(&mut self.socket, &mut self.request, parse, &mut on)?;
        }
        Ok(())
    }
}

/// Accepts dumps that the kernel marks as inconsistent: sockets come and go anyway during a dump.
fn dump<T>(
    socket: &mut Socket,
    request: &mut Builder,
    parse: fn(&[u8]) -> Option<T>,
    on: &mut impl FnMut(&T),
) -> Result<(), DiagError> {
    let dumped = socket.dump(request, |message| {
        if let Some(found) = parse(message.payload) {
            on(&found);
        }
        Ok(())
    });
    match dumped {
        Ok(()) | Err(RequestError::Interrupted { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn absent_is_none(asked: Result<(), RequestError>) -> Result<(), DiagError> {
    match asked {
        Ok(()) => Ok(()),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

const fn is_absent(error: &RequestError) -> bool {
    matches!(error.errno(), Some(libc::ENOENT | libc::ESTALE))
}

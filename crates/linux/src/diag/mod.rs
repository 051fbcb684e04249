//! Socket statistics (`inet_diag`): one TCP socket by its ends, one MPTCP connection by its token, or all of them; and how to end one.
//!
//! Exact look-ups ([`Diag::tcp`], [`Diag::mptcp`]) take a few microseconds and allocate nothing, so a subflow can be
//! looked at every few milliseconds; dumps ([`Diag::each_tcp`], [`Diag::each_mptcp`]) walk all sockets of the namespace
//! and serve many at once.
//!
//! # Facts to know
//! - A subflow that is bound to a link (the user-space path manager can bind it) is found only with its `ifindex`.
//! - Answers show the ends as the kernel has them: an IPv4 subflow of a dual-stack socket is `::ffff:a.b.c.d`.
//!
//! # Sources
//! - `sock_diag(7)`; `include/uapi/linux/inet_diag.h`, `net/ipv4/inet_diag.c`, `net/mptcp/{diag,mptcp_diag}.c`
//!   (Linux 6.18).
//!
//! # Checked by
//! `tests`: live connections, IPv4 and IPv6, against their own sockets and against what `ss` prints; a warm look-up
//! allocates nothing; no bytes make the parsers panic.

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

/// Which TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// Our end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// The link that the socket is bound to; `None` if it is not.
    pub ifindex: Option<u32>,
}

/// Asks about the sockets of one namespace.
#[derive(Debug)]
pub struct Diag {
    socket: Socket,
    request: Builder,
}

impl Diag {
    /// Opens the calling thread's namespace.
    pub fn open() -> Result<Self, netlink::OpenError> {
        Ok(Self {
            socket: Socket::open(Protocol::SockDiag)?,
            request: Builder::new(),
        })
    }

    /// The TCP socket with these ends; `None` if there is none (a listener on the port does not count).
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

    /// The MPTCP connection with this token; `None` if there is none.
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

    /// Ends a TCP socket at once, with a reset to its peer (`SOCK_DESTROY`; needs CAP_NET_ADMIN and `CONFIG_INET_DIAG_DESTROY`). A connection
    /// of which it was the last subflow ends with it if no program holds it any more. One that has ended by itself is as good.
    pub fn end(&mut self, socket: &TcpSocket) -> Result<(), EndError> {
        Request::end(socket).write(&mut self.request);
        match self.socket.request(&mut self.request) {
            Err(error) if is_absent(&error) => Ok(()),
            ended => Ok(ended?),
        }
    }

    /// Calls `on` for every TCP socket of both families in one of these states.
    pub fn each_tcp(&mut self, states: States, mut on: impl FnMut(&TcpSocket)) -> Result<(), DiagError> {
        for v6 in [false, true] {
            Request::all_tcp(v6, states).write(&mut self.request);
            let parse = |payload: &[u8]| TcpSocket::parse(payload);
            dump(&mut self.socket, &mut self.request, parse, &mut on)?;
        }
        Ok(())
    }

    /// Calls `on` for every MPTCP socket of both families in one of these states.
    pub fn each_mptcp(&mut self, states: States, mut on: impl FnMut(&MptcpSocket)) -> Result<(), DiagError> {
        for v6 in [false, true] {
            Request::all_mptcp(v6, states).write(&mut self.request);
            let parse = |payload: &[u8]| MptcpSocket::parse(payload);
            dump(&mut self.socket, &mut self.request, parse, &mut on)?;
        }
        Ok(())
    }
}

/// Sockets come and go while they are listed: a list that the kernel calls inconsistent is as good as any.
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

//! Converts between the kernel's and the engine's names of connections, subflows and their ends.

use crate::diag::Ends;
use crate::mptcp_pm::{self, Token};
use policy::ConnId;
use std::net::SocketAddr;

/// A subflow's ends, in the form that commands use.
pub(crate) const fn pair(ends: &Ends) -> mptcp_pm::Subflow {
    mptcp_pm::Subflow {
        local: ends.local,
        remote: ends.remote,
    }
}

/// A subflow's ends, in the form that events use.
pub(crate) const fn ends(pair: &mptcp_pm::Subflow, ifindex: Option<u32>) -> Ends {
    Ends {
        local: pair.local,
        remote: pair.remote,
        ifindex,
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

pub(crate) const fn conn_of(token: Token) -> ConnId {
    ConnId(token.0)
}

pub(crate) const fn token_of(conn: ConnId) -> Token {
    Token(conn.0)
}

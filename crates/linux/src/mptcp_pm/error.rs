//! Path manager errors, one enum per operation. Messages include the kernel's own text.

use super::address::{AddressId, Subflow, Token};
use super::endpoint::Endpoint;
use super::subflow::NewSubflow;
use crate::netlink::{self, ReceiveError, RequestError, ResolveError};
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Why the family could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The netlink socket could not be opened.
    #[error(transparent)]
    Socket(#[from] netlink::OpenError),
    /// The kernel has no MPTCP.
    #[error("{0}; it needs CONFIG_MPTCP=y (Linux 5.6, with user-space path manager 5.19)")]
    Family(#[from] ResolveError),
}

/// Why events could not be read.
#[derive(Debug, Error)]
pub enum EventError {
    /// The family could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The kernel does not support MPTCP events.
    #[error("this kernel sends no MPTCP events; they need Linux 5.12")]
    Unsupported,
    /// CAP_NET_ADMIN is missing.
    #[error("listening for MPTCP events needs CAP_NET_ADMIN: run as root")]
    Subscribe(#[source] std::io::Error),
    /// Events were lost or the socket failed.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
}

/// Why an endpoint could not be added.
#[derive(Debug, Error)]
pub enum AddEndpointError {
    /// The address or the id is already in use.
    #[error("{addr} or its id is an endpoint already; remove that one first")]
    Exists {
        /// The address.
        addr: IpAddr,
    },
    /// The kernel's limit of endpoints is reached.
    #[error("cannot add endpoint {addr}: the kernel allows 8; remove one first")]
    TooMany {
        /// The address.
        addr: IpAddr,
    },
    /// The port is in use, or the address is not on this host.
    #[error(
        "endpoint {addr}: the kernel cannot listen on its port there; choose another port or add the address"
    )]
    CannotListen {
        /// The address.
        addr: IpAddr,
    },
    /// Permission denied.
    #[error("adding endpoint {addr} needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The address.
        addr: IpAddr,
    },
    /// The flags are incompatible, or anything else.
    #[error("adding endpoint {addr}: {source}")]
    Kernel {
        /// The address.
        addr: IpAddr,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl AddEndpointError {
    pub(super) fn new(addr: IpAddr, source: RequestError) -> Self {
        match source.errno() {
            Some(libc::EEXIST) => Self::Exists { addr },
            Some(libc::ERANGE) => Self::TooMany { addr },
            Some(libc::EADDRINUSE | libc::EADDRNOTAVAIL) => Self::CannotListen { addr },
            Some(libc::EPERM) => Self::NotPermitted { addr },
            _ => Self::Kernel { addr, source },
        }
    }
}

/// Why endpoints could not be removed.
#[derive(Debug, Error)]
pub enum DelEndpointError {
    /// No endpoint has this id.
    #[error("there is no endpoint with id {id}; nothing to remove")]
    Absent {
        /// The id.
        id: AddressId,
    },
    /// Permission denied.
    #[error("removing endpoints needs CAP_NET_ADMIN: run as root")]
    NotPermitted,
    /// Anything else.
    #[error("removing endpoint {id}: {source}")]
    Kernel {
        /// The id.
        id: AddressId,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl DelEndpointError {
    pub(super) fn new(id: AddressId, source: RequestError) -> Self {
        match &source {
            RequestError::Refused(refusal) if refusal.says("not found") => Self::Absent { id },
            RequestError::Refused(refusal) if refusal.errno == libc::EPERM => Self::NotPermitted,
            _ => Self::Kernel { id, source },
        }
    }
}

/// Why endpoints could not be listed.
#[derive(Debug, Error)]
pub enum ListEndpointsError {
    /// Permission denied.
    #[error("listing endpoints needs CAP_NET_ADMIN: run as root")]
    NotPermitted,
    /// The connection is closed.
    #[error("the connection is gone; drop it")]
    ConnectionGone,
    /// Anything else.
    #[error("listing endpoints: {0}")]
    Kernel(#[source] RequestError),
}

impl From<RequestError> for ListEndpointsError {
    fn from(source: RequestError) -> Self {
        match &source {
            RequestError::Refused(refusal) if refusal.errno == libc::EPERM => Self::NotPermitted,
            RequestError::Refused(refusal) if refusal.says("invalid token") => Self::ConnectionGone,
            _ => Self::Kernel(source),
        }
    }
}

/// Why an endpoint's flags could not be changed.
#[derive(Debug, Error)]
pub enum SetFlagsError {
    /// No such endpoint exists.
    #[error("there is no endpoint `{endpoint}`; add it first")]
    Absent {
        /// The endpoint.
        endpoint: Endpoint,
    },
    /// Permission denied.
    #[error("changing endpoint `{endpoint}` needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The endpoint.
        endpoint: Endpoint,
    },
    /// `fullmesh` is not allowed for this kind of endpoint, or anything else.
    #[error("changing endpoint `{endpoint}`: {source}")]
    Kernel {
        /// The endpoint.
        endpoint: Endpoint,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl SetFlagsError {
    pub(super) fn new(endpoint: &Endpoint, source: RequestError) -> Self {
        let endpoint = *endpoint;
        match &source {
            RequestError::Refused(refusal) if refusal.says("not found") => Self::Absent { endpoint },
            RequestError::Refused(refusal) if refusal.errno == libc::EPERM => Self::NotPermitted { endpoint },
            _ => Self::Kernel { endpoint, source },
        }
    }
}

/// Why limits could not be read or set.
#[derive(Debug, Error)]
pub enum LimitsError {
    /// Permission denied.
    #[error("setting MPTCP limits needs CAP_NET_ADMIN: run as root")]
    NotPermitted,
    /// A value exceeds 8, or anything else.
    #[error("MPTCP limits (0 to 8 each): {0}")]
    Kernel(#[source] RequestError),
}

impl LimitsError {
    pub(super) fn new(source: RequestError) -> Self {
        if source.errno() == Some(libc::EPERM) {
            Self::NotPermitted
        } else {
            Self::Kernel(source)
        }
    }
}

/// Errors common to all commands on one connection.
enum ByToken {
    Gone,
    NotUserspace,
    NotPermitted,
    Other(RequestError),
}

impl ByToken {
    fn sort(source: RequestError) -> Self {
        match &source {
            RequestError::Refused(refusal) if refusal.says("invalid token") => Self::Gone,
            RequestError::Refused(refusal) if refusal.says("PM not selected") => Self::NotUserspace,
            RequestError::Refused(refusal) if refusal.errno == libc::EPERM => Self::NotPermitted,
            _ => Self::Other(source),
        }
    }
}

/// Why an address could not be announced.
#[derive(Debug, Error)]
pub enum AnnounceError {
    /// The connection is closed.
    #[error("connection {token} is gone; drop it")]
    ConnectionGone {
        /// The connection.
        token: Token,
    },
    /// The connection began under the in-kernel path manager.
    #[error(
        "connection {token} belongs to the in-kernel path manager; \
         set net.mptcp.path_manager=userspace before connections are made"
    )]
    NotUserspace {
        /// The connection.
        token: Token,
    },
    /// The address already has another id, the id another address, or the id is 0.
    #[error("connection {token}: the address and the id do not match; use the id it was first given")]
    IdConflict {
        /// The connection.
        token: Token,
    },
    /// Permission denied.
    #[error("announcing an address needs CAP_NET_ADMIN: run as root")]
    NotPermitted,
    /// Anything else.
    #[error("connection {token}: announcing an address: {source}")]
    Kernel {
        /// The connection.
        token: Token,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl AnnounceError {
    pub(super) fn new(token: Token, source: RequestError) -> Self {
        match ByToken::sort(source) {
            ByToken::Gone => Self::ConnectionGone { token },
            ByToken::NotUserspace => Self::NotUserspace { token },
            ByToken::NotPermitted => Self::NotPermitted,
            ByToken::Other(RequestError::Refused(refusal))
                if refusal.says("did not match address and id") || refusal.says("invalid addr id") =>
            {
                Self::IdConflict { token }
            }
            ByToken::Other(source) => Self::Kernel { token, source },
        }
    }
}

/// Why the removal of an address could not be sent to the peer.
#[derive(Debug, Error)]
pub enum RemoveError {
    /// The connection is closed.
    #[error("connection {token} is gone; drop it")]
    ConnectionGone {
        /// The connection.
        token: Token,
    },
    /// The connection began under the in-kernel path manager.
    #[error(
        "connection {token} belongs to the in-kernel path manager; \
         set net.mptcp.path_manager=userspace before connections are made"
    )]
    NotUserspace {
        /// The connection.
        token: Token,
    },
    /// The connection does not know the id: it was never used, already removed, or its subflow was destroyed
    /// first.
    #[error(
        "connection {token} has no address with id {id}; to send it again, announce the address with this id first"
    )]
    UnknownId {
        /// The connection.
        token: Token,
        /// The id.
        id: AddressId,
    },
    /// Permission denied.
    #[error("removing an address needs CAP_NET_ADMIN: run as root")]
    NotPermitted,
    /// Anything else.
    #[error("connection {token}: removing address {id}: {source}")]
    Kernel {
        /// The connection.
        token: Token,
        /// The id.
        id: AddressId,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl RemoveError {
    pub(super) fn new(token: Token, id: AddressId, source: RequestError) -> Self {
        match ByToken::sort(source) {
            ByToken::Gone => Self::ConnectionGone { token },
            ByToken::NotUserspace => Self::NotUserspace { token },
            ByToken::NotPermitted => Self::NotPermitted,
            ByToken::Other(RequestError::Refused(refusal)) if refusal.says("not found") => {
                Self::UnknownId { token, id }
            }
            ByToken::Other(source) => Self::Kernel { token, id, source },
        }
    }
}

/// Why a subflow could not be opened.
#[derive(Debug, Error)]
pub enum CreateSubflowError {
    /// The connection is closed.
    #[error("connection {token} is gone; drop it")]
    ConnectionGone {
        /// The connection.
        token: Token,
    },
    /// The connection began under the in-kernel path manager.
    #[error(
        "connection {token} belongs to the in-kernel path manager; \
         set net.mptcp.path_manager=userspace before connections are made"
    )]
    NotUserspace {
        /// The connection.
        token: Token,
    },
    /// The handshake is not complete, because no data was exchanged.
    #[error("connection {token} cannot take subflows yet; wait for its `established` event")]
    NotEstablished {
        /// The connection.
        token: Token,
    },
    /// The address already has another id, or the id another address.
    #[error("connection {token}: {addr} and id {id} do not match; use the id it was first given")]
    IdConflict {
        /// The connection.
        token: Token,
        /// The address.
        addr: IpAddr,
        /// The id.
        id: AddressId,
    },
    /// One address is IPv4 and the other IPv6.
    #[error("{addr} and {remote} are of different families; choose an address of the peer's family")]
    FamilyMismatch {
        /// Our address.
        addr: IpAddr,
        /// The peer's.
        remote: SocketAddr,
    },
    /// The program's socket is IPv4, or IPv6 only, and the addresses are of the other family.
    #[error(
        "the socket of connection {token} has no subflows of the family of {remote}; join another address"
    )]
    SocketFamily {
        /// The connection.
        token: Token,
        /// The peer's address.
        remote: SocketAddr,
    },
    /// The address is not on this host or not on the link.
    #[error("{addr} cannot be bound; is it still on its link?")]
    AddressGone {
        /// Our address.
        addr: IpAddr,
    },
    /// No route leads from our address to the peer.
    #[error("no route from {addr} to {remote}; check the link's table and rules")]
    NoRoute {
        /// Our address.
        addr: IpAddr,
        /// The peer's.
        remote: SocketAddr,
    },
    /// Permission denied.
    #[error("opening a subflow needs CAP_NET_ADMIN: run as root")]
    NotPermitted,
    /// Anything else.
    #[error("connection {token}: opening a subflow from {addr} to {remote}: {source}")]
    Kernel {
        /// The connection.
        token: Token,
        /// Our address.
        addr: IpAddr,
        /// The peer's.
        remote: SocketAddr,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl CreateSubflowError {
    pub(super) fn new(token: Token, new: &NewSubflow, source: RequestError) -> Self {
        let &NewSubflow { addr, id, remote, .. } = new;
        let source = match ByToken::sort(source) {
            ByToken::Gone => return Self::ConnectionGone { token },
            ByToken::NotUserspace => return Self::NotUserspace { token },
            ByToken::NotPermitted => return Self::NotPermitted,
            ByToken::Other(source) => source,
        };
        match &source {
            RequestError::Refused(refusal) => match refusal.errno {
                libc::ENOTCONN => Self::NotEstablished { token },
                libc::EADDRNOTAVAIL | libc::ENODEV => Self::AddressGone { addr },
                libc::ENETUNREACH | libc::EHOSTUNREACH => Self::NoRoute { addr, remote },
                libc::EINVAL if addr.is_ipv4() != remote.is_ipv4() => Self::FamilyMismatch { addr, remote },
                libc::EINVAL if refusal.says("families mismatch") => Self::SocketFamily { token, remote },
                // 6.18 returns "connect error: -22" for it, kernels before 6.15 "did not match address and
                // id".
                libc::EINVAL if refusal.says("connect error") || refusal.says("did not match") => {
                    Self::IdConflict { token, addr, id }
                }
                _ => Self::Kernel {
                    token,
                    addr,
                    remote,
                    source,
                },
            },
            _ => Self::Kernel {
                token,
                addr,
                remote,
                source,
            },
        }
    }
}

/// Why a subflow could not be closed.
#[derive(Debug, Error)]
pub enum DestroySubflowError {
    /// The connection is closed.
    #[error("connection {token} is gone; drop it")]
    ConnectionGone {
        /// The connection.
        token: Token,
    },
    /// The connection began under the in-kernel path manager.
    #[error(
        "connection {token} belongs to the in-kernel path manager; \
         set net.mptcp.path_manager=userspace before connections are made"
    )]
    NotUserspace {
        /// The connection.
        token: Token,
    },
    /// The subflow does not exist.
    #[error("connection {token} has no subflow {} to {}; it closed by itself", subflow.local, subflow.remote)]
    Absent {
        /// The connection.
        token: Token,
        /// The subflow.
        subflow: Subflow,
    },
    /// Permission denied.
    #[error("closing a subflow needs CAP_NET_ADMIN: run as root")]
    NotPermitted,
    /// Anything else.
    #[error("connection {token}: closing subflow {} to {}: {source}", subflow.local, subflow.remote)]
    Kernel {
        /// The connection.
        token: Token,
        /// The subflow.
        subflow: Subflow,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl DestroySubflowError {
    pub(super) fn new(token: Token, subflow: &Subflow, source: RequestError) -> Self {
        let subflow = *subflow;
        match ByToken::sort(source) {
            ByToken::Gone => Self::ConnectionGone { token },
            ByToken::NotUserspace => Self::NotUserspace { token },
            ByToken::NotPermitted => Self::NotPermitted,
            ByToken::Other(source) if source.errno() == Some(libc::ESRCH) => Self::Absent { token, subflow },
            ByToken::Other(source) => Self::Kernel {
                token,
                subflow,
                source,
            },
        }
    }
}

/// Why a subflow's priority could not be changed.
#[derive(Debug, Error)]
pub enum SetBackupError {
    /// The connection is closed.
    #[error("connection {token} is gone; drop it")]
    ConnectionGone {
        /// The connection.
        token: Token,
    },
    /// The connection began under the in-kernel path manager.
    #[error(
        "connection {token} belongs to the in-kernel path manager; \
         set net.mptcp.path_manager=userspace before connections are made"
    )]
    NotUserspace {
        /// The connection.
        token: Token,
    },
    /// The subflow does not exist, or its join is not complete.
    #[error(
        "connection {token} has no ready subflow {} to {}; if it was opened just now, try again after one RTT",
        subflow.local, subflow.remote
    )]
    NotReady {
        /// The connection.
        token: Token,
        /// The subflow.
        subflow: Subflow,
    },
    /// Permission denied.
    #[error("changing a subflow's priority needs CAP_NET_ADMIN: run as root")]
    NotPermitted,
    /// Anything else.
    #[error("connection {token}: priority of subflow {} to {}: {source}", subflow.local, subflow.remote)]
    Kernel {
        /// The connection.
        token: Token,
        /// The subflow.
        subflow: Subflow,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl SetBackupError {
    pub(super) fn new(token: Token, subflow: &Subflow, source: RequestError) -> Self {
        let subflow = *subflow;
        match ByToken::sort(source) {
            ByToken::Gone => Self::ConnectionGone { token },
            ByToken::NotUserspace => Self::NotUserspace { token },
            ByToken::NotPermitted => Self::NotPermitted,
            ByToken::Other(source) if matches!(source.errno(), Some(libc::EINVAL | libc::ESRCH)) => {
                Self::NotReady { token, subflow }
            }
            ByToken::Other(source) => Self::Kernel {
                token,
                subflow,
                source,
            },
        }
    }
}

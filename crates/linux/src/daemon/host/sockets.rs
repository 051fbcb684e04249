//! Asks the kernel about sockets.

use crate::daemon::api::error::StartError;
use crate::diag::{Diag, DiagError, Ends, MptcpSocket, States, SubflowFlags, TcpSocket};
use crate::info::TcpState;
use crate::mptcp_pm::Token;
use policy::ConnId;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use units::Bytes;

/// The flags "asked for MPTCP" and "asked to join". Only subflows that this host opened have them.
const OPENED_HERE: u32 = 1 << 1 | 1 << 3;

/// A subflow found when taking stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) token: Token,
    pub(crate) ends: Ends,
    pub(crate) address_id: u8,
    /// The identifier of the peer's address.
    pub(crate) remote_id: u8,
    /// The first subflow of its connection.
    pub(crate) initial: bool,
    /// Opened by this host.
    pub(crate) ours: bool,
    /// All handshakes are complete.
    pub(crate) ready: bool,
    pub(crate) backup: bool,
}

impl Found {
    fn new(socket: &TcpSocket) -> Option<Self> {
        let subflow = socket.subflow?;
        Some(Self {
            token: subflow.token,
            ends: Ends {
                local: socket.local,
                remote: socket.remote,
                ifindex: socket.ifindex,
            },
            address_id: subflow.local_id.0,
            remote_id: subflow.remote_id.0,
            initial: !subflow.flags.joined(),
            ours: subflow.flags.0 & OPENED_HERE != 0,
            ready: subflow.flags.fully_established(),
            backup: is_backup(subflow.flags),
        })
    }
}

/// All subflows and connections of the namespace.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) subflows: Vec<Found>,
    /// Connections, including those without a subflow.
    pub(crate) conns: BTreeSet<ConnId>,
    /// The connections that are closing.
    pub(crate) closing: BTreeSet<ConnId>,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// One end has closed its direction of the data stream.
    Closing,
    /// The connection is gone.
    Gone,
}

/// Reads sockets, one by one or all.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) diag: Diag,
}

impl Sockets {
    pub(crate) fn open() -> Result<Self, StartError> {
        Ok(Self { diag: Diag::open()? })
    }

    /// The receive buffer of a connection. Zero if it is gone or the kernel does not tell.
    pub(crate) fn receive_buffer(&mut self, token: Token) -> Bytes {
        let found = self.diag.mptcp(token).ok().flatten();
        found.map_or(Bytes::ZERO, |socket| socket.receive_buffer)
    }

    /// Whether a connection is ending. `None` also if the kernel does not tell.
    pub(crate) fn ending(&mut self, token: Token) -> Option<Ending> {
        match self.diag.mptcp(token) {
            Ok(Some(socket)) => is_closing(&socket).then_some(Ending::Closing),
            Ok(None) => Some(Ending::Gone),
            Err(_) => None,
        }
    }

    /// Lists every subflow and connection of the namespace.
    pub(crate) fn list(&mut self) -> Result<Listing, DiagError> {
        let mut listing = Listing::default();
        self.diag.each_tcp(States::CONNECTED, |socket| {
            listing.subflows.extend(Found::new(socket))
        })?;
        self.diag.each_mptcp(States::ALL, |socket| {
            let conn = socket.info.token.map(|token| ConnId(token.0));
            listing.conns.extend(conn);
            listing.closing.extend(conn.filter(|_| is_closing(socket)));
        })?;
        listing
            .conns
            .extend(listing.subflows.iter().map(|found| ConnId(found.token.0)));
        Ok(listing)
    }

    /// Local ports of sockets in SYN_SENT to this peer.
    pub(crate) fn connecting(&mut self, local: IpAddr, remote: SocketAddr) -> Result<Vec<u16>, DiagError> {
        let mut ports = Vec::new();
        self.diag.each_tcp(States::only(TcpState::SynSent), |socket| {
            if (socket.local.ip(), socket.remote) == (local, remote) && socket.subflow.is_some() {
                ports.push(socket.local.port());
            }
        })?;
        Ok(ports)
    }
}

/// Whether an end has sent DATA_FIN. Its subflows send FIN only when all data is acknowledged.
pub(crate) const fn is_closing(socket: &MptcpSocket) -> bool {
    !matches!(
        socket.state,
        TcpState::Established | TcpState::SynSent | TcpState::SynRecv
    )
}

pub(crate) const fn is_backup(flags: SubflowFlags) -> bool {
    flags.backup_by_us() || flags.backup_by_peer()
}

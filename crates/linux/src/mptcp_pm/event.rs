//! What the kernel tells of connections, subflows and the peer's addresses.

use super::address::{AddressId, Subflow, Token};
use super::error::{EventError, OpenError};
use super::{EVENT_GROUP, FAMILY, GENL_HEADER_LEN};
use crate::netlink::{Attr, Attrs, Family, Message, Protocol, Socket};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// `MPTCP_EVENT_*`.
pub(super) mod kind {
    pub const CREATED: u8 = 1;
    pub const ESTABLISHED: u8 = 2;
    pub const CLOSED: u8 = 3;
    pub const ANNOUNCED: u8 = 6;
    pub const REMOVED: u8 = 7;
    pub const SUB_ESTABLISHED: u8 = 10;
    pub const SUB_CLOSED: u8 = 11;
    pub const SUB_PRIORITY: u8 = 13;
    pub const LISTENER_CREATED: u8 = 15;
    pub const LISTENER_CLOSED: u8 = 16;
}

/// `MPTCP_ATTR_*`.
pub(super) mod attr {
    pub const TOKEN: u16 = 1;
    pub const LOC_ID: u16 = 3;
    pub const REM_ID: u16 = 4;
    pub const SADDR4: u16 = 5;
    pub const SADDR6: u16 = 6;
    pub const DADDR4: u16 = 7;
    pub const DADDR6: u16 = 8;
    pub const SPORT: u16 = 9;
    pub const DPORT: u16 = 10;
    pub const BACKUP: u16 = 11;
    pub const ERROR: u16 = 12;
    pub const FLAGS: u16 = 13;
    pub const TIMEOUT: u16 = 14;
    pub const IF_IDX: u16 = 15;
    pub const RESET_REASON: u16 = 16;
    pub const RESET_FLAGS: u16 = 17;
    pub const SERVER_SIDE: u16 = 18;
}

const FLAG_DENY_JOIN_ID0: u16 = 1;
/// From Linux 6.18 on, beside the attribute of its own.
const FLAG_SERVER_SIDE: u16 = 2;

/// A connection that is new or ready.
///
/// Addresses are as the kernel has them: an IPv4 connection of a dual-stack socket shows `::ffff:a.b.c.d`, and commands
/// about it want the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Its name.
    pub token: Token,
    /// Both ends of its first subflow.
    pub initial: Subflow,
    /// It was accepted here, not opened here.
    pub server_side: bool,
    /// The peer wants no joins to its initial address and port.
    pub deny_join_id0: bool,
}

/// A subflow that opened, closed, or changed its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowChange {
    /// The connection it belongs to.
    pub token: Token,
    /// Both its ends, in the form of [`Connection::initial`].
    pub subflow: Subflow,
    /// The number of our address.
    pub local_id: AddressId,
    /// The number of the peer's address.
    pub remote_id: AddressId,
    /// The peer asked to use it only when nothing else is left. What we asked for is not told.
    pub backup: bool,
    /// The link it is bound to.
    pub ifindex: Option<u32>,
    /// The `errno` it closed with. A refused join has none.
    pub error: Option<u8>,
    /// The peer reset it and said why.
    pub reset: Option<Reset>,
    /// Retransmission time-out, in milliseconds (sent by out-of-tree kernels only).
    pub timeout_ms: Option<u32>,
}

/// A reset with a reason (MP_TCPRST, RFC 8684 §3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// Why.
    pub reason: ResetReason,
    /// The cause may pass: it is worth another try.
    pub transient: bool,
}

/// Why the peer reset a subflow (RFC 8684 §3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetReason {
    /// It does not say.
    Unspecified,
    /// An MPTCP option was wrong.
    MptcpSpecific,
    /// It has no room for more subflows. Also what a stock server says beyond its limit.
    LackOfResources,
    /// It does not want this subflow.
    Prohibited,
    /// Too much data is waiting.
    TooMuchOutstanding,
    /// The path is too bad.
    UnacceptablePerformance,
    /// A box in between changed something.
    Middlebox,
    /// A reason of a later RFC.
    Other(u32),
}

impl ResetReason {
    pub(super) const fn from_code(code: u32) -> Self {
        match code {
            0 => Self::Unspecified,
            1 => Self::MptcpSpecific,
            2 => Self::LackOfResources,
            3 => Self::Prohibited,
            4 => Self::TooMuchOutstanding,
            5 => Self::UnacceptablePerformance,
            6 => Self::Middlebox,
            other => Self::Other(other),
        }
    }
}

/// An address of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced {
    /// The connection.
    pub token: Token,
    /// The number of the address.
    pub remote_id: AddressId,
    /// The address, and the port to connect to.
    pub remote: SocketAddr,
}

/// A socket of the path manager that listens for joins on an announced port.
pub type Listener = SocketAddr;

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection is new; it cannot take subflows yet.
    Created(Connection),
    /// A connection can take subflows.
    Established(Connection),
    /// A connection is gone.
    Closed(Token),
    /// The peer announced an address (ADD_ADDR).
    Announced(Announced),
    /// The peer took an address back (RM_ADDR).
    Removed(Token, AddressId),
    /// A subflow opened. If [`Event::SubflowClosed`] follows one RTT later, the peer refused it.
    SubflowEstablished(SubflowChange),
    /// A subflow closed.
    SubflowClosed(SubflowChange),
    /// A subflow's priority changed.
    SubflowPriority(SubflowChange),
    /// The path manager listens for joins.
    ListenerCreated(Listener),
    /// The path manager listens no more.
    ListenerClosed(Listener),
}

impl Event {
    /// The connection it is about; listeners belong to none.
    pub const fn token(&self) -> Option<Token> {
        match *self {
            Self::Created(connection) | Self::Established(connection) => Some(connection.token),
            Self::Closed(token) | Self::Removed(token, _) => Some(token),
            Self::Announced(announced) => Some(announced.token),
            Self::SubflowEstablished(change)
            | Self::SubflowClosed(change)
            | Self::SubflowPriority(change) => Some(change.token),
            Self::ListenerCreated(_) | Self::ListenerClosed(_) => None,
        }
    }

    /// Reads one event; `None` for kinds of a newer kernel.
    pub(super) fn parse(message: &Message<'_>) -> Option<Self> {
        let fields = Fields::read(message.attrs(GENL_HEADER_LEN));
        Some(match *message.payload.first()? {
            kind::CREATED => Self::Created(fields.connection()?),
            kind::ESTABLISHED => Self::Established(fields.connection()?),
            kind::CLOSED => Self::Closed(fields.token?),
            kind::ANNOUNCED => Self::Announced(fields.announced()?),
            kind::REMOVED => Self::Removed(fields.token?, fields.remote_id?),
            kind::SUB_ESTABLISHED => Self::SubflowEstablished(fields.subflow_change()?),
            kind::SUB_CLOSED => Self::SubflowClosed(fields.subflow_change()?),
            kind::SUB_PRIORITY => Self::SubflowPriority(fields.subflow_change()?),
            kind::LISTENER_CREATED => Self::ListenerCreated(fields.local()?),
            kind::LISTENER_CLOSED => Self::ListenerClosed(fields.local()?),
            _ => return None,
        })
    }
}

/// All attributes of an event, whichever it is.
#[derive(Debug, Default)]
struct Fields {
    token: Option<Token>,
    local_id: Option<AddressId>,
    remote_id: Option<AddressId>,
    saddr: Option<IpAddr>,
    daddr: Option<IpAddr>,
    sport: Option<u16>,
    dport: Option<u16>,
    backup: bool,
    error: Option<u8>,
    flags: u16,
    timeout_ms: Option<u32>,
    ifindex: Option<u32>,
    reset_reason: Option<u32>,
    reset_flags: u32,
    server_side: bool,
}

impl Fields {
    fn read(attrs: Attrs<'_>) -> Self {
        let mut fields = Self::default();
        for attr in attrs {
            fields.take(&attr);
        }
        fields
    }

    fn take(&mut self, attr: &Attr<'_>) {
        match attr.kind {
            attr::TOKEN => self.token = attr.u32().map(Token),
            attr::LOC_ID => self.local_id = attr.u8().map(AddressId),
            attr::REM_ID => self.remote_id = attr.u8().map(AddressId),
            attr::SADDR4 | attr::SADDR6 => self.saddr = attr.ip(),
            attr::DADDR4 | attr::DADDR6 => self.daddr = attr.ip(),
            attr::SPORT => self.sport = attr.be16(),
            attr::DPORT => self.dport = attr.be16(),
            attr::BACKUP => self.backup = attr.u8().unwrap_or(0) != 0,
            attr::ERROR => self.error = attr.u8(),
            attr::FLAGS => self.flags = attr.u16().unwrap_or(0),
            attr::TIMEOUT => self.timeout_ms = attr.u32(),
            attr::IF_IDX => self.ifindex = attr.u32(),
            attr::RESET_REASON => self.reset_reason = attr.u32(),
            attr::RESET_FLAGS => self.reset_flags = attr.u32().unwrap_or(0),
            attr::SERVER_SIDE => self.server_side = attr.u8().unwrap_or(0) != 0,
            _ => {}
        }
    }

    fn local(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.saddr?, self.sport?))
    }

    fn ends(&self) -> Option<Subflow> {
        Some(Subflow {
            local: self.local()?,
            remote: SocketAddr::new(self.daddr?, self.dport?),
        })
    }

    fn connection(&self) -> Option<Connection> {
        Some(Connection {
            token: self.token?,
            initial: self.ends()?,
            server_side: self.server_side || self.flags & FLAG_SERVER_SIDE != 0,
            deny_join_id0: self.flags & FLAG_DENY_JOIN_ID0 != 0,
        })
    }

    fn announced(&self) -> Option<Announced> {
        let remote = SocketAddr::new(self.daddr?, self.dport.unwrap_or(0));
        Some(Announced {
            token: self.token?,
            remote_id: self.remote_id?,
            remote,
        })
    }

    fn subflow_change(&self) -> Option<SubflowChange> {
        let transient = self.reset_flags & 1 != 0;
        Some(SubflowChange {
            token: self.token?,
            subflow: self.ends()?,
            local_id: self.local_id?,
            remote_id: self.remote_id?,
            backup: self.backup,
            ifindex: self.ifindex.filter(|&ifindex| ifindex != 0),
            error: self.error.filter(|&error| error != 0),
            reset: self.reset_reason.map(|code| Reset {
                reason: ResetReason::from_code(code),
                transient,
            }),
            timeout_ms: self.timeout_ms,
        })
    }
}

/// The events of one namespace.
///
/// Put it into `epoll`, and after every wake-up call [`next`](Self::next) until it returns `None`.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    family: u16,
    pending: VecDeque<Event>,
}

impl Events {
    /// Listens in the calling thread's namespace.
    pub fn open() -> Result<Self, EventError> {
        let mut socket = Socket::open(Protocol::Generic).map_err(OpenError::from)?;
        let family = Family::resolve(&mut socket, FAMILY).map_err(OpenError::from)?;
        let group = family.group(EVENT_GROUP).ok_or(EventError::Unsupported)?;
        socket.subscribe(group).map_err(EventError::Subscribe)?;
        Ok(Self {
            socket,
            family: family.id,
            pending: VecDeque::new(),
        })
    }

    /// The next event, without blocking; `None` when nothing waits.
    ///
    /// After [`ReceiveError::Overrun`](crate::netlink::ReceiveError::Overrun) list the connections anew (`diag`) and
    /// go on.
    #[expect(clippy::should_implement_trait, reason = "an error does not end the events")]
    pub fn next(&mut self) -> Result<Option<Event>, EventError> {
        while self.pending.is_empty() {
            let Some(messages) = self.socket.receive()? else {
                return Ok(None);
            };
            let ours = messages.filter(|message| message.kind == self.family);
            self.pending
                .extend(ours.filter_map(|message| Event::parse(&message)));
        }
        Ok(self.pending.pop_front())
    }
}

impl AsRawFd for Events {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

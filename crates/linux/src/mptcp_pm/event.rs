//! Events about connections, subflows and the peer's addresses.

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
/// Since Linux 6.18 the kernel sends this flag in addition to the attribute.
const FLAG_SERVER_SIDE: u16 = 2;

/// A new or ready connection.
///
/// Addresses have the kernel's form: an IPv4 connection of a dual-stack socket shows `::ffff:a.b.c.d`.
/// Commands for the connection need the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Its token.
    pub token: Token,
    /// Both addresses of its first subflow.
    pub initial: Subflow,
    /// It was accepted here, instead of opened here.
    pub server_side: bool,
    /// The peer accepts no joins to its initial address and port.
    pub deny_join_id0: bool,
}

/// A subflow that opened, closed, or changed its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowChange {
    /// The connection it belongs to.
    pub token: Token,
    /// Both its addresses, in the form of [`Connection::initial`].
    pub subflow: Subflow,
    /// Id of our address.
    pub local_id: AddressId,
    /// Id of the peer's address.
    pub remote_id: AddressId,
    /// The peer made it a backup. The kernel does not report our own choice.
    pub backup: bool,
    /// The link to which it is bound.
    pub ifindex: Option<u32>,
    /// The `errno` with which it closed. A refused join has none.
    pub error: Option<u8>,
    /// The peer's reset, if it gave a reason.
    pub reset: Option<Reset>,
    /// Retransmission time-out, in ms. Only out-of-tree kernels send it.
    pub timeout_ms: Option<u32>,
}

/// A reset with a reason (MP_TCPRST, RFC 8684 §3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// The reason.
    pub reason: ResetReason,
    /// The cause may be temporary, so a retry is worthwhile.
    pub transient: bool,
}

/// Why the peer reset a subflow (RFC 8684 §3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetReason {
    /// No reason is given.
    Unspecified,
    /// An MPTCP option was invalid.
    MptcpSpecific,
    /// The peer has no resources for more subflows. A stock server also sends this beyond its limit.
    LackOfResources,
    /// The peer's policy forbids this subflow.
    Prohibited,
    /// Too much data is outstanding.
    TooMuchOutstanding,
    /// The path performs too badly.
    UnacceptablePerformance,
    /// A middlebox changed something.
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
    /// The connection's token.
    pub token: Token,
    /// Id of the address.
    pub remote_id: AddressId,
    /// The address and the port to connect to.
    pub remote: SocketAddr,
}

/// A listening socket of the path manager for joins on an announced port.
pub type Listener = SocketAddr;

/// An event of the path manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection was created. It cannot take subflows yet.
    Created(Connection),
    /// A connection is ready for subflows.
    Established(Connection),
    /// A connection was closed.
    Closed(Token),
    /// The peer announced an address (ADD_ADDR).
    Announced(Announced),
    /// The peer removed an address (RM_ADDR).
    Removed(Token, AddressId),
    /// A subflow opened. If [`Event::SubflowClosed`] follows one RTT later, the peer refused it.
    SubflowEstablished(SubflowChange),
    /// A subflow closed.
    SubflowClosed(SubflowChange),
    /// A subflow's priority changed.
    SubflowPriority(SubflowChange),
    /// The path manager started to listen for joins.
    ListenerCreated(Listener),
    /// The path manager stopped listening.
    ListenerClosed(Listener),
}

impl Event {
    /// Token of its connection. Listeners belong to none.
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

    /// Parses one event. `None` for event types of newer kernels.
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

/// The attributes of any event.
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

/// Receives the events of one namespace.
///
/// Register it with `epoll`. After every wake-up call [`next`](Self::next) until it returns `None`.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    family: u16,
    pending: VecDeque<Event>,
}

impl Events {
    /// Subscribes in the calling thread's namespace.
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

    /// Returns the next event without blocking, or `None` if none is pending.
    ///
    /// After [`ReceiveError::Overrun`](crate::netlink::ReceiveError::Overrun), list the connections again
    /// (`diag`) and continue.
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

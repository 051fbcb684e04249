//! The identifiers that worlds assign.

/// A link, numbered by the world. Never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// A connection: the kernel's MPTCP token, unique among a host's open connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u32);

/// An address of a connection's peer: the identifier that the peer gave it (RFC 8684 §3.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteId(pub u8);

impl RemoteId {
    /// The address to which the first subflow goes.
    pub const FIRST: Self = Self(0);
}

/// A subflow, numbered by the world. Never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubflowId(pub u32);

/// A host beyond a link that can be probed, numbered by the world. Never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A radio whose time several links share, numbered by the world. Never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RadioId(pub u16);

/// A flow, numbered by the world: a socket, in juggler's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

/// A peer, numbered by the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

//! Parts of the family's messages: addresses, ids, flags, tokens.

use crate::netlink::{Attrs, Builder};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// `MPTCP_PM_ADDR_ATTR_*`.
mod attr {
    pub const FAMILY: u16 = 1;
    pub const ID: u16 = 2;
    pub const ADDR4: u16 = 3;
    pub const ADDR6: u16 = 4;
    pub const PORT: u16 = 5;
    pub const FLAGS: u16 = 6;
    pub const IF_IDX: u16 = 7;
}

/// The local token of an MPTCP connection, as `ip mptcp monitor` and `ss -M` print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// The id of an address within one connection (RFC 8684 §3.4.1). 0 is the address of the first subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressId(pub u8);

impl AddressId {
    /// The id of the connection's initial address.
    pub const INITIAL: Self = Self(0);
}

impl fmt::Display for AddressId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Options of an endpoint for the in-kernel path manager.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct EndpointFlags(u32);

const FLAG_NAMES: [(u32, &str); 6] = [
    (1, "signal"),
    (2, "subflow"),
    (4, "backup"),
    (8, "fullmesh"),
    (16, "implicit"),
    (32, "laminar"),
];

impl EndpointFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Announce it to the peer (ADD_ADDR).
    pub const SIGNAL: Self = Self(1);
    /// Open subflows from it.
    pub const SUBFLOW: Self = Self(2);
    /// Make its subflows backups.
    pub const BACKUP: Self = Self(4);
    /// Open subflows from it to every address of the peer.
    pub const FULLMESH: Self = Self(8);
    /// Created by the kernel because a program bound to an address without an endpoint.
    pub const IMPLICIT: Self = Self(16);
    /// Open subflows from it to addresses that the peer announces (Linux 6.18).
    pub const LAMINAR: Self = Self(32);

    /// The union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The value in `MPTCP_PM_ADDR_FLAG_*` bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Converts `MPTCP_PM_ADDR_FLAG_*` bits. Unknown bits of newer kernels are kept.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

impl fmt::Display for EndpointFlags {
    /// Prints them as `ip mptcp endpoint` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = FLAG_NAMES.iter().filter(|(bit, _)| self.0 & bit != 0);
        for (i, (_, name)) in set.enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for EndpointFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndpointFlags({self})")
    }
}

/// Address and port of the peer.
pub type Remote = SocketAddr;

/// A subflow of a connection, identified by both addresses and ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subflow {
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub remote: SocketAddr,
}

/// An address in the family's nested form. All parts are optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Nested {
    pub addr: Option<IpAddr>,
    pub id: Option<u8>,
    /// Port. It is in host order on the wire, unlike other netlink ports.
    pub port: Option<u16>,
    pub flags: Option<u32>,
    pub ifindex: Option<u32>,
}

impl Nested {
    pub fn socket(address: SocketAddr) -> Self {
        Self {
            addr: Some(address.ip()),
            port: Some(address.port()).filter(|&p| p != 0),
            ..Self::default()
        }
    }

    pub fn write(&self, request: &mut Builder, kind: u16) {
        request.nested(kind, |nest| {
            if let Some(addr) = self.addr {
                let (family, kind) = if addr.is_ipv4() {
                    (libc::AF_INET, attr::ADDR4)
                } else {
                    (libc::AF_INET6, attr::ADDR6)
                };
                nest.u16(attr::FAMILY, family as u16).ip(kind, addr);
            }
            if let Some(id) = self.id {
                nest.u8(attr::ID, id);
            }
            if let Some(port) = self.port {
                nest.u16(attr::PORT, port);
            }
            if let Some(flags) = self.flags {
                nest.u32(attr::FLAGS, flags);
            }
            if let Some(ifindex) = self.ifindex {
                nest.u32(attr::IF_IDX, ifindex);
            }
        });
    }

    pub fn read(attrs: Attrs<'_>) -> Self {
        let mut nested = Self::default();
        for attr in attrs {
            match attr.kind {
                attr::ID => nested.id = attr.u8(),
                attr::ADDR4 | attr::ADDR6 => nested.addr = attr.ip(),
                attr::PORT => nested.port = attr.u16(),
                attr::FLAGS => nested.flags = attr.u32(),
                attr::IF_IDX => nested.ifindex = attr.u32(),
                _ => {}
            }
        }
        nested
    }
}

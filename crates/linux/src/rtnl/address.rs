//! Addresses of links.

use super::error::{AddAddressError, DelAddressError, ListError};
use super::prefix::Prefix;
use super::{NLM_F_CREATE, NLM_F_EXCL, Rtnl};
use crate::netlink::Message;
use libc::{IFA_ADDRESS, IFA_FLAGS, IFA_LOCAL, RTM_DELADDR, RTM_GETADDR, RTM_NEWADDR};
use std::net::IpAddr;

pub(super) const HEADER_LEN: usize = 8;

/// `IFA_F_*` of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddressFlags(u32);

impl AddressFlags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// Usable at once, without duplicate address detection (IPv6).
    pub const NO_DAD: Self = Self(libc::IFA_F_NODAD);
    /// No connected route is created for its prefix.
    pub const NO_PREFIX_ROUTE: Self = Self(libc::IFA_F_NOPREFIXROUTE);

    /// The flags of the kernel's `IFA_F_*` bits.
    #[cfg(test)]
    pub(crate) const fn of(flags: u32) -> Self {
        Self(flags)
    }

    /// The union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Duplicate address detection is still running, so it is not usable yet (IPv6).
    pub const fn tentative(self) -> bool {
        self.0 & (libc::IFA_F_TENTATIVE | libc::IFA_F_OPTIMISTIC) == libc::IFA_F_TENTATIVE
    }

    /// Duplicate address detection found it in use, so it is never usable (IPv6).
    pub const fn duplicate(self) -> bool {
        self.0 & libc::IFA_F_DADFAILED != 0
    }

    /// Deprecated: not for new connections.
    pub const fn deprecated(self) -> bool {
        self.0 & libc::IFA_F_DEPRECATED != 0
    }

    /// IPv4: not the first address of its network. IPv6: a temporary privacy address. Both share one flag.
    pub const fn secondary_or_temporary(self) -> bool {
        self.0 & libc::IFA_F_SECONDARY != 0
    }

    /// Static: not learnt from a router or DHCP, and never expires.
    pub const fn permanent(self) -> bool {
        self.0 & libc::IFA_F_PERMANENT != 0
    }
}

/// An address of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The link.
    pub ifindex: u32,
    /// The address with its network's prefix length.
    pub prefix: Prefix,
    /// The peer's address on a point-to-point link.
    pub peer: Option<IpAddr>,
    /// `RT_SCOPE_*`: 0 universe, 253 link, 254 host.
    pub scope: u8,
    /// Its state and options.
    pub flags: AddressFlags,
}

impl Address {
    /// A plain address of universe scope.
    pub const fn new(ifindex: u32, prefix: Prefix) -> Self {
        Self {
            ifindex,
            prefix,
            peer: None,
            scope: libc::RT_SCOPE_UNIVERSE,
            flags: AddressFlags::NONE,
        }
    }

    /// The address itself.
    pub const fn addr(&self) -> IpAddr {
        self.prefix.addr()
    }

    /// Whether it has more than link scope and is ready for new connections.
    pub const fn usable(&self) -> bool {
        self.scope < libc::RT_SCOPE_LINK && !self.flags.tentative() && !self.flags.duplicate()
    }

    /// Parses `RTM_NEWADDR` and `RTM_DELADDR`.
    pub(super) fn parse(message: &Message<'_>) -> Option<Self> {
        let header = message.payload.get(..HEADER_LEN)?;
        let (mut local, mut address, mut flags) = (None, None, u32::from(header[2]));
        for attr in message.attrs(HEADER_LEN) {
            match attr.kind {
                IFA_LOCAL => local = attr.ip(),
                IFA_ADDRESS => address = attr.ip(),
                IFA_FLAGS => flags = attr.u32()?,
                _ => {}
            }
        }
        // For IPv6 without a peer the kernel sends IFA_ADDRESS only. For IPv4 it sends both, equal unless
        // there is a peer.
        let own = local.or(address)?;
        Some(Self {
            ifindex: u32::from_ne_bytes(*header[4..].first_chunk()?),
            prefix: Prefix::new(own, header[1]).ok()?,
            peer: address.filter(|&peer| peer != own),
            scope: header[3],
            flags: AddressFlags(flags),
        })
    }

    fn write(&self, rtnl: &mut Rtnl, kind: u16, nl_flags: u16) {
        let mut header = [self.prefix.family(), self.prefix.len(), 0, self.scope, 0, 0, 0, 0];
        header[4..].copy_from_slice(&self.ifindex.to_ne_bytes());
        rtnl.request
            .start(kind, nl_flags)
            .header(&header)
            .ip(IFA_LOCAL, self.addr())
            .ip(IFA_ADDRESS, self.peer.unwrap_or(self.addr()))
            .u32(IFA_FLAGS, self.flags.0);
    }
}

impl Rtnl {
    /// Lists the addresses of all links.
    pub fn addresses(&mut self) -> Result<Vec<Address>, ListError> {
        self.request.start(RTM_GETADDR, 0).header(&[0; HEADER_LEN]);
        self.socket
            .dump_whole(&mut self.request, |m| Address::parse(&m))
            .map_err(ListError)
    }

    /// Adds an address to a link.
    pub fn add_address(&mut self, address: &Address) -> Result<(), AddAddressError> {
        address.write(self, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
        self.socket
            .request(&mut self.request)
            .map_err(|error| AddAddressError::new(address, error))
    }

    /// Removes an address from a link.
    pub fn del_address(&mut self, address: &Address) -> Result<(), DelAddressError> {
        address.write(self, RTM_DELADDR, 0);
        self.socket
            .request(&mut self.request)
            .map_err(|error| DelAddressError::new(address, error))
    }
}

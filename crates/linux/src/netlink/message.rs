//! Decodes netlink messages in place.

use super::align4;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEADER_LEN: usize = 16;
const ATTR_HEADER_LEN: usize = 4;
/// The two top bits of an attribute's type are flags (`NLA_F_NESTED`, `NLA_F_NET_BYTEORDER`).
const NLA_TYPE_MASK: u16 = 0x3fff;

/// One message of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// `nlmsg_type`.
    pub kind: u16,
    /// `NLM_F_*`.
    pub flags: u16,
    /// Sequence number of the request this answers, or 0 for an event.
    pub seq: u32,
    /// Everything after the netlink header.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// The attributes after a fixed header of `header_len` bytes, or none if the message is shorter.
    pub fn attrs(&self, header_len: usize) -> Attrs<'a> {
        Attrs::new(self.payload.get(align4(header_len)..).unwrap_or_default())
    }
}

/// The messages of one datagram. Stops at the first truncated message.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Reads `datagram` from its first byte.
    pub const fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let header = self.rest.get(..HEADER_LEN)?;
        let len = u32_at(header, 0)? as usize;
        let payload = self.rest.get(HEADER_LEN..len)?;
        let message = Message {
            kind: u16_at(header, 4)?,
            flags: u16_at(header, 6)?,
            seq: u32_at(header, 8)?,
            payload,
        };
        self.rest = self.rest.get(align4(len)..).unwrap_or_default();
        Some(message)
    }
}

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr<'a> {
    /// Its type, without the flag bits.
    pub kind: u16,
    /// Its value, without padding.
    pub value: &'a [u8],
}

impl<'a> Attr<'a> {
    /// The value as one byte.
    pub fn u8(&self) -> Option<u8> {
        self.value.first().copied()
    }

    /// The value as 16 bits in host order.
    pub fn u16(&self) -> Option<u16> {
        u16_at(self.value, 0)
    }

    /// The value as 32 bits in host order.
    pub fn u32(&self) -> Option<u32> {
        u32_at(self.value, 0)
    }

    /// The value as 64 bits in host order.
    pub fn u64(&self) -> Option<u64> {
        Some(u64::from_ne_bytes(*self.value.first_chunk()?))
    }

    /// The value as 16 bits in network order.
    pub fn be16(&self) -> Option<u16> {
        Some(u16::from_be_bytes(*self.value.first_chunk()?))
    }

    /// The value as an IP address. Its length determines the family.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.value.len() {
            4 => Some(IpAddr::V4(Ipv4Addr::from(*self.value.first_chunk::<4>()?))),
            16 => Some(IpAddr::V6(Ipv6Addr::from(*self.value.first_chunk::<16>()?))),
            _ => None,
        }
    }

    /// The value as text, up to its first NUL.
    pub fn str(&self) -> Option<&'a str> {
        let end = self
            .value
            .iter()
            .position(|&b| b == 0)
            .unwrap_or(self.value.len());
        std::str::from_utf8(&self.value[..end]).ok()
    }

    /// The value as nested attributes.
    pub const fn attrs(&self) -> Attrs<'a> {
        Attrs::new(self.value)
    }
}

/// A sequence of attributes. Stops at the first truncated attribute.
#[derive(Debug, Clone)]
pub struct Attrs<'a> {
    rest: &'a [u8],
}

impl<'a> Attrs<'a> {
    /// Reads attributes from the first byte of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The first attribute of this type.
    pub fn find(mut self, kind: u16) -> Option<Attr<'a>> {
        Iterator::find(&mut self, |attr| attr.kind == kind)
    }
}

impl<'a> Iterator for Attrs<'a> {
    type Item = Attr<'a>;

    fn next(&mut self) -> Option<Attr<'a>> {
        let len = usize::from(u16_at(self.rest, 0)?);
        let kind = u16_at(self.rest, 2)? & NLA_TYPE_MASK;
        let value = self.rest.get(ATTR_HEADER_LEN..len)?;
        self.rest = self.rest.get(align4(len)..).unwrap_or_default();
        Some(Attr { kind, value })
    }
}

/// Two bytes in host order, or `None` beyond the end.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Four bytes in host order, or `None` beyond the end.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Eight bytes in host order, or `None` beyond the end.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

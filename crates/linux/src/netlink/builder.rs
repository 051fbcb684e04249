//! Encodes netlink requests.

use super::align4;
use std::net::IpAddr;

const HEADER_LEN: usize = 16;
const ATTR_HEADER_LEN: usize = 4;
const NLA_F_NESTED: u16 = 1 << 15;

/// One netlink request under construction. The buffer is reused for the next request.
///
/// ```
/// use linux::netlink::Builder;
///
/// let mut request = Builder::new();
/// request.start(3, 0).header(&[1, 0, 0, 0]).str0(2, "mptcp_pm");
/// assert_eq!(request.as_bytes().len(), 16 + 4 + 4 + 12);
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    buf: Vec<u8>,
}

impl Builder {
    /// An empty builder; the first [`start`](Self::start) allocates.
    pub const fn new() -> Self {
        Self { buf: Vec::new() }
    }

    /// Begins a message of type `kind` with `NLM_F_*` `flags` and discards the previous message.
    pub fn start(&mut self, kind: u16, flags: u16) -> &mut Self {
        self.buf.clear();
        self.buf.extend_from_slice(&[0; HEADER_LEN]);
        self.put(4, &kind.to_ne_bytes());
        self.put(6, &flags.to_ne_bytes());
        self
    }

    /// Appends the family's own fixed header (`genlmsghdr`, `rtmsg`, …).
    pub fn header(&mut self, bytes: &[u8]) -> &mut Self {
        self.buf.extend_from_slice(bytes);
        self.pad();
        self
    }

    /// Appends one attribute.
    ///
    /// # Panics
    /// If `value` does not fit an attribute's 16-bit length. No request of this crate comes near it.
    pub fn attr(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let len = u16::try_from(ATTR_HEADER_LEN + value.len()).expect("attribute under 64 KiB");
        self.buf.extend_from_slice(&len.to_ne_bytes());
        self.buf.extend_from_slice(&kind.to_ne_bytes());
        self.buf.extend_from_slice(value);
        self.pad();
        self
    }

    /// Appends an 8-bit attribute.
    pub fn u8(&mut self, kind: u16, value: u8) -> &mut Self {
        self.attr(kind, &[value])
    }

    /// Appends a 16-bit attribute in host order.
    pub fn u16(&mut self, kind: u16, value: u16) -> &mut Self {
        self.attr(kind, &value.to_ne_bytes())
    }

    /// Appends a 32-bit attribute in host order.
    pub fn u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attr(kind, &value.to_ne_bytes())
    }

    /// Appends an IP address of 4 or 16 bytes.
    pub fn ip(&mut self, kind: u16, value: IpAddr) -> &mut Self {
        match value {
            IpAddr::V4(v4) => self.attr(kind, &v4.octets()),
            IpAddr::V6(v6) => self.attr(kind, &v6.octets()),
        }
    }

    /// Appends a NUL-terminated string.
    ///
    /// # Panics
    /// If the string does not fit an attribute, as [`attr`](Self::attr).
    pub fn str0(&mut self, kind: u16, value: &str) -> &mut Self {
        let len = u16::try_from(ATTR_HEADER_LEN + value.len() + 1).expect("attribute under 64 KiB");
        self.buf.extend_from_slice(&len.to_ne_bytes());
        self.buf.extend_from_slice(&kind.to_ne_bytes());
        self.buf.extend_from_slice(value.as_bytes());
        self.buf.push(0);
        self.pad();
        self
    }

    /// Appends a nested attribute whose content `fill` writes.
    ///
    /// # Panics
    /// If the nest does not fit an attribute, as [`attr`](Self::attr).
    pub fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.buf.len();
        self.attr(kind | NLA_F_NESTED, &[]);
        fill(self);
        let len = u16::try_from(self.buf.len() - start).expect("attribute under 64 KiB");
        self.put(start, &len.to_ne_bytes());
        self
    }

    /// The finished message. The sequence number and port are zero until the socket sends it.
    pub fn as_bytes(&mut self) -> &[u8] {
        let len = u32::try_from(self.buf.len()).expect("message under 4 GiB");
        self.put(0, &len.to_ne_bytes());
        &self.buf
    }

    /// Sets the sequence number and adds flags just before sending.
    pub(super) fn finish(&mut self, seq: u32, more_flags: u16) -> &[u8] {
        let flags = u16::from_ne_bytes([self.buf[6], self.buf[7]]) | more_flags;
        self.put(6, &flags.to_ne_bytes());
        self.put(8, &seq.to_ne_bytes());
        self.as_bytes()
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.buf[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn pad(&mut self) {
        self.buf.resize(align4(self.buf.len()), 0);
    }
}

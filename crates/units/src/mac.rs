//! Link-layer addresses.

use core::fmt;

/// IEEE 802 address: 48 bits in transmission order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr([u8; 6]);

impl MacAddr {
    /// Broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Address from its six octets.
    pub const fn new(octets: [u8; 6]) -> Self {
        Self(octets)
    }

    /// Locally administered address derived from `number`, for simulated stations.
    pub const fn local(number: u32) -> Self {
        let n = number.to_be_bytes();
        Self([0x02, 0x5b, n[0], n[1], n[2], n[3]])
    }

    /// The six octets, in transmission order.
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }

    /// Whether this is a group address, broadcast included. Frames to a group are never acknowledged.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

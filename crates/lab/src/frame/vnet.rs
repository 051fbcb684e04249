//! The virtio-net header in front of every packet of a TUN device.
//!
//! # Sources
//! - Virtual I/O Device (VIRTIO) 1.2 §5.1.6; `include/uapi/linux/virtio_net.h`. TUN uses the host's byte
//!   order.

use crate::tun::VNET_LEN;
use wire::checksum::Field;

const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;

/// The fields of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Vnet {
    /// The transport checksum holds the pseudo header's sum only.
    pub(crate) partial: bool,
    /// Payload bytes of each TCP segment to cut the packet into; zero if the packet is a single segment.
    pub(crate) segment: u16,
    /// Whether the burst is IPv6.
    pub(crate) v6: bool,
    /// Bytes of all headers together.
    pub(crate) header_len: u16,
    /// Offset of the transport header in the packet.
    pub(crate) transport: u16,
    /// Offset of the checksum field in the transport header.
    pub(crate) checksum: u16,
}

impl Vnet {
    /// Parses the ten bytes. Refuses a burst of anything but TCP: we never offered to take one.
    pub(crate) fn parse(bytes: &[u8; VNET_LEN]) -> Option<Self> {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let segment = match bytes[1] {
            GSO_NONE => 0,
            GSO_TCPV4 | GSO_TCPV6 => word(4),
            _ => return None,
        };
        Some(Self {
            partial: bytes[0] & NEEDS_CSUM != 0,
            segment,
            v6: bytes[1] == GSO_TCPV6,
            header_len: word(2),
            transport: word(6),
            checksum: word(8),
        })
    }

    /// What the transport checksum field holds.
    pub(crate) const fn field(self) -> Field {
        if self.partial {
            Field::Partial
        } else {
            Field::Finished
        }
    }

    /// Encodes the header as ten bytes.
    pub(crate) fn encode(self) -> [u8; VNET_LEN] {
        let kind = match (self.segment, self.v6) {
            (0, _) => GSO_NONE,
            (_, false) => GSO_TCPV4,
            (_, true) => GSO_TCPV6,
        };
        let flags = if self.partial { NEEDS_CSUM } else { 0 };
        let [h0, h1] = self.header_len.to_ne_bytes();
        let [s0, s1] = self.segment.to_ne_bytes();
        let [t0, t1] = self.transport.to_ne_bytes();
        let [c0, c1] = self.checksum.to_ne_bytes();
        [flags, kind, h0, h1, s0, s1, t0, t1, c0, c1]
    }
}

//! IPv4 and IPv6 headers.
//!
//! # Sources
//! - RFC 791, RFC 8200, RFC 3168 §5 (ECN field).

use crate::checksum::{self, Field};

/// Protocol number of ICMP.
pub const ICMP: u8 = 1;
/// Protocol number of TCP.
pub const TCP: u8 = 6;
/// Protocol number of UDP.
pub const UDP: u8 = 17;
const IPV6_LEN: usize = 40;
const CE: u8 = 0b11;

/// Parsed header: the fields that locate the rest of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// IPv6 rather than IPv4.
    pub v6: bool,
    /// Length of the IP header in bytes, options included, IPv6 extension headers excluded.
    pub len: usize,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Fragment other than the first. Its payload does not start with a transport header.
    pub later_fragment: bool,
}

impl Header {
    /// Parses the header. `None` if the packet is not IP or too short.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::parse_v4(packet),
            6 => (packet.len() >= IPV6_LEN).then(|| Self {
                v6: true,
                len: IPV6_LEN,
                protocol: packet[6],
                later_fragment: false,
            }),
            _ => None,
        }
    }

    fn parse_v4(packet: &[u8]) -> Option<Self> {
        let len = usize::from(packet[0] & 0xf) * 4;
        if len < 20 || packet.len() < len {
            return None;
        }
        Some(Self {
            v6: false,
            len,
            protocol: packet[9],
            later_fragment: (u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff) != 0,
        })
    }

    /// Source and destination port of a TCP segment. `None` for anything else, and for fragments other than
    /// the first.
    pub fn tcp_ports(&self, packet: &[u8]) -> Option<(u16, u16)> {
        if self.protocol != TCP || self.later_fragment {
            return None;
        }
        let [a, b, c, d] = *packet.get(self.len..)?.first_chunk()?;
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }

    /// Whether the sender supports ECN (ECT or CE).
    pub fn ect(&self, packet: &[u8]) -> bool {
        let ecn = if self.v6 { packet[1] >> 4 } else { packet[1] };
        ecn & CE != 0
    }

    /// Whether the packet is marked CE.
    pub fn ce(&self, packet: &[u8]) -> bool {
        let ecn = if self.v6 { packet[1] >> 4 } else { packet[1] };
        ecn & CE == CE
    }

    /// Marks the packet CE (congestion experienced).
    pub fn set_ce(&self, packet: &mut [u8]) {
        let before = [packet[0], packet[1]];
        if self.v6 {
            packet[1] |= CE << 4;
        } else {
            packet[1] |= CE;
            let after = [packet[0], packet[1]];
            checksum::replace(packet, 10, Field::Finished, &before, &after);
        }
    }

    /// Whether the packet never leaves its link (multicast and link-local). Such packets come from the host's
    /// own stack and are not measured traffic.
    pub fn is_local_chatter(&self, packet: &[u8]) -> bool {
        if self.v6 {
            let source_is_link_local = packet[8] == 0xfe && packet[9] & 0xc0 == 0x80;
            packet[24] == 0xff || source_is_link_local
        } else {
            packet[16] >> 4 == 0xe || packet[16..20] == [255; 4]
        }
    }

    /// Source and destination address as in the packet, concatenated.
    pub fn addresses<'p>(&self, packet: &'p [u8]) -> &'p [u8] {
        if self.v6 { &packet[8..40] } else { &packet[12..20] }
    }
}

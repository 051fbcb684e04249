//! A TCP burst: one buffer from the kernel, several packets to the links.
//!
//! The kernel hands a burst over uncut (TSO). The links treat it as separate segments, each with its own
//! fate. Segments that leave a link together are written as one burst again, as a receiving network card
//! merges them (GRO).
//!
//! # Sources
//! - `net/ipv4/tcp_offload.c: tcp_gso_segment` (Linux 6.18): sequence numbers, FIN and PSH on the last
//!   segment only, CWR on the first only, IPv4 identification counted up.
//!
//! # Where we differ, and why
//! 1. The transport checksum stays partial: the packet never leaves the machine's memory.
//!
//! # Checked by
//! `frame::tests`: every cut of a burst against segments built one by one; `tests/emulator.rs` with the
//! kernel at both ends.

use super::vnet::Vnet;
use crate::tun::VNET_LEN;
use wire::checksum;
use wire::ip::{Header, TCP};

/// Longest headers: virtio, IPv4 with options or IPv6, TCP with options.
const HEAD_ROOM: usize = VNET_LEN + 60 + 60;
const TCP_CHECKSUM: u16 = 16;
const FIN_PSH: u8 = 0x01 | 0x08;
const CWR: u8 = 0x80;

/// How a buffer is cut into segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Burst {
    ip: Header,
    /// IP and TCP headers together, in bytes.
    pub(crate) header_len: usize,
    /// Payload of every segment but the last, in bytes.
    pub(crate) segment: usize,
    /// Payload of all segments, in bytes.
    payload: usize,
    /// How many segments.
    pub(crate) segments: u16,
}

impl Burst {
    /// How to cut `packet` of `len` bytes, of which only the beginning need be present. `None`: not TCP, or
    /// malformed.
    pub(crate) fn of(vnet: Vnet, ip: Header, packet: &[u8], len: usize) -> Option<Self> {
        let segment = usize::from(vnet.segment);
        let offset = usize::from(packet.get(ip.len + 12)? >> 4) * 4;
        let header_len = ip.len + offset;
        if ip.protocol != TCP || offset < 20 || header_len >= len || segment == 0 || header_len > packet.len()
        {
            return None;
        }
        let payload = len - header_len;
        let segments = u16::try_from(payload.div_ceil(segment)).ok()?;
        Some(Self {
            ip,
            header_len,
            segment,
            payload,
            segments,
        })
    }

    /// Length of segment `index` as an IP packet.
    pub(crate) fn packet_len(&self, index: u16) -> usize {
        let (from, to) = self.payload_of(index, index);
        self.header_len + to - from
    }

    /// Where the payload of segments `first..=last` lies, from the beginning of the payload.
    pub(crate) fn payload_of(&self, first: u16, last: u16) -> (usize, usize) {
        let from = usize::from(first) * self.segment;
        let to = (usize::from(last) + 1) * self.segment;
        (from, to.min(self.payload))
    }

    /// The headers of segments `first..=last` as one burst; `headers` are those of the whole.
    pub(crate) fn head(&self, headers: &[u8], first: u16, last: u16, ce: bool) -> Head {
        let (from, to) = self.payload_of(first, last);
        let mut head = Head {
            bytes: [0; HEAD_ROOM],
            len: VNET_LEN + self.header_len,
        };
        let vnet = Vnet {
            partial: true,
            segment: if first == last { 0 } else { self.segment as u16 },
            v6: self.ip.v6,
            header_len: self.header_len as u16,
            transport: self.ip.len as u16,
            checksum: TCP_CHECKSUM,
        };
        head.bytes[..VNET_LEN].copy_from_slice(&vnet.encode());
        let packet = &mut head.bytes[VNET_LEN..VNET_LEN + self.header_len];
        packet.copy_from_slice(&headers[..self.header_len]);
        self.write_tcp(&mut packet[self.ip.len..], first, last);
        self.write_ip(packet, first, self.header_len + to - from);
        self.write_checksum(packet, to - from);
        if ce {
            self.ip.set_ce(packet);
        }
        head
    }

    fn write_tcp(&self, tcp: &mut [u8], first: u16, last: u16) {
        let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let skipped = u32::from(first) * self.segment as u32;
        tcp[4..8].copy_from_slice(&sequence.wrapping_add(skipped).to_be_bytes());
        if last + 1 < self.segments {
            tcp[13] &= !FIN_PSH;
        }
        if first > 0 {
            tcp[13] &= !CWR;
        }
    }

    fn write_ip(&self, packet: &mut [u8], first: u16, total: usize) {
        if self.ip.v6 {
            let payload = (total - self.ip.len) as u16;
            packet[4..6].copy_from_slice(&payload.to_be_bytes());
            return;
        }
        packet[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        let id = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(first);
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet[10..12].fill(0);
        let sum = !checksum::fold(checksum::sum(&packet[..self.ip.len]));
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    fn write_checksum(&self, packet: &mut [u8], payload: usize) {
        let length = self.header_len - self.ip.len + payload;
        let pseudo = checksum::pseudo_header(self.ip.addresses(packet), TCP, length);
        let at = self.ip.len + usize::from(TCP_CHECKSUM);
        packet[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
    }
}

/// All headers of a burst, the virtio one first.
#[derive(Debug)]
pub(crate) struct Head {
    bytes: [u8; HEAD_ROOM],
    len: usize,
}

impl Head {
    /// Bytes of the head.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

//! Packets between the hosts: a TCP segment with its options, and its true length.
//!
//! # Sources
//! - RFC 9293 §3.1, RFC 7323 §3.2 (timestamps), RFC 2018 §3 (SACK), RFC 8684 §3 (the options of MPTCP).
//! - Linux 6.18, `net/ipv4/tcp_output.c` (`tcp_established_options`): which options come first, and how many
//!   SACK blocks are left room for. `net/mptcp/options.c`: data sequence numbers and data ACKs of 64 bits, no
//!   checksum.
//!
//! # Where we differ, and why
//! 1. A packet has numbers instead of addresses and ports: the world knows which link it is on.
//! 2. Segments are numbered. A segment is never cut again, so its number stands for its bytes.
//!
//! # Checked by
//! `tests` below.

use policy::Family;
use units::Instant;

/// Largest IP packet, in bytes.
pub const MTU: u32 = 1_500;
/// Header of TCP with timestamps, padded.
const TCP: u32 = 20 + 12;
/// Space for options in a header.
const MOST_OPTIONS: u32 = 40;
/// Timestamps, padded.
const TIMESTAMPS: u32 = 12;
/// Options of a SYN: MSS, SACK permitted, timestamps, window scale.
const SYN_OPTIONS: u32 = 20;
/// Header of UDP.
const UDP: u32 = 8;
/// ICMP echo with the payload that `ping` sends.
const ECHO: u32 = 8 + 56;
/// DSS with a data ACK.
const DATA_ACK: u32 = 12;
/// DSS with a data ACK and a mapping, padded.
const MAPPING: u32 = 28;

/// Length of an IP header.
const fn ip_header(family: Family) -> u32 {
    match family {
        Family::V4 => 20,
        Family::V6 => 40,
    }
}

/// Payload of a full segment, in bytes.
pub const fn full_segment(family: Family, mptcp: bool) -> u16 {
    let options = if mptcp { MAPPING } else { 0 };
    (MTU - ip_header(family) - TCP - options) as u16
}

/// Kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// SYN.
    Syn,
    /// SYN and ACK.
    SynAck,
    /// ACK, with payload or without.
    Ack,
    /// ACK whose own number is acknowledged already: it asks for the receive window (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// RST.
    Reset,
    /// An ICMP echo request. Its number is [`Packet::number`].
    Probe,
    /// Its reply.
    Reply,
    /// A UDP datagram. Its flow is [`Packet::conn`].
    Datagram,
}

impl Kind {
    /// Whether it belongs to no connection.
    pub const fn is_probe(self) -> bool {
        matches!(self, Self::Probe | Self::Reply | Self::Datagram)
    }
}

/// ECN codepoint of a packet (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Its sender does not understand ECN, or the segment must not be marked.
    #[default]
    NotEct,
    /// It may be marked.
    Ect,
    /// It is marked.
    Ce,
}

/// Option of MPTCP beside the DSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signal {
    /// No other option.
    #[default]
    None,
    /// MP_CAPABLE.
    Capable,
    /// MP_JOIN. `address`: the identifier of the sender's address.
    Join {
        /// Identifier of the sender's address.
        address: u8,
        /// Whether the subflow is backup.
        backup: bool,
    },
    /// MP_PRIO.
    Priority {
        /// Whether the subflow is backup.
        backup: bool,
    },
    /// ADD_ADDR.
    AddAddress {
        /// Identifier of the address.
        address: u8,
        /// Its family.
        family: Family,
        /// Whether this is the answer to an announcement.
        echo: bool,
    },
    /// RM_ADDR.
    RemoveAddress {
        /// Identifier of the address.
        address: u8,
    },
}

impl Signal {
    /// Length, padded.
    const fn bytes(self, kind: Kind) -> u32 {
        match (self, kind) {
            (Self::None, _) => 0,
            (Self::Capable, Kind::Syn) => 4,
            (Self::Capable, Kind::SynAck) | (Self::Join { .. }, Kind::Syn) => 12,
            (Self::Capable, _) => 20,
            (Self::Join { .. }, Kind::SynAck) => 16,
            (Self::Join { .. }, _) => 24,
            (Self::Priority { .. } | Self::RemoveAddress { .. }, _) => 4,
            (Self::AddAddress { family, echo, .. }, _) => match (family, echo) {
                (Family::V4, false) => 16,
                (Family::V6, false) => 28,
                // An echo has no HMAC.
                (Family::V4, true) => 8,
                (Family::V6, true) => 20,
            },
        }
    }
}

/// Most SACK blocks in a packet with timestamps.
pub const MOST_BLOCKS: usize = 3;

/// SACK blocks, relative to the acknowledged number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sacks {
    blocks: [(u32, u32); MOST_BLOCKS],
    count: u8,
    /// Whether a segment arrived for a second time (D-SACK, RFC 2883).
    pub duplicate: bool,
}

impl Sacks {
    /// No blocks.
    pub const NONE: Self = Self {
        blocks: [(0, 0); MOST_BLOCKS],
        count: 0,
        duplicate: false,
    };

    /// Adds a block of segments `from..until` if there is room. `next`: the acknowledged number.
    pub fn push(&mut self, next: u64, (from, until): (u64, u64)) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = ((from - next) as u32, (until - from) as u32);
            self.count += 1;
        }
    }

    /// The blocks as ranges of numbers.
    pub fn blocks(&self, next: u64) -> impl Iterator<Item = (u64, u64)> {
        let blocks = self.blocks.into_iter().take(self.count.into());
        blocks.map(move |(from, count)| {
            let from = next + u64::from(from);
            (from, from + u64::from(count))
        })
    }

    const fn bytes(self) -> u32 {
        let blocks = self.count as u32 + self.duplicate as u32;
        if blocks == 0 { 0 } else { 4 + 8 * blocks }
    }
}

/// How many SACK blocks fit beside the other options of an ACK without payload.
pub const fn room_for_blocks(mptcp: bool) -> usize {
    if mptcp { 1 } else { MOST_BLOCKS }
}

/// One packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The connection.
    pub conn: u32,
    /// The subflow: the client's port.
    pub port: u16,
    /// Whether it goes to the end that accepted the connection.
    pub to_server: bool,
    /// Identifier of the server's address.
    pub server: u8,
    /// Its version of IP.
    pub family: Family,
    /// Its kind.
    pub kind: Kind,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// ECE: in a SYN, that the sender understands ECN.
    pub ece: bool,
    /// CWR.
    pub cwr: bool,
    /// FIN, behind the payload.
    pub fin: bool,
    /// DATA_FIN: the sender's data ends with the payload. Without payload: it ends before `data`.
    pub data_fin: bool,
    /// Whether the subflow is one of an MPTCP connection.
    pub mptcp: bool,
    /// Length of the payload.
    pub bytes: u16,
    /// Number of the segment, if it has payload or FIN.
    pub number: u64,
    /// Number of the next segment that the sender of the packet expects.
    pub ack: u64,
    /// Segments behind it that have arrived.
    pub sacks: Sacks,
    /// Receive window in bytes, from the acknowledged data.
    pub window: u64,
    /// When it was sent (TSval).
    pub sent: Instant,
    /// When the segment was sent that it answers (TSecr).
    pub echo: Instant,
    /// Number of the payload's first byte in the data of the connection. With FIN alone: where it ends.
    pub data: u64,
    /// Next byte of data that the sender of the packet expects (data ACK).
    pub data_ack: u64,
    /// Option beside the DSS.
    pub signal: Signal,
}

impl Packet {
    /// An ACK of nothing, of connection 0.
    pub const EMPTY: Self = Self {
        conn: 0,
        port: 0,
        to_server: false,
        server: 0,
        family: Family::V4,
        kind: Kind::Ack,
        ecn: Ecn::NotEct,
        ece: false,
        cwr: false,
        fin: false,
        data_fin: false,
        mptcp: false,
        bytes: 0,
        number: 0,
        ack: 0,
        sacks: Sacks::NONE,
        window: 0,
        sent: Instant::ZERO,
        echo: Instant::ZERO,
        data: 0,
        data_ack: 0,
        signal: Signal::None,
    };

    /// Length of the IP packet.
    pub fn length(&self) -> u32 {
        let ip = ip_header(self.family);
        let options = match self.kind {
            Kind::Syn | Kind::SynAck => SYN_OPTIONS + self.signal.bytes(self.kind),
            Kind::Reset => {
                if self.mptcp {
                    TIMESTAMPS + 4
                } else {
                    TIMESTAMPS
                }
            }
            Kind::Ack | Kind::WindowProbe => TIMESTAMPS + self.mptcp_bytes() + self.sacks.bytes(),
            Kind::Probe | Kind::Reply => return ip + ECHO,
            Kind::Datagram => return ip + UDP + u32::from(self.bytes),
        };
        ip + 20 + options.min(MOST_OPTIONS) + u32::from(self.bytes)
    }

    fn mptcp_bytes(&self) -> u32 {
        let signal = self.signal.bytes(self.kind);
        let handshake = matches!(self.signal, Signal::Capable | Signal::Join { .. });
        match (self.mptcp, self.bytes) {
            (false, _) => 0,
            _ if handshake => signal,
            (true, 0) if self.data_fin => MAPPING + signal,
            (true, 0) => DATA_ACK + signal,
            (true, _) => MAPPING,
        }
    }

    /// Whether it has a number of its own: payload or FIN.
    pub const fn is_numbered(&self) -> bool {
        self.bytes > 0 || self.fin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACK: Packet = Packet::EMPTY;

    #[test]
    fn full_segments_fill_the_mtu_in_both_families() {
        for (family, mptcp, bytes) in [
            (Family::V4, false, 1_448),
            (Family::V6, false, 1_428),
            (Family::V4, true, 1_420),
            (Family::V6, true, 1_400),
        ] {
            assert_eq!(full_segment(family, mptcp), bytes);
            let packet = Packet {
                family,
                mptcp,
                bytes,
                ..ACK
            };
            assert_eq!(packet.length(), MTU);
        }
    }

    #[test]
    fn lengths_are_those_of_linux() {
        assert_eq!(ACK.length(), 52);
        assert_eq!(Packet { mptcp: true, ..ACK }.length(), 64);
        let ends = Packet {
            mptcp: true,
            data_fin: true,
            ..ACK
        };
        assert_eq!(ends.length(), 80);
        let syn = |kind, signal| Packet { kind, signal, ..ACK }.length();
        assert_eq!(syn(Kind::Syn, Signal::None), 60);
        assert_eq!(syn(Kind::Syn, Signal::Capable), 64);
        assert_eq!(syn(Kind::SynAck, Signal::Capable), 72);
        let join = Signal::Join {
            address: 1,
            backup: false,
        };
        assert_eq!(syn(Kind::Syn, join), 72);
        assert_eq!(syn(Kind::SynAck, join), 76);
        let third = Packet {
            mptcp: true,
            signal: join,
            ..ACK
        };
        assert_eq!(third.length(), 76);
    }

    #[test]
    fn blocks_beyond_the_room_are_left_out() {
        let mut sacks = Sacks::default();
        let blocks = [(12, 14), (16, 17), (20, 25), (30, 31)];
        blocks.into_iter().for_each(|block| sacks.push(10, block));
        assert!(sacks.blocks(10).eq(blocks[..3].iter().copied()));
        assert_eq!(Packet { sacks, ..ACK }.length(), 52 + 28);
        let one = |mptcp| {
            let mut sacks = Sacks::default();
            let most = room_for_blocks(mptcp);
            blocks
                .into_iter()
                .take(most)
                .for_each(|block| sacks.push(10, block));
            Packet { sacks, mptcp, ..ACK }.length()
        };
        assert_eq!((one(true), one(false)), (76, 80));
    }
}

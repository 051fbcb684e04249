//! 802.11 frame headers: parses what a monitor interface delivers, and writes our captures.
//!
//! # Sources
//! - IEEE 802.11-2020 §9.2.3 (general format), §9.2.4.1 (frame control), §9.2.4.2 (duration), §9.2.4.4
//!   (sequence control), §9.2.4.5 (QoS control), §9.2.4.8 (FCS), §9.3.1 (control frames), §9.3.2.1 table 9-30
//!   (meaning of the addresses).
//!
//! # Where we differ, and why
//! 1. HT control fields are skipped, and mesh headers are not parsed. Only the fields in front of them are
//!    needed here.
//!
//! # Checked by
//! `tests`, `sim`'s captures, which tshark reads, and the fuzz target `dot11`.

use alloc::vec::Vec;
use units::{MacAddr, SeqNum};

/// Type and subtype of a frame (table 9-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Beacons, association and the like. They have a sequence number.
    Management(u8),
    /// ACKs and the like. They have no sequence number.
    Control(u8),
    /// Data and null frames. They have a sequence number.
    Data(u8),
}

impl Kind {
    /// Beacon.
    pub const BEACON: Self = Self::Management(8);
    /// ACK.
    pub const ACK: Self = Self::Control(13);
    /// Block ack: acknowledges several frames.
    pub const BLOCK_ACK: Self = Self::Control(9);
    /// Request to send.
    pub const RTS: Self = Self::Control(11);
    /// PS-Poll: asks an access point for one buffered frame.
    pub const PS_POLL: Self = Self::Control(10);
    /// Clear to send: the reply to an RTS.
    pub const CTS: Self = Self::Control(12);
    /// Data without QoS.
    pub const DATA: Self = Self::Data(0);
    /// Null frame: carries no data, only the power management bit.
    pub const NULL: Self = Self::Data(4);
    /// QoS data.
    pub const QOS_DATA: Self = Self::Data(8);
    /// QoS null frame.
    pub const QOS_NULL: Self = Self::Data(12);

    const fn of(control: u8) -> Option<Self> {
        let subtype = control >> 4;
        match (control & 0x03, control >> 2 & 0x03) {
            (0, 0) => Some(Self::Management(subtype)),
            (0, 1) => Some(Self::Control(subtype)),
            (0, 2) => Some(Self::Data(subtype)),
            _ => None,
        }
    }

    const fn octet(self) -> u8 {
        match self {
            Self::Management(subtype) => subtype << 4,
            Self::Control(subtype) => subtype << 4 | 0x04,
            Self::Data(subtype) => subtype << 4 | 0x08,
        }
    }

    /// Whether a QoS control field follows the header.
    pub const fn has_qos(self) -> bool {
        matches!(self, Self::Data(subtype) if subtype & 0x08 != 0)
    }

    /// Whether the frame has a sequence number.
    pub const fn is_numbered(self) -> bool {
        !matches!(self, Self::Control(_))
    }
}

/// Direction of a data frame: its To DS and From DS bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Way {
    /// From station to station, and every frame that is not a data frame.
    #[default]
    Direct,
    /// To an access point.
    ToAccessPoint,
    /// From an access point.
    FromAccessPoint,
    /// Between access points, with a fourth address.
    Relayed,
}

const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;
const POWER_SAVE: u8 = 0x10;
const MORE: u8 = 0x20;
/// In QoS data and management: an HT control field follows the header.
const ORDER: u8 = 0x80;

impl Way {
    const fn of(flags: u8) -> Self {
        match (flags & TO_DS != 0, flags & FROM_DS != 0) {
            (false, false) => Self::Direct,
            (true, false) => Self::ToAccessPoint,
            (false, true) => Self::FromAccessPoint,
            (true, true) => Self::Relayed,
        }
    }

    const fn flags(self) -> u8 {
        match self {
            Self::Direct => 0,
            Self::ToAccessPoint => TO_DS,
            Self::FromAccessPoint => FROM_DS,
            Self::Relayed => TO_DS | FROM_DS,
        }
    }
}

/// Frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Type and subtype.
    pub kind: Kind,
    /// Direction.
    pub way: Way,
    /// Retransmission.
    pub retry: bool,
    /// The sender goes to power save after this frame.
    pub power_save: bool,
    /// The sender has more buffered frames for the receiver.
    pub more: bool,
    /// Duration of the medium reservation, in µs. Values above 32,767 have another meaning.
    pub duration: u16,
    /// Receiver address (RA).
    pub receiver: MacAddr,
    /// Transmitter address (TA). ACK and CTS frames have none.
    pub transmitter: Option<MacAddr>,
    /// Third address of management and data frames: BSSID, source or destination.
    pub third: Option<MacAddr>,
    /// Sequence number; `None` in control frames.
    pub number: Option<SeqNum>,
    /// Number of the fragment, 0..16. All fragments of a packet have its sequence number.
    pub fragment: u8,
    /// Traffic identifier, 0..16. `None` without QoS.
    pub tid: Option<u8>,
}

/// Octets before the sequence control field of management and data frames.
const SHORT: usize = 22;

impl Header {
    /// Header of a control frame.
    pub const fn control(kind: Kind, duration: u16, receiver: MacAddr, transmitter: Option<MacAddr>) -> Self {
        Self {
            kind,
            way: Way::Direct,
            retry: false,
            power_save: false,
            more: false,
            duration,
            receiver,
            transmitter,
            third: None,
            number: None,
            fragment: 0,
            tid: None,
        }
    }

    /// Parses the header at the start of `frame`.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let (control, flags) = (*frame.first()?, *frame.get(1)?);
        let kind = Kind::of(control)?;
        let way = Way::of(flags);
        let numbered = kind.is_numbered();
        let sequence = if numbered { Some(word(frame, SHORT)?) } else { None };
        let qos = SHORT + 2 + if way == Way::Relayed { 6 } else { 0 };
        Some(Self {
            kind,
            way,
            retry: flags & RETRY != 0,
            power_save: flags & POWER_SAVE != 0,
            more: flags & MORE != 0,
            duration: word(frame, 2)?,
            receiver: address(frame, 4)?,
            transmitter: match kind {
                Kind::ACK | Kind::CTS => None,
                _ => Some(address(frame, 10)?),
            },
            third: if numbered { Some(address(frame, 16)?) } else { None },
            number: sequence.map(|control| SeqNum::new(control >> 4)),
            fragment: sequence.map_or(0, |control| (control & 0x0f) as u8),
            tid: if kind.has_qos() {
                Some((word(frame, qos)? & 0x0f) as u8)
            } else {
                None
            },
        })
    }

    /// Octets of the header of a management or data frame at the start of `frame`, with HT control.
    pub fn octets(&self, frame: &[u8]) -> usize {
        let fourth = if self.way == Way::Relayed { 6 } else { 0 };
        let qos = if self.kind.has_qos() { 2 } else { 0 };
        let ordered = frame.get(1).is_some_and(|flags| flags & ORDER != 0);
        let control = if ordered && (self.kind.has_qos() || matches!(self.kind, Kind::Management(_))) {
            4
        } else {
            0
        };
        SHORT + 2 + fourth + qos + control
    }

    /// Appends the header. The fourth address of relayed frames is written as zeros.
    pub fn write(&self, out: &mut Vec<u8>) {
        let retry = if self.retry { RETRY } else { 0 };
        let sleep = if self.power_save { POWER_SAVE } else { 0 };
        out.push(self.kind.octet());
        let more = if self.more { MORE } else { 0 };
        out.push(self.way.flags() | retry | sleep | more);
        out.extend_from_slice(&self.duration.to_le_bytes());
        out.extend_from_slice(&self.receiver.octets());
        for address in [self.transmitter, self.third].into_iter().flatten() {
            out.extend_from_slice(&address.octets());
        }
        if let Some(number) = self.number {
            let control = number.get() << 4 | u16::from(self.fragment & 0x0f);
            out.extend_from_slice(&control.to_le_bytes());
        }
        if self.way == Way::Relayed {
            out.extend_from_slice(&[0; 6]);
        }
        if let Some(tid) = self.tid {
            out.extend_from_slice(&u16::from(tid).to_le_bytes());
        }
    }
}

fn word(frame: &[u8], at: usize) -> Option<u16> {
    let bytes = frame.get(at..at + 2)?;
    Some(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn address(frame: &[u8], at: usize) -> Option<MacAddr> {
    let octets = frame.get(at..at + 6)?;
    octets.try_into().ok().map(MacAddr::new)
}

/// LLC and SNAP header before an IPv4 packet (IEEE 802.2, RFC 1042).
pub const LLC_IPV4: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];

/// Length of the frame check sequence (FCS).
pub const FCS_BYTES: usize = 4;

/// FCS of a frame, in transmission order.
pub fn fcs(frame: &[u8]) -> [u8; FCS_BYTES] {
    let crc = frame.iter().fold(u32::MAX, |crc, byte| {
        let index = (crc ^ u32::from(*byte)) & 0xff;
        CRC[index as usize] ^ crc >> 8
    });
    (!crc).to_le_bytes()
}

/// CRC-32 of each octet, with the reflected form of polynomial 0x04c11db7.
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        let (mut crc, mut bit) = (octet as u32, 0);
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
            bit += 1;
        }
        table[octet] = crc;
        octet += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fcs_is_the_crc_32_of_ethernet() {
        // The standard check value of CRC-32.
        assert_eq!(fcs(b"123456789"), 0xcbf4_3926_u32.to_le_bytes());
    }

    #[test]
    fn an_ack_has_the_documented_bytes() {
        let header = Header::control(Kind::ACK, 0, MacAddr::new([2, 0, 0, 0, 0, 9]), None);
        let mut frame = Vec::new();
        header.write(&mut frame);
        assert_eq!(frame, [0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 9]);
        assert_eq!(Header::parse(&frame), Some(header));
        assert_eq!(Header::parse(&frame[..9]), None);
    }

    fn any_header() -> impl Strategy<Value = Header> {
        let kind = prop_oneof![
            Just(Kind::BEACON),
            Just(Kind::DATA),
            Just(Kind::NULL),
            Just(Kind::QOS_DATA)
        ];
        let way = prop_oneof![
            Just(Way::Direct),
            Just(Way::ToAccessPoint),
            Just(Way::FromAccessPoint),
            Just(Way::Relayed)
        ];
        let address = any::<[u8; 6]>().prop_map(MacAddr::new);
        (
            (kind, way, any::<[bool; 3]>(), 0_u16..32_768),
            [address.clone(), address.clone(), address],
            (0_u16..4_096, 0_u8..16, 0_u8..16),
        )
            .prop_map(
                |((kind, way, [retry, power_save, more], duration), [a, b, c], (number, fragment, tid))| {
                    Header {
                        kind,
                        way,
                        retry,
                        power_save,
                        more,
                        duration,
                        receiver: a,
                        transmitter: Some(b),
                        third: Some(c),
                        number: Some(SeqNum::new(number)),
                        fragment,
                        tid: kind.has_qos().then_some(tid),
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn a_written_header_parses_to_itself(header in any_header(), body in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut frame = Vec::new();
            header.write(&mut frame);
            frame.extend(body);
            prop_assert_eq!(Header::parse(&frame), Some(header));
        }

        #[test]
        fn no_frame_makes_the_parser_panic(frame in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Header::parse(&frame);
        }
    }
}

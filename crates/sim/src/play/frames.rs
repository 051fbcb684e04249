//! Frames as bytes: what a monitor interface on a station's radio would hand over.
//!
//! # Sources
//! - IEEE 802.11-2020 §9.2.4.2 (the duration field, in whole µs, rounded up), table 9-30 (which address is whose).
//!
//! # Where we differ, and why
//! 1. Payloads are tokens here: behind the headers of IPv4 and UDP, a capture says how long the frame was and stops.
//! 2. The third address of data is the access point's own: nobody beyond it has one.
//!
//! # Checked by
//! `tests/capture.rs`: read by `linux`'s own capture code, and by tshark.

use links::air::{FrameKind, Overheard, StationId, Subtype};
use units::wifi::{channel_mhz, ht};
use units::{Duration, Instant, MacAddr};
use wire::dot11::{self, Header, Kind, Way};
use wire::pcapng;
use wire::radiotap::{Radiotap, Rate};

use crate::traffic::{Flow, HEADERS};

/// Who is who on the air, for addresses.
#[derive(Debug, Clone)]
pub struct Addresses {
    access_points: Vec<bool>,
    /// Channel number of each station.
    channels: Vec<u8>,
}

/// The port that datagrams go to: discard (RFC 863).
const PORT: u16 = 9;
/// Association 1, with the two top bits that say that it is one (§9.2.4.2).
const ASSOCIATION_ID: u16 = 0xc001;
/// Control field of a compressed block acknowledgement of the first traffic class (§9.3.1.8). The bitmap stays empty: nobody tells it.
const COMPRESSED: [u8; 2] = [0x04, 0x00];
/// 192.0.2.0/24 is for documentation (RFC 5737).
const NETWORK: [u8; 3] = [192, 0, 2];
const IPV4_HEADER: usize = 20;
const UDP: u8 = 17;

impl Addresses {
    /// Of the stations of an air; `access_points` says which of them are.
    pub fn of(air: &links::air::AirConfig, access_points: Vec<bool>) -> Self {
        Self {
            access_points,
            channels: air.stations.iter().map(|station| station.channel).collect(),
        }
    }

    /// A station's hardware address.
    pub const fn mac(station: StationId) -> MacAddr {
        MacAddr::local(station.0)
    }

    /// Whether a station is an access point.
    pub fn is_access_point(&self, station: StationId) -> bool {
        self.access_points.get(station.0 as usize).is_some_and(|ap| *ap)
    }

    /// A frame's header.
    pub fn header(&self, frame: &Overheard) -> Header {
        let (from, to) = (
            Self::mac(frame.from),
            frame.to.map_or(MacAddr::BROADCAST, Self::mac),
        );
        let reserved = frame.reserves.as_nanos().div_ceil(1_000) as u16;
        let control = |kind, transmitter| Header::control(kind, reserved, to, transmitter);
        match frame.kind {
            FrameKind::Ack => control(Kind::ACK, None),
            FrameKind::Cts => control(Kind::CTS, None),
            FrameKind::Rts => control(Kind::RTS, Some(from)),
            FrameKind::BlockAck => control(Kind::BLOCK_ACK, Some(from)),
            FrameKind::Data {
                subtype: Subtype::PsPoll,
                ..
            } => Header::control(Kind::PS_POLL, ASSOCIATION_ID, to, Some(from)),
            FrameKind::Data {
                number,
                retry,
                subtype,
                tid,
                asleep,
                more,
                ..
            } => {
                let kind = kind(subtype, tid.is_some());
                let (way, third) = match kind {
                    Kind::Data(_) => self.way(frame),
                    _ => (Way::Direct, self.network(frame)),
                };
                Header {
                    way,
                    retry,
                    power_save: asleep,
                    more,
                    third: Some(third),
                    number: Some(number),
                    tid,
                    ..control(kind, Some(from))
                }
            }
        }
    }

    /// The access point at either end.
    fn network(&self, frame: &Overheard) -> MacAddr {
        let other = frame.to.filter(|to| self.is_access_point(*to));
        Self::mac(other.unwrap_or(frame.from))
    }

    fn way(&self, frame: &Overheard) -> (Way, MacAddr) {
        let to_access_point = frame.to.filter(|to| self.is_access_point(*to));
        match (self.is_access_point(frame.from), to_access_point) {
            (true, _) => (Way::FromAccessPoint, Self::mac(frame.from)),
            (false, Some(to)) => (Way::ToAccessPoint, Self::mac(to)),
            (false, None) => (Way::Direct, Self::mac(frame.from)),
        }
    }

    /// What the radio says of it.
    pub fn radiotap(&self, frame: &Overheard) -> Radiotap {
        let channel = self.channels[frame.from.0 as usize];
        Radiotap {
            tsft_us: Some(frame.start.as_nanos() / 1_000),
            has_fcs: is_whole(frame),
            broken: false,
            rate: Some(match frame.mode.as_ht() {
                Some(mode) => Rate::Ht {
                    mcs: mode.mcs(),
                    wide: mode.width() == ht::Width::Mhz40,
                    short_guard: mode.guard() == ht::Guard::Short,
                },
                None => Rate::Legacy((frame.mode.rate().as_bps() / 500_000) as u8),
            }),
            frequency_mhz: Some(channel_mhz(channel)),
            signal: Some(frame.signal),
            aggregate: frame.aggregate,
        }
    }
}

/// Control frames are shown whole; of others, what is known of their contents.
const fn is_whole(frame: &Overheard) -> bool {
    match frame.kind {
        FrameKind::Data { subtype, .. } => matches!(subtype, Subtype::PsPoll),
        FrameKind::Ack | FrameKind::BlockAck | FrameKind::Rts | FrameKind::Cts => true,
    }
}

/// Types and subtypes of table 9-1.
const fn kind(subtype: Subtype, qos: bool) -> Kind {
    match subtype {
        Subtype::Data if qos => Kind::QOS_DATA,
        Subtype::Data => Kind::DATA,
        Subtype::Null if qos => Kind::QOS_NULL,
        Subtype::Null => Kind::NULL,
        Subtype::PsPoll => Kind::PS_POLL,
        Subtype::Beacon => Kind::BEACON,
        Subtype::AssociationRequest => Kind::Management(0),
        Subtype::AssociationResponse => Kind::Management(1),
        Subtype::ProbeRequest => Kind::Management(4),
        Subtype::ProbeResponse => Kind::Management(5),
        Subtype::Authentication => Kind::Management(11),
        Subtype::Deauthentication => Kind::Management(12),
    }
}

/// A capture that grows, for one monitor after the other.
#[derive(Debug, Clone)]
pub struct Capture {
    addresses: Addresses,
    flows: Vec<Flow>,
    file: Vec<u8>,
    frame: Vec<u8>,
}

impl Capture {
    /// An empty one.
    pub fn new(addresses: Addresses, flows: Vec<Flow>, name: &str) -> Self {
        let mut file = Vec::new();
        pcapng::section(&mut file);
        pcapng::interface(&mut file, pcapng::LINKTYPE_RADIOTAP, name);
        Self {
            addresses,
            flows,
            file,
            frame: Vec::new(),
        }
    }

    /// Adds a frame, with the time of its first bit. What a capture does not hold of it, is counted in its length.
    pub fn add(&mut self, frame: &Overheard) {
        self.frame.clear();
        self.write(frame);
        let shown = self.frame.len() as u32;
        let radiotap = self.radiotap_bytes();
        let length = (radiotap + frame.bytes).max(shown);
        // Check sums of frames that are cut short are beyond the cut.
        let length = if is_whole(frame) {
            shown
        } else {
            length - dot11::FCS_BYTES as u32
        };
        pcapng::packet(&mut self.file, 0, frame.start, &self.frame, length);
    }

    /// The frame as its receiver's monitor interface hands it over, as far as it is known.
    pub fn bytes(&mut self, frame: &Overheard) -> &[u8] {
        self.frame.clear();
        self.write(frame);
        &self.frame
    }

    /// The file.
    pub fn finish(self) -> Vec<u8> {
        self.file
    }

    fn radiotap_bytes(&self) -> u32 {
        u32::from(u16::from_le_bytes([self.frame[2], self.frame[3]]))
    }

    fn write(&mut self, frame: &Overheard) {
        self.addresses.radiotap(frame).write(&mut self.frame);
        let start = self.frame.len();
        self.addresses.header(frame).write(&mut self.frame);
        match frame.kind {
            FrameKind::Data { token, subtype, .. } if subtype != Subtype::PsPoll => {
                if let Some(flow) = self.flows.get(token as usize)
                    && subtype == Subtype::Data
                {
                    let payload = flow.payload;
                    self.frame.extend_from_slice(&dot11::LLC_IPV4);
                    self.write_headers(frame, token, payload);
                }
            }
            _ => {
                if frame.kind == FrameKind::BlockAck {
                    self.frame.extend_from_slice(&COMPRESSED);
                }
                let whole = start + (frame.bytes as usize).saturating_sub(dot11::FCS_BYTES);
                self.frame.resize(whole.max(self.frame.len()), 0);
                let fcs = dot11::fcs(&self.frame[start..]);
                self.frame.extend_from_slice(&fcs);
            }
        }
    }

    fn write_headers(&mut self, frame: &Overheard, token: u64, payload: u32) {
        let host = |station: Option<StationId>| station.map_or(255, |station| (station.0 % 254 + 1) as u8);
        let [a, b, c] = NETWORK;
        let length = (payload + HEADERS).to_be_bytes();
        let mut ip = [
            0x45,
            0,
            length[2],
            length[3],
            0,
            0,
            0x40,
            0,
            64,
            UDP,
            0,
            0,
            a,
            b,
            c,
            host(Some(frame.from)),
            a,
            b,
            c,
            host(frame.to),
        ];
        let sum = !wire::checksum::fold(wire::checksum::sum(&ip));
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        self.frame.extend_from_slice(&ip);
        let source = PORT + 1 + token as u16;
        let datagram = (payload + HEADERS - IPV4_HEADER as u32) as u16;
        // No check sum (RFC 768): there is no payload to sum up.
        for field in [source, PORT, datagram, 0] {
            self.frame.extend_from_slice(&field.to_be_bytes());
        }
    }
}

/// Adds up the air that frames take, of aggregates once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Airtime {
    pub(super) sum: Duration,
    /// How many were on the air.
    pub(super) count: u64,
    aggregate: Option<u32>,
}

impl Airtime {
    pub(super) fn add(&mut self, frame: &Overheard) {
        if frame.aggregate.is_none() || frame.aggregate != self.aggregate {
            self.sum += frame.end.since(frame.start);
            self.count += u64::from(matches!(frame.kind, FrameKind::Data { .. }));
        }
        self.aggregate = frame.aggregate;
    }
}

/// When a monitor shows a frame: its own at its beginning, others at their end.
pub(super) fn shown_at(frame: &Overheard) -> Instant {
    if frame.from == frame.monitor {
        frame.start
    } else {
        frame.end
    }
}

//! Frames as bytes: what a monitor interface on a station's radio would deliver.
//!
//! # Where we differ, and why
//! 1. Payloads are tokens here. A capture contains the frame up to its IPv4 and UDP headers, with the full
//!    length.
//!
//! # Checked by
//! `tests/capture.rs`: parsed by `linux`'s own capture code and by tshark.

use links::air::{Addresses, FrameKind, Overheard, StationId};
use units::{Duration, Instant};
use wire::dot11;
use wire::pcapng;

use crate::traffic::{Flow, HEADERS};

/// Destination port of datagrams: discard (RFC 863).
const PORT: u16 = 9;
/// Network for documentation, 192.0.2.0/24 (RFC 5737).
const NETWORK: [u8; 3] = [192, 0, 2];
const IPV4_HEADER: usize = 20;
const UDP: u8 = 17;

/// A growing capture of one or more monitors.
#[derive(Debug, Clone)]
pub struct Capture {
    addresses: Addresses,
    flows: Vec<Flow>,
    file: Vec<u8>,
    frame: Vec<u8>,
    /// The frame is truncated.
    cut: bool,
}

impl Capture {
    /// An empty capture.
    pub fn new(addresses: Addresses, flows: Vec<Flow>, name: &str) -> Self {
        let mut file = Vec::new();
        pcapng::section(&mut file);
        pcapng::interface(&mut file, pcapng::LINKTYPE_RADIOTAP, name);
        Self {
            addresses,
            flows,
            file,
            frame: Vec::new(),
            cut: false,
        }
    }

    /// Adds a frame with the time of its first bit. The recorded length includes what the capture omits.
    pub fn add(&mut self, frame: &Overheard) {
        self.frame.clear();
        self.write(frame);
        let shown = self.frame.len() as u32;
        let radiotap = self.radiotap_bytes();
        let length = (radiotap + frame.bytes).max(shown);
        // A truncated frame ends before its FCS.
        let length = if self.cut {
            length - dot11::FCS_BYTES as u32
        } else {
            shown
        };
        pcapng::packet(&mut self.file, 0, frame.start, &self.frame, length);
    }

    /// The frame as its receiver's monitor interface delivers it, as far as it is known.
    pub fn bytes(&mut self, frame: &Overheard) -> &[u8] {
        self.frame.clear();
        self.write(frame);
        &self.frame
    }

    /// The bytes of the file.
    pub fn finish(self) -> Vec<u8> {
        self.file
    }

    fn radiotap_bytes(&self) -> u32 {
        u32::from(u16::from_le_bytes([self.frame[2], self.frame[3]]))
    }

    fn write(&mut self, frame: &Overheard) {
        self.cut = self.addresses.write(frame, &mut self.frame) > 0;
        if let FrameKind::Data { token, .. } = frame.kind
            && self.cut
            && let Some(flow) = self.flows.get(token as usize)
        {
            let payload = flow.payload;
            self.frame.extend_from_slice(&dot11::LLC_IPV4);
            self.write_headers(frame, token, payload);
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
        // No UDP checksum (RFC 768): there is no payload to sum.
        for field in [source, PORT, datagram, 0] {
            self.frame.extend_from_slice(&field.to_be_bytes());
        }
    }
}

/// Sums the air time of frames. An aggregate counts once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Airtime {
    pub(super) sum: Duration,
    /// Number of transmissions.
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

/// Time at which a monitor shows a frame: the start for its own, the end for others.
pub(super) fn shown_at(frame: &Overheard) -> Instant {
    if frame.from == frame.monitor {
        frame.start
    } else {
        frame.end
    }
}

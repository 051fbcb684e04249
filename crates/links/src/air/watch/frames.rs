//! Frames as bytes, as a monitor interface on a station's radio delivers them: radiotap first.
//!
//! # Sources
//! - IEEE 802.11-2020 §9.2.4.2 (the duration field, in whole µs, rounded up), table 9-30 (meaning of the
//!   addresses), §9.3.1 (control frames).
//!
//! # Where we differ, and why
//! 1. Payloads are the caller's: of a data frame, only the headers are written, and the length of the rest is
//!    returned.
//! 2. The third address of a data frame is the access point's own, because nobody beyond it has an address.
//! 3. The address of an ad hoc network is that of the peer which announces it. The standard has a random one.
//! 4. A block acknowledgement's bitmap begins with the first frame that its receiver, not its sender, is not
//!    done with. The standard lets it begin earlier (§10.25.6.5).
//! 5. Every antenna of a receiver, one for each stream, reports the signal of the whole receiver: all
//!    antennas share one fading process.
//!
//! # Checked by
//! `frames_tests`; `sim`'s `tests/capture.rs` and `lab`'s `monitor`: read by `linux`'s own capture code and
//! by tshark.

use alloc::vec::Vec;
use units::MacAddr;
use units::wifi::{channel_mhz, ht};
use wire::dot11::{FCS_BYTES, Header, Kind, Way, fcs};
use wire::radiotap::{Radiotap, Rate};

use super::bodies::{self, Speaker, StationKind};
use super::overheard::{FrameKind, Overheard};
use crate::air::io::{StationId, Subtype};
use crate::config::AirConfig;

/// Roles and properties of all stations, for addresses and for the bodies of their frames.
#[derive(Debug, Clone)]
pub struct Addresses {
    speakers: Vec<Speaker>,
}

/// Type of a compressed block acknowledgement in its control field. The upper four bits of that field are the
/// traffic class (§9.3.1.8).
const COMPRESSED: u16 = 0x0004;

impl Addresses {
    /// Takes the stations of an air; `kinds` says for each one what it is.
    pub fn of(air: &AirConfig, kinds: Vec<StationKind>) -> Self {
        let mut kinds = kinds.into_iter();
        let speaker = |station| Speaker::new(station, kinds.next().unwrap_or(StationKind::Client));
        Self {
            speakers: air.stations.iter().map(speaker).collect(),
        }
    }

    /// A station's hardware address.
    pub const fn mac(station: StationId) -> MacAddr {
        MacAddr::local(station.0)
    }

    fn kind(&self, station: StationId) -> StationKind {
        let speaker = self.speakers.get(station.0 as usize);
        speaker.map_or(StationKind::Client, |speaker| speaker.kind)
    }

    /// The channel of a station.
    pub fn channel(&self, station: StationId) -> u8 {
        self.speakers[station.0 as usize].channel
    }

    /// The channel of a frame: that of its network, as a single radio sends on several channels. Without a
    /// network, that of its sender, or a single radio's first one.
    pub fn channel_of(&self, frame: &Overheard) -> u8 {
        self.channel(self.network(frame).unwrap_or(frame.from))
    }

    /// Appends a frame. Returns how many bytes of a packet (with LLC, without the check sum) follow the
    /// appended ones.
    ///
    /// Frames without a packet are complete and end with their check sum, as their radiotap header says.
    pub fn write(&self, frame: &Overheard, out: &mut Vec<u8>) -> usize {
        self.radiotap(frame).write(out);
        let start = out.len();
        self.header(frame).write(out);
        let whole = (frame.bytes as usize).saturating_sub(FCS_BYTES);
        match frame.kind {
            FrameKind::Data {
                subtype: Subtype::Data,
                ..
            } => return whole.saturating_sub(out.len() - start),
            FrameKind::Data { subtype, .. } => self.body(frame, subtype, (start + whole).max(out.len()), out),
            FrameKind::BlockAck { tid, start, bitmap } => {
                let control = COMPRESSED | u16::from(tid) << 12;
                out.extend_from_slice(&control.to_le_bytes());
                // The lowest four bits are a fragment's number.
                out.extend_from_slice(&(start.get() << 4).to_le_bytes());
                out.extend_from_slice(&bitmap.to_le_bytes());
            }
            FrameKind::Ack | FrameKind::Rts | FrameKind::Cts => {}
        }
        out.resize((start + whole).max(out.len()), 0);
        let sum = fcs(&out[start..]);
        out.extend_from_slice(&sum);
        0
    }

    /// Appends the body of a management frame; `end` is where its check sum begins.
    fn body(&self, frame: &Overheard, subtype: Subtype, end: usize, out: &mut Vec<u8>) {
        let place = |station: StationId| &self.speakers[station.0 as usize];
        place(frame.from).say(subtype, frame, frame.to.map(place), end, out);
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
            FrameKind::BlockAck { .. } => control(Kind::BLOCK_ACK, Some(from)),
            FrameKind::Data {
                subtype: Subtype::PsPoll,
                ..
            } => Header::control(Kind::PS_POLL, bodies::association(frame).field(), to, Some(from)),
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
                    _ => (Way::Direct, self.bssid(frame)),
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

    /// Address of the network. For a broadcast probe request, the broadcast address.
    fn bssid(&self, frame: &Overheard) -> MacAddr {
        self.network(frame).map_or(MacAddr::BROADCAST, Self::mac)
    }

    /// The access point or peer at either end.
    fn network(&self, frame: &Overheard) -> Option<StationId> {
        let mut ends = [Some(frame.from), frame.to].into_iter().flatten();
        ends.find(|&station| self.kind(station) != StationKind::Client)
    }

    /// Which way a data frame goes, and its third address.
    fn way(&self, frame: &Overheard) -> (Way, MacAddr) {
        let network = self.network(frame).unwrap_or(frame.from);
        let way = match self.kind(network) {
            StationKind::AccessPoint if network == frame.from => Way::FromAccessPoint,
            StationKind::AccessPoint => Way::ToAccessPoint,
            StationKind::Client | StationKind::Peer => Way::Direct,
        };
        (way, Self::mac(network))
    }

    /// Radiotap header of a frame. The monitor's own frames did not arrive at any antenna.
    pub fn radiotap(&self, frame: &Overheard) -> Radiotap {
        let own = frame.from == frame.monitor;
        Radiotap {
            tsft_us: Some(frame.start.as_nanos() / 1_000),
            has_fcs: is_whole(frame),
            broken: false,
            padded: false,
            // The captures show the monitor's own frames like those it hears.
            own: false,
            rate: Some(match frame.mode.as_ht() {
                Some(mode) => Rate::Ht {
                    mcs: mode.mcs(),
                    wide: mode.width() == ht::Width::Mhz40,
                    short_guard: mode.guard() == ht::Guard::Short,
                },
                None => Rate::Legacy((frame.mode.rate().as_bps() / 500_000) as u8),
            }),
            frequency_mhz: Some(channel_mhz(self.channel_of(frame))),
            signal: Some(frame.signal),
            antennas: if own {
                0
            } else {
                self.speakers[frame.monitor.0 as usize].antennas()
            },
            aggregate: frame.aggregate,
        }
    }
}

/// Whether a frame is shown completely: all but packets are.
const fn is_whole(frame: &Overheard) -> bool {
    !matches!(
        frame.kind,
        FrameKind::Data {
            subtype: Subtype::Data,
            ..
        }
    )
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

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;

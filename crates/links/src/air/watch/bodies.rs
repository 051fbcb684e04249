//! Bodies of management frames: networks, rates, channels and 802.11n.
//!
//! # Sources
//! - IEEE 802.11-2020 §9.3.3 (fields and elements of each frame), §9.4.1 (fields), §9.4.2 (elements: SSID,
//!   rates, DSSS parameter set, TIM, IBSS parameter set, HT capabilities, HT operation, vendor-specific).
//!
//! # Where we differ, and why
//! 1. Only the elements that a listener looks for are written. A vendor-specific element fills the rest of a
//!    frame's length, where real frames have RSN and WMM.
//!
//! # Checked by
//! `frames_tests`; `lab`'s `monitor`: tshark finds no fault.

use alloc::string::String;
use alloc::vec::Vec;
use units::wifi::{BEACON_INTERVAL, Standard, ht};
use units::{Duration, Instant};

use super::overheard::{Overheard, Says};
use super::tim::{Aid, Tim};
use crate::air::io::Subtype;
use crate::config::{Ht, StationConfig};

/// Time unit of intervals: 1,024 µs.
const TIME_UNIT: Duration = Duration::from_micros(1_024);
/// Capability bit: the sender is an access point.
const ESS: u16 = 0x0001;
/// Capability bit: the sender is a peer of an ad hoc network.
const IBSS: u16 = 0x0002;
/// Listen interval of a client, in beacons.
const LISTEN_INTERVAL: u16 = 1;
/// Reason code: deauthenticated because the sender leaves (table 9-49).
const LEAVING: u16 = 3;

const SSID: u8 = 0;
const SUPPORTED_RATES: u8 = 1;
const DSSS_PARAMETER: u8 = 3;
const IBSS_PARAMETER: u8 = 6;
const HT_CAPABILITIES: u8 = 45;
const HT_OPERATION: u8 = 61;
const VENDOR: u8 = 221;
/// First octets of the addresses assigned here.
const OURS: [u8; 3] = [0x02, 0x5b, 0x00];
/// Smallest vendor-specific element: its identifier, its length, and the vendor.
const VENDOR_LEAST: usize = 5;
/// Longest SSID, in bytes.
const LONGEST_SSID: usize = 32;
/// Flag of a rate that every station of the network must support.
const BASIC: u8 = 0x80;

/// What a station is in its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StationKind {
    /// It joins the networks of others.
    Client,
    /// It has a network of its own.
    AccessPoint,
    /// It announces an ad hoc network, which others join without asking.
    Peer,
}

/// Description of a station for the frames that it sends.
#[derive(Debug, Clone)]
pub(super) struct Speaker {
    pub(in crate::air) kind: StationKind,
    pub(in crate::air) channel: u8,
    name: String,
    standard: Standard,
    ht: Option<Ht>,
}

impl Speaker {
    pub(in crate::air) fn new(station: &StationConfig, kind: StationKind) -> Self {
        Self {
            kind,
            channel: station.channel,
            name: station.name.clone(),
            standard: station.standard,
            ht: station.ht,
        }
    }

    /// Number of antennas: one for each stream.
    pub(in crate::air) fn antennas(&self) -> u8 {
        self.ht.map_or(1, |ht| ht.streams)
    }

    /// Appends the body of a management frame, which ends at `end`. Other frames have no body.
    pub(in crate::air) fn say(
        &self,
        subtype: Subtype,
        frame: &Overheard,
        to: Option<&Self>,
        end: usize,
        out: &mut Vec<u8>,
    ) {
        match subtype {
            Subtype::Beacon | Subtype::ProbeResponse => {
                self.announce(frame.start, out);
                match (self.kind, subtype) {
                    // The peers stay awake: no ATIM window.
                    (StationKind::Peer, _) => element(IBSS_PARAMETER, &[0, 0], out),
                    (_, Subtype::Beacon) => held(frame).write(out),
                    _ => {}
                }
                self.capabilities(out);
            }
            Subtype::ProbeRequest => {
                element(SSID, &[], out);
                self.rates(out);
                self.own_ht(out);
            }
            Subtype::AssociationRequest => {
                words(&[ESS, LISTEN_INTERVAL], out);
                to.into_iter().for_each(|to| to.ssid(out));
                self.rates(out);
                self.own_ht(out);
            }
            Subtype::AssociationResponse => {
                words(&[ESS, 0, association(frame).field()], out);
                self.rates(out);
                self.capabilities(out);
            }
            // Open system; the client's frame is the first of the two; no error.
            Subtype::Authentication => {
                let is_second = self.kind == StationKind::AccessPoint;
                return words(&[0, 1 + u16::from(is_second), 0], out);
            }
            Subtype::Deauthentication => return words(&[LEAVING], out),
            Subtype::Data | Subtype::Null | Subtype::PsPoll => return,
        }
        fill(end, out);
    }

    fn announce(&self, at: Instant, out: &mut Vec<u8>) {
        out.extend_from_slice(&(at.as_nanos() / 1_000).to_le_bytes());
        let interval = BEACON_INTERVAL.as_nanos() / TIME_UNIT.as_nanos();
        let capabilities = match self.kind {
            StationKind::Peer => IBSS,
            StationKind::Client | StationKind::AccessPoint => ESS,
        };
        words(&[interval as u16, capabilities], out);
        self.ssid(out);
        self.rates(out);
        element(DSSS_PARAMETER, &[self.channel], out);
    }

    fn ssid(&self, out: &mut Vec<u8>) {
        let name = self.name.as_bytes();
        element(SSID, &name[..name.len().min(LONGEST_SSID)], out);
    }

    fn rates(&self, out: &mut Vec<u8>) {
        let basic = self.standard.basic_rate().as_bps() / 1_000;
        let rate = |&kbps: &u32| (kbps / 500) as u8 | if u64::from(kbps) == basic { BASIC } else { 0 };
        let rates: Vec<u8> = self.standard.rates_kbps().iter().map(rate).collect();
        element(SUPPORTED_RATES, &rates, out);
    }

    fn capabilities(&self, out: &mut Vec<u8>) {
        self.own_ht(out);
        if let Some(ht) = self.ht {
            let mut operation = [0; 22];
            operation[0] = self.channel;
            // The second channel is the one above, and any width may be used.
            operation[1] = if ht.width == ht::Width::Mhz40 { 0x05 } else { 0 };
            element(HT_OPERATION, &operation, out);
        }
    }

    fn own_ht(&self, out: &mut Vec<u8>) {
        let Some(own) = self.ht else { return };
        let wide = if own.width == ht::Width::Mhz40 { 0x02 } else { 0 };
        let short = if own.guard == ht::Guard::Short {
            0x20 | (wide << 5)
        } else {
            0
        };
        let mut capabilities = [0; 26];
        capabilities[0] = wide | short;
        // Aggregates of up to 65,535 bytes.
        capabilities[2] = 0x03;
        capabilities[3..3 + usize::from(own.streams)].fill(0xff);
        element(HT_CAPABILITIES, &capabilities, out);
    }
}

/// Traffic indication map of a beacon.
fn held(frame: &Overheard) -> &Tim {
    match &frame.says {
        Says::Held(map) => map,
        Says::Nothing | Says::Association(_) => &Tim::EMPTY,
    }
}

/// Association that a frame is about. The first one if the frame does not say.
pub(in crate::air) const fn association(frame: &Overheard) -> Aid {
    match frame.says {
        Says::Association(aid) => aid,
        Says::Nothing | Says::Held(_) => Aid::FIRST,
    }
}

fn words(all: &[u16], out: &mut Vec<u8>) {
    all.iter()
        .for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn element(id: u8, contents: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[id, contents.len() as u8]);
    out.extend_from_slice(contents);
}

/// Fills a frame up to its length.
fn fill(end: usize, out: &mut Vec<u8>) {
    let rest = end.saturating_sub(out.len());
    if (VENDOR_LEAST..=257).contains(&rest) {
        out.extend_from_slice(&[VENDOR, (rest - 2) as u8]);
        out.extend_from_slice(&OURS);
        out.resize(end, 0);
    }
}

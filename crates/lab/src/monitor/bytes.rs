//! Frames of an access point as a monitor interface shows them: radiotap, then the frame.
//!
//! # Sources
//! - IEEE 802.11-2020 §9.2.5.2 (the duration field of data: SIFS and the acknowledgement, in whole µs,
//!   rounded up), §9.3.3.2 and §9.4 (beacons: timestamp, interval, capabilities; SSID, rates, channel),
//!   §10.3.2.14 (beacons have their own counter beside QoS data).
//!
//! # Where we differ, and why
//! 1. Payloads have their length but not their contents: the headers are followed by zeros of no protocol.
//! 2. The model's data has no QoS field. Here it is QoS data, because its sequence numbers are the client's
//!    own. The frame is as long as on the air.
//! 3. A beacon has only the elements that a listener looks for, so it is shorter than on the air.
//! 4. The model gives the signal strength of beacons, not of data, so radiotap has it for beacons only.
//!
//! # Checked by
//! `tests` of this module's parent.

use links::wifi::WifiConfig;
use links::{Heard, LinkId};
use units::wifi::{ACK_BYTES, BEACON_INTERVAL, Standard, channel_mhz};
use units::{Bitrate, Dbm, Duration, Instant, MacAddr, SeqNum};
use wire::dot11::{FCS_BYTES, Header, Kind, Way};
use wire::radiotap::{Radiotap, Rate};

/// The client's own hardware address on every radio.
pub const CLIENT: MacAddr = MacAddr::local(0);

/// LLC and SNAP headers for a payload of no particular protocol (IEEE 802-2014 §9.2.3.4: the first local
/// experimental type).
pub(super) const LLC: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x88, 0xb5];
/// A time unit, 1,024 µs: beacon intervals are given in it.
const TIME_UNIT: Duration = Duration::from_micros(1_024);
/// Capability bit of an access point.
const ESS: u16 = 0x0001;
const SSID: u8 = 0;
const SUPPORTED_RATES: u8 = 1;
const DS_PARAMETER: u8 = 3;
/// Longest SSID, in bytes.
const LONGEST_SSID: usize = 32;
/// Flag of a rate that every station of the network must support.
const BASIC: u8 = 0x80;
/// Octets of a management frame before its body.
const MANAGEMENT_HEADER: usize = 24;
/// Bytes of timestamp, interval and capabilities.
const BEACON_FIELDS: usize = 12;

/// An access point whose frames are shown.
#[derive(Debug)]
pub(super) struct Transmitter {
    address: MacAddr,
    standard: Standard,
    channel: u8,
    /// The elements of its beacons.
    elements: Vec<u8>,
    /// Sequence number of its last beacon.
    number: SeqNum,
}

impl Transmitter {
    pub(super) fn new(link: LinkId, config: &WifiConfig) -> Self {
        Self {
            address: MacAddr::local(u32::from(link.0) + 1),
            standard: config.standard,
            channel: config.channel,
            elements: elements(config),
            number: SeqNum::default(),
        }
    }

    pub(super) const fn address(&self) -> MacAddr {
        self.address
    }

    /// Appends the headers of a frame whose exchange ended at `end`. Returns the length of the payload behind
    /// them.
    pub(super) fn data(&self, end: Instant, frame: &Heard, out: &mut Vec<u8>) -> usize {
        let answer = self.answer(frame.rate);
        let taken = self.standard.frame_time(frame.bytes, frame.rate) + answer;
        self.radiotap(end - taken, frame.rate, None).write(out);
        let start = out.len();
        let header = Header {
            way: Way::FromAccessPoint,
            retry: frame.retry,
            third: Some(self.address),
            number: Some(frame.number),
            tid: Some(0),
            ..Header::control(Kind::QOS_DATA, reserved(answer), CLIENT, Some(self.address))
        };
        header.write(out);
        out.extend_from_slice(&LLC);
        (frame.bytes as usize).saturating_sub(out.len() - start + FCS_BYTES)
    }

    /// Appends a beacon that ended at `end`.
    pub(super) fn beacon(&mut self, end: Instant, signal: Dbm, out: &mut Vec<u8>) {
        let rate = self.standard.basic_rate();
        let length = MANAGEMENT_HEADER + BEACON_FIELDS + self.elements.len() + FCS_BYTES;
        let begun = end - self.standard.frame_time(length as u32, rate);
        self.radiotap(begun, rate, Some(signal)).write(out);
        self.number = self.number.next();
        let header = Header {
            third: Some(self.address),
            number: Some(self.number),
            ..Header::control(Kind::BEACON, 0, MacAddr::BROADCAST, Some(self.address))
        };
        header.write(out);
        let interval = BEACON_INTERVAL.as_nanos() / TIME_UNIT.as_nanos();
        out.extend_from_slice(&clock(begun).to_le_bytes());
        out.extend_from_slice(&(interval as u16).to_le_bytes());
        out.extend_from_slice(&ESS.to_le_bytes());
        out.extend_from_slice(&self.elements);
    }

    /// Time from the end of a data frame to the end of its acknowledgement.
    const fn answer(&self, rate: Bitrate) -> Duration {
        let time = self.standard.frame_time(ACK_BYTES, self.standard.ack_rate(rate));
        Duration::from_nanos((self.standard.sifs().as_nanos() + time.as_nanos()) as u64)
    }

    fn radiotap(&self, begun: Instant, rate: Bitrate, signal: Option<Dbm>) -> Radiotap {
        Radiotap {
            tsft_us: Some(clock(begun)),
            rate: Some(Rate::Legacy((rate.as_bps() / 500_000) as u8)),
            frequency_mhz: Some(channel_mhz(self.channel)),
            signal,
            ..Radiotap::default()
        }
    }
}

/// The duration field, in µs.
const fn reserved(time: Duration) -> u16 {
    time.as_nanos().div_ceil(1_000) as u16
}

/// The clock of the radio and the access points: µs since the run began.
const fn clock(at: Instant) -> u64 {
    at.as_nanos() / 1_000
}

/// The elements that a listener looks for in a beacon.
fn elements(config: &WifiConfig) -> Vec<u8> {
    let mut elements = Vec::new();
    let ssid = &config.name.as_bytes()[..config.name.len().min(LONGEST_SSID)];
    element(SSID, ssid, &mut elements);
    let basic = config.standard.basic_rate().as_bps() / 1_000;
    let rates: Vec<u8> = config
        .standard
        .rates_kbps()
        .iter()
        .map(|&kbps| {
            let flag = if u64::from(kbps) == basic { BASIC } else { 0 };
            flag | (kbps / 500) as u8
        })
        .collect();
    element(SUPPORTED_RATES, &rates, &mut elements);
    element(DS_PARAMETER, &[config.channel], &mut elements);
    elements
}

fn element(id: u8, contents: &[u8], out: &mut Vec<u8>) {
    out.push(id);
    out.push(contents.len() as u8);
    out.extend_from_slice(contents);
}

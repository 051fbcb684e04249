//! Counters of an association, and of its channel.

use super::attr;
use super::interface::mac;
use crate::netlink::{Attr, Attrs};
use units::{Bitrate, Bytes, Dbm, Duration, MacAddr};

const RX_BYTES: u16 = 2;
const SIGNAL: u16 = 7;
const TX_BITRATE: u16 = 8;
const RX_PACKETS: u16 = 9;
const TX_PACKETS: u16 = 10;
const TX_RETRIES: u16 = 11;
const TX_FAILED: u16 = 12;
const RX_BITRATE: u16 = 14;
const BEACON_LOSS: u16 = 18;
const RX_BYTES64: u16 = 23;
const BEACON_RX: u16 = 29;
const BEACON_SIGNAL_AVG: u16 = 30;

const RATE_BITRATE: u16 = 1;
const RATE_MCS: u16 = 2;
const RATE_40_MHZ: u16 = 3;
const RATE_SHORT_GUARD: u16 = 4;
const RATE_BITRATE32: u16 = 5;
const RATE_VHT_MCS: u16 = 6;
const RATE_HE_MCS: u16 = 13;
const RATE_EHT_MCS: u16 = 19;

const SURVEY_MHZ: u16 = 1;
const SURVEY_IN_USE: u16 = 3;
const SURVEY_TIME: u16 = 4;
const SURVEY_BUSY: u16 = 5;

/// The other end of an association, and its counters since the association began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station {
    /// Its address: for a client, the access point's BSSID.
    pub mac: MacAddr,
    /// Signal of the last frame.
    pub signal: Option<Dbm>,
    /// Mean signal of its beacons.
    pub beacon_signal: Option<Dbm>,
    /// Beacons received from it. `None` if the driver does not pass them all to the kernel.
    pub beacons: Option<u64>,
    /// Times that its beacons were missed.
    pub beacon_losses: u32,
    /// Bytes received from it.
    pub received: Bytes,
    /// Packets received from it.
    pub rx_packets: u32,
    /// Packets sent to it.
    pub tx_packets: u32,
    /// Transmissions that had to be repeated.
    pub tx_retries: u32,
    /// Packets that were given up.
    pub tx_failed: u32,
    /// Rate of the last frame sent.
    pub tx_rate: Option<LinkRate>,
    /// Rate of the last frame received.
    pub rx_rate: Option<LinkRate>,
}

/// A rate, and the standard that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRate {
    /// The rate.
    pub rate: Bitrate,
    /// Whether it is a rate of 802.11n or later.
    pub modern: bool,
    /// 40 MHz. Later standards report other widths.
    pub wide: bool,
    /// Short guard interval of 802.11n or ac.
    pub short_guard: bool,
}

impl Station {
    /// Parses the attributes of `NL80211_CMD_NEW_STATION`. `None` if they name no station.
    pub fn parse(attrs: Attrs<'_>) -> Option<Self> {
        let mut found = Self {
            mac: mac(&attrs.clone().find(attr::MAC)?)?,
            signal: None,
            beacon_signal: None,
            beacons: None,
            beacon_losses: 0,
            received: Bytes::ZERO,
            rx_packets: 0,
            tx_packets: 0,
            tx_retries: 0,
            tx_failed: 0,
            tx_rate: None,
            rx_rate: None,
        };
        if let Some(info) = attrs.find(attr::STA_INFO) {
            info.attrs().for_each(|attr| found.take(&attr));
        }
        Some(found)
    }

    fn take(&mut self, attr: &Attr<'_>) {
        let count = || attr.u32().unwrap_or_default();
        match attr.kind {
            // The 64-bit counter follows the 32-bit one, which wraps.
            RX_BYTES => self.received = self.received.max(Bytes::new(count().into())),
            RX_BYTES64 => self.received = attr.u64().map_or(self.received, Bytes::new),
            SIGNAL => self.signal = dbm(attr),
            BEACON_SIGNAL_AVG => self.beacon_signal = dbm(attr),
            BEACON_RX => self.beacons = attr.u64(),
            BEACON_LOSS => self.beacon_losses = count(),
            RX_PACKETS => self.rx_packets = count(),
            TX_PACKETS => self.tx_packets = count(),
            TX_RETRIES => self.tx_retries = count(),
            TX_FAILED => self.tx_failed = count(),
            TX_BITRATE => self.tx_rate = LinkRate::parse(attr.attrs()),
            RX_BITRATE => self.rx_rate = LinkRate::parse(attr.attrs()),
            _ => {}
        }
    }
}

/// A signal in whole dBm. 0 and more is no measurement.
fn dbm(attr: &Attr<'_>) -> Option<Dbm> {
    let signal = attr.u8()?.cast_signed();
    (signal < 0).then(|| Dbm::from_dbm(signal.into()))
}

impl LinkRate {
    fn parse(attrs: Attrs<'_>) -> Option<Self> {
        let has = |kind| attrs.clone().find(kind).is_some();
        let long = attrs.clone().find(RATE_BITRATE32).and_then(|attr| attr.u32());
        let short = || attrs.clone().find(RATE_BITRATE)?.u16().map(u32::from);
        let hundred_kbps = long.or_else(short).filter(|&rate| rate > 0)?;
        let modern = [RATE_MCS, RATE_VHT_MCS, RATE_HE_MCS, RATE_EHT_MCS];
        Some(Self {
            rate: Bitrate::from_kbps(u64::from(hundred_kbps) * 100),
            modern: modern.into_iter().any(has),
            wide: has(RATE_40_MHZ),
            short_guard: has(RATE_SHORT_GUARD),
        })
    }
}

/// What a radio has measured on one channel since it was tuned to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    /// Centre frequency, in MHz.
    pub mhz: u32,
    /// The radio is on this channel.
    pub in_use: bool,
    /// Time for which the radio was on it.
    pub time: Option<Duration>,
    /// Time for which it was busy.
    pub busy: Option<Duration>,
}

impl Survey {
    /// Parses the attributes of `NL80211_CMD_NEW_SURVEY_RESULTS`. `None` if they name no channel.
    pub fn parse(attrs: Attrs<'_>) -> Option<Self> {
        let info = attrs.find(attr::SURVEY_INFO)?.attrs();
        let find = |kind| info.clone().find(kind);
        let time = |kind| {
            let ms = find(kind)?.u64()?;
            Some(Duration::from_millis(ms.min(u64::from(u32::MAX))))
        };
        Some(Self {
            mhz: find(SURVEY_MHZ)?.u32()?,
            in_use: find(SURVEY_IN_USE).is_some(),
            time: time(SURVEY_TIME),
            busy: time(SURVEY_BUSY),
        })
    }
}

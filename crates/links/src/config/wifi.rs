//! What a plan says about access points, walls and the client's radio.

use alloc::string::String;
use units::wifi::Standard;
use units::{Bitrate, Db, Dbm, Duration};

use super::air::{Ht, RateControl, Thresholds};
use super::queue::{QueueConfig, QueueLimit};
use crate::Position;

/// One access point, with the wired segment behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct WifiConfig {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// Its channel number: all access points with the same number share one air.
    pub channel: u8,
    /// How it transmits.
    pub standard: Standard,
    /// The only rate at which data is sent, both ways; `None`: the best one for the signal.
    pub rate: Option<Bitrate>,
    /// Who else decides about the rate, both ways. Only on the exact medium.
    pub control: RateControl,
    /// What it has of 802.11n, and the client towards it. Only on the exact medium.
    pub ht: Option<Ht>,
    /// What it senses, and when it asks before it sends. Only on the exact medium.
    pub thresholds: Thresholds,
    /// Transmit power, antenna gain included.
    pub power: Dbm,
    /// How the signal falls with distance.
    pub propagation: Propagation,
    /// The AP's queue towards the client and the client's queue towards this AP, each in front of the air.
    pub queue: QueueConfig,
    /// These queues keep flows apart and drop what waits too long (FQ-CoDel, RFC 8290). Only on the exact medium.
    pub fq_codel: bool,
    /// The wired segment behind it.
    pub backhaul: Backhaul,
    /// How long it takes to join.
    pub join: Join,
}

impl WifiConfig {
    /// 802.11g on channel 6 at 20 dBm indoors, 100 Mb/s and 5 ms (one way) behind it, 200-packet queues.
    pub fn new(name: &str, position: Position) -> Self {
        Self {
            name: name.into(),
            position,
            channel: 6,
            standard: Standard::G,
            rate: None,
            control: RateControl::Fixed,
            ht: None,
            thresholds: Thresholds::default(),
            power: Dbm::from_dbm(20),
            propagation: Propagation::indoor(Standard::G),
            queue: QueueConfig::tail_drop(QueueLimit::Packets(200)),
            fq_codel: false,
            backhaul: Backhaul::new(Bitrate::from_mbps(100), Duration::from_millis(5)),
            join: Join::default(),
        }
    }
}

/// The wired segment behind an access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backhaul {
    /// Towards the access point.
    pub down: Bitrate,
    /// From the access point.
    pub up: Bitrate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// The queue in front of it, in each direction.
    pub queue: QueueConfig,
}

impl Backhaul {
    /// The same rate and delay (one way) in both directions, queues of one bandwidth-delay product.
    pub fn new(rate: Bitrate, delay: Duration) -> Self {
        Self {
            down: rate,
            up: rate,
            delay,
            queue: QueueConfig::default(),
        }
    }
}

/// How a signal falls with distance and wavers.
///
/// Loss at distance d ≥ 1 m: `reference + 10·exponent·log10(d / 1 m)`, plus the walls on the straight line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Propagation {
    /// Loss at 1 m.
    pub reference: Db,
    /// Loss exponent, in hundredths: 300 is an exponent of 3.
    pub exponent_centi: u32,
    /// What an implementation loses against the error model of an ideal receiver (802.11-2020 §17.3.10.2 assumes 5 dB).
    pub implementation_loss: Db,
    /// Slow variation with the place, if any.
    pub shadowing: Option<Shadowing>,
    /// Fast variation with time, if any.
    pub fading: Option<Fading>,
}

impl Propagation {
    /// ITU-R P.1238 for offices: power loss coefficient 30 at 2.4 GHz, 31 at 5 GHz; free space to 1 m; no shadowing, no fading.
    pub const fn indoor(standard: Standard) -> Self {
        let (reference_centi, exponent_centi) = match standard {
            // 20·log10(2437) − 28 and 20·log10(5200) − 28.
            Standard::B | Standard::G => (3_974, 300),
            Standard::A => (4_632, 310),
        };
        Self {
            reference: Db::from_centi(reference_centi),
            exponent_centi,
            implementation_loss: Db::from_db(5),
            shadowing: None,
            fading: None,
        }
    }
}

/// Log-normal shadowing that is correlated along the client's way (Gudmundson 1991).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shadowing {
    /// Standard deviation.
    pub deviation: Db,
    /// Distance over which the correlation falls to 1/e, in millimetres.
    pub distance_mm: u64,
}

/// Rice fading: a steady path and scattered ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fading {
    /// Power of the steady path over that of the scattered ones; `None` is Rayleigh fading (no steady path).
    pub k_factor: Option<Db>,
    /// Time over which the correlation of the scattered part falls to 1/e.
    pub coherence: Duration,
}

/// How long the steps of joining an access point take.
///
/// The defaults: one channel is scanned for 30 ms (Linux mac80211's `IEEE80211_CHANNEL_TIME`; Mishra, Shin and Arbaugh
/// 2003 measured 40–300 ms for whole scans, and under 10 ms each for authentication and association); DHCP 1 s (the ICMP
/// check before an offer that RFC 2131 §2.2 recommends takes 1 s in ISC's server; Juggler, table 2, measured 1.8 s).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join {
    /// Active scan, all channels that are scanned together.
    pub scan: Duration,
    /// Authentication and association.
    pub associate: Duration,
    /// From carrier to an address.
    pub dhcp: Duration,
    /// From a lost frame of authentication or association to its repetition (mac80211's `IEEE80211_AUTH_TIMEOUT`).
    pub retry: Duration,
    /// From a lost DHCP message to its repetition, doubled each time up to 16 times this (RFC 2131 §4.1: 4 s to 64 s).
    pub dhcp_retry: Duration,
    /// How often a scan, or authentication and association, are tried before joining is given up.
    pub attempts: u32,
}

impl Default for Join {
    fn default() -> Self {
        Self {
            scan: Duration::from_millis(30),
            associate: Duration::from_millis(10),
            dhcp: Duration::from_secs(1),
            retry: Duration::from_millis(200),
            dhcp_retry: Duration::from_secs(4),
            attempts: 3,
        }
    }
}

/// A wall, seen from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wall {
    /// One end.
    pub from: Position,
    /// The other end.
    pub to: Position,
    /// What a signal loses in it (COST 231: 3.4 dB for a light wall, 6.9 dB for a heavy one).
    pub loss: Db,
}

/// The client's radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radio {
    /// Where it stands first.
    pub position: Position,
    /// Transmit power, antenna gain included.
    pub power: Dbm,
}

impl Default for Radio {
    fn default() -> Self {
        Self {
            position: Position::default(),
            power: Dbm::from_dbm(15),
        }
    }
}

/// Which channels a standard has, its letter, and the same in words.
pub(crate) fn channels(standard: Standard) -> (fn(u8) -> bool, char, &'static str) {
    match standard {
        Standard::B => (|channel| (1..=14).contains(&channel), 'b', "1 to 14"),
        Standard::G => (|channel| (1..=13).contains(&channel), 'g', "1 to 13"),
        Standard::A => (
            |channel| match channel {
                36..=64 | 100..=144 => channel.is_multiple_of(4),
                149..=165 => channel % 4 == 1,
                _ => false,
            },
            'a',
            "36 to 64, 100 to 144 or 149 to 165 in steps of 4",
        ),
    }
}

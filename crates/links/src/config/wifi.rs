//! Configuration of access points, walls and the client's radio.

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
    /// Its position.
    pub position: Position,
    /// Its channel number. All access points with the same number share one channel.
    pub channel: u8,
    /// Its 802.11 standard.
    pub standard: Standard,
    /// Fixed data rate in both directions. `None`: the best one for the signal.
    pub rate: Option<Bitrate>,
    /// Rate control in both directions, if any. Only on the exact medium.
    pub control: RateControl,
    /// 802.11n capabilities of the access point, and of the client towards it. Only on the exact medium.
    pub ht: Option<Ht>,
    /// Its sensing thresholds, and when it sends RTS. Only on the exact medium.
    pub thresholds: Thresholds,
    /// Transmit power, antenna gain included.
    pub power: Dbm,
    /// How the signal falls with distance.
    pub propagation: Propagation,
    /// The WiFi queues: the AP's towards the client and the client's towards this AP.
    pub queue: QueueConfig,
    /// Whether these queues run FQ-CoDel (RFC 8290). Only on the exact medium.
    pub fq_codel: bool,
    /// Airtime and weight of its packets on the weighted medium, which needs both.
    pub turn: Option<Turn>,
    /// The wired segment behind it.
    pub backhaul: Backhaul,
    /// Durations of the steps of joining.
    pub join: Join,
    /// Whether it sends beacons, and radios associate with it by frames. If not, they are associated from the
    /// start. Only on the exact medium.
    pub management: bool,
    /// Whether it is a peer of an ad hoc network: [`AccessPointConfig::ad_hoc`]. Only on the exact medium.
    ///
    /// [`AccessPointConfig::ad_hoc`]: crate::air::wlan::AccessPointConfig::ad_hoc
    pub ad_hoc: bool,
}

impl WifiConfig {
    /// 802.11g on channel 6 at 20 dBm indoors, with 200-packet queues. The wired segment has 100 Mb/s and 5
    /// ms one way.
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
            turn: None,
            backhaul: Backhaul::new(Bitrate::from_mbps(100), Duration::from_millis(5)),
            join: Join::default(),
            management: true,
            ad_hoc: false,
        }
    }
}

/// Packets of an access point on the weighted medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Airtime of one packet, whatever its length.
    pub packet: Duration,
    /// How often it wins against an access point of weight 1.
    pub weight: u32,
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
    /// A segment with the same rate and one-way delay in both directions, and queues of one bandwidth-delay
    /// product.
    pub fn new(rate: Bitrate, delay: Duration) -> Self {
        Self {
            down: rate,
            up: rate,
            delay,
            queue: QueueConfig::default(),
        }
    }
}

/// Path loss, shadowing and fading of a signal.
///
/// Loss at distance d ≥ 1 m: `reference + 10·exponent·log10(d / 1 m)`, plus the walls on the straight line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Propagation {
    /// Loss at 1 m.
    pub reference: Db,
    /// Loss exponent, in hundredths: 300 means an exponent of 3.
    pub exponent_centi: u32,
    /// Noise of a receiver above thermal noise.
    pub noise_figure: Db,
    /// Loss of a real receiver against the error model of an ideal one, as additional noise (802.11-2020
    /// §17.3.10.2 assumes 5 dB).
    pub implementation_loss: Db,
    /// Bit errors of an ideal receiver. The coarse medium always uses [`ErrorModel::Nist`].
    pub error_model: ErrorModel,
    /// Shadowing: slow variation with the place, if any.
    pub shadowing: Option<Shadowing>,
    /// Fading: fast variation with time, if any.
    pub fading: Option<Fading>,
}

impl Propagation {
    /// ITU-R P.1238 for offices: power loss coefficient 30 at 2.4 GHz and 31 at 5 GHz, free space to 1 m. No
    /// shadowing, no fading.
    pub const fn indoor(standard: Standard) -> Self {
        let (reference_centi, exponent_centi) = match standard {
            // 20·log10(2437) − 28 and 20·log10(5200) − 28.
            Standard::B | Standard::G => (3_974, 300),
            Standard::A => (4_632, 310),
        };
        Self {
            reference: Db::from_centi(reference_centi),
            exponent_centi,
            noise_figure: Db::from_db(7),
            implementation_loss: Db::from_db(5),
            error_model: ErrorModel::Nist,
            shadowing: None,
            fading: None,
        }
    }
}

/// Thermal noise in 20 MHz at 290 K.
const THERMAL: Dbm = Dbm::from_dbm(-101);

impl Propagation {
    /// Noise floor of a receiver in 20 MHz, without implementation loss.
    pub fn noise(&self) -> Dbm {
        THERMAL + self.noise_figure
    }

    /// SNR at the decoder at this received power.
    pub fn snr(&self, received: Dbm) -> Db {
        received - self.noise() - self.implementation_loss
    }
}

/// How many bits an ideal OFDM receiver gets wrong at an SNR.
///
/// At 24 Mb/s, half of the frames of 1,458 bytes are lost at 9.4 dB (table), 12.9 dB (NIST) and 14 dB (YANS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ErrorModel {
    /// Union bound for hard decisions (Pei and Henderson 2010). The default: it has a formula for every rate,
    /// and was compared with a hardware testbed.
    #[default]
    Nist,
    /// First terms of the distance spectrum (Lacage and Henderson 2006).
    Yans,
    /// Link-level simulation with soft decisions (TGax 2014).
    Table,
}

/// Log-normal shadowing, correlated along the client's path (Gudmundson 1991).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shadowing {
    /// Standard deviation.
    pub deviation: Db,
    /// Distance over which the correlation falls to 1/e, in millimetres.
    pub distance_mm: u64,
}

/// Rice fading: a line-of-sight component and scattered ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fading {
    /// K factor: power of the line-of-sight component over that of the scattered ones. `None`: Rayleigh
    /// fading.
    pub k_factor: Option<Db>,
    /// Time over which the correlation of the scattered part falls to 1/e.
    pub coherence: Duration,
}

/// Durations of the steps of joining an access point.
///
/// Sources of the defaults:
/// - Scan, 30 ms for one channel: Linux mac80211's `IEEE80211_CHANNEL_TIME`. Mishra, Shin and Arbaugh 2003
///   measured 40–300 ms for whole scans.
/// - Authentication and association: Mishra, Shin and Arbaugh 2003 measured under 10 ms each.
/// - DHCP, 1 s: ISC's server spends 1 s on the ICMP check before an offer that RFC 2131 §2.2 recommends.
///   Juggler, table 2, measured 1.8 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join {
    /// Active scan of all scanned channels together.
    pub scan: Duration,
    /// Authentication and association.
    pub associate: Duration,
    /// DHCP: from carrier to an address.
    pub dhcp: Duration,
    /// Retransmission timeout of authentication and association frames (mac80211's `IEEE80211_AUTH_TIMEOUT`).
    pub retry: Duration,
    /// First retransmission timeout of DHCP messages. It doubles each time, up to 16 times this (RFC 2131
    /// §4.1: 4 s to 64 s).
    pub dhcp_retry: Duration,
    /// Most attempts at a scan, or at authentication and association, before joining fails.
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

/// A wall in plan view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wall {
    /// One end.
    pub from: Position,
    /// The other end.
    pub to: Position,
    /// Attenuation of a signal through it (COST 231: 3.4 dB for a light wall, 6.9 dB for a heavy one).
    pub loss: Db,
}

/// The client's radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radio {
    /// Its first position.
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

/// The channels of a standard, its letter, and the channels in words.
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

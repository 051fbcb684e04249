//! Access points, and how their signal reaches the client.
//!
//! # Sources
//! - Path loss: Recommendation ITU-R P.1238, offices: distance power loss coefficient 30 at 2.4 GHz, 31 at 5
//!   GHz; free space to the first metre (ITU-R P.525).
//! - Walls: COST 231 final report, multi-wall model: 3.4 dB for a light wall, 6.9 dB for a heavy one, 18.3 dB
//!   for a floor.
//! - Joining: Mishra, Shin, Arbaugh (2003), an empirical analysis of the 802.11 MAC layer handoff process:
//!   40–300 ms for a scan, under 10 ms each for authentication and association. RFC 2131 §2.2: a DHCP server
//!   probes an address before it offers it (1 s in ISC's server); Juggler, table 2, measured 1.8 s.

use super::{Aqm, Point, Queue, QueueLimit, Thresholds, Way};
use units::wifi::{Standard, ht};
use units::{Bitrate, Db, Dbm, Duration, Ratio};

/// An access point and the wire behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessPoint {
    /// Its position. Where somebody carries it: at the start.
    pub at: Point,
    /// Who carries it: an index in [`Plan::walkers`](super::Plan::walkers). `None`: it stays where it is.
    pub carried_by: Option<usize>,
    /// Transmit power, antenna gain included.
    pub tx_power: Dbm,
    /// How it transmits.
    pub standard: Standard,
    /// Channel number; access points with the same number share one air.
    pub channel: u8,
    /// How the rate of a frame is chosen, its own and that of whoever is associated with it.
    pub rate: RateControl,
    /// What it has of 802.11n.
    pub ht: Option<Ht>,
    /// What it senses, and when it asks before it sends.
    pub thresholds: Thresholds,
    /// What it is to the coarse medium.
    pub turn: Option<Turn>,
    /// Its queue towards the client, and the client's towards it.
    pub queue: Queue,
    /// These queues keep flows apart and drop what waits too long (FQ-CoDel, RFC 8290).
    pub fq_codel: bool,
    /// How its signal falls with distance and wavers.
    pub propagation: Propagation,
    /// How long joining takes.
    pub join: Join,
    /// Whether it sends beacons, and radios associate with it by frames. If not, they are associated
    /// throughout.
    pub management: bool,
    /// Whether it is a peer of an ad hoc network: radios join it without asking, and it buffers for nobody.
    pub ad_hoc: bool,
    /// The wire behind it.
    pub backhaul: Backhaul,
}

/// Data frames that get lost between an access point and a walker, beside those that the signal costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The access point: an index in [`Plan::links`](super::Plan::links).
    pub link: usize,
    /// The walker: an index in [`Plan::walkers`](super::Plan::walkers).
    pub walker: usize,
    /// Towards the walker, or towards the access point.
    pub way: Way,
    /// Share of the frames, each by itself.
    pub share: Ratio,
}

/// How the rate of a frame is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateControl {
    /// By the signal.
    #[default]
    Auto,
    /// Always the same.
    Fixed(Bitrate),
    /// AARF: up after ten successes, down after two failures.
    Aarf,
    /// Minstrel, or Minstrel-HT between 802.11n stations: chooses by the success of earlier frames, and by
    /// trying.
    Minstrel,
}

/// What an access point has of 802.11n, and whoever is associated with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ht {
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// The widest channel: one of 40 MHz is its own and the one above it.
    pub width: ht::Width,
    /// The shortest guard interval.
    pub guard: ht::Guard,
    /// The scheme where the rate is always the same: modulation, code and streams.
    pub mcs: u8,
}

/// An access point in the weighted fair queue that is the coarse medium (nsdi15 §6.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// What one packet of it takes of the medium, whatever its length.
    pub packet: Duration,
    /// How often it wins, against one of weight 1.
    pub weight: u32,
}

/// How a signal fades with distance and varies.
///
/// Loss at distance d ≥ 1 m: `reference + 10 · exponent · log10(d / 1 m)`, plus the walls on the straight
/// line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Propagation {
    /// Loss at 1 m.
    pub reference: Db,
    /// Loss exponent, in hundredths: 300 is an exponent of 3.
    pub exponent_centi: u32,
    /// Noise of a receiver above thermal noise.
    pub noise_figure: Db,
    /// What an implementation loses against an ideal receiver, as additional noise.
    pub implementation_loss: Db,
    /// Bit errors of an ideal receiver.
    pub error_model: ErrorModel,
    /// Slow variation with the place, if any.
    pub shadowing: Option<Shadowing>,
    /// Fast variation with time, if any.
    pub fading: Option<Fading>,
}

impl Propagation {
    /// Offices, as ITU-R P.1238 has them: no shadowing, no fading.
    pub const fn indoor(standard: Standard) -> Self {
        let (reference_centi, exponent_centi) = match standard {
            // Free space to 1 m: 20·log10(MHz) − 27.55, at 2,437 and 5,200 MHz, with the recommendation's
            // rounded −28.
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

/// How many bits an ideal OFDM receiver gets wrong at an SNR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorModel {
    /// Union bound for hard decisions.
    Nist,
    /// First terms of the distance spectrum.
    Yans,
    /// Link-level simulation.
    Table,
}

/// Log-normal shadowing, correlated along the way (Gudmundson 1991).
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
    /// Power of the steady path over that of the scattered ones; `None`: no steady path (Rayleigh).
    pub k_factor: Option<Db>,
    /// Time over which the correlation of the scattered part falls to 1/e.
    pub coherence: Duration,
}

/// How long the steps of joining an access point take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join {
    /// Scan, all channels that are scanned together.
    pub scan: Duration,
    /// Authentication and association.
    pub associate: Duration,
    /// From carrier to an address.
    pub dhcp: Duration,
}

impl Default for Join {
    fn default() -> Self {
        Self {
            scan: Duration::from_millis(30),
            associate: Duration::from_millis(10),
            dhcp: Duration::from_secs(1),
        }
    }
}

/// The wire behind an access point, up to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backhaul {
    /// From the access point.
    pub up: Bitrate,
    /// Towards the access point.
    pub down: Bitrate,
    /// Round-trip time without a queue; half of it each way.
    pub rtt: Duration,
    /// The queue in front of it, in each direction.
    pub queue: Queue,
}

impl Backhaul {
    /// That of a peer whose flows end at itself: no delay, and more rate and queue than the air ever needs.
    pub const NONE: Self = Self {
        up: Bitrate::from_mbps(10_000),
        down: Bitrate::from_mbps(10_000),
        rtt: Duration::ZERO,
        queue: Queue {
            limit: QueueLimit::Packets(1_000),
            aqm: Aqm::TailDrop,
        },
    };
}

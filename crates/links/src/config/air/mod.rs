//! Configuration of an air and its stations.

mod error;

pub use error::AirError;

use alloc::string::String;
use alloc::vec::Vec;
use units::wifi::{Standard, ht};
use units::{Bitrate, Db, Dbm, Duration, Ratio};

use super::queue::Codel;
use super::wifi::{Propagation, Wall};
use crate::Position;

/// An air: all transmitters, and the place they share.
#[derive(Debug, Clone, PartialEq)]
pub struct AirConfig {
    /// The stations, including access points. A station's number is its index in this list.
    pub stations: Vec<StationConfig>,
    /// How signals fall with distance.
    pub propagation: Propagation,
    /// The walls that attenuate signals.
    pub walls: Vec<Wall>,
    /// Non-802.11 sources on the channels.
    pub noise: Vec<NoiseConfig>,
    /// Choices that the standard leaves open, or that an experiment changes.
    pub rules: Rules,
    /// Losses between stations. Those between stations that do not exist have no effect.
    pub losses: Vec<Loss>,
}

/// Data frames that get lost between two stations, beside those that the signal costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Name of the sender.
    pub from: String,
    /// Name of the receiver.
    pub to: String,
    /// Share of the frames, each by itself.
    pub share: Ratio,
}

impl AirConfig {
    /// Stations in an open office with the standard's rules.
    pub fn new(standard: Standard, stations: Vec<StationConfig>) -> Self {
        Self {
            stations,
            propagation: Propagation::indoor(standard),
            walls: Vec::new(),
            noise: Vec::new(),
            rules: Rules::default(),
            losses: Vec::new(),
        }
    }
}

/// One radio on one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct StationConfig {
    /// Its name. It also names the station's random streams.
    pub name: String,
    /// Its position.
    pub position: Position,
    /// Its channel number. Stations on different channels do not hear each other.
    pub channel: u8,
    /// Other channels that it may switch to on [`crate::air::Input::Tune`].
    pub also: Vec<u8>,
    /// Its 802.11 standard.
    pub standard: Standard,
    /// Transmit power, antenna gain included.
    pub power: Dbm,
    /// The rate of its data frames. If both it and the receiver have 802.11n, `ht` decides instead.
    pub rate: Bitrate,
    /// Its 802.11n capabilities.
    pub ht: Option<Ht>,
    /// Who chooses the modes of its data frames.
    pub control: RateControl,
    /// RTS threshold, in bytes: larger frames and aggregates are preceded by RTS and CTS. `None`: never.
    pub rts: Option<u32>,
    /// Queue limit, in packets. Later arrivals are dropped.
    pub queue: usize,
    /// The queue discipline.
    pub discipline: Discipline,
    /// The weakest frame whose preamble it detects. Carrier sense and reception need at least this power.
    pub carrier_sense: Dbm,
    /// The weakest signal whose energy alone makes the medium busy.
    pub energy_detection: Dbm,
}

impl StationConfig {
    /// The standard's fastest rate at 15 dBm on channel 36 (channel 6 in the 2.4 GHz band), with a queue of
    /// 200 packets. The thresholds are the standard's: −82 dBm for a preamble (§17.3.10.6) and 20 dB more for
    /// energy. For HR/DSSS, §16.3.8.5 only requires −76 dBm. Receivers do better.
    pub fn new(name: &str, standard: Standard, position: Position) -> Self {
        let fastest = standard.rates_kbps().iter().max().copied().unwrap_or(0);
        let Thresholds {
            rts,
            carrier_sense,
            energy_detection,
        } = Thresholds::default();
        Self {
            name: name.into(),
            position,
            channel: if standard == Standard::A { 36 } else { 6 },
            also: Vec::new(),
            standard,
            power: Dbm::from_dbm(15),
            rate: Bitrate::from_kbps(fastest.into()),
            ht: None,
            control: RateControl::Fixed,
            rts,
            queue: 200,
            discipline: Discipline::TailDrop,
            carrier_sense,
            energy_detection,
        }
    }

    /// Replaces the thresholds.
    #[must_use]
    pub fn with(self, thresholds: Thresholds) -> Self {
        Self {
            rts: thresholds.rts,
            carrier_sense: thresholds.carrier_sense,
            energy_detection: thresholds.energy_detection,
            ..self
        }
    }
}

/// Sensing thresholds of a station, and when it sends RTS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// [`StationConfig::rts`].
    pub rts: Option<u32>,
    /// [`StationConfig::carrier_sense`].
    pub carrier_sense: Dbm,
    /// [`StationConfig::energy_detection`].
    pub energy_detection: Dbm,
}

impl Default for Thresholds {
    /// The standard's thresholds, as in [`StationConfig::new`], without RTS.
    fn default() -> Self {
        Self {
            rts: None,
            carrier_sense: Dbm::from_dbm(-82),
            energy_detection: Dbm::from_dbm(-62),
        }
    }
}

/// Who chooses the modes of a station's data frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateControl {
    /// No rate control: always the configured mode.
    Fixed,
    /// AARF: a higher rate after successes, a lower one after failures.
    Aarf,
    /// Minstrel, or Minstrel-HT for receivers with 802.11n.
    Minstrel,
}

/// The queue discipline of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    /// First in, first out.
    TailDrop,
    /// FQ-CoDel (RFC 8290): a queue for each flow. CoDel drops the oldest packets of each if they wait too
    /// long. It marks nothing.
    FqCodel(Codel),
}

impl Discipline {
    /// FQ-CoDel with the RFC's constants.
    pub const fn fq_codel() -> Self {
        Self::FqCodel(Codel {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
        })
    }
}

/// Something on a channel that is not 802.11: a microwave oven, a video link.
///
/// If a station receives its energy above the threshold, the station finds the medium busy. For all other
/// stations it is interference.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseConfig {
    /// Its name. It also names its random stream.
    pub name: String,
    /// Its position.
    pub position: Position,
    /// Its channel. Model a wider source as several of them.
    pub channel: u8,
    /// Its power within that channel.
    pub power: Dbm,
    /// How long each burst lasts.
    pub on: Duration,
    /// How long each pause lasts.
    pub off: Duration,
    /// `true`: both times are exponentially distributed with these means. `false`: both are constant.
    pub random: bool,
}

impl NoiseConfig {
    /// A microwave oven, 20 dBm within a channel: on for half of each 50 Hz mains period (ITU-R SM.2210;
    /// Taher et al. 2008).
    pub fn microwave(name: &str, position: Position, channel: u8) -> Self {
        Self {
            name: name.into(),
            position,
            channel,
            power: Dbm::from_dbm(20),
            on: Duration::from_millis(10),
            off: Duration::from_millis(10),
            random: false,
        }
    }
}

/// A station's 802.11n capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ht {
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// The widest channel it uses. A 40 MHz channel spans the station's channel number and the one above it,
    /// which must exist and be free of others.
    pub width: ht::Width,
    /// The shortest guard interval it uses.
    pub guard: ht::Guard,
    /// The modulation and coding scheme of its data frames. If the receiver has fewer streams, only
    /// modulation and code rate are used.
    pub mcs: u8,
    /// Most frames in an aggregate, 1 to 64. With 1, the station does not aggregate.
    pub frames: u32,
    /// Most bytes in an aggregate.
    pub bytes: u32,
    /// Longest airtime of an aggregate.
    pub time: Duration,
}

impl Ht {
    /// The fastest scheme with that many streams and the largest aggregates that the standard allows: 64
    /// frames, 65,535 bytes and 5.484 ms. The time is the limit of the length field in the legacy header
    /// (802.11-2020 table 19-25, aPPDUMaxTime).
    pub const fn new(streams: u8, width: ht::Width, guard: ht::Guard) -> Self {
        Self {
            streams,
            width,
            guard,
            mcs: (streams * 8).saturating_sub(1),
            frames: ht::AGGREGATE_FRAMES,
            bytes: ht::AGGREGATE_BYTES,
            time: Duration::from_micros(5_484),
        }
    }

    /// The mode of its data frames. `None` if there is no such scheme.
    pub(crate) const fn mode(&self) -> Option<ht::Mode> {
        ht::Mode::new(self.mcs, self.width, self.guard)
    }

    /// The capabilities it shares with a receiver.
    pub(crate) fn with(self, receiver: Self) -> Self {
        let streams = self.streams.min(receiver.streams);
        Self {
            streams,
            width: self.width.min(receiver.width),
            guard: self.guard.min(receiver.guard),
            mcs: if self.mcs / 8 < streams {
                self.mcs
            } else {
                self.mcs % 8 + (streams - 1) * 8
            },
            ..self
        }
    }

    /// How many bytes an aggregate in this mode can hold within the airtime limit.
    pub(crate) fn bytes_within_time(&self, mode: ht::Mode) -> u32 {
        let symbols = self.time.saturating_sub(mode.preamble()).as_nanos() / mode.symbol().as_nanos();
        // Service and tail bits: 28 for two encoders.
        let bits = (symbols as u64 * u64::from(mode.bits_per_symbol())).saturating_sub(28);
        u32::try_from(bits / 8).unwrap_or(u32::MAX)
    }
}

/// Choices that the standard leaves open, or that an experiment changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How a busy period affects the backoff of other stations.
    pub countdown: Countdown,
    /// When EIFS applies.
    pub eifs: Eifs,
    /// Most transmissions of a frame, including the first. `None`: no limit. Minstrel ignores this limit:
    /// without 802.11n it drops a frame at the end of its chain of modes, as mac80211 does (7 to 18
    /// attempts). With 802.11n, chains are rebuilt and this limit applies.
    pub attempts: Option<u32>,
    /// SINR that a frame needs during its preamble and header to be detected at all. The standard does not
    /// specify this. 4 dB is what packet simulators assume for correlation with a known preamble.
    pub preamble: Db,
    /// How much stronger than the frame being received a later one must be to take its place. `None`: it
    /// never does. Lee et al. 2007 ("An experimental study on the capture effect in 802.11a networks")
    /// measured about 10 dB after the first preamble.
    pub capture: Option<Db>,
    /// Signals at least this far below the noise floor are left out of sums of interference. `reception`
    /// bounds the error.
    pub negligible: Db,
    /// Leaves out the retry bit when a frame is retransmitted at another rate. nsdi15 §6.1 reports this for
    /// its access points. The standard sets the bit (§9.2.4.1.7).
    pub no_retry_bit_on_rate_change: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            countdown: Countdown::Standard,
            eifs: Eifs::AfterHeader,
            attempts: Some(7),
            preamble: Db::from_db(4),
            capture: Some(Db::from_db(10)),
            negligible: Db::from_db(20),
            no_retry_bit_on_rate_change: false,
        }
    }
}

/// How a busy period affects the backoff of stations that take no part in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Countdown {
    /// No effect: only idle slots count. A sender notices a failure when its ACK timeout expires.
    Standard,
    /// It counts as one slot, and a sender learns of a failure at once. These are the assumptions of
    /// Bianchi's model. Use it only for comparison with that model.
    BusyCountsAsSlot,
}

/// When EIFS replaces DIFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eifs {
    /// After a frame whose header was received but whose contents were not: "a frame transmission was begun
    /// that did not result in the correct reception" (§10.3.2.3.7). If frames begin together and equally
    /// strong, no header is decoded and DIFS follows.
    AfterHeader,
    /// Also after a signal without a decodable header, as in receivers that report a format violation.
    AfterAnyError,
}

//! What a plan says about an air and its stations.

mod error;

pub use error::AirError;

use alloc::string::String;
use alloc::vec::Vec;
use units::wifi::{Standard, ht};
use units::{Bitrate, Db, Dbm, Duration};

use super::queue::Codel;
use super::wifi::{Propagation, Wall};
use crate::Position;

/// An air: everybody who transmits, and the place.
#[derive(Debug, Clone, PartialEq)]
pub struct AirConfig {
    /// The stations, access points among them; a station's number is its place in this list.
    pub stations: Vec<StationConfig>,
    /// How signals fall with distance.
    pub propagation: Propagation,
    /// What stands in their way.
    pub walls: Vec<Wall>,
    /// What else is on the channels.
    pub noise: Vec<NoiseConfig>,
    /// What the standard leaves open, or an experiment changes.
    pub rules: Rules,
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
        }
    }
}

/// One radio on one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct StationConfig {
    /// Its name: its random streams are named after it.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// Its channel number; stations on different channels do not hear each other.
    pub channel: u8,
    /// Other channels that it may be told to turn to ([`crate::air::Input::Tune`]).
    pub also: Vec<u8>,
    /// How it transmits.
    pub standard: Standard,
    /// Transmit power, antenna gain included.
    pub power: Dbm,
    /// The rate of its data frames; to those who have 802.11n as it has, `ht` says which.
    pub rate: Bitrate,
    /// What it has of 802.11n.
    pub ht: Option<Ht>,
    /// Who decides about the modes of its data frames.
    pub control: RateControl,
    /// Frames and aggregates of more bytes than this are preceded by a request to send and the answer to it; `None`: never.
    pub rts: Option<u32>,
    /// Packets that wait at most; what comes then is dropped.
    pub queue: usize,
    /// In which order they leave, and which are dropped before.
    pub discipline: Discipline,
    /// The weakest frame whose preamble it finds: carrier sense and reception begin here.
    pub carrier_sense: Dbm,
    /// The weakest signal whose energy alone makes the medium busy.
    pub energy_detection: Dbm,
}

impl StationConfig {
    /// 15 dBm on channel 36 (6 in the 2.4 GHz band) at the standard's fastest rate, 200 packets of queue, the standard's thresholds:
    /// −82 dBm for a preamble (§17.3.10.6; §16.3.8.5 leaves −76 dBm as the least that HR/DSSS must sense, receivers do better),
    /// 20 dB more for energy.
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

    /// The same with other thresholds.
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

/// What a station senses, and when it asks before it sends.
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
    /// The standard's, as [`StationConfig::new`] has them; no requests to send.
    fn default() -> Self {
        Self {
            rts: None,
            carrier_sense: Dbm::from_dbm(-82),
            energy_detection: Dbm::from_dbm(-62),
        }
    }
}

/// Who decides in which mode a station's data frames are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateControl {
    /// Nobody: always the plan's.
    Fixed,
    /// AARF: up after successes, down after failures.
    Aarf,
    /// Minstrel, to those that have 802.11n Minstrel-HT.
    Minstrel,
}

/// In which order waiting packets leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    /// As they came.
    TailDrop,
    /// Flow by flow, and of each the oldest are dropped when packets wait too long (RFC 8290). Nothing is marked.
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
/// Who receives its energy above the threshold finds the medium busy; everybody else has it as interference.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseConfig {
    /// Its name: its random stream is named after it.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// The channel that it is on; what is wider is several of them.
    pub channel: u8,
    /// Its power within that channel.
    pub power: Dbm,
    /// How long it is on, and off.
    pub on: Duration,
    /// How long it is off.
    pub off: Duration,
    /// `true`: both times are exponentially distributed with these means; `false`: they are always the same.
    pub random: bool,
}

impl NoiseConfig {
    /// A microwave oven: on for half of each period of the mains at 50 Hz (ITU-R SM.2210; Taher et al. 2008), 20 dBm within a channel.
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

/// What a station has of 802.11n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ht {
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// The widest channel it uses. One of 40 MHz is that of the station's channel number and the one above it, which must exist and be free of others.
    pub width: ht::Width,
    /// The shortest guard interval it uses.
    pub guard: ht::Guard,
    /// The modulation and coding scheme of its data frames; of it, modulation and code, if the receiver has fewer streams.
    pub mcs: u8,
    /// Most frames in an aggregate, 1 to 64; 1: it does not aggregate.
    pub frames: u32,
    /// Most bytes in an aggregate.
    pub bytes: u32,
    /// Longest time of an aggregate on the air.
    pub time: Duration,
}

impl Ht {
    /// The fastest scheme of that many streams, and aggregates as large as the standard allows: 64 frames, 65,535 bytes, and 5.484 ms, which is
    /// what the length in the legacy header can say (802.11-2020 table 19-25, aPPDUMaxTime).
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

    /// The mode of its data frames; `None` if there is no such scheme.
    pub(crate) const fn mode(&self) -> Option<ht::Mode> {
        ht::Mode::new(self.mcs, self.width, self.guard)
    }

    /// What it has in common with a receiver.
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

    /// How many bytes an aggregate in this mode can have without lasting too long.
    pub(crate) fn bytes_within_time(&self, mode: ht::Mode) -> u32 {
        let symbols = self.time.saturating_sub(mode.preamble()).as_nanos() / mode.symbol().as_nanos();
        // Service and tail bits: 28 for two encoders.
        let bits = (symbols as u64 * u64::from(mode.bits_per_symbol())).saturating_sub(28);
        u32::try_from(bits / 8).unwrap_or(u32::MAX)
    }
}

/// What the standard leaves open, or an experiment changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// What a busy period does to others' countdowns.
    pub countdown: Countdown,
    /// When EIFS applies.
    pub eifs: Eifs,
    /// How often a frame is sent before it is given up, the first time included; `None` is for ever. Minstrel does not ask: without 802.11n its frames
    /// are given up when their chain of modes is used up, as mac80211's are (7 to 18 attempts). With 802.11n chains are put together anew, and this
    /// counts.
    pub attempts: Option<u32>,
    /// How much a frame must exceed everything else on the air during its preamble and header to be found at all. Receivers are not
    /// standardised here; 4 dB is what packet simulators assume for correlation with a known preamble.
    pub preamble: Db,
    /// How much stronger than the frame being received a later one must be to take its place (Lee et al. 2007, "An experimental study
    /// on the capture effect in 802.11a networks": about 10 dB once the first preamble is over); `None`: never.
    pub capture: Option<Db>,
    /// What arrives that much under the noise floor, or more, is left out of sums of interference (`reception` bounds what that neglects).
    pub negligible: Db,
    /// A frame that is repeated at another rate than before does not have the retry bit, as nsdi15 §6.1 says of its access points; the standard
    /// sets it (§9.2.4.1.7).
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

/// What a busy period does to the countdowns of those who are not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Countdown {
    /// Nothing: only idle slots count, and a sender whose frame failed notices when its wait for the acknowledgement is over.
    Standard,
    /// It counts as one slot, and a sender knows at once that its frame failed: the assumptions of Bianchi's model. For comparison with
    /// that model only.
    BusyCountsAsSlot,
}

/// When the extended interframe space takes the place of DIFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eifs {
    /// After a frame whose header was received, but whose contents were not: "a frame transmission was begun that did not result in the
    /// correct reception" (§10.3.2.3.7). Frames that begin together and equally strong leave nobody a header: DIFS follows.
    AfterHeader,
    /// Also after a signal in which no header could be made out, as receivers do that report a format violation.
    AfterAnyError,
}

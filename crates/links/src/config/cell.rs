//! Cellular links: rates, coverage, and what a radio does. Where the constants come from: `pipe::cellular`.

use alloc::string::String;
use alloc::vec::Vec;
use units::{Bitrate, Duration, Ratio};

use super::queue::{QueueConfig, QueueLimit};

/// A cellular link: a constant rate or a recorded trace behind a deep buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct CellConfig {
    /// Its name.
    pub name: String,
    /// From the client.
    pub up: CellLane,
    /// To the client.
    pub down: CellLane,
    /// When there is no coverage: nothing is delivered either way and what is queued waits; the link stays up.
    pub holes: Holes,
    /// When its radio sleeps; `None`: never.
    pub radio: Option<RadioStates>,
    /// How it repeats what is lost on the air; `None`: nothing is.
    pub repeats: Option<Repeats>,
}

impl CellConfig {
    /// The same constant rate and delay (one way) in both directions, with room for one second of it.
    pub fn constant(name: &str, rate: Bitrate, delay: Duration) -> Self {
        Self::with_rates(name, CellRate::Constant(rate), CellRate::Constant(rate), delay)
    }

    /// A recorded trace in each direction (see [`CellRate::Trace`]), with room for one second of its mean rate.
    pub fn traced(name: &str, up: Vec<Duration>, down: Vec<Duration>, delay: Duration) -> Self {
        Self::with_rates(name, CellRate::Trace(up), CellRate::Trace(down), delay)
    }

    fn with_rates(name: &str, up: CellRate, down: CellRate, delay: Duration) -> Self {
        let lane = |rate| CellLane {
            rate,
            delay,
            jitter: Duration::ZERO,
            queue: QueueConfig::tail_drop(QueueLimit::Time(Duration::from_secs(1))),
        };
        Self {
            name: name.into(),
            up: lane(up),
            down: lane(down),
            holes: Holes::default(),
            radio: None,
            repeats: None,
        }
    }
}

/// One direction of a cellular link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellLane {
    /// How fast it delivers.
    pub rate: CellRate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Extra delay per packet, uniform between zero and this; packets keep their order.
    pub jitter: Duration,
    /// The base station's (or the modem's) buffer.
    pub queue: QueueConfig,
}

/// How fast a cellular link delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellRate {
    /// Always the same.
    Constant(Bitrate),
    /// Delivery opportunities of 1,500 bytes each (a Mahimahi trace): their times since the start of the run, never decreasing. The last
    /// one is also the period after which the trace begins again.
    Trace(Vec<Duration>),
}

/// Times without coverage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holes {
    /// When each begins and how long it lasts, counted from the start of the run (or of each period); in order, not
    /// overlapping.
    pub spans: Vec<(Duration, Duration)>,
    /// After this long the list begins again.
    pub period: Option<Duration>,
}

/// When a radio sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioStates {
    /// From the first packet to the moment at which the radio is up.
    pub promotion: Duration,
    /// How long it stays up after the last packet.
    pub tail: Duration,
}

impl RadioStates {
    /// LTE.
    pub const LTE: Self = Self {
        promotion: Duration::from_millis(260),
        tail: Duration::from_millis(11_600),
    };
    /// 3G.
    pub const UMTS: Self = Self {
        promotion: Duration::from_millis(582),
        tail: Duration::from_millis(8_100),
    };
}

/// How a radio repeats what was lost on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// Share of transmissions that are lost.
    pub loss: Ratio,
    /// From a transmission to its repetition.
    pub after: Duration,
    /// Transmissions of a packet at most; one that is still lost then is lost for good.
    pub most: u32,
}

impl Repeats {
    /// LTE's HARQ at its usual target of a tenth of first transmissions lost: four transmissions, 8 ms apart.
    pub const fn lte() -> Self {
        Self {
            loss: Ratio::from_ppm(100_000),
            after: Duration::from_millis(8),
            most: 4,
        }
    }
}

//! Cellular links: rates, coverage and radio behaviour. `pipe::cellular` has the sources of the constants.

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
    /// Times without coverage. Nothing is delivered in either direction and queued packets wait. The link
    /// stays up.
    pub holes: Holes,
    /// When its radio sleeps. `None`: never.
    pub radio: Option<RadioStates>,
    /// How the radio retransmits what is lost on the air. `None`: it loses nothing.
    pub repeats: Option<Repeats>,
}

impl CellConfig {
    /// A link with the same constant rate and one-way delay in both directions. Its buffers hold one second
    /// at that rate.
    pub fn constant(name: &str, rate: Bitrate, delay: Duration) -> Self {
        Self::with_rates(name, CellRate::Constant(rate), CellRate::Constant(rate), delay)
    }

    /// A link with a recorded trace in each direction (see [`CellRate::Trace`]). Its buffers hold one second
    /// at the mean rate.
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
    /// Extra delay per packet, uniform between zero and this. Packets keep their order.
    pub jitter: Duration,
    /// The base station's (or the modem's) buffer.
    pub queue: QueueConfig,
}

/// How fast a cellular link delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellRate {
    /// A constant rate.
    Constant(Bitrate),
    /// A Mahimahi trace: delivery opportunities of 1,500 bytes each, as times since the start of the run.
    /// Times never decrease. The last one is also the period after which the trace repeats.
    Trace(Vec<Duration>),
}

/// Times without coverage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holes {
    /// Start and length of each, from the start of the run or of each period. In order, without overlap.
    pub spans: Vec<(Duration, Duration)>,
    /// The list repeats with this period.
    pub period: Option<Duration>,
}

/// When a radio sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioStates {
    /// Promotion delay: time from the first packet until the radio is up.
    pub promotion: Duration,
    /// Tail: how long it stays up after the last packet.
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

/// Local retransmissions of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// Share of transmissions that are lost.
    pub loss: Ratio,
    /// From a transmission to its retransmission.
    pub after: Duration,
    /// Most transmissions of a packet. If the last one fails, the packet is lost.
    pub most: u32,
}

impl Repeats {
    /// LTE's HARQ with its usual target: a tenth of first transmissions lost, four transmissions, 8 ms apart.
    pub const fn lte() -> Self {
        Self {
            loss: Ratio::from_ppm(100_000),
            after: Duration::from_millis(8),
            most: 4,
        }
    }
}

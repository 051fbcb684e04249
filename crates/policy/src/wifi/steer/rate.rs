//! How many packets of a poor access point to mark, so that the sender leaves it and still knows what it
//! could carry.
//!
//! A coupled sender takes as much in all as TCP would on its best path, and ranks a path by `sqrt(k/p)/RTT`.
//! A mark reduces its window and thereby the queue at the access point. As long as the shorter round trip
//! makes up for the marks, the rank stays the same. With packet time `T`, round-trip time `R`, base
//! round-trip time `R0` and half a buffer of `a` packets:
//!
//! | form | marking rate |
//! |---|---|
//! | `printed` | `½ · (50·T² / (R·(R − 50·T)))²` |
//! | `printed-capped` | the same; the cap where `R ≤ 50·T` |
//! | `exact(a,k)` | `k·[(T/(R − a·T))² − (T/R)²]`; the cap where `R ≤ a·T` |
//! | `base-rtt(a,k)` | `k·[(T/Q)² − (T/(Q + a·T))²]` with `Q = R0 + T` |
//! | `cap` | always the cap |
//!
//! # Sources
//! - nsdi15 §5.2, equations 3 to 5, and the cap of 5 % (§5.2, §6.2.1).
//! - Mathis et al. 1997, "The macroscopic behavior of the TCP congestion avoidance algorithm": `k = 3/2` with
//!   an acknowledgement per packet.
//!
//! # Where we differ, and why
//! 1. nsdi15 says that a buffer holds 200 packets, so `a = 100`, but prints 50. It writes `k = 2` in its text
//!    and `k = 1` in its derivation. Its equation 5 is not the solution of its equation 4. So each
//!    interpretation is a form of its own.
//! 2. `base-rtt` solves the same condition for the round trip without queue. The other forms measure a queue
//!    that their own marks remove, and then keep the path at the cap.
//!
//! # Checked by
//! `steer::tests`: golden vectors, the equations in real numbers, bounds and monotonicity.

use crate::cc::Soft;
use core::fmt;
use core::str::FromStr;
use units::{Duration, Ratio};

/// Above this rate, a sender's window is about six packets, and timeouts begin (nsdi15 §5.2).
pub const CAP: Ratio = Ratio::from_ppm(50_000);

/// The constant `k` of the throughput model `sqrt(k/p)/RTT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// `k = 1`: nsdi15's derivation.
    One,
    /// `k = 3/2`: one acknowledgement per packet.
    ThreeHalves,
    /// `k = 2`: nsdi15's text.
    Two,
}

impl Model {
    fn halves(self) -> u64 {
        match self {
            Self::One => 2,
            Self::ThreeHalves => 3,
            Self::Two => 4,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::ThreeHalves => "3/2",
            Self::Two => "2",
        }
    }
}

/// The form of the marking rate. Calls are dispatched by this enum, not by a trait object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// Equation 5 exactly as printed.
    Printed,
    /// Equation 5, and the cap where the round trip is not longer than its buffer.
    PrintedCapped,
    /// The solution of equation 4 for the measured round trip.
    Exact {
        /// Half the access point's buffer, in packets.
        buffer: u16,
        /// The throughput model.
        model: Model,
    },
    /// The solution of equation 4 for the round trip without queue.
    BaseRtt {
        /// Half the access point's buffer, in packets.
        buffer: u16,
        /// The throughput model.
        model: Model,
    },
    /// Always the cap.
    Cap,
}

/// The inputs of a marking rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Airtime of one delivered packet.
    pub packet_time: Duration,
    /// Round-trip time, including the queue.
    pub rtt: Duration,
    /// Round-trip time without the queue.
    pub base_rtt: Duration,
}

/// Half the buffer that equation 5 prints, in packets.
const PRINTED_BUFFER: u16 = 50;

impl Form {
    /// The form that the policy `ecn` uses until the forms have been compared.
    pub const DEFAULT: Self = Self::BaseRtt {
        buffer: 100,
        model: Model::One,
    };

    /// The share of the path's packets to mark, 0..=[`CAP`].
    pub fn rate(self, path: Measured) -> Ratio {
        let packet = nanos(path.packet_time);
        let rtt = nanos(path.rtt);
        let rate = match self {
            Self::Printed => printed(packet, rtt),
            Self::PrintedCapped if rtt <= queue(packet, PRINTED_BUFFER) => None,
            Self::PrintedCapped => printed(packet, rtt),
            Self::Exact { buffer, model } => exact(packet, rtt, buffer, model),
            Self::BaseRtt { buffer, model } => base_rtt(packet, nanos(path.base_rtt), buffer, model),
            Self::Cap => None,
        };
        rate.map_or(CAP, |rate| {
            Ratio::from_fraction(rate.to_q32(), Ratio::ONE.as_raw()).min(CAP)
        })
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The time in which `packets` leave.
const fn queue(packet: u64, packets: u16) -> u64 {
    packet.saturating_mul(packets as u64)
}

/// Equation 5. `None` where it divides by zero.
fn printed(packet: u64, rtt: u64) -> Option<Soft> {
    // The square removes the sign of the difference.
    let left = rtt.abs_diff(queue(packet, PRINTED_BUFFER));
    if rtt == 0 || left == 0 {
        return None;
    }
    let packet = Soft::new(packet);
    let inner = Soft::new(u64::from(PRINTED_BUFFER))
        .times(packet.over(Soft::new(rtt)))
        .times(packet.over(Soft::new(left)));
    Some(inner.times(inner).over(Soft::new(2)))
}

fn exact(packet: u64, rtt: u64, buffer: u16, model: Model) -> Option<Soft> {
    let short = rtt.checked_sub(queue(packet, buffer)).filter(|&left| left > 0)?;
    Some(difference(packet, short, rtt, model))
}

fn base_rtt(packet: u64, base: u64, buffer: u16, model: Model) -> Option<Soft> {
    let short = base.saturating_add(packet);
    (short > 0).then(|| difference(packet, short, short.saturating_add(queue(packet, buffer)), model))
}

/// `k·[(T/short)² − (T/long)²]`, as `k·(T/short)²·(long − short)·(long + short)/long²`, which subtracts
/// nothing that was rounded.
fn difference(packet: u64, short: u64, long: u64, model: Model) -> Soft {
    let loss = Soft::new(packet).over(Soft::new(short));
    let whole = Soft::new(long);
    let queued = Soft::new(long - short).over(whole);
    let doubled = whole.plus(Soft::new(short)).over(whole);
    loss.times(loss)
        .times(queued)
        .times(doubled)
        .times(Soft::new(model.halves()))
        .over(Soft::new(2))
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Printed => f.write_str("printed"),
            Self::PrintedCapped => f.write_str("printed-capped"),
            Self::Exact { buffer, model } => write!(f, "exact({buffer},k={})", model.name()),
            Self::BaseRtt { buffer, model } => write!(f, "base-rtt({buffer},k={})", model.name()),
            Self::Cap => f.write_str("cap"),
        }
    }
}

/// A name that no form has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownForm;

impl fmt::Display for UnknownForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "no marking rate has this name; write printed, printed-capped, exact(A,k=K), base-rtt(A,k=K) or cap, \
             with A half the buffer in packets and K one of 1, 3/2, 2",
        )
    }
}

impl core::error::Error for UnknownForm {}

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(name: &str) -> Result<Self, UnknownForm> {
        match name {
            "printed" => return Ok(Self::Printed),
            "printed-capped" => return Ok(Self::PrintedCapped),
            "cap" => return Ok(Self::Cap),
            _ => {}
        }
        let (kind, rest) = name.split_once('(').ok_or(UnknownForm)?;
        let (buffer, model) = rest
            .strip_suffix(')')
            .and_then(|inside| inside.split_once(",k="))
            .ok_or(UnknownForm)?;
        let buffer = buffer.parse().map_err(|_| UnknownForm)?;
        let model = [Model::One, Model::ThreeHalves, Model::Two]
            .into_iter()
            .find(|candidate| candidate.name() == model)
            .ok_or(UnknownForm)?;
        match kind {
            "exact" => Ok(Self::Exact { buffer, model }),
            "base-rtt" => Ok(Self::BaseRtt { buffer, model }),
            _ => Err(UnknownForm),
        }
    }
}

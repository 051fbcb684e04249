//! How likely a frame of an access point reaches this client at the first attempt, from what the client
//! hears.
//!
//! A sender counts attempts, but a listener hears only those that arrive. It learns of the others from two
//! traces: the retry bit of a frame whose first attempt failed, and the gap in the sequence numbers left by a
//! frame whose attempts all failed. [`Delivery`] takes every correctly received frame of one transmitter,
//! duplicates included, and estimates over the last half second.
//!
//! ```
//! use policy::estimate::delivery::{Config, Delivery, Estimate, Frame, Receiver};
//! use units::{Bitrate, Instant, SeqNum};
//!
//! let mut delivery = Delivery::new(Config::LEGACY);
//! for (at_ms, number, retry) in [(0, 7, false), (1, 8, true), (2, 9, false), (3, 10, false)] {
//!     let frame = Frame {
//!         receiver: Receiver::Us, tid: Some(0), number: SeqNum::new(number), retry,
//!         rate: Bitrate::from_mbps(54), bytes: 1_536, aggregate: None,
//!     };
//!     delivery.hear(Instant::from_millis(at_ms), &frame);
//! }
//! let Estimate::Known { delivered, frames } = delivery.estimate(Instant::from_millis(4)) else { panic!() };
//! assert_eq!((delivered.to_string().as_str(), frames), ("75.00 %", 4));
//! ```
//!
//! # Sources
//! - nsdi15 §5.1: `p = N0 / (N0 + N1 + Nlost)`, with N0 frames heard with the retry bit clear, N1 with it
//!   set, and Nlost never heard. A queue holds what was heard in the last 500 ms, 10 bytes a frame.
//! - IEEE 802.11-2020 §10.3.2.14: QoS data has a counter per (receiver, TID). Management, non-QoS data and
//!   group-addressed frames share one.
//! - IEEE 802.11-2020 §10.25.6: frames of an aggregate may arrive out of order within the block-ack window.
//!
//! # Where we differ, and why
//! 1. A hole counts as lost when the block-ack window has moved past it, not when it first appears:
//!    aggregates arrive out of order. The shared counter has the same window, because management frames
//!    overtake data.
//! 2. Missing numbers of the shared counter may be frames to others. Frames to others at our rate are as
//!    likely to be lost on the way to us as ours, whoever else heard them. So both count. If others were
//!    served at another rate and numbers are missing, these cannot be told apart. The result is then
//!    [`Estimate::Unattributable`], with the limits between which the probability lies. Group-addressed
//!    frames (beacons) are sent at a robust rate: they fill their numbers and count for nothing.
//! 3. After a silence of a whole window a counter restarts: 4,096 numbers may have passed.
//! 4. A retry sent without the retry bit counts as a first attempt, and the estimate is then too high by the
//!    share of such retries. nsdi15 §6.1 says that a rate change has this effect, although the standard sets
//!    the bit.
//!
//! # Checked by
//! `tests/engine_air.rs`: through the engine ([`crate::LinkEvent::Frame`]). `accuracy`: the realised ratio of
//! a sender with known loss, with aggregates, other stations, lost acknowledgements and both meanings of the
//! retry bit. `tests`: each trap alone, a recount, `golden/delivery.csv`. `aggregates`.
//! `tests/allocations.rs`. `slowhand bench estimator`.

#[cfg(test)]
mod accuracy;
#[cfg(test)]
mod aggregates;
mod counters;
mod ring;
mod sequence;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;

pub use crate::io::air::{Frame, Receiver};
use counters::{Counters, Which};
use ring::{Entry, KINDS, Kind, Ring, Sums};
use sequence::{Heard, WIDEST};
use units::{Bitrate, Duration, Instant, Ratio};

/// Whose frames show how well this client hears the transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Frames to this client, and those to others as far as a shared counter requires.
    Ours,
    /// Frames to everybody: for an access point that serves others at rates like ours, or that we have not
    /// joined.
    Everybody,
}

/// Configuration of an estimator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Length of the window, up to 30 min.
    pub window: Duration,
    /// How many numbers late a frame may arrive: the block-ack window, 1..=256.
    pub reorder: u16,
    /// Maximum number of records, 10 bytes each. If a window holds more frames, the window is shorter.
    pub records: usize,
    /// Whose frames count.
    pub scope: Scope,
}

impl Config {
    /// For 802.11 a, b and g: 20 kB.
    pub const LEGACY: Self = Self {
        window: Duration::from_millis(500),
        reorder: 64,
        records: 2_048,
        scope: Scope::Ours,
    };
    /// For 802.11n with up to four streams: 200 kB.
    pub const HT: Self = Self {
        records: 20_480,
        ..Self::LEGACY
    };
}

/// More records could overflow the sums.
const MOST_RECORDS: usize = 1 << 20;

/// Estimate over the last window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// Nothing was heard.
    Silent,
    /// There is an estimate.
    Known {
        /// Probability that a frame arrives at its first attempt.
        delivered: Ratio,
        /// Number of frames it is based on.
        frames: u32,
    },
    /// Numbers are missing that may belong to frames to others.
    Unattributable {
        /// Probability if all of them were ours.
        at_least: Ratio,
        /// Probability if none of them was.
        at_most: Ratio,
        /// Number of missing frames.
        missing: u32,
    },
}

impl Estimate {
    /// Number of frames the estimate is based on. 0 if there is none.
    pub const fn confidence(self) -> u32 {
        match self {
            Self::Known { frames, .. } => frames,
            Self::Silent | Self::Unattributable { .. } => 0,
        }
    }

    /// Probability that an attempt fails, if the estimate is based on at least `least_frames` frames.
    pub const fn loss(self, least_frames: u32) -> Option<Ratio> {
        match self {
            Self::Known { delivered, frames } if frames >= least_frames => Some(delivered.complement()),
            _ => None,
        }
    }
}

/// Mean properties of the counted frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Mean rate: the rate at which a bit takes the mean time. Zero if no frame's rate is known.
    pub rate: Bitrate,
    /// Mean MPDU length, in bytes.
    pub mpdu_bytes: u32,
    /// Mean number of frames heard per aggregate, in thousandths. A single frame is an aggregate of one.
    pub heard_per_aggregate_milli: u32,
}

impl Traffic {
    /// Mean number of frames *sent* per aggregate, in thousandths, if each is heard with probability
    /// `delivered`.
    ///
    /// Of L frames sent, `L·p / (1 − (1−p)^L)` are heard on average, counting only aggregates of which
    /// something is heard. Bisection solves this for L.
    pub fn sent_per_aggregate_milli(&self, delivered: Ratio) -> u32 {
        let (heard, p) = (
            f64::from(self.heard_per_aggregate_milli) / 1e3,
            delivered.as_f64(),
        );
        if p <= 0.0 || heard <= 1.0 {
            return self.heard_per_aggregate_milli.max(1_000);
        }
        let (mut low, mut high) = (heard, f64::from(WIDEST));
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            let expected = middle * p / -libm::expm1(middle * libm::log1p(-p));
            (low, high) = if expected < heard {
                (middle, high)
            } else {
                (low, middle)
            };
        }
        libm::round(low * 1e3) as u32
    }
}

/// Estimator of one transmitter. It allocates memory only when it is built.
#[derive(Debug, Clone)]
pub struct Delivery {
    ring: Ring,
    counters: Counters,
    window_us: u32,
    scope: Scope,
    /// Time of the last update, in µs.
    at_us: u64,
    /// Rate of the last frame to us, in units of 100 kb/s.
    our_rate: Option<u16>,
    aggregate: Option<u32>,
}

impl Delivery {
    /// Creates an estimator that has heard nothing.
    pub fn new(config: Config) -> Self {
        let window = config.window.min(Duration::from_secs(1_800));
        let reorder = config.reorder.clamp(1, WIDEST);
        Self {
            ring: Ring::new(config.records.clamp(1, MOST_RECORDS)),
            counters: Counters::new(window, reorder, config.scope == Scope::Everybody),
            window_us: window.as_micros() as u32,
            scope: config.scope,
            at_us: 0,
            our_rate: None,
            aggregate: None,
        }
    }

    /// Takes in a frame of the transmitter.
    pub fn hear(&mut self, now: Instant, frame: &Frame) {
        self.expire(now);
        let heard = which(frame).and_then(|which| self.counters.hear(now, which, frame.number));
        let rate = hundred_kbps(frame.rate);
        if frame.receiver == Receiver::Us {
            self.our_rate = Some(rate);
        }
        let Some(Heard::New { lost }) = heard else { return };
        if lost > 0 {
            self.count_lost(frame, lost);
        }
        self.count(frame, rate);
    }

    /// Reports that the radio leaves the channel or rejoins: numbers that pass in the meantime are not lost.
    pub fn away(&mut self) {
        self.counters.restart();
    }

    /// Estimate over the last window.
    pub fn estimate(&mut self, now: Instant) -> Estimate {
        self.expire(now);
        judge(&self.ring.sums.frames)
    }

    /// Mean properties of the counted frames of the last window. `None` if there were none.
    pub fn traffic(&mut self, now: Instant) -> Option<Traffic> {
        self.expire(now);
        let Sums {
            frames,
            bytes,
            bit_ps,
            rated,
            aggregates,
        } = self.ring.sums;
        let measured = [Kind::First, Kind::Retry, Kind::SharedFirst, Kind::SharedRetry];
        let heard: u64 = measured
            .iter()
            .map(|&kind| u64::from(frames[kind as usize]))
            .sum();
        (heard > 0).then(|| Traffic {
            rate: Bitrate::from_bps(u64::from(rated) * 1_000_000_000_000 / bit_ps.max(1)),
            mpdu_bytes: (bytes / heard) as u32,
            heard_per_aggregate_milli: (heard * 1_000 / u64::from(aggregates.max(1))) as u32,
        })
    }

    #[inline]
    fn expire(&mut self, now: Instant) {
        let now_us = now.as_nanos() / 1_000;
        // The records' 32-bit clock wraps every 71 minutes, possibly within one silence.
        if now_us.saturating_sub(self.at_us) > u64::from(self.window_us) {
            self.ring.clear();
        }
        self.at_us = now_us;
        self.ring.expire(now_us as u32, self.window_us);
    }

    fn count(&mut self, frame: &Frame, rate: u16) {
        let Some(kind) = self.kind(frame, rate) else {
            return;
        };
        let begins = frame.aggregate.is_none() || frame.aggregate != self.aggregate;
        self.aggregate = frame.aggregate;
        self.ring.push(Entry {
            at_us: self.at_us as u32,
            kind,
            count: 1,
            rate,
            bytes: frame.bytes,
            begins,
        });
    }

    fn count_lost(&mut self, frame: &Frame, lost: u16) {
        let kind = if shares(frame) {
            Kind::SharedLost
        } else {
            Kind::Lost
        };
        self.ring.push(Entry {
            at_us: self.at_us as u32,
            kind,
            count: lost,
            rate: 0,
            bytes: 0,
            begins: false,
        });
    }

    /// Kind of record for a frame. `None` for a frame to a group.
    #[inline]
    fn kind(&self, frame: &Frame, rate: u16) -> Option<Kind> {
        let alike = self.scope == Scope::Everybody;
        Some(match (frame.receiver, shares(frame), frame.retry) {
            (Receiver::Group, ..) => return None,
            (_, false, false) => Kind::First,
            (_, false, true) => Kind::Retry,
            (Receiver::Other(_), true, _) if !alike && self.our_rate != Some(rate) => Kind::Alien,
            (Receiver::Other(_), true, false) if !alike => Kind::AlikeFirst,
            (Receiver::Other(_), true, true) if !alike => Kind::AlikeRetry,
            (_, true, false) => Kind::SharedFirst,
            (_, true, true) => Kind::SharedRetry,
        })
    }
}

/// Whether the frame's number comes from the counter shared by all receivers.
#[inline]
fn shares(frame: &Frame) -> bool {
    frame.tid.is_none() || frame.receiver == Receiver::Group
}

/// Counter of the frame's number. `None` for an invalid TID.
#[inline]
fn which(frame: &Frame) -> Option<Which> {
    match (frame.tid, frame.receiver) {
        (Some(tid), _) if tid >= 16 => None,
        (Some(tid), Receiver::Us) => Some(Which::Ours(tid)),
        (Some(tid), Receiver::Other(receiver)) => Some(Which::Theirs(receiver, tid)),
        (None, _) | (_, Receiver::Group) => Some(Which::Shared),
    }
}

fn judge(frames: &[u32; KINDS]) -> Estimate {
    let of = |kind: Kind| frames[kind as usize];
    let own = (of(Kind::First), of(Kind::Retry), of(Kind::Lost));
    let shared = (of(Kind::SharedFirst), of(Kind::SharedRetry), of(Kind::SharedLost));
    if of(Kind::Alien) == 0 {
        let first = shared.0 + of(Kind::AlikeFirst);
        let later = shared.1 + of(Kind::AlikeRetry);
        // If only beacons were heard, only beacons are missing.
        let lost = if first + later > 0 { shared.2 } else { 0 };
        return known(own.0 + first, own.1 + own.2 + later + lost);
    }
    if shared.2 == 0 {
        return known(own.0 + shared.0, own.1 + shared.1 + own.2);
    }
    if own.0 + own.1 + own.2 > 0 {
        return known(own.0, own.1 + own.2);
    }
    let heard = shared.0 + shared.1;
    Estimate::Unattributable {
        at_least: Ratio::from_fraction(shared.0.into(), (heard + shared.2).into()),
        at_most: match heard {
            0 => Ratio::ONE,
            _ => Ratio::from_fraction(shared.0.into(), heard.into()),
        },
        missing: shared.2,
    }
}

fn known(first: u32, rest: u32) -> Estimate {
    match first + rest {
        0 => Estimate::Silent,
        frames => Estimate::Known {
            delivered: Ratio::from_fraction(first.into(), frames.into()),
            frames,
        },
    }
}

#[inline]
fn hundred_kbps(rate: Bitrate) -> u16 {
    u16::try_from(rate.as_bps() / 100_000).unwrap_or(u16::MAX)
}

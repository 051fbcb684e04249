//! How likely a frame of an access point reaches this client at the first attempt, from what the client hears.
//!
//! A sender counts attempts; a listener hears only those that arrive. It learns of the others from two traces: the retry bit of a frame
//! whose first attempt failed, and the gap in the sequence numbers that a frame leaves when all attempts failed.
//! [`Delivery`] is told every frame of one transmitter that was received well, duplicates included, and answers for the last half second.
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
//! - nsdi15 §5.1: `p = N0 / (N0 + N1 + Nlost)`, N0 frames heard with the retry bit clear, N1 with it set, Nlost never heard; a queue of
//!   what was heard in the last 500 ms, 10 bytes a frame.
//! - IEEE 802.11-2020 §10.3.2.14: QoS data has a counter per (receiver, TID); management, non-QoS data and group-addressed frames share one.
//! - IEEE 802.11-2020 §10.25.6: frames of an aggregate may come out of order inside the block-ack window.
//!
//! # Where we differ, and why
//! 1. A hole counts as lost when the block-ack window has moved past it, not when it is first seen: aggregates come out of order. The same
//!    window is kept for the shared counter, where management frames overtake data.
//! 2. Missing numbers of the shared counter may be frames to others. Frames to others at our rate are as likely lost on the way to us as
//!    ours, whoever else heard them: both are then counted. Where others were served at another rate and numbers are missing, these can not be
//!    told apart: [`Estimate::Unattributable`], with the bounds between which the answer lies. Frames to nobody in particular (beacons) go at a
//!    robust rate: they fill their numbers and count for nothing.
//! 3. After a silence of a whole window a counter begins anew: 4,096 numbers may have gone by.
//! 4. A retry that is sent without the retry bit (nsdi15 §6.1 says that a change of rate has this effect; the standard sets the bit) counts
//!    as a first attempt, and the estimate is then too good by the share of such retries.
//!
//! # Checked by
//! `tests/engine_air.rs`: through the engine ([`crate::LinkEvent::Frame`]). `accuracy`: the realised ratio of a sender with known loss, with aggregates, other stations, lost acknowledgements and both meanings of
//! the retry bit. `tests`: each trap alone, a recount, `golden/delivery.csv`. `aggregates`. `tests/allocations.rs`; `slowhand bench estimator`.

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

/// Whose frames tell how well this client hears the transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those to this client; those to others as far as the counter they share makes it necessary.
    Ours,
    /// Those to everybody: for an access point that serves others at rates like ours, or that we have not joined.
    Everybody,
}

/// How an estimator is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How far back it looks, up to half an hour.
    pub window: Duration,
    /// By how many numbers a frame may come late: the block-ack window, 1..=256.
    pub reorder: u16,
    /// Most records that are kept, 10 bytes each; when more frames come in a window, it is shorter.
    pub records: usize,
    /// Whose frames count.
    pub scope: Scope,
}

impl Config {
    /// 802.11 a, b and g: 20 kB.
    pub const LEGACY: Self = Self {
        window: Duration::from_millis(500),
        reorder: 64,
        records: 2_048,
        scope: Scope::Ours,
    };
    /// 802.11n with up to four streams: 200 kB.
    pub const HT: Self = Self {
        records: 20_480,
        ..Self::LEGACY
    };
}

/// More would let the sums overflow.
const MOST_RECORDS: usize = 1 << 20;

/// What the last window says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// Nothing was heard.
    Silent,
    /// Enough is known to give a number.
    Known {
        /// Probability that a frame arrives at its first attempt.
        delivered: Ratio,
        /// How many frames it rests on.
        frames: u32,
    },
    /// Numbers are missing that may have been to others.
    Unattributable {
        /// If all of them were ours.
        at_least: Ratio,
        /// If none of them was.
        at_most: Ratio,
        /// How many they are.
        missing: u32,
    },
}

impl Estimate {
    /// How many frames the number rests on; 0 if there is none.
    pub const fn confidence(self) -> u32 {
        match self {
            Self::Known { frames, .. } => frames,
            Self::Silent | Self::Unattributable { .. } => 0,
        }
    }

    /// The probability that an attempt fails, if at least so many frames vouch for it.
    pub const fn loss(self, least_frames: u32) -> Option<Ratio> {
        match self {
            Self::Known { delivered, frames } if frames >= least_frames => Some(delivered.complement()),
            _ => None,
        }
    }
}

/// What the frames that count were like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Mean rate: the one at which the mean bit takes as long.
    pub rate: Bitrate,
    /// Mean length of an MPDU, in bytes.
    pub mpdu_bytes: u32,
    /// Mean number of frames heard in one aggregate, in thousandths; a frame alone is an aggregate of one.
    pub heard_per_aggregate_milli: u32,
}

impl Traffic {
    /// Mean number of frames *sent* in one aggregate, in thousandths, if each is heard with probability `delivered`.
    ///
    /// Of L frames sent, `L·p / (1 − (1−p)^L)` are heard in an aggregate of which anything is heard: solved for L by bisection.
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

/// The estimator of one transmitter. It allocates when it is built and never again.
#[derive(Debug, Clone)]
pub struct Delivery {
    ring: Ring,
    counters: Counters,
    window_us: u32,
    scope: Scope,
    /// When it was last told the time, in microseconds.
    at_us: u64,
    /// Rate of the last frame to us, in units of 100 kb/s.
    our_rate: Option<u16>,
    aggregate: Option<u32>,
}

impl Delivery {
    /// An estimator that has heard nothing.
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

    /// The radio leaves the channel, or joins anew: numbers that pass meanwhile are not lost.
    pub fn away(&mut self) {
        self.counters.restart();
    }

    /// What the last window says.
    pub fn estimate(&mut self, now: Instant) -> Estimate {
        self.expire(now);
        judge(&self.ring.sums.frames)
    }

    /// What the frames of the last window that count were like; `None` if there were none.
    pub fn traffic(&mut self, now: Instant) -> Option<Traffic> {
        self.expire(now);
        let Sums {
            frames,
            bytes,
            bit_ps,
            aggregates,
        } = self.ring.sums;
        let measured = [Kind::First, Kind::Retry, Kind::SharedFirst, Kind::SharedRetry];
        let heard: u64 = measured
            .iter()
            .map(|&kind| u64::from(frames[kind as usize]))
            .sum();
        (heard > 0).then(|| Traffic {
            rate: Bitrate::from_bps(heard * 1_000_000_000_000 / bit_ps.max(1)),
            mpdu_bytes: (bytes / heard) as u32,
            heard_per_aggregate_milli: (heard * 1_000 / u64::from(aggregates.max(1))) as u32,
        })
    }

    #[inline]
    fn expire(&mut self, now: Instant) {
        let now_us = now.as_nanos() / 1_000;
        // The records' clock has 32 bits and comes round every 71 minutes, perhaps within one silence.
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

    /// What a frame counts as; `None` for one to a group.
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

/// Whether the frame's number comes from the counter that all receivers share.
#[inline]
fn shares(frame: &Frame) -> bool {
    frame.tid.is_none() || frame.receiver == Receiver::Group
}

/// `None` for a TID that no frame can have.
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
        // Where nothing but beacons was heard, nothing but beacons is missing.
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

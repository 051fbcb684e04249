//! Airtime of one delivered packet, if its sender were alone on the medium.
//!
//! It makes access points on one channel comparable although they share the air, and `1 / T` is the maximum
//! that one of them could carry.
//!
//! ```
//! use policy::estimate::airtime::{Exchange, Form};
//! use units::wifi::Standard;
//! use units::{Bitrate, Ratio};
//!
//! let exchange = Exchange::legacy(Standard::G, Bitrate::from_mbps(54), 1_500);
//! let clean = exchange.airtime(Form::PerDelivered, Ratio::ZERO).unwrap();
//! assert_eq!(clean.as_nanos(), 393_500);
//! let lossy = exchange.airtime(Form::PerDelivered, Ratio::from_ppm(300_000)).unwrap();
//! assert!(lossy > clean * 10 / 7);
//! ```
//!
//! # Sources
//! - nsdi15 §5.1, Eq. 1: `T = Σ_{i=0..R} t(i)·pⁱ·(1−p)`, `t(i) = (MSS/MCS + K)·(i+1) + C·Σ_{j=0..i} 2ʲ`, with
//!   p the loss of an attempt and R the retry limit.
//! - IEEE 802.11-2020 §10.3.3, §10.3.4 (DCF: the window doubles up to CWmax, the mean backoff is half of it),
//!   §10.6.6.5 (rate of the acknowledgement), §9.7 (A-MPDU). `units::wifi` has the durations.
//!
//! # Where we differ, and why
//! 1. [`Form::PerDelivered`] is the default: `T = [Σ t(i)·pⁱ·(1−p) + t(R)·p^{R+1}] / (1 − p^{R+1})`. Eq. 1
//!    leaves out packets that are never delivered, so it falls again when p nears 1, and a dead access point
//!    looks fast. A packet takes `(1−p^{R+1})/(1−p)` attempts on average. The default therefore equals
//!    `A/(1−p) + Σ C_j·pʲ / (1−p^{R+1})`, with A one attempt without contention. This is what the code
//!    computes.
//! 2. `C_j = ½·min(2ʲ·(CWmin+1) − 1, CWmax)` slots. Eq. 1 doubles `C = ½·CWmin` without a cap
//!    ([`Form::Printed`]).
//! 3. In an aggregate of L frames, each frame carries 1/L of preamble, spaces, contention and block
//!    acknowledgement. The window doubles only when the whole aggregate is lost (p^L), so an attempt meets
//!    the mean of the C_j weighted with p^{L·j}. For L = 1 this is the form above.
//! 4. [`Form::Printed`] takes "the time needed to send the ACK at the lowest MCS (1 Mbps)" literally, with
//!    6 Mb/s where 1 does not exist. It takes MSS/MCS without header and without rounding to symbols, and K
//!    contains the preamble. It does not cover aggregates.
//! 5. 802.11n uses DCF's DIFS and windows, too, although its stations may use others for QoS data.
//! 6. A failed attempt costs as much as a successful one, as in Eq. 1. A real sender continues as soon as the
//!    acknowledgement should have started, 33 µs earlier at 54 Mb/s. So the result is up to a tenth too long
//!    where hardly anything gets through.
//!
//! # Checked by
//! `tests`: published durations, the sums term by term, monotony, ratios between the forms.
//! `tests/airtime_air.rs`: a sender in the exact medium of `links`, from no loss to nearly all.
//! `tests/airtime_links.rs`: the formula of its simpler one. `tests/engine_air.rs`. `golden/airtime.csv`.

#[cfg(test)]
mod tests;

use units::wifi::ht::{
    AGGREGATE_BYTES, AGGREGATE_FRAMES, BLOCK_ACK_BYTES, Band, Mode, QOS_DATA_OVERHEAD_BYTES, subframe_bytes,
};
use units::wifi::{ACK_BYTES, DATA_OVERHEAD_BYTES, Standard};
use units::{Bitrate, Bytes, Duration, Ratio};

/// Retries before a packet is dropped, as in most senders: seven attempts.
pub const RETRIES: u32 = 6;
/// Maximum length of an IP packet.
pub const MOST_BYTES: u32 = 65_535;
/// Upper limit on the retries, above that of any sender. It limits the length of the sums.
const MOST_RETRIES: u32 = 31;

/// Formula of the airtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Eq. 1 to the letter. Never steer by it: it falls when the loss nears one.
    Printed,
    /// Eq. 1 with the standard's contention and acknowledgements. Never steer by it either.
    PrintedReal,
    /// Airtime per delivered packet. Rises with the loss, without limit.
    #[default]
    PerDelivered,
}

/// Contention rules of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contention {
    /// Idle time that the medium must have: DIFS or AIFS.
    pub space: Duration,
    /// Slot time.
    pub slot: Duration,
    /// Smallest contention window, in slots.
    pub cw_min: u32,
    /// Largest contention window, in slots.
    pub cw_max: u32,
}

/// One attempt to deliver a packet, and the retry limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// PPDU, SIFS and acknowledgement, of one frame or of an aggregate.
    busy: Duration,
    /// Frames that share it, in thousandths.
    frames_milli: u32,
    contention: Contention,
    retries: u32,
    /// Eq. 1's MSS/MCS + K.
    printed: Duration,
}

impl Contention {
    /// The distributed coordination function.
    pub const fn dcf(standard: Standard) -> Self {
        Self {
            space: standard.difs(),
            slot: standard.slot(),
            cw_min: standard.cw_min(),
            cw_max: standard.cw_max(),
        }
    }

    /// Mean idle time of the medium before a first attempt if one station contends.
    pub fn first(&self) -> Duration {
        self.space + self.slot * self.cw_min / 2
    }

    /// Mean contention before attempt `attempt` (0 is the first), in ns.
    fn mean_ns(&self, attempt: u32) -> f64 {
        let doubled = (u64::from(self.cw_min) + 1) << attempt;
        let window = (doubled - 1).min(self.cw_max.into());
        window as f64 / 2.0 * nanos(self.slot)
    }

    /// Mean contention of an attempt, in ns, weighted by how often each is made if an attempt fails with
    /// probability `loss`.
    fn weighted_ns(&self, loss: f64, retries: u32) -> f64 {
        let (mut weight, mut weights, mut sum) = (1.0, 0.0, 0.0);
        for attempt in 0..=retries {
            sum += weight * self.mean_ns(attempt);
            weights += weight;
            weight *= loss;
        }
        sum / weights
    }
}

impl Exchange {
    /// An IP packet of at most [`MOST_BYTES`] in 802.11 a, b or g, at no less than the standard's slowest
    /// rate.
    pub fn legacy(standard: Standard, rate: Bitrate, ip_bytes: u32) -> Self {
        let (rate, ip_bytes) = (rate.max(standard.basic_rate()), ip_bytes.min(MOST_BYTES));
        let ack = standard.frame_time(ACK_BYTES, standard.ack_rate(rate));
        Self {
            busy: standard.frame_time(ip_bytes + DATA_OVERHEAD_BYTES, rate) + standard.sifs() + ack,
            frames_milli: 1_000,
            contention: Contention::dcf(standard),
            retries: RETRIES,
            printed: payload(rate, ip_bytes) + standard.preamble() + constants(standard),
        }
    }

    /// An IP packet of at most [`MOST_BYTES`] in 802.11n. `frames_milli` is the number of frames per
    /// aggregate, in thousandths (1,000: alone, with its own acknowledgement).
    pub fn ht(mode: Mode, band: Band, ip_bytes: u32, frames_milli: u32) -> Self {
        let ip_bytes = ip_bytes.min(MOST_BYTES);
        let (standard, mpdu) = (band.legacy(), ip_bytes + QOS_DATA_OVERHEAD_BYTES);
        let most = (AGGREGATE_BYTES / subframe_bytes(mpdu)).clamp(1, AGGREGATE_FRAMES) * 1_000;
        let frames_milli = frames_milli.clamp(1_000, most);
        let (psdu, answer) = match frames_milli {
            1_000 => (mpdu, ACK_BYTES),
            _ => (subframe_bytes(mpdu) * frames_milli / 1_000, BLOCK_ACK_BYTES),
        };
        let answer = standard.frame_time(answer, mode.ack_rate(band));
        Self {
            busy: mode.frame_time(psdu, band) + standard.sifs() + answer,
            frames_milli,
            contention: Contention::dcf(standard),
            retries: RETRIES,
            printed: payload(mode.rate(), ip_bytes) + mode.preamble() + constants(standard),
        }
    }

    /// Sets another retry limit R (at most R + 1 attempts), up to 31.
    pub const fn with_retries(mut self, retries: u32) -> Self {
        self.retries = if retries > MOST_RETRIES {
            MOST_RETRIES
        } else {
            retries
        };
        self
    }

    /// Airtime of a packet if an attempt fails with probability `loss`. `None` if nothing gets through, where
    /// the printed forms return zero.
    pub fn airtime(&self, form: Form, loss: Ratio) -> Option<Duration> {
        let p = loss.as_f64();
        let nanos = match form {
            Form::Printed => self.printed_ns(p),
            Form::PrintedReal => self.printed_real_ns(p),
            Form::PerDelivered => self.per_delivered_ns(p),
        };
        (nanos < u64::MAX as f64).then(|| Duration::from_nanos(nanos as u64))
    }

    /// One frame's share of the air that an attempt takes besides contention, in ns.
    fn attempt_ns(&self) -> f64 {
        (nanos(self.contention.space) + nanos(self.busy)) / self.frames()
    }

    fn frames(&self) -> f64 {
        f64::from(self.frames_milli) / 1e3
    }

    fn per_delivered_ns(&self, p: f64) -> f64 {
        let lost_whole = if self.frames_milli == 1_000 {
            p
        } else {
            libm::pow(p, self.frames())
        };
        let contention = self.contention.weighted_ns(lost_whole, self.retries) / self.frames();
        (self.attempt_ns() + contention) / (1.0 - p)
    }

    fn printed_real_ns(&self, p: f64) -> f64 {
        let lost_whole = libm::pow(p, self.frames());
        let shared = self.contention.weighted_ns(lost_whole, self.retries) / self.frames();
        let alone = self.frames_milli == 1_000;
        let contention = |attempt| {
            if alone {
                self.contention.mean_ns(attempt)
            } else {
                shared
            }
        };
        equation_1(p, self.retries, |attempt| self.attempt_ns() + contention(attempt))
    }

    fn printed_ns(&self, p: f64) -> f64 {
        let first = f64::from(self.contention.cw_min) / 2.0 * nanos(self.contention.slot);
        let doubled = |attempt: u32| first * (1_u64 << attempt) as f64;
        equation_1(p, self.retries, |attempt| nanos(self.printed) + doubled(attempt))
    }
}

/// `Σ_{i=0..R} t(i)·pⁱ·(1−p)`, t(i) the sum of the attempts 0..=i.
fn equation_1(p: f64, retries: u32, attempt_ns: impl Fn(u32) -> f64) -> f64 {
    let (mut spent, mut odds, mut sum) = (0.0, 1.0 - p, 0.0);
    for attempt in 0..=retries {
        spent += attempt_ns(attempt);
        sum += spent * odds;
        odds *= p;
    }
    sum
}

/// Eq. 1's MSS/MCS.
fn payload(rate: Bitrate, ip_bytes: u32) -> Duration {
    rate.time_for(Bytes::new(ip_bytes.into()))
        .unwrap_or(Duration::MAX)
}

/// Eq. 1's SIFS, DIFS and acknowledgement at the lowest rate: 1 Mb/s, or 6 at 5 GHz.
fn constants(standard: Standard) -> Duration {
    let lowest = match standard {
        Standard::A => Standard::A,
        Standard::B | Standard::G => Standard::B,
    };
    standard.sifs() + standard.difs() + lowest.frame_time(ACK_BYTES, lowest.basic_rate())
}

fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

//! Airtime of packets, and the goodput that follows from it.
//!
//! # Sources
//! - 802.11-2020 §10.3.4 (DCF: DIFS, backoff, ACK); `units::wifi` has the durations.
//! - Croitoru, Niculescu, Raiciu (NSDI 2015) §5.1, Eq. 1, in the form that counts undelivered packets too:
//!   `T = [Σ_{i=0..R} t(i)·pⁱ·(1−p) + t(R)·p^{R+1}] / (1−p^{R+1})`, where `t(i)` is the airtime of i + 1
//!   attempts with their mean contention.
//!
//! # Checked by
//! `airtime_tests`: one attempt's time by hand, the analytic maxima of TCP, Eq. 1 by summation.

use units::wifi::{ACK_BYTES, DATA_OVERHEAD_BYTES, Standard};
use units::{Bitrate, Bytes, Db, Duration};

use super::phy;

/// Most transmissions of one packet.
pub const ATTEMPTS: u32 = 7;

/// Sizes of a full TCP packet, its payload (timestamps on), and an acknowledgement.
const TCP_PACKET: u32 = 1_500;
const TCP_PAYLOAD: u64 = 1_448;
const TCP_ACK: u32 = 52;

/// Busy airtime of one attempt with an IP packet: frame, SIFS, and acknowledgement (or ACK timeout).
pub fn exchange(standard: Standard, rate: Bitrate, ip_bytes: u32) -> Duration {
    standard.frame_time(ip_bytes + DATA_OVERHEAD_BYTES, rate)
        + standard.sifs()
        + standard.frame_time(ACK_BYTES, standard.ack_rate(rate))
}

/// Largest backoff before attempt `attempt` (0 is the first), in slots.
pub fn contention_window(standard: Standard, attempt: u32) -> u32 {
    let doubled = (u64::from(standard.cw_min()) + 1) << attempt.min(16);
    (doubled - 1).min(u64::from(standard.cw_max())) as u32
}

/// Airtime per delivered packet, with mean contention. `loss` is that of each attempt, between 0 and 1.
/// `None` if nothing gets through.
pub fn per_delivered(standard: Standard, rate: Bitrate, ip_bytes: u32, loss: f64) -> Option<Duration> {
    let attempt = (standard.difs() + exchange(standard, rate, ip_bytes)).as_nanos() as f64;
    let slot = standard.slot().as_nanos() as f64;
    let (mut spent, mut reached, mut sum) = (0.0, 1.0, 0.0);
    for number in 0..ATTEMPTS {
        spent += attempt + f64::from(contention_window(standard, number)) / 2.0 * slot;
        sum += spent * reached * (1.0 - loss);
        reached *= loss;
    }
    let nanos = (sum + spent * reached) / (1.0 - reached);
    (reached < 1.0 && nanos < u64::MAX as f64).then(|| Duration::from_nanos(nanos as u64))
}

/// TCP payload per second that one access point and its client carry alone. The losses are those of one
/// attempt with a full packet and with an acknowledgement. There is one acknowledgement for every second
/// packet.
pub(super) fn tcp(standard: Standard, rate: Bitrate, packet_loss: f64, ack_loss: f64) -> Bitrate {
    let air = per_delivered(standard, rate, TCP_PACKET, packet_loss)
        .zip(per_delivered(standard, rate, TCP_ACK, ack_loss));
    air.map_or(Bitrate::ZERO, |(packet, ack)| {
        Bytes::new(TCP_PAYLOAD).per(packet + ack / 2)
    })
}

/// Largest TCP goodput over all rates at this mean SNR (after implementation loss), without fading.
///
/// At each rate it is `8·1448 / (T(1500 B) + ½·T(52 B))`, where T is the airtime per delivered packet.
///
/// A `fixed` rate is the only one considered.
pub fn goodput(standard: Standard, fixed: Option<Bitrate>, snr: Db) -> Bitrate {
    best(standard, fixed, |rate, bytes| {
        attempt_loss(standard, rate, snr.as_db_f64(), snr.as_db_f64(), bytes)
    })
    .1
}

/// Largest payload of datagrams per second over all rates at this mean SNR, without fading. `packet` is the
/// size of one with its IP and UDP headers.
///
/// A `fixed` rate is the only one considered.
pub fn datagrams(
    standard: Standard,
    fixed: Option<Bitrate>,
    snr: Db,
    (payload, packet): (Bytes, u32),
) -> Bitrate {
    let rates = standard.rates_kbps().iter();
    let rates = rates.map(|&kbps| Bitrate::from_kbps(kbps.into()));
    let considered = rates.filter(|rate| fixed.is_none_or(|fixed| fixed == *rate));
    let goodput = |rate| {
        let loss = attempt_loss(standard, rate, snr.as_db_f64(), snr.as_db_f64(), packet);
        let time = per_delivered(standard, rate, packet, loss);
        time.map_or(Bitrate::ZERO, |time| payload.per(time))
    };
    considered.map(goodput).max().unwrap_or(Bitrate::ZERO)
}

/// The rate with the largest TCP goodput, and that goodput. The slowest rate if nothing gets through. A
/// `fixed` rate is the only one considered.
pub(super) fn best(
    standard: Standard,
    fixed: Option<Bitrate>,
    loss: impl Fn(Bitrate, u32) -> f64,
) -> (Bitrate, Bitrate) {
    let rates = standard
        .rates_kbps()
        .iter()
        .map(|&kbps| Bitrate::from_kbps(kbps.into()))
        .filter(|rate| fixed.is_none_or(|fixed| fixed == *rate));
    let goodputs = rates.map(|rate| {
        (
            rate,
            tcp(standard, rate, loss(rate, TCP_PACKET), loss(rate, TCP_ACK)),
        )
    });
    let mut best = (fixed.unwrap_or(standard.basic_rate()), Bitrate::ZERO);
    for candidate in goodputs {
        if candidate.1 > best.1 {
            best = candidate;
        }
    }
    best
}

/// Loss of one attempt with an IP packet: of the frame, or of the acknowledgement in the other direction.
pub(super) fn attempt_loss(
    standard: Standard,
    rate: Bitrate,
    there_db: f64,
    back_db: f64,
    ip_bytes: u32,
) -> f64 {
    let frame = phy::loss(standard, rate, there_db, ip_bytes + DATA_OVERHEAD_BYTES);
    let ack = phy::loss(standard, standard.ack_rate(rate), back_db, ACK_BYTES);
    1.0 - (1.0 - frame) * (1.0 - ack)
}

#[cfg(test)]
#[path = "airtime_tests.rs"]
mod tests;

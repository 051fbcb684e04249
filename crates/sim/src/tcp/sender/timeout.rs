//! The retransmission time-out.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_rtt_estimator`, `tcp_set_rto`); RFC 6298 §2.
//!
//! # Checked by
//! `tests` below.

use super::Sender;
use crate::tcp::config::Timeout;
use units::Duration;

/// Minimum of the deviation (`TCP_RTO_MIN`), in ns.
const LEAST_NS: u64 = 200_000_000;
/// Maximum of a time-out (`TCP_RTO_MAX`).
const MOST: Duration = Duration::from_secs(120);
/// RFC 6298's minimum of a time-out.
const SECOND: Duration = Duration::from_secs(1);

/// Linux's estimate of the deviation, four times its mean. In ns, so that it takes little memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Deviation {
    /// `mdev`: the mean deviation. 0 until the first sample.
    mean: u64,
    /// `mdev_max`: its maximum of this round trip.
    largest: u64,
    /// `rttvar`: what the time-out adds to the RTT.
    kept: u64,
    /// The round trip ends when this segment is acknowledged.
    until: u64,
}

impl Deviation {
    /// Adds a sample. `srtt`: the smoothed RTT before it. `first`, `end`: the first unacknowledged segment,
    /// and the next new one.
    fn sample(&mut self, rtt: Duration, srtt: Option<Duration>, first: u64, end: u64) {
        let rtt = rtt.as_nanos() as u64;
        let Some(srtt) = srtt.filter(|_| self.is_known()) else {
            self.mean = (rtt * 2).max(1);
            self.kept = self.mean.max(LEAST_NS);
            self.largest = self.kept;
            self.until = end;
            return;
        };
        let srtt = srtt.as_nanos() as u64;
        let (apart, part) = (rtt.abs_diff(srtt), self.mean / 4);
        // A shorter RTT raises the deviation eight times more slowly.
        self.mean = if apart <= part {
            self.mean - (part - apart)
        } else if rtt < srtt {
            self.mean + (apart - part) / 8
        } else {
            self.mean + (apart - part)
        };
        self.largest = self.largest.max(self.mean);
        self.kept = self.kept.max(self.largest);
        if first > self.until {
            self.kept -= self.kept.saturating_sub(self.largest) / 4;
            self.until = end;
            self.largest = LEAST_NS;
        }
    }

    const fn is_known(&self) -> bool {
        self.mean > 0
    }

    const fn kept(&self) -> Duration {
        Duration::from_nanos(self.kept)
    }
}

impl Sender {
    /// Adds a sample of the RTT to all estimates.
    pub(super) fn sample(&mut self, rtt: Duration) {
        if self.config.timeout == Timeout::Linux {
            let (first, end) = (self.board.first(), self.board.end());
            self.deviation.sample(rtt, self.round_trip.srtt(), first, end);
        }
        self.round_trip.sample(rtt);
    }

    /// Current retransmission time-out, including back-off.
    pub fn rto(&self) -> Duration {
        let backed_off = |timeout: Duration| {
            let doubled = self.round_trip.back_offs();
            if doubled == 0 {
                return timeout.min(MOST);
            }
            timeout.saturating_mul(1 << doubled).min(MOST)
        };
        match (self.config.timeout, self.round_trip.srtt()) {
            (Timeout::Linux, Some(srtt)) if self.deviation.is_known() => {
                backed_off(srtt + self.deviation.kept())
            }
            (Timeout::Rfc6298, Some(_)) => backed_off(self.round_trip.timeout().max(SECOND)),
            (Timeout::Floored | Timeout::Linux | Timeout::Rfc6298, _) => self.round_trip.rto(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn after(samples: &[u64]) -> (Duration, Duration) {
        let mut deviation = Deviation::default();
        let mut srtt: Option<Duration> = None;
        for (at, &ms) in samples.iter().enumerate() {
            let rtt = Duration::from_millis(ms);
            // Each sample is a round trip of its own.
            deviation.sample(rtt, srtt, 2 * at as u64 + 1, 2 * at as u64 + 2);
            srtt = Some(srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        }
        (srtt.unwrap(), deviation.kept())
    }

    #[test]
    fn a_steady_path_keeps_the_minimum() {
        assert_eq!(after(&[50; 40]), (50 * MS, 200 * MS));
        // The first sample counts as a deviation of half of it.
        assert_eq!(after(&[160]).1, 320 * MS);
    }

    #[test]
    fn one_late_sample_raises_the_deviation_at_once_and_it_falls_slowly() {
        let mut samples = vec![50; 40];
        samples.push(650);
        let (_, raised) = after(&samples);
        assert!(raised > 500 * MS, "{raised:?}");
        samples.extend([50; 3]);
        let (_, later) = after(&samples);
        assert!(later > raised / 3 && later < raised, "{later:?}");
        // A shorter one raises it eight times more slowly.
        let mut shorter = vec![650; 60];
        shorter.push(50);
        let (_, raised) = after(&shorter);
        assert!(raised < 201 * MS, "{raised:?}");
    }
}

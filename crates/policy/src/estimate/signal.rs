//! What an access point's beacons show about its link: signal, signal trend, and expected goodput.
//!
//! # Sources
//! - IEEE 802.11-2020 table 17-18: receiver minimum input level by rate (−82 dBm at 6 Mb/s … −65 dBm at
//!   54 Mb/s, 20 MHz).
//! - cla §IV: the trend of the signal tells when a hand-off is due.
//!
//! # Where we differ, and why
//! 1. The trend is the difference of two exponential means (0.5 s and 2 s), not a regression: it needs
//!    constant memory, and one lost beacon does not tilt it.
//! 2. The expected rate is one at which almost every frame arrives: 3 dB above the standard's level for 10 %
//!    loss.
//!
//! # Checked by
//! `tests` below. `golden/signal.csv`, `golden/signal-trend.csv`.

use units::wifi::{ACK_BYTES, DATA_OVERHEAD_BYTES, Standard};
use units::{Bitrate, Bytes, Db, Dbm, Duration, Instant, wifi};

/// Minimum signal for each OFDM rate (IEEE 802.11-2020 table 17-18), in mBm.
const SENSITIVITY_MBM: [i32; 8] = [-8_200, -8_100, -7_900, -7_700, -7_400, -7_000, -6_600, -6_500];
/// Margin above the standard's level, where one frame in ten is lost.
const MARGIN_MBM: i32 = 300;

/// Below this signal hardly a frame arrives even at the lowest rate.
pub(crate) const EDGE: Dbm = Dbm::from_mbm(SENSITIVITY_MBM[0]);

/// Signal-to-noise ratio at this signal.
pub(crate) fn snr(signal: Dbm) -> Db {
    signal - Dbm::from_mbm(wifi::NOISE_FLOOR_MBM)
}

/// Mean signal of an access point over 0.5 s and over 2 s.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signal {
    fast_mbm: f64,
    slow_mbm: f64,
    at: Option<Instant>,
}

impl Signal {
    pub(crate) fn hear(&mut self, now: Instant, signal: Dbm) {
        let mbm = f64::from(signal.as_mbm());
        match self.at {
            Some(at) if now - at < Duration::from_secs(3) => {
                let age = (now - at).as_secs_f64();
                self.fast_mbm += (mbm - self.fast_mbm) * share(age, 0.5);
                self.slow_mbm += (mbm - self.slow_mbm) * share(age, 2.0);
            }
            _ => (self.fast_mbm, self.slow_mbm) = (mbm, mbm),
        }
        self.at = Some(now);
    }

    /// Begins again with the next beacon: it is that of another access point. The mean stays until then.
    pub(crate) fn restart(&mut self) {
        self.slow_mbm = self.fast_mbm;
        self.at = self.at.map(|_| Instant::ZERO);
    }

    /// Mean over 0.5 s. `None` before the first beacon.
    pub(crate) fn mean(&self) -> Option<Dbm> {
        self.at.map(|_| Dbm::from_mbm(self.fast_mbm as i32))
    }

    /// Trend in dB/s, negative when the signal gets weaker. On a steady slope, the two means lag 0.5 s and
    /// 2 s behind.
    pub(crate) fn slope_db_per_s(&self) -> f64 {
        (self.fast_mbm - self.slow_mbm) / 100.0 / 1.5
    }

    /// Signal expected after `ahead` if the trend continues.
    pub(crate) fn ahead(&self, ahead: Duration) -> Option<Dbm> {
        let change = self.slope_db_per_s() * 100.0 * (ahead.as_secs_f64() + 0.5);
        self.at.map(|_| Dbm::from_mbm((self.fast_mbm + change) as i32))
    }
}

fn share(age: f64, time_constant: f64) -> f64 {
    1.0 - libm::exp(-age / time_constant)
}

/// Expected TCP payload rate at this signal over 802.11g on an otherwise idle channel. Zero below the edge.
pub(crate) fn expected_goodput(signal: Dbm) -> Bitrate {
    sure_rate(signal).map_or(Bitrate::ZERO, tcp_rate)
}

/// Fastest 802.11g rate at which almost every frame arrives at this signal, or the slowest rate if there is
/// none. `None` below the edge.
pub(crate) fn sure_rate(signal: Dbm) -> Option<Bitrate> {
    let sure = |&&level: &&i32| signal.as_mbm() >= level + MARGIN_MBM;
    match SENSITIVITY_MBM.iter().filter(sure).count() {
        0 if signal < EDGE => None,
        steps => Some(Bitrate::from_kbps(u64::from(
            Standard::G.rates_kbps()[steps.max(1) - 1],
        ))),
    }
}

/// Payload rate from the time of one full segment and half an acknowledgement, each with contention,
/// interframe spaces and link-layer ACK.
fn tcp_rate(rate: Bitrate) -> Bitrate {
    let exchange = packet_time(1_500, rate) + packet_time(52, rate) / 2;
    Bytes::new(1_448).per(exchange)
}

fn packet_time(ip_bytes: u32, rate: Bitrate) -> Duration {
    let g = Standard::G;
    let contention = g.slot() * g.cw_min() / 2;
    let acknowledged = g.sifs() + g.frame_time(ACK_BYTES, g.ack_rate(rate));
    g.difs() + contention + g.frame_time(ip_bytes + DATA_OVERHEAD_BYTES, rate) + acknowledged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_mean_lies_between_what_was_heard(beacons in proptest::collection::vec((0_u64..5_000, any::<i32>()), 1..60)) {
            let (mut signal, mut now, mut least, mut most) = (Signal::default(), Instant::ZERO, i32::MAX, i32::MIN);
            for (later_ms, mbm) in beacons {
                now += Duration::from_millis(later_ms);
                signal.hear(now, Dbm::from_mbm(mbm));
                (least, most) = (least.min(mbm), most.max(mbm));
                let mean = signal.mean().unwrap().as_mbm();
                prop_assert!(mean >= least.saturating_sub(1) && mean <= most.saturating_add(1), "{mean}");
                let slope = signal.slope_db_per_s();
                prop_assert!(slope.abs() <= f64::from(most.abs_diff(least)) / 100.0, "{slope}");
                prop_assert!(signal.ahead(Duration::MAX).is_some());
            }
        }

        #[test]
        fn a_louder_access_point_has_the_same_trend(mbm in proptest::collection::vec(-9_000_i32..-3_000, 2..40), louder in 0_i32..3_000) {
            let heard = |offset: i32| {
                let mut signal = Signal::default();
                for (n, mbm) in (0_u64..).zip(&mbm) {
                    signal.hear(Instant::from_millis(n * 100), Dbm::from_mbm(mbm + offset));
                }
                signal
            };
            let (quiet, loud) = (heard(0), heard(louder));
            prop_assert!((quiet.slope_db_per_s() - loud.slope_db_per_s()).abs() < 1e-6);
            let apart = loud.mean().unwrap().as_mbm() - quiet.mean().unwrap().as_mbm();
            prop_assert!((apart - louder).abs() <= 1);
        }

        #[test]
        fn more_signal_never_predicts_less(a: i32, b: i32) {
            let goodput = |mbm| expected_goodput(Dbm::from_mbm(mbm));
            prop_assert!(goodput(a.min(b)) <= goodput(a.max(b)));
            prop_assert!(goodput(a) <= Bitrate::from_mbps(54));
        }
    }

    /// Rows of `golden/signal.csv`: signal, fastest reliable rate, goodput.
    #[test]
    fn golden_vectors_hold() {
        let rows = include_str!("../../../../golden/signal.csv")
            .lines()
            .filter(|line| !line.starts_with(['#', 's']));
        let mut count = 0;
        for row in rows {
            let cells: alloc::vec::Vec<&str> = row.split(',').map(str::trim).collect();
            let signal = Dbm::from_mbm(cells[0].parse().unwrap());
            let rate = sure_rate(signal).map(|rate| rate.as_bps() / 1_000);
            assert_eq!(rate, cells[1].parse().ok(), "{row}");
            assert_eq!(
                expected_goodput(signal).as_bps(),
                cells[2].parse::<u64>().unwrap(),
                "{row}"
            );
            count += 1;
        }
        assert!(count >= 12, "only {count} vectors");
    }

    /// Rows of `golden/signal-trend.csv`: beacons, mean and slope after them, and the signal expected a
    /// second ahead.
    #[test]
    fn golden_trends_hold() {
        let rows = include_str!("../../../../golden/signal-trend.csv")
            .lines()
            .filter(|line| !line.starts_with(['#', 'b']));
        let mut count = 0;
        for row in rows {
            let cells: alloc::vec::Vec<&str> = row.split(',').map(str::trim).collect();
            let mut signal = Signal::default();
            for beacon in cells[0].split_whitespace() {
                let (ms, mbm) = beacon.split_once(':').unwrap();
                signal.hear(
                    Instant::from_millis(ms.parse().unwrap()),
                    Dbm::from_mbm(mbm.parse().unwrap()),
                );
            }
            let mdb_per_s = libm::round(signal.slope_db_per_s() * 1e3) as i64;
            let ahead = signal.ahead(Duration::from_secs(1));
            let got = (signal.mean().map(Dbm::as_mbm), mdb_per_s, ahead.map(Dbm::as_mbm));
            let number = |at: usize| cells[at].parse::<i32>().ok();
            assert_eq!(got, (number(1), cells[2].parse().unwrap(), number(3)), "{row}");
            count += 1;
        }
        assert!(count >= 5, "only {count} vectors");
    }

    fn heard(slope_db_per_s: f64, seconds: u64) -> Signal {
        let mut signal = Signal::default();
        for n in 0..seconds * 10 {
            let mbm = -5_000.0 + slope_db_per_s * 100.0 * n as f64 * 0.1;
            signal.hear(Instant::from_millis(n * 100), Dbm::from_mbm(mbm as i32));
        }
        signal
    }

    #[test]
    fn measures_how_fast_a_signal_gets_weaker() {
        let slope = heard(-4.0, 10).slope_db_per_s();
        assert!((-4.2..-3.7).contains(&slope), "{slope}");
        assert!(heard(0.0, 10).slope_db_per_s().abs() < 0.01);
    }

    #[test]
    fn looks_ahead_along_the_trend() {
        let signal = heard(-4.0, 10);
        let now = -50.0 - 4.0 * 9.9;
        let ahead = signal.ahead(Duration::from_secs(1)).unwrap().as_dbm_f64();
        assert!((ahead - (now - 4.0)).abs() < 0.6, "{ahead} against {}", now - 4.0);
    }

    #[test]
    fn goodput_grows_with_the_signal_up_to_what_54_mbps_carry() {
        let at = |dbm| expected_goodput(Dbm::from_dbm(dbm));
        assert_eq!(at(-83), Bitrate::ZERO);
        assert!((-82..-40).all(|dbm| at(dbm) <= at(dbm + 1)));
        let most = at(-40).as_mbps_f64();
        assert!((21.0..24.5).contains(&most), "{most}");
    }
}

//! Trend of a signal: its slope, the mobility index, and the time until it is too weak.
//!
//! # Sources
//! - cla §IV: `MI = arctan(m)/(π/2)`, m the trend of the signal in dB/s. `Q = SNR1/(SNR1+SNR2)`. A path is
//!   fading when Q ≤ ½ and MI < 0. Time to hand-off `(SNR − 20 dB)/(−m)`.
//! - H. Theil 1950, P. K. Sen 1968: the median of the slopes of all pairs. Up to 29 % of the samples may be
//!   arbitrarily wrong.
//!
//! # Where we differ, and why
//! 1. The paper does not say how to find m. Fading puts deep, short holes into a signal, and a least-squares
//!    line follows each of them. The median of slopes over 2 s does not. [`super::signal`] keeps a cheaper
//!    trend for every access point in sight. This one is for the few in use.
//! 2. Samples within 1/16 s are averaged, so at most 32 count: memory and time are limited (496 pairs).
//! 3. With fewer than 5 samples, or less than half a second of them, there is no trend.
//!
//! # Checked by
//! `tests/engine_air.rs`: through the engine ([`crate::Action::Outlook`]). `tests` below. `golden/trend.csv`,
//! `golden/mobility.csv`.

use crate::cc;
use units::{Db, Duration, Instant, Ratio};

/// Time window of a trend.
pub const WINDOW: Duration = Duration::from_secs(2);
/// A hand-off is due below this signal-to-noise ratio (cla §IV).
pub const HANDOFF: Db = Db::from_db(20);

const BINS: usize = 32;
const BIN_NS: u64 = 62_500_000;
const PAIRS: usize = BINS * (BINS - 1) / 2;
const FEWEST: usize = 5;
const SHORTEST_NS: i64 = 500_000_000;
/// No measurement is outside ±200 dB. The limit keeps products within 64 bits.
const LIMIT_CENTI: i32 = 20_000;

/// Samples of one sixteenth of a second.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    /// Bin number since the start, plus one. 0 for none.
    number: u64,
    count: i64,
    centi_sum: i64,
    /// Sum of the offsets from the start of the bin.
    offset_ns_sum: i64,
}

/// A mean sample: time relative to now, and signal-to-noise ratio.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    at_ns: i64,
    centi: i64,
}

/// Signal of one access point over the last two seconds.
#[derive(Debug, Clone, Default)]
pub struct Mobility {
    bins: [Bin; BINS],
}

/// Current value and slope of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trend {
    /// Value of the fitted line now.
    pub level: Db,
    /// Slope of the line, in 10⁻⁵ dB/s.
    slope: i64,
}

impl Mobility {
    /// Takes in a signal-to-noise ratio.
    pub fn hear(&mut self, now: Instant, snr: Db) {
        let number = now.as_nanos() / BIN_NS + 1;
        let bin = &mut self.bins[(number % BINS as u64) as usize];
        if bin.number != number {
            *bin = Bin {
                number,
                ..Bin::default()
            };
        }
        bin.count += 1;
        bin.centi_sum += i64::from(snr.as_centi().clamp(-LIMIT_CENTI, LIMIT_CENTI));
        bin.offset_ns_sum += (now.as_nanos() % BIN_NS) as i64;
    }

    /// Trend of the last two seconds. `None` if there are too few samples.
    pub fn trend(&self, now: Instant) -> Option<Trend> {
        let (samples, count) = self.samples(now);
        let samples = &samples[..count];
        let (first, last) = (samples.first()?, samples.last()?);
        if count < FEWEST || last.at_ns - first.at_ns < SHORTEST_NS {
            return None;
        }
        let slope = median_slope(samples);
        let mut levels = [0; BINS];
        for (level, sample) in levels.iter_mut().zip(samples) {
            *level = sample.centi - slope * (sample.at_ns / 1_000) / 1_000_000_000;
        }
        let level = median(&mut levels[..count]);
        Some(Trend {
            level: Db::from_centi(level as i32),
            slope,
        })
    }

    /// Mean samples, oldest first, with times relative to now.
    fn samples(&self, now: Instant) -> ([Sample; BINS], usize) {
        let head = now.as_nanos() / BIN_NS + 1;
        let oldest = head.saturating_sub(BINS as u64 - 1).max(1);
        let (mut samples, mut count) = ([Sample::default(); BINS], 0);
        for number in oldest..=head {
            let bin = self.bins[(number % BINS as u64) as usize];
            if bin.number == number {
                let begins = ((number - 1) * BIN_NS) as i64 - now.as_nanos() as i64;
                samples[count] = Sample {
                    at_ns: begins + bin.offset_ns_sum / bin.count,
                    centi: bin.centi_sum / bin.count,
                };
                count += 1;
            }
        }
        (samples, count)
    }
}

/// Theil–Sen slope, in 10⁻⁵ dB/s.
fn median_slope(samples: &[Sample]) -> i64 {
    let (mut slopes, mut count) = ([0; PAIRS], 0);
    for (index, later) in samples.iter().enumerate() {
        for earlier in &samples[..index] {
            let apart_ns = (later.at_ns - earlier.at_ns).max(1);
            slopes[count] = (later.centi - earlier.centi) * 1_000_000_000_000 / apart_ns;
            count += 1;
        }
    }
    median(&mut slopes[..count])
}

/// The middle value, or the mean of the two in the middle.
fn median(values: &mut [i64]) -> i64 {
    let (even, middle) = (values.len().is_multiple_of(2), values.len() / 2);
    let (below, &mut upper, _) = values.select_nth_unstable(middle);
    match below.iter().max() {
        Some(&lower) if even => i64::midpoint(lower, upper),
        _ => upper,
    }
}

impl Trend {
    /// Slope in dB/s. Negative when the signal gets weaker.
    pub fn slope_db_per_s(&self) -> f64 {
        self.slope as f64 / 1e5
    }

    /// Mobility index `MI`, −1 to 1.
    pub fn mobility_index(&self) -> f64 {
        cc::mobility_index(self.slope_db_per_s())
    }

    /// Quality `Q`, 0 to 1, relative to the best other access point of the same interface.
    pub fn quality(&self, candidate: Option<Db>) -> Ratio {
        cc::quality(self.level, candidate)
    }

    /// Whether the signal gets weaker and another access point is at least as good.
    pub fn is_fading(&self, candidate: Option<Db>) -> bool {
        self.slope < 0 && self.quality(candidate).as_raw() * 2 <= Ratio::ONE.as_raw()
    }

    /// Time until the signal falls to `floor` ([`HANDOFF`] as published) if the trend continues. `None` if it
    /// does not fall.
    pub fn time_to(&self, floor: Db) -> Option<Duration> {
        let above = i128::from(self.level.as_centi()) - i128::from(floor.as_centi());
        let nanos = above.max(0) * 1_000 * 1_000_000_000
            / i128::from(self.slope.checked_neg().filter(|&sinks| sinks > 0)?);
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use units::Rng;

    /// Hears `count` beacons, one every 102.4 ms. The last one is now.
    fn heard(count: u64, snr_db: impl Fn(f64, u64) -> f64) -> (Mobility, Instant) {
        let mut mobility = Mobility::default();
        let mut now = Instant::ZERO;
        for n in 0..count {
            now = Instant::from_micros(10_000_000 + n * 102_400);
            mobility.hear(
                now,
                Db::round_from(snr_db((now - Instant::from_secs(10)).as_secs_f64(), n)),
            );
        }
        (mobility, now)
    }

    #[test]
    fn a_straight_line_is_found_exactly() {
        let (mobility, now) = heard(40, |t, _| 40.0 - 3.0 * t);
        let trend = mobility.trend(now).unwrap();
        assert!((trend.slope_db_per_s() + 3.0).abs() < 0.02, "{trend:?}");
        let level = 40.0 - 3.0 * 39.0 * 0.1024;
        assert!(
            (trend.level.as_db_f64() - level).abs() < 0.02,
            "{trend:?} at {level}"
        );
    }

    #[test]
    fn deep_fades_in_a_quarter_of_the_samples_do_not_tilt_the_trend() {
        let (mobility, now) = heard(40, |t, n| 35.0 - 2.0 * t - if n % 4 == 0 { 25.0 } else { 0.0 });
        let trend = mobility.trend(now).unwrap();
        assert!((trend.slope_db_per_s() + 2.0).abs() < 0.5, "{trend:?}");
    }

    #[test]
    fn noise_costs_little_more_than_least_squares_would() {
        // 20 beacons over 2 s: a least-squares slope scatters by σ/√(Σ(t−t̄)²) = 2/2.64 = 0.76 dB/s at σ =
        // 2 dB.
        let mut rng = Rng::named(1, "noise");
        let errors = (0..500).map(|_| {
            let noise: Vec<f64> = (0..20).map(|_| rng.normal()).collect();
            let (mobility, now) = heard(20, |t, n| 30.0 - 2.0 * t + 2.0 * noise[n as usize]);
            mobility.trend(now).unwrap().slope_db_per_s() + 2.0
        });
        let (sum, squares) = errors.fold((0.0, 0.0), |(sum, squares), e| (sum + e, squares + e * e));
        let (bias, scatter) = (sum / 500.0, libm::sqrt(squares / 500.0));
        assert!(
            bias.abs() < 0.1 && scatter < 0.9,
            "bias {bias}, scatter {scatter}"
        );
    }

    #[test]
    fn a_trend_needs_five_samples_over_half_a_second() {
        assert_eq!(Mobility::default().trend(Instant::from_secs(1)), None);
        let (mobility, now) = heard(4, |_, _| 30.0);
        assert_eq!(mobility.trend(now), None);
        let (mobility, now) = heard(40, |_, _| 30.0);
        assert!(mobility.trend(now).is_some());
        assert_eq!(mobility.trend(now + Duration::from_millis(1_700)), None);
    }

    #[test]
    fn a_thousand_samples_a_second_are_as_good_as_ten() {
        let mut mobility = Mobility::default();
        for ms in 0..4_000 {
            mobility.hear(
                Instant::from_millis(ms),
                Db::round_from(40.0 - 3.0 * ms as f64 / 1e3),
            );
        }
        let slope = mobility
            .trend(Instant::from_millis(3_999))
            .unwrap()
            .slope_db_per_s();
        assert!((slope + 3.0).abs() < 0.01, "{slope}");
    }

    /// Rows of `golden/mobility.csv`: slope in mdB/s and level in cdB, candidate, MI in ppm, Q in ppm,
    /// fading, ms to hand-off.
    #[test]
    fn golden_vectors_hold() {
        let rows = include_str!("../../../../golden/mobility.csv")
            .lines()
            .filter(|line| !line.starts_with(['#', 's']));
        let mut count = 0;
        for row in rows {
            let cells: Vec<&str> = row.split(',').map(str::trim).collect();
            let number = |at: usize| cells[at].parse::<i64>().ok();
            let trend = Trend {
                level: Db::from_centi(number(1).unwrap() as i32),
                slope: number(0).unwrap() * 100,
            };
            let candidate = number(2).map(|centi| Db::from_centi(centi as i32));
            assert_eq!(
                libm::round(trend.mobility_index() * 1e6) as i64,
                number(3).unwrap(),
                "{row}"
            );
            assert_eq!(
                libm::round(trend.quality(candidate).as_f64() * 1e6) as i64,
                number(4).unwrap(),
                "{row}"
            );
            assert_eq!(trend.is_fading(candidate), cells[5] == "yes", "{row}");
            assert_eq!(
                trend.time_to(HANDOFF).map(|time| time.as_millis() as i64),
                number(6),
                "{row}"
            );
            count += 1;
        }
        assert!(count >= 8, "only {count} vectors");
    }

    /// Rows of `golden/trend.csv`: `ms:centidecibels` of each sample, slope in mdB/s and level in cdB at the
    /// last one.
    #[test]
    fn golden_trends_hold() {
        let rows = include_str!("../../../../golden/trend.csv")
            .lines()
            .filter(|line| !line.starts_with(['#', 's']));
        let mut count = 0;
        for row in rows {
            let cells: Vec<&str> = row.split(',').map(str::trim).collect();
            let (mut mobility, mut now) = (Mobility::default(), Instant::ZERO);
            for sample in cells[0].split_whitespace() {
                let (ms, centi) = sample.split_once(':').unwrap();
                now = Instant::from_millis(ms.parse().unwrap());
                mobility.hear(now, Db::from_centi(centi.parse().unwrap()));
            }
            let expected = cells[1].parse::<i64>().ok();
            let trend = mobility.trend(now);
            // In mdB/s. A hundredth of that is rounding.
            let slope = trend.map(|trend| (trend.slope + 50 * trend.slope.signum()) / 100);
            assert_eq!(slope, expected, "{row}: {trend:?}");
            let level = trend.map(|trend| trend.level.as_centi());
            assert_eq!(level, cells[2].parse().ok(), "{row}");
            count += 1;
        }
        assert!(count >= 8, "only {count} vectors");
    }

    proptest! {
        #[test]
        fn any_signal_gives_a_bounded_trend(samples in proptest::collection::vec((0_u64..300, any::<i32>()), 0..200)) {
            let (mut mobility, mut now) = (Mobility::default(), Instant::ZERO);
            for (later_ms, centi) in samples {
                now += Duration::from_millis(later_ms);
                mobility.hear(now, Db::from_centi(centi));
                if let Some(trend) = mobility.trend(now) {
                    prop_assert!((-1.0..=1.0).contains(&trend.mobility_index()));
                    prop_assert!(trend.quality(None) <= Ratio::ONE);
                    prop_assert_eq!(trend.time_to(HANDOFF).is_none(), trend.slope >= 0);
                }
            }
        }

        #[test]
        fn a_louder_station_has_the_same_trend(offset in -20_i32..20, slope in -50_i32..50) {
            let at = |offset: i32| heard(30, |t, _| 30.0 + f64::from(offset) + f64::from(slope) / 10.0 * t);
            let ((a, now), (b, _)) = (at(0), at(offset));
            let (a, b) = (a.trend(now).unwrap(), b.trend(now).unwrap());
            prop_assert!((a.slope - b.slope).abs() <= 2_000, "{:?} {:?}", a, b);
            prop_assert!((b.level - a.level - Db::from_db(offset)).as_centi().abs() <= 2);
        }
    }
}

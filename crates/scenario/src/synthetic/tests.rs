//! The shipped trace is checked in `tests/shipped.rs`.

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn hour(of: Synthetic, seed: u64) -> Vec<u32> {
    Synthetic {
        seed,
        period: HOUR,
        ..of
    }
    .times_ms()
}

#[test]
fn the_mean_is_that_of_a_wandering_rate_less_its_outages() {
    for (cell, most) in [(Synthetic::LTE, 1_000.0), (Synthetic::UMTS, 250.0)] {
        let times = hour(cell, 1);
        let mean = times.len() as f64 / HOUR.as_secs_f64() / most;
        // Uniform between zero and the largest, less the outages.
        assert!((0.25..0.5).contains(&mean), "{mean} of {most}");
        assert!(times.is_sorted() && times.last() == Some(&3_600_000));
        assert!(times.iter().all(|ms| ms % cell.subframe_ms == 0));
    }
}

/// Ticks at zero in a row, over hours.
fn stays_at_zero(cell: &Synthetic) -> Vec<u32> {
    let mut walk = Walk::new(cell);
    let mut stays = vec![0];
    for _ in 0..2_000_000 {
        walk.step();
        match stays.last_mut() {
            Some(stay) if walk.rate <= 0.0 => *stay += 1,
            Some(0) | None => {}
            Some(_) => stays.push(0),
        }
    }
    stays.pop();
    stays
}

#[test]
fn an_outage_at_zero_lasts_as_long_as_it_should() {
    for seconds in [1, 3] {
        let outages = Outages::AtZero(Duration::from_secs(seconds));
        let stays = stays_at_zero(&Synthetic {
            outages,
            ..Synthetic::LTE
        });
        assert!(stays.len() > 500, "{}", stays.len());
        let (count, ticks) = (stays.len() as f64, stays.iter().sum::<u32>() as f64);
        let mean_s = ticks / count * f64::from(TICK_MS) / 1e3;
        // Four deviations of the mean of exponentials.
        let within = 4.0 * seconds as f64 / count.sqrt();
        assert!((mean_s - seconds as f64).abs() < within, "{mean_s} s, ± {within}");
    }
}

#[test]
fn in_a_trace_outages_are_gaps() {
    let times = hour(Synthetic::LTE, 2);
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let long = gaps.filter(|ms| *ms > 500).count();
    // At least half of those that last a second in the mean.
    assert!(long > 20, "{long}");
}

#[test]
fn one_seed_is_one_trace() {
    let trace = |seed| {
        Synthetic {
            seed,
            ..Synthetic::UMTS
        }
        .times_ms()
    };
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

use super::*;
use crate::cc::Credit;
use alloc::vec::Vec;
use proptest::prelude::*;

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect()
}

/// Rows of `golden/cubic.csv`: losses, window after the last one, window, shortest round-trip time, segments
/// per acknowledgement, times in ms, growth at each.
#[test]
fn golden_vectors_hold() {
    let rows = include_str!("../../../../../golden/cubic.csv")
        .lines()
        .filter(|line| !line.starts_with(['#', 'l']));
    let mut count = 0;
    for row in rows {
        let cells: Vec<Vec<u64>> = row.split(',').map(numbers).collect();
        let mut cubic = Cubic::default();
        let left = cells[0].iter().map(|&window| cubic.after_loss(window as u32));
        assert_eq!(left.last().map(u64::from), Some(cells[1][0]), "{row}");
        let [window, min_rtt_us, acked] = [2, 3, 4].map(|cell: usize| cells[cell][0] as u32);
        for (&at_ms, &expected) in cells[5].iter().zip(&cells[6]) {
            let growth = cubic.increase(at_ms * 1_000, acked, window, min_rtt_us).0 as u64;
            assert!(
                growth.abs_diff(expected) <= 1 + expected / 1_000_000,
                "{row}: {growth} at {at_ms}"
            );
        }
        assert_eq!(cells[5].len(), cells[6].len(), "{row}");
        count += 1;
    }
    assert!(count >= 8, "only {count} vectors");
}

/// Window after `rounds` RTTs in which the receiver acknowledges `acked` segments at a time.
fn after_rounds(cubic: &mut Cubic, mut window: u32, rounds: u64, acked: u32) -> u32 {
    let mut credit = Credit::default();
    for round in 0..rounds {
        for _ in 0..window / acked {
            let growth = cubic.increase(round * 10_000, acked, window, 10_000);
            window = window.saturating_add_signed(credit.add(growth, acked));
        }
    }
    window
}

#[test]
fn delayed_acknowledgements_do_not_slow_the_reno_friendly_region() {
    for acked in [1, 2, 4] {
        let mut cubic = Cubic::default();
        let window = cubic.after_loss(60);
        assert_eq!(window, 42);
        // 9/17 of a segment per RTT, less what is not acknowledged at the end of a window: at most acked − 1.
        let grown = after_rounds(&mut cubic, window, 34, acked) - window;
        assert!((17..=18).contains(&grown), "{grown} with {acked}");
    }
}

#[test]
fn the_window_grows_by_a_twentieth_per_rtt_before_the_first_loss() {
    let mut timed_out = Cubic::default();
    timed_out.after_loss(400);
    timed_out.reset();
    for mut cubic in [Cubic::default(), timed_out] {
        let window = after_rounds(&mut cubic, 400, 2, 1);
        // 400 · 1.05², less what is rounded down in each RTT.
        assert!((439..=441).contains(&window), "{window}");
    }
}

/// Whether `a`'s growth is at most `b`'s, apart from rounding.
fn at_most(a: Increase, b: Increase) -> bool {
    a.0 <= b.0 + 1 + b.0 / 1_000_000
}

proptest! {
    #[test]
    fn growth_is_at_most_one_segment(
        facts in prop::collection::vec((any::<bool>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>()), 1..60),
    ) {
        let mut cubic = Cubic::default();
        for (lost, now_us, acked, window, min_rtt_us) in facts {
            if lost {
                let left = cubic.after_loss(window);
                prop_assert!(left >= 2 && left <= window.max(2));
            }
            let growth = cubic.increase(now_us, acked, window, min_rtt_us).0;
            prop_assert!((0..=1 << 32).contains(&growth), "{growth}");
        }
    }

    #[test]
    fn growth_increases_with_the_time_since_the_loss(window in 10u32..1 << 20, times in prop::collection::vec(0u64..1 << 34, 2..40)) {
        let mut times = times;
        times.sort_unstable();
        let mut cubic = Cubic::default();
        let left = cubic.after_loss(window);
        let growths: Vec<Increase> = times.iter().map(|&at_us| cubic.increase(at_us, 1, left, 20_000)).collect();
        prop_assert!(growths.windows(2).all(|pair| at_most(pair[0], pair[1])), "{:?}", growths);
    }

    #[test]
    fn time_counts_from_the_loss_only(window in 10u32..1 << 20, start_us in 0u64..1 << 50, after_us in 0u64..1 << 30) {
        let growth = |start_us: u64| {
            let mut cubic = Cubic::default();
            let left = cubic.after_loss(window);
            cubic.increase(start_us, 1, left, 20_000);
            cubic.increase(start_us + after_us, 1, left, 20_000)
        };
        prop_assert_eq!(growth(0), growth(start_us));
    }
}

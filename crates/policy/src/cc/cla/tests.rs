use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

const STEADY: Report = Report {
    rate: 0.0,
    base_rtt_s: 0.05,
    mi: 0.0,
    q: 1.0,
    queued: false,
};

/// Parses a report: kB/s, round-trip time in ms, MI and Q in ppm, then `queued` if it is.
fn report(text: &str) -> Report {
    let queued = text.ends_with(":queued");
    let numbers = text.trim_end_matches(":queued").split(':');
    let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
    Report {
        rate: numbers[0] * 1e3,
        base_rtt_s: numbers[1] / 1e3,
        mi: numbers[2] / 1e6,
        q: numbers[3] / 1e6,
        queued,
    }
}

/// Rows of `golden/cla.csv`: segment size, successive reports of the paths, the windows after each.
#[test]
fn golden_vectors_hold() {
    let rows = include_str!("../../../../../golden/cla.csv")
        .lines()
        .filter(|line| !line.starts_with(['#', 'm']));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split(';').map(str::trim).collect();
        let mut stage = MobileStage::default();
        for (reports, expected) in cells[1].split('|').zip(cells[2].split('|').map(str::trim)) {
            let paths: Vec<Report> = reports.split_whitespace().map(report).collect();
            let windows = stage.report(&paths, cells[0].parse().unwrap());
            let got = windows.map_or("-".into(), |windows| {
                let windows = windows[..paths.len()].iter();
                windows
                    .map(alloc::string::ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(" ")
            });
            assert_eq!(got, expected, "{row}");
            count += 1;
        }
    }
    assert!(count >= 12, "only {count} reports");
}

#[test]
fn a_new_path_begins_with_what_the_hops_can_hold() {
    let windows = [None, Some(0), Some(2), Some(3), Some(40)].map(bdp_upper_bound);
    assert_eq!(windows, [10, 2, 2, 3, 40]);
}

#[test]
fn a_hand_off_makes_the_next_cut_possible() {
    let fading = Report {
        rate: 1e6,
        mi: -0.5,
        q: 0.4,
        ..STEADY
    };
    let mut stage = MobileStage::default();
    assert!(stage.report(&[fading, STEADY], 1_448).is_some());
    assert_eq!(stage.report(&[fading, STEADY], 1_448), None);
    stage.handed_off(0);
    assert!(stage.report(&[fading, STEADY], 1_448).is_some());
    stage.handed_off(MOST_PATHS);
}

prop_compose! {
    fn plausible()(kilobytes in 0u32..100_000, rtt_ms in 1u32..2_000, mi_milli in -1_000i32..=1_000, q_milli in 0u32..=1_000, queued in any::<bool>()) -> Report {
        Report {
            rate: f64::from(kilobytes) * 1e3,
            base_rtt_s: f64::from(rtt_ms) / 1e3,
            mi: f64::from(mi_milli) / 1e3,
            q: f64::from(q_milli) / 1e3,
            queued,
        }
    }
}

proptest! {
    #[test]
    fn no_path_gains_by_fading_or_loses_when_another_fades(paths in prop::collection::vec(plausible(), 1..=MOST_PATHS)) {
        let Some(windows) = MobileStage::default().report(&paths, 1_448) else {
            prop_assert!(!paths.iter().any(Report::is_fading));
            return Ok(());
        };
        for (path, window) in paths.iter().zip(windows) {
            let still = super::window(path.rate, path, 1_448);
            let moved = if path.is_fading() { still.checked_sub(window) } else { window.checked_sub(still) };
            prop_assert!(moved.is_some(), "{:?}: {} after {}", path, window, still);
        }
    }

    #[test]
    fn what_one_loses_the_others_gain(paths in prop::collection::vec(plausible(), 2..=MOST_PATHS)) {
        let paths: Vec<Report> = paths.into_iter().map(|path| Report { base_rtt_s: 1.0, ..path }).collect();
        if let Some(windows) = MobileStage::default().report(&paths, 1) {
            // With 1 byte a segment and 1 s a round trip, windows are rates, except for rounding and the
            // minimum of 2.
            let (before, after): (f64, f64) = (paths.iter().map(|path| path.rate).sum(), windows.iter().map(|&w| f64::from(w)).sum());
            let mut others = paths.iter().filter(|path| !path.is_fading()).peekable();
            let nobody = others.peek().is_some() && others.clone().all(|path| path.queued);
            let taker = others.any(|path| !path.queued && path.rate > 0.0);
            prop_assert!(after <= before + 16.0, "{} of {}", after, before);
            prop_assert!(!(taker || nobody) || after >= before - 16.0, "{} of {}", after, before);
        }
    }

    #[test]
    fn accepts_any_numbers(numbers in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>(), any::<f64>(), any::<bool>()), 0..12), mss: u32) {
        let paths: Vec<Report> = numbers.into_iter().map(|(rate, base_rtt_s, mi, q, queued)| Report { rate, base_rtt_s, mi, q, queued }).collect();
        let mut stage = MobileStage::default();
        for _ in 0..2 {
            if let Some(windows) = stage.report(&paths, mss) {
                prop_assert!(windows.iter().take(paths.len()).all(|&window| window >= 2));
            }
        }
    }
}

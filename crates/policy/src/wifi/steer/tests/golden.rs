//! Ramps of rates and smoothing of samples, against the golden files.

use crate::wifi::steer::smooth::Smooth;
use crate::wifi::steer::{Instant, Ramp, Ratio};
use alloc::vec::Vec;
use units::Duration;

/// `milliseconds:value`, counted from ten seconds on. Before that, a ramp has no half second behind it.
fn looks(cell: &str) -> impl Iterator<Item = (Instant, u64)> {
    cell.split_whitespace().map(|look| {
        let (ms, value) = look.split_once(':').unwrap();
        (
            Instant::from_secs(10) + Duration::from_millis(ms.parse().unwrap()),
            value.parse().unwrap(),
        )
    })
}

/// Every row's inputs, and the output for each.
fn rows(text: &str) -> Vec<(&str, Vec<u64>)> {
    let rows = text
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    rows.map(|row| {
        let (looks, answers) = row.split_once(',').unwrap();
        (
            looks,
            answers
                .split_whitespace()
                .map(|number| number.parse().unwrap())
                .collect(),
        )
    })
    .collect()
}

#[test]
fn golden_ramps() {
    let rows = rows(include_str!("../../../../../../golden/ramp.csv"));
    for (cell, expected) in &rows {
        let mut ramp = Ramp::new();
        let rates: Vec<u64> = looks(cell)
            .map(|(now, ppm)| ramp.towards(now, Ratio::from_ppm(ppm as u32)))
            .map(|rate| libm::round(rate.as_f64() * 1e6) as u64)
            .collect();
        assert_eq!(rates, *expected, "{cell}");
    }
    assert!(rows.len() >= 6, "only {} vectors", rows.len());
}

#[test]
fn golden_means() {
    let rows = rows(include_str!("../../../../../../golden/smooth.csv"));
    for (cell, expected) in &rows {
        let mut smooth = Smooth::over(Duration::from_secs(1));
        let means: Vec<u64> = looks(cell).map(|(now, value)| smooth.read(now, value)).collect();
        assert_eq!(means, *expected, "{cell}");
    }
    assert!(rows.len() >= 5, "only {} vectors", rows.len());
}

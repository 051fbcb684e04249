//! Number of frames sent per aggregate: `golden/aggregate.csv`, and limits.

use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

fn sent(heard_per_aggregate_milli: u32, delivered_ppm: u32) -> u32 {
    let traffic = Traffic {
        rate: Bitrate::from_mbps(54),
        mpdu_bytes: 1_536,
        heard_per_aggregate_milli,
    };
    traffic.sent_per_aggregate_milli(Ratio::from_ppm(delivered_ppm))
}

/// Columns: frames heard, delivered in ppm, frames sent.
#[test]
fn golden_vectors_hold() {
    let rows = include_str!("../../../../../golden/aggregate.csv")
        .lines()
        .filter(|line| !line.starts_with(['#', 'h']));
    let mut count = 0;
    for row in rows {
        let cells: Vec<u32> = row.split(',').map(|cell| cell.trim().parse().unwrap()).collect();
        let got = sent(cells[0], cells[1]);
        assert!(got.abs_diff(cells[2]) <= 1, "{row}: {got}");
        count += 1;
    }
    assert!(count >= 8, "only {count} vectors");
}

proptest! {
    #[test]
    fn stays_between_the_frames_heard_and_the_maximum(heard: u32, delivered in 0u32..=1_000_000) {
        let got = sent(heard, delivered);
        prop_assert!(got >= heard.clamp(1_000, 256_000), "{}", got);
        prop_assert!(got <= heard.max(256_000), "{}", got);
    }

    #[test]
    fn the_fewer_arrive_the_more_were_sent(heard in 1_000u32..64_000, one in 1u32..=1_000_000, other in 1u32..=1_000_000) {
        prop_assert!(sent(heard, one.min(other)) + 1 >= sent(heard, one.max(other)));
    }
}

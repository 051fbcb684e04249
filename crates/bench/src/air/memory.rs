//! `memory-station`: heap that one more saturated station of a cell takes, after 5 s.
//!
//! # Where we differ, and why
//! 1. The heap is what the C library reports as in use (mallinfo2(3)). That includes its own headers and
//!    rounding, so it is a little more than was requested.

use anyhow::Context as _;
use sim::World;
use sim::cells::cell;
use trace::BenchRow;
use units::wifi::Standard;
use units::{Bitrate, Duration};

use crate::declaration::Setup;

const FEW: u32 = 100;
const MANY: u32 = 1_000;

/// Runs the benchmark: bytes at 1,000 stations minus those at 100, for each of the 900.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let [few, many] = [held_by(setup.seed, FEW)?, held_by(setup.seed, MANY)?];
    let bytes = many.saturating_sub(few) as f64 / f64::from(MANY - FEW);
    Ok(vec![setup.only_row().trials(&[bytes])])
}

fn held_by(seed: u64, stations: u32) -> anyhow::Result<usize> {
    let plan = cell(Standard::A, Bitrate::from_mbps(54), stations, 1_470);
    let before = heap_in_use();
    let mut world = World::new(seed, &plan.air, plan.flows.clone()).context("the benchmark's own plan")?;
    world.run_for(Duration::from_secs(5));
    Ok(heap_in_use().saturating_sub(before))
}

/// Bytes allocated at this moment, including those in their own mappings.
fn heap_in_use() -> usize {
    // SAFETY: `mallinfo2` takes no arguments and only reads the allocator's own counts, under its locks.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_counted_small_and_large() {
        // Other tests allocate at the same time: far less than this.
        for (pieces, bytes) in [(1, 1 << 28), (1 << 16, 1 << 12)] {
            let before = heap_in_use();
            let taken: Vec<Vec<u8>> = (0..pieces).map(|_| Vec::with_capacity(bytes)).collect();
            let during = heap_in_use();
            assert!(
                during > before + (1 << 27),
                "{pieces} of {bytes}: {before}, {during}"
            );
            drop(taken);
            assert!(heap_in_use() < during - (1 << 27), "{pieces} of {bytes}");
        }
    }
}

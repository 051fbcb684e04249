//! Stored figures of other programs, and the present speed of this machine, which scales them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;
use std::time::Instant;

use trace::{BenchRow, Better, TheirsFrom};

/// A figure of another program, measured on another machine. More is better.
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    /// The program.
    pub peer: &'static str,
    /// Its figure.
    pub figure: f64,
}

impl Stored {
    /// Sets the peer's figure: the median of this run's, or else the stored one scaled to this machine.
    /// `speed` is this machine's speed over that of the machine that the stored figure was measured on.
    pub fn compared(&self, mut row: BenchRow, theirs: &[f64], speed: impl FnOnce() -> f64) -> BenchRow {
        let measured = BenchRow::new("", "", Better::Higher).trials(theirs).p50;
        row.peer = Some(self.peer.to_owned());
        row.theirs_from = if measured.is_some() {
            TheirsFrom::ThisRun
        } else {
            TheirsFrom::Stored
        };
        row.theirs = measured.or_else(|| Some(self.figure * speed()));
        row.ratio = row.ours.zip(row.theirs).map(|(ours, theirs)| ours / theirs);
        row
    }
}

/// Speed of the machine of the stored figures, measured within the same minutes, in pairs per second.
const STORED: f64 = 23.1e6;
const PAIRS: u32 = 4_096;
const ROUNDS: u64 = 20_000_000;
const TRIES: usize = 5;

/// Speed of this machine over that of the stored figures; measured once.
pub fn against_stored() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    RATE.get_or_init(|| (0..TRIES).map(|_| pairs_per_second(ROUNDS)).fold(0.0, f64::max)) / STORED
}

/// Pairs per second of a heap of pairs: pops the least and pushes it back, raised by random bits, `rounds`
/// times.
pub fn pairs_per_second(rounds: u64) -> f64 {
    let mut state = 1_u64;
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> =
        (0..PAIRS).map(|value| Reverse((value.into(), value))).collect();
    let started = Instant::now();
    for _ in 0..rounds {
        if let Some(Reverse((key, value))) = heap.pop() {
            heap.push(Reverse((key + (split_mix(&mut state) & 0xf_ffff), value)));
        }
    }
    std::hint::black_box(&heap);
    rounds as f64 / started.elapsed().as_secs_f64()
}

/// Steele, Lea and Flood 2014.
const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_its_published_first_number() {
        assert_eq!(split_mix(&mut 1), 0x910a_2dec_8902_5cc1);
    }

    #[test]
    fn the_loop_runs() {
        assert!(pairs_per_second(10_000) > 0.0);
    }

    #[test]
    fn the_stored_figure_is_scaled_only_where_none_is_measured() {
        let peer = Stored {
            peer: "ns-3",
            figure: 10.0,
        };
        let row = || crate::catalogue::row("dcf-1").trials(&[60.0]);
        let unscaled = || unreachable!("it is not scaled");
        let measured = peer.compared(row(), &[20.0, 30.0, 10.0], unscaled);
        assert_eq!((measured.theirs, measured.ratio), (Some(20.0), Some(3.0)));
        assert_eq!(measured.theirs_from, TheirsFrom::ThisRun);
        let stored = peer.compared(row(), &[], || 1.5);
        assert_eq!((stored.theirs, stored.ratio), (Some(15.0), Some(4.0)));
        assert_eq!(stored.theirs_from, TheirsFrom::Stored);
        assert_eq!(stored.peer, measured.peer, "the same peer");
    }
}

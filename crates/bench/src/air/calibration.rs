//! Measures the present speed of this machine, to compare figures measured on another one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;
use std::time::Instant;

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
}

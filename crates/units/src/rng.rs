//! Seeded random numbers, one named stream per element.
//!
//! Each element derives its stream from the seed of the run and its own name. Adding an element to a scenario
//! therefore does not change the numbers that the others draw.
//!
//! # Sources
//! - D. Blackman, S. Vigna: Scrambled linear pseudorandom number generators (2021): xoshiro256++.
//! - G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number generators (2014): SplitMix64, which
//!   initialises the state.
//! - D. Lemire: Fast random integer generation in an interval (2019): multiply-shift with rejection.
//! - FNV-1a, 64 bits, which hashes the name into the seed.
//!
//! # Checked by
//! `tests`: the published first outputs of SplitMix64, independence of the streams, bounds.

use crate::Ratio;
use core::time::Duration;

/// Deterministic stream of random numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

/// Advances `state` by one step of SplitMix64 and returns the next number.
pub(crate) const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Rng {
    /// Stream of the element called `name` in the run with this seed.
    pub fn named(seed: u64, name: &str) -> Self {
        let mut state = seed ^ fnv1a(name).rotate_left(17);
        Self {
            state: core::array::from_fn(|_| split_mix(&mut state)),
        }
    }

    /// 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform integer in `0..bound`. Returns 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(bound);
            // Rejecting the short first interval makes every value equally likely.
            if wide as u64 >= bound.wrapping_neg() % bound {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Uniform duration in `0..=max`.
    pub fn duration_up_to(&mut self, max: Duration) -> Duration {
        let ns = u64::try_from(max.as_nanos()).unwrap_or(u64::MAX - 1);
        Duration::from_nanos(self.below(ns.saturating_add(1)))
    }

    /// Returns true with probability `p`. Always draws one number, so that the stream does not depend on `p`.
    pub const fn chance(&mut self, p: Ratio) -> bool {
        (self.next_u64() >> 32) < p.as_raw()
    }

    /// Uniform real number in [0, 1) with 53 random bits.
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// Standard normal variate (Box–Muller). Drops the second value of the pair, so that each call costs two
    /// draws.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.unit())
    }
}

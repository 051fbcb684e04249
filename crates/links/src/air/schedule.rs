//! When each station next acts: the medium's only queue of events.
//!
//! Every station has at most one pending deadline: the end of its countdown, of its frame, or of its wait for
//! an answer. So the queue is a fixed set of deadlines rather than a heap of events. A frame moves the
//! deadlines of everybody who hears it twice, long before most of them are reached. Moving a deadline must
//! therefore be cheap: it is one store. The least deadline is found by scanning the blocks that changed.
//!
//! Measured on whole runs (`sim`'s example `queues`, in ns per frame on the air, the best of three; the
//! others delete lazily):
//!
//! | saturated stations | blocks | binary heap | radix heap | hierarchical wheel | calendar |
//! |---|---|---|---|---|---|
//! | 1 | 156 | 172 | 229 | 582 | 231 |
//! | 10 who hear each other | 401 | 726 | 659 | 973 | 597 |
//! | 50 who hear each other | 552 | 563 | 587 | 859 | 573 |
//! | ten cells of 11 | 1308 | 1820 | 1642 | 1609 | 1752 |
//! | a hundred cells of 11 | 1898 | 2560 | 2146 | 2141 | 4441 |
//!
//! Fifty count down together and have few deadlines between them (`clique`), so any structure is fast enough.
//!
//! # Checked by
//! `tests`: against a plain scan. The example: every structure gives the same run.

use alloc::vec;
use alloc::vec::Vec;

/// No deadline.
pub const NEVER: u64 = u64::MAX;

/// A set of deadlines, one for each station.
///
/// Among equal deadlines that of the lower station comes first, so one seed gives one order.
pub trait Schedule {
    /// For `stations` stations, none of which has a deadline.
    fn with_stations(stations: usize) -> Self;

    /// Sets a station's deadline. [`NEVER`] removes it.
    fn set(&mut self, station: usize, deadline: u64);

    /// The least deadline and its station, or [`NEVER`] if there is none.
    fn first(&mut self) -> (u64, usize);
}

const BLOCK: usize = 16;
/// Up to this many are compared one by one. Vector loads would have to wait until the last single stores are
/// in the cache.
const FEW: usize = 4;

/// Deadlines in blocks of 16, the blocks' least deadlines in blocks of 16, and so on up to a single block.
#[derive(Debug)]
pub struct Blocks {
    levels: Vec<Level>,
    stations: usize,
    /// The least deadline and its station, as long as nothing has changed since the last query.
    known: Option<(u64, usize)>,
}

/// The deadlines of a block, as floating-point numbers. Their bit patterns sort in the same order, and the
/// oldest x86-64 can compare several of them at once, unlike 64-bit integers.
type Block = [f64; BLOCK];

const fn key(deadline: u64) -> f64 {
    if deadline < f64::INFINITY.to_bits() {
        f64::from_bits(deadline)
    } else {
        f64::INFINITY
    }
}

const fn deadline(key: f64) -> u64 {
    if key == f64::INFINITY {
        NEVER
    } else {
        key.to_bits()
    }
}

#[derive(Debug)]
struct Level {
    blocks: Vec<Block>,
    /// One bit for each block that has changed since the level above was updated.
    stale: Vec<u64>,
}

impl Level {
    fn new(count: usize) -> Self {
        let blocks = count.div_ceil(BLOCK);
        Self {
            blocks: vec![[f64::INFINITY; BLOCK]; blocks],
            stale: vec![0; blocks.div_ceil(64)],
        }
    }

    #[inline]
    fn set(&mut self, place: usize, key: f64) {
        let block = place / BLOCK;
        self.blocks[block][place % BLOCK] = key;
        self.stale[block / 64] |= 1 << (block % 64);
    }
}

impl Schedule for Blocks {
    fn with_stations(stations: usize) -> Self {
        let mut levels = vec![Level::new(stations.max(1))];
        while levels[levels.len() - 1].blocks.len() > 1 {
            let blocks = levels[levels.len() - 1].blocks.len();
            levels.push(Level::new(blocks));
        }
        Self {
            levels,
            stations,
            known: None,
        }
    }

    #[inline]
    fn set(&mut self, station: usize, deadline: u64) {
        self.known = None;
        self.levels[0].set(station, key(deadline));
    }

    #[inline]
    fn first(&mut self) -> (u64, usize) {
        match self.known {
            Some(known) => known,
            None => self.find(),
        }
    }
}

impl Blocks {
    /// Finds the least deadline. A separate function, so that callers inline the check whether it is known.
    #[inline(never)]
    fn find(&mut self) -> (u64, usize) {
        for lower in 1..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(lower);
            bring_up(&mut below[lower - 1], &mut above[0]);
        }
        let top = &self.levels[self.levels.len() - 1].blocks[0];
        let (least, place) = if self.stations <= FEW {
            least_of_few(&top[..self.stations])
        } else {
            let least = least(top);
            let levels = self.levels.iter().rev();
            let down = |place, level: &Level| place * BLOCK + position_of(least, &level.blocks[place]);
            (least, levels.fold(0, down))
        };
        let known = (deadline(least), place);
        self.known = Some(known);
        known
    }
}

fn least_of_few(keys: &[f64]) -> (f64, usize) {
    let keys = keys.iter().copied().zip(0..);
    keys.fold(
        (f64::INFINITY, 0),
        |least, next| if next.0 < least.0 { next } else { least },
    )
}

/// Copies the least deadline of every stale block to the level above.
fn bring_up(below: &mut Level, above: &mut Level) {
    for word in 0..below.stale.len() {
        let mut bits = core::mem::take(&mut below.stale[word]);
        while bits != 0 {
            let block = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            above.set(block, least(&below.blocks[block]));
        }
    }
}

#[inline]
fn lesser(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}

#[inline]
fn least(block: &Block) -> f64 {
    let mut four = [block[0], block[1], block[2], block[3]];
    for others in block.chunks_exact(4).skip(1) {
        for (least, &other) in four.iter_mut().zip(others) {
            *least = lesser(*least, other);
        }
    }
    lesser(lesser(four[0], four[2]), lesser(four[1], four[3]))
}

/// Floating-point numbers whose bit patterns decrease from place to place.
const ORDER: Block = {
    let (mut order, mut place) = ([0.0; BLOCK], 0);
    while place < BLOCK {
        order[place] = f64::from_bits((BLOCK - place) as u64);
        place += 1;
    }
    order
};

/// The first place of the least key in its block. All are checked, several at a time, because an early exit
/// cannot be predicted. It is a separate function: inlined into other code, compilers split the vectors of
/// four.
#[inline(never)]
fn position_of(least: f64, block: &Block) -> usize {
    let mut four = [0.0; 4];
    for first in (0..BLOCK).step_by(4) {
        for (lane, greatest) in four.iter_mut().enumerate() {
            let order = ORDER[first + lane];
            let found = if block[first + lane] == least { order } else { 0.0 };
            *greatest = greater(*greatest, found);
        }
    }
    let first = greater(greater(four[0], four[2]), greater(four[1], four[3]));
    BLOCK - first.to_bits() as usize
}

#[inline]
fn greater(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_the_least_as_a_scan_does(
            stations in 1_usize..2_500,
            sets in prop::collection::vec((0_usize..2_500, prop::option::of(0_u64..50)), 0..300),
        ) {
            let mut blocks = Blocks::with_stations(stations);
            let mut plain = vec![NEVER; stations];
            for (station, deadline) in sets {
                let (station, deadline) = (station % stations, deadline.unwrap_or(NEVER));
                blocks.set(station, deadline);
                plain[station] = deadline;
                let (least, first) = plain.iter().enumerate().map(|(at, &due)| (due, at)).min().unwrap();
                let found = blocks.first();
                prop_assert_eq!(found.0, least);
                prop_assert!(least == NEVER || found.1 == first);
            }
        }
    }
}

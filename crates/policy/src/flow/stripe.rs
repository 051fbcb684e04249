//! Stripes the blocks of a file that is used from its start over several links.
//!
//! Each link fetches one block at a time. The earliest block that nobody has fetched is due first, so a link
//! takes that one, unless it is slow. The others would be far past that block when a slow link has fetched
//! it.
//!
//! # Sources
//! - juggler §6.2.2: earliest deadline first. *delta* is the earliest unfetched block minus the block that
//!   the link fetched before. It equals the number of links if they are equally fast. If it is larger, the
//!   link takes the block that is delta after the earliest.
//!
//! # Where we differ, and why
//! 1. juggler has two links and says "two". Here there may be any number.
//! 2. Delta overshoots: the block that it leads to is far ahead. So the next delta is small, and the slow
//!    link takes the very next block, which is then late. Every second choice of the slow link is wrong.
//!    [`Skip::Finish`] skips as many blocks as the others will fetch meanwhile, by measured block times.
//!
//! # Checked by
//! `flow::tests`: golden vectors, and juggler's video over links of constant rate.

use crate::io::LinkId;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// How a slow link is kept from the block that is due first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Skip {
    /// No skipping: plain earliest deadline first.
    None,
    /// Skips as many blocks as juggler's delta says.
    Delta,
    /// Skips what the others will fetch while it fetches one block.
    #[default]
    Finish,
}

#[derive(Debug, Clone, Copy)]
struct Lane {
    link: LinkId,
    previous: Option<usize>,
    fetching: Option<(usize, Instant)>,
    block_time: Option<Duration>,
}

/// The blocks, and which links fetch them.
#[derive(Debug, Clone)]
pub struct Stripe {
    skip: Skip,
    /// Whether a block is fetched, or being fetched.
    taken: Vec<bool>,
    /// No block before this one is free.
    earliest: usize,
    lanes: Vec<Lane>,
}

impl Stripe {
    /// This many blocks over these links.
    pub fn new(blocks: usize, links: &[LinkId], skip: Skip) -> Self {
        let mut stripe = Self {
            skip,
            taken: alloc::vec![false; blocks],
            earliest: 0,
            lanes: Vec::new(),
        };
        links.iter().for_each(|&link| stripe.came(link));
        stripe
    }

    /// Adds a link.
    pub fn came(&mut self, link: LinkId) {
        if self.lane(link).is_none() {
            self.lanes.push(Lane {
                link,
                previous: None,
                fetching: None,
                block_time: None,
            });
        }
    }

    /// Removes a link. The block that it was fetching is free again.
    pub fn went(&mut self, link: LinkId) {
        if let Some(at) = self.lane(link) {
            let lane = self.lanes.remove(at);
            if let Some((block, _)) = lane.fetching {
                self.taken[block] = false;
                self.earliest = self.earliest.min(block);
            }
        }
    }

    fn lane(&self, link: LinkId) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.link == link)
    }

    /// The next block for this link to fetch. The one that it was fetching has arrived. `None` if none is
    /// left, or the link is unknown.
    pub fn next(&mut self, now: Instant, link: LinkId) -> Option<usize> {
        let at = self.lane(link)?;
        self.finish(now, at);
        while self.taken.get(self.earliest).is_some_and(|taken| *taken) {
            self.earliest += 1;
        }
        let wanted = self.earliest.saturating_add(self.passed_over(at));
        let block = self.free_from(wanted)?;
        self.taken[block] = true;
        self.lanes[at].fetching = Some((block, now));
        Some(block)
    }

    /// The block that this link was fetching has arrived.
    pub fn arrived(&mut self, now: Instant, link: LinkId) {
        if let Some(at) = self.lane(link) {
            self.finish(now, at);
        }
    }

    fn finish(&mut self, now: Instant, at: usize) {
        let lane = &mut self.lanes[at];
        if let Some((block, since)) = lane.fetching.take() {
            lane.previous = Some(block);
            lane.block_time = Some(now - since);
        }
    }

    /// The first free block from here on, otherwise the last one before.
    fn free_from(&self, wanted: usize) -> Option<usize> {
        let wanted = wanted.min(self.taken.len());
        let (before, after) = self.taken.split_at(wanted);
        after
            .iter()
            .position(|taken| !taken)
            .map(|at| wanted + at)
            .or_else(|| before.iter().rposition(|taken| !taken))
    }

    fn passed_over(&self, at: usize) -> usize {
        match self.skip {
            Skip::None => 0,
            Skip::Delta => self.delta(at),
            Skip::Finish => self.fetched_meanwhile(at),
        }
    }

    fn delta(&self, at: usize) -> usize {
        let Some(previous) = self.lanes[at].previous else {
            return 0;
        };
        let delta = self.earliest.saturating_sub(previous);
        if delta > self.lanes.len() { delta } else { 0 }
    }

    /// How many blocks the other links fetch while this one fetches one.
    fn fetched_meanwhile(&self, at: usize) -> usize {
        let Some(own) = self.lanes[at].block_time else {
            return 0;
        };
        let others = self.lanes.iter().enumerate().filter(|(other, _)| *other != at);
        let fetched = others
            .filter_map(|(_, other)| own.as_nanos().checked_div(other.block_time?.as_nanos()))
            .fold(0u128, |sum, more| sum.saturating_add(more));
        // Equally fast links fetch one each meanwhile, and take turns without skipping.
        let equal = self.lanes.len() as u128 - 1;
        usize::try_from(fetched.saturating_sub(equal)).unwrap_or(usize::MAX)
    }
}

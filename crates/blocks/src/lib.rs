//! The file of a flow that fetches it in blocks over several connections: which connection fetches what.
//!
//! Both worlds ask [`Blocks`] for the next block of a connection, and report what it has read: `sim` for
//! hosts in virtual time, the lab for real sockets. A *lane* is the place of one connection, and of those
//! that replace it.
//!
//! A connection fetches one block at a time, and requests the next one when it has read all of that. If it is
//! lost, another connection may fetch the rest of its block.
//!
//! # Sources
//! - juggler §6.2.2: a thread for each access point fetches one block after the other, by a request for a
//!   number of bytes at a given offset.
//! - juggler §6.2.3: each peer has all of the file, and sends other parts of it (BEP 3: pieces).
//!
//! # Where we differ, and why
//! 1. Every peer has every piece, so no piece is rarer than others. The first one that nobody fetches is
//!    next.
//! 2. A piece is one request. BitTorrent requests it in parts of 16 KiB, several ahead.
//! 3. When the file is complete, the lab closes the connections. In virtual time they stay open, and nothing
//!    moves over them.
//!
//! # Checked by
//! `tests`; in the two worlds, `tests/blocks.rs` of `sim` and of the lab.

mod player;

pub use player::Time;

use player::Player;
use policy::LinkId;
use policy::flow::{PeerId, Skip, Stripe};
use scenario::Work;
use std::ops::Range;
use trace::Playback;
use units::{Bytes, Duration, Instant};

/// A client of a swarm gives up a connection after this silence: the default `request_timeout` of libtorrent
/// 1.1. Silence is usual where many connections share a slow link.
const SWARM_PATIENCE: Duration = Duration::from_secs(60);
/// Other clients do so after this silence, as those of plain TCP.
const PATIENCE: Duration = Duration::from_secs(1);

/// After which silence a client of this work gives up a connection.
pub const fn patience(work: Work) -> Duration {
    match work {
        Work::Swarm { .. } => SWARM_PATIENCE,
        _ => PATIENCE,
    }
}

/// What the engine calls this peer of the flow with this index.
pub fn peer(flow: usize, peer: u16) -> PeerId {
    PeerId((flow as u32) << 16 | u32::from(peer))
}

/// Which block is next.
#[derive(Debug, Clone)]
enum Order {
    /// By the link that asks, and when the blocks are due.
    Due(Stripe),
    /// The first one that is free: for each, whether it is fetched, or being fetched.
    First(Vec<bool>),
}

impl Order {
    fn next(&mut self, now: Instant, link: LinkId) -> Option<usize> {
        match self {
            Self::Due(stripe) => {
                stripe.came(link);
                stripe.next(now, link)
            }
            Self::First(taken) => {
                let first = taken.iter().position(|taken| !taken)?;
                taken[first] = true;
                Some(first)
            }
        }
    }

    /// The lane with this link has all of its block.
    fn arrived(&mut self, now: Instant, link: LinkId) {
        if let Self::Due(stripe) = self {
            stripe.arrived(now, link);
        }
    }

    /// The lane with this link has lost the block that it was fetching.
    fn lost(&mut self, link: LinkId, block: Option<usize>) {
        match (self, block) {
            (Self::Due(stripe), _) => stripe.went(link),
            (Self::First(taken), Some(block)) => taken[block] = false,
            (Self::First(_), None) => {}
        }
    }
}

/// The blocks of a file, and who fetches them.
#[derive(Debug, Clone)]
pub struct Blocks {
    order: Order,
    /// Bytes of each block but the last, which may be shorter.
    block: u64,
    /// Where the file ends.
    end: u64,
    /// Bytes of each block that have not been read.
    left: Vec<u64>,
    /// When each block was complete.
    complete: Vec<Option<Instant>>,
    player: Option<Player>,
    lanes: Vec<Fetcher>,
}

/// The connections in one lane of the flow.
#[derive(Debug, Clone)]
struct Fetcher {
    /// That of a stripe. The lanes of a swarm are all alike.
    link: LinkId,
    /// The block that it fetches, and when it requested it.
    fetching: Option<(usize, Instant)>,
}

impl Blocks {
    /// The file of this work over lanes with these links. `None`: the work has no blocks.
    ///
    /// The links of a swarm's lanes make no difference.
    pub fn of(work: Work, lanes: &[LinkId]) -> Option<Self> {
        let (size, block, due, video) = match work {
            Work::Stripe {
                size,
                block,
                skip,
                video,
            } => (size, block, Some(skip), video),
            Work::Swarm { size, piece } => (size, piece, None, None),
            _ => return None,
        };
        let left = sizes(size, block);
        let order = match due {
            Some(skip) => Order::Due(Stripe::new(left.len(), &[], way(skip))),
            None => Order::First(vec![false; left.len()]),
        };
        let fetcher = |&link: &LinkId| Fetcher { link, fetching: None };
        Some(Self {
            order,
            block: block.get(),
            end: size.get(),
            lanes: lanes.iter().map(fetcher).collect(),
            complete: vec![None; left.len()],
            player: video.map(|video| Player::new(video, &left)),
            left,
        })
    }

    /// The range of bytes that a lane requests next. `None`: it is fetching a block, or no block is free.
    pub fn request(&mut self, now: Instant, lane: usize) -> Option<Range<u64>> {
        let fetcher = &mut self.lanes[lane];
        if fetcher.fetching.is_some() {
            return None;
        }
        let block = self.order.next(now, fetcher.link)?;
        fetcher.fetching = Some((block, now));
        let end = self.end.min((block as u64 + 1) * self.block);
        Some(end - self.left[block]..end)
    }

    /// When the connection of a lane requested what it waits for. `None`: it waits for nothing.
    pub fn waits_since(&self, lane: usize) -> Option<Instant> {
        self.lanes[lane].fetching.map(|(_, since)| since)
    }

    /// The connection of a lane has read this many bytes more.
    pub fn read(&mut self, now: Instant, lane: usize, bytes: u64) {
        let fetcher = &mut self.lanes[lane];
        if let Some((block, _)) = fetcher.fetching {
            self.left[block] = self.left[block].saturating_sub(bytes);
            if self.left[block] == 0 {
                fetcher.fetching = None;
                self.complete[block] = Some(now);
                self.order.arrived(now, fetcher.link);
            }
        }
    }

    /// Whether all of the file has been read.
    pub fn is_complete(&self) -> bool {
        self.left.iter().all(|&left| left == 0)
    }

    /// The connection of a lane is lost.
    pub fn lost(&mut self, lane: usize) {
        let fetcher = &mut self.lanes[lane];
        let block = fetcher.fetching.take().map(|(block, _)| block);
        self.order.lost(fetcher.link, block);
    }

    /// What its player did, if it has one.
    pub fn playback(&self, time: Time) -> Option<Playback> {
        let player = self.player.as_ref()?;
        Some(player.play(&self.complete, time))
    }
}

/// How the brain calls a way of skipping.
const fn way(skip: scenario::Skip) -> Skip {
    match skip {
        scenario::Skip::None => Skip::None,
        scenario::Skip::Delta => Skip::Delta,
        scenario::Skip::Finish => Skip::Finish,
    }
}

/// Bytes of each block of a file.
fn sizes(size: Bytes, block: Bytes) -> Vec<u64> {
    let (size, block) = (size.get(), block.get());
    let from = (0..size).step_by(block as usize);
    from.map(|from| block.min(size - from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_may_be_shorter() {
        let of = |size, block| sizes(Bytes::new(size), Bytes::new(block));
        assert_eq!(of(10, 4), [4, 4, 2]);
        assert_eq!(of(8, 4), [4, 4]);
        assert_eq!(of(3, 4), [3]);
    }

    const LANES: [LinkId; 2] = [LinkId(0), LinkId(1)];

    /// A stripe of 100 bytes in blocks of this size.
    fn stripe(block: u64) -> Blocks {
        let work = Work::Stripe {
            size: Bytes::new(100),
            block: Bytes::new(block),
            skip: scenario::Skip::None,
            video: None,
        };
        Blocks::of(work, &LANES).unwrap()
    }

    #[test]
    fn a_swarm_fetches_the_first_piece_that_is_free() {
        let work = Work::Swarm {
            size: Bytes::new(100),
            piece: Bytes::new(40),
        };
        let mut blocks = Blocks::of(work, &LANES).unwrap();
        let at = Instant::from_secs;
        let both = [0, 1].map(|lane| blocks.request(at(0), lane));
        assert_eq!(both, [Some(0..40), Some(40..80)]);
        blocks.lost(0);
        blocks.read(at(1), 1, 40);
        assert_eq!(blocks.request(at(1), 1), Some(0..40));
        assert_eq!(blocks.request(at(1), 0), Some(80..100));
    }

    #[test]
    fn a_block_that_has_arrived_is_not_lost_with_its_connection() {
        let mut blocks = stripe(50);
        let at = Instant::from_secs;
        assert_eq!(blocks.request(at(0), 0), Some(0..50));
        blocks.read(at(1), 0, 50);
        blocks.lost(0);
        assert_eq!(blocks.request(at(1), 1), Some(50..100));
        assert_eq!(blocks.request(at(1), 0), None);
    }

    #[test]
    fn the_rest_of_a_lost_block_is_fetched_by_another_lane() {
        let mut blocks = stripe(60);
        let at = Instant::from_secs;
        assert_eq!(blocks.request(at(0), 0), Some(0..60));
        assert_eq!(blocks.request(at(0), 0), None);
        assert_eq!(blocks.request(at(0), 1), Some(60..100));
        blocks.read(at(0), 0, 50);
        blocks.lost(0);
        assert_eq!(
            (blocks.waits_since(0), blocks.waits_since(1)),
            (None, Some(at(0)))
        );
        blocks.read(at(1), 1, 40);
        assert_eq!(blocks.request(at(1), 1), Some(50..60));
        assert!(!blocks.is_complete());
        assert_eq!(blocks.request(at(1), 0), None);
        blocks.read(at(2), 1, 10);
        assert_eq!((blocks.request(at(2), 0), blocks.request(at(2), 1)), (None, None));
        assert!(blocks.is_complete());
    }
}

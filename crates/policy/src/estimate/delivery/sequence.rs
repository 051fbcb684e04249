//! One counter of MAC sequence numbers: tells new frames, duplicates and lost frames.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.2.14 (numbers modulo 4096; a recipient detects duplicates by retry bit and
//!   number), §10.25.6 (the block-ack window advances with the highest number heard; what it has passed will
//!   not arrive).
//!
//! # Where we differ, and why
//! 1. The window follows the highest number heard, not the block-ack request: a listener does not see what
//!    the two stations agreed.
//! 2. Numbers before the first one heard count as heard: what happened before we listened is unknown.
//!
//! # Checked by
//! `delivery::tests`: wrap, holes that are filled late, duplicates, restarts, a model that keeps every number
//! in a set.

use units::SeqNum;

/// Words of the bitmap: 256 numbers, the largest block-ack window of 802.11ax.
const WORDS: usize = 4;
const BITS: u16 = 64 * WORDS as u16;
/// Less than half of all numbers: a number that seems further ahead is behind.
const AHEAD: u16 = SeqNum::MODULUS / 2;

/// Widest window that can be configured.
pub(super) const WIDEST: u16 = BITS;

/// What a number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// A new frame. The window moved past this many that never arrived.
    New { lost: u16 },
    /// A duplicate: its acknowledgement was lost.
    Again,
}

/// Numbers heard of one counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sequence {
    /// Which of the last 256 numbers were heard, indexed by the number modulo 256.
    heard: [u64; WORDS],
    /// Highest number heard. `None` before the first.
    head: Option<SeqNum>,
    /// A number behind the window. If a second one follows it, the counter has restarted.
    stray: Option<SeqNum>,
}

impl Sequence {
    pub(super) const fn new() -> Self {
        Self {
            heard: [u64::MAX; WORDS],
            head: None,
            stray: None,
        }
    }

    /// Takes in the number of a frame. `window` is how many numbers late a frame may arrive, 1..=[`WIDEST`].
    #[inline]
    pub(super) fn hear(&mut self, number: SeqNum, window: u16) -> Heard {
        let Some(head) = self.head else {
            self.head = Some(number);
            return Heard::New { lost: 0 };
        };
        let ahead = number.distance_from(head);
        if ahead != 0 && ahead < AHEAD {
            self.stray = None;
            let lost = self.advance(head, ahead, window);
            return Heard::New { lost };
        }
        let behind = head.distance_from(number);
        if behind >= window {
            return self.stray(number, window);
        }
        self.stray = None;
        self.fill(number)
    }

    fn fill(&mut self, number: SeqNum) -> Heard {
        let (word, bit) = place(number.get());
        if self.heard[word] & bit != 0 {
            return Heard::Again;
        }
        self.heard[word] |= bit;
        Heard::New { lost: 0 }
    }

    /// Moves the head forward by `ahead`, and counts the unheard numbers that the window passed.
    #[inline]
    fn advance(&mut self, head: SeqNum, ahead: u16, window: u16) -> u16 {
        let number = SeqNum::new(head.get() + ahead);
        self.head = Some(number);
        // The oldest numbers leave the window. Skipped numbers that were never inside count, too.
        let oldest = head.get().wrapping_sub(window - 1);
        let lost = if ahead == 1 {
            let (word, bit) = place(oldest);
            u16::from(self.heard[word] & bit == 0)
        } else {
            let left = self.unheard(oldest, ahead.min(window)) + ahead.saturating_sub(window);
            self.clear(head.get().wrapping_add(1), (ahead - 1).min(BITS));
            left
        };
        let (word, bit) = place(number.get());
        self.heard[word] |= bit;
        lost
    }

    /// Handles a number behind the window: an old frame, or a restarted counter if the next number follows
    /// it.
    #[cold]
    fn stray(&mut self, number: SeqNum, window: u16) -> Heard {
        let follows = |stray: SeqNum| (1..=window).contains(&number.distance_from(stray));
        if !self.stray.is_some_and(follows) {
            self.stray = Some(number);
            return Heard::Again;
        }
        *self = Self {
            head: Some(number),
            ..Self::new()
        };
        Heard::New { lost: 0 }
    }

    fn unheard(&self, first: u16, count: u16) -> u16 {
        let mut sum = 0;
        spans(first, count, |word, mask| {
            sum += (!self.heard[word] & mask).count_ones() as u16;
        });
        sum
    }

    fn clear(&mut self, first: u16, count: u16) {
        spans(first, count, |word, mask| self.heard[word] &= !mask);
    }
}

/// Position of a number's bit. The bitmap's length divides 4096 and 65536, so both wraps keep it.
#[inline]
const fn place(number: u16) -> (usize, u64) {
    ((number >> 6) as usize % WORDS, 1 << (number & 63))
}

/// Visits the words and masks of `count` numbers from `first` on, at most 256.
fn spans(first: u16, count: u16, mut visit: impl FnMut(usize, u64)) {
    let (mut at, mut left) = (first, count);
    while left > 0 {
        let offset = at & 63;
        let take = left.min(64 - offset);
        visit((at >> 6) as usize % WORDS, (u64::MAX >> (64 - take)) << offset);
        at = at.wrapping_add(take);
        left -= take;
    }
}

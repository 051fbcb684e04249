//! Sequence counters of one transmitter: the shared one, one per TID of ours, and those of other receivers.
//!
//! # Checked by
//! `delivery::tests`: streams to more receivers than there are slots for.

use super::sequence::{Heard, Sequence};
use alloc::boxed::Box;
use alloc::vec;
use units::{Duration, Instant, MacAddr, SeqNum};

const TIDS: usize = 16;
const SETS: usize = 16;
const WAYS: usize = 4;

/// A counter, and when it was last heard.
#[derive(Debug, Clone, Copy)]
struct Counter {
    sequence: Sequence,
    at_ns: u64,
}

/// Counter of another receiver's TID. A key of 0 marks a free slot.
#[derive(Debug, Clone, Copy)]
struct Other {
    key: u64,
    counter: Counter,
}

/// Which counter a frame's number belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Shared,
    Ours(u8),
    Theirs(MacAddr, u8),
}

/// Up to 16 + 1 + 64 counters. A new one of the 64 replaces the one silent for longest.
#[derive(Debug, Clone)]
pub(super) struct Counters {
    ours: [Counter; TIDS],
    shared: Counter,
    theirs: Box<[[Other; WAYS]]>,
    /// After this silence a counter may have wrapped, so it restarts.
    patience_ns: u64,
    window: u16,
}

impl Counter {
    const NEW: Self = Self {
        sequence: Sequence::new(),
        at_ns: 0,
    };

    #[inline]
    fn hear(&mut self, now_ns: u64, number: SeqNum, patience_ns: u64, window: u16) -> Heard {
        if now_ns.saturating_sub(self.at_ns) > patience_ns {
            self.sequence = Sequence::new();
        }
        self.at_ns = now_ns;
        self.sequence.hear(number, window)
    }
}

impl Counters {
    /// Creates the counters, with or without slots for other receivers.
    pub(super) fn new(patience: Duration, window: u16, others: bool) -> Self {
        let free = Other {
            key: 0,
            counter: Counter::NEW,
        };
        let sets = if others { SETS } else { 0 };
        Self {
            ours: [Counter::NEW; TIDS],
            shared: Counter::NEW,
            theirs: vec![[free; WAYS]; sets].into_boxed_slice(),
            patience_ns: u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX),
            window,
        }
    }

    /// Takes in the number of a frame. `None` for another receiver's counter if there are no slots for those.
    #[inline]
    pub(super) fn hear(&mut self, now: Instant, which: Which, number: SeqNum) -> Option<Heard> {
        let (patience_ns, window) = (self.patience_ns, self.window);
        let counter = match which {
            Which::Ours(tid) => &mut self.ours[usize::from(tid) % TIDS],
            Which::Shared => &mut self.shared,
            Which::Theirs(receiver, tid) => self.theirs(receiver, tid)?,
        };
        Some(counter.hear(now.as_nanos(), number, patience_ns, window))
    }

    fn theirs(&mut self, receiver: MacAddr, tid: u8) -> Option<&mut Counter> {
        let key = key(receiver, tid);
        // Multiplicative hashing (Knuth, TAOCP 3, §6.4): the top bits depend on all of the key.
        let set = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize;
        let ways = self.theirs.get_mut(set)?;
        let at = ways
            .iter()
            .position(|other| other.key == key)
            .unwrap_or_else(|| silent_for_longest(ways));
        let other = &mut ways[at];
        if other.key != key {
            *other = Other {
                key,
                counter: Counter::NEW,
            };
        }
        Some(&mut other.counter)
    }

    /// Restarts all counters: numbers that pass until the next frame are unheard, not lost.
    pub(super) fn restart(&mut self) {
        self.ours = [Counter::NEW; TIDS];
        self.shared = Counter::NEW;
        for other in self.theirs.iter_mut().flatten() {
            other.counter = Counter::NEW;
        }
    }
}

fn silent_for_longest(ways: &[Other; WAYS]) -> usize {
    let mut oldest = 0;
    for (at, other) in ways.iter().enumerate() {
        if other.counter.at_ns < ways[oldest].counter.at_ns {
            oldest = at;
        }
    }
    oldest
}

/// Key of a counter. Never 0: the bit above the address and the TID is set.
fn key(receiver: MacAddr, tid: u8) -> u64 {
    let [a, b, c, d, e, f] = receiver.octets();
    u64::from_be_bytes([1, tid, a, b, c, d, e, f])
}

//! Priority queues of (deadline, station), and an adapter that turns each into a set of movable deadlines.

use links::air::schedule::{NEVER, Schedule};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entry of a queue: deadline and station.
pub type Entry = (u64, usize);

/// Monotone priority queue: no pushed entry is less than the last one popped.
pub trait Queue: Default {
    fn push(&mut self, entry: Entry);
    fn pop(&mut self) -> Option<Entry>;
}

/// Movable deadlines by lazy deletion: entries that are out of date stay in the queue until they are popped.
pub struct Lazy<Q> {
    valid: Vec<u64>,
    queue: Q,
    held: Option<Entry>,
}

impl<Q: Queue> Schedule for Lazy<Q> {
    fn with_stations(stations: usize) -> Self {
        Self {
            valid: vec![NEVER; stations],
            queue: Q::default(),
            held: None,
        }
    }

    fn set(&mut self, station: usize, deadline: u64) {
        if self.valid[station] == deadline {
            return;
        }
        self.valid[station] = deadline;
        if deadline != NEVER {
            self.queue.push((deadline, station));
        }
    }

    fn first(&mut self) -> Entry {
        let held = self.held.take().filter(|held| self.valid[held.1] == held.0);
        if let Some(held) = held {
            self.queue.push(held);
        }
        while let Some(entry) = self.queue.pop() {
            if self.valid[entry.1] == entry.0 {
                self.held = Some(entry);
                return entry;
            }
        }
        (NEVER, 0)
    }
}

/// Binary heap of the standard library.
#[derive(Default)]
pub struct Binary(BinaryHeap<Reverse<Entry>>);

impl Queue for Binary {
    fn push(&mut self, entry: Entry) {
        self.0.push(Reverse(entry));
    }

    fn pop(&mut self) -> Option<Entry> {
        self.0.pop().map(|Reverse(entry)| entry)
    }
}

/// Radix heap (Ahuja et al. 1990): buckets by the highest bit in which a deadline differs from the last one
/// popped.
pub struct Radix {
    last: u64,
    buckets: Vec<Vec<Entry>>,
}

impl Default for Radix {
    fn default() -> Self {
        Self {
            last: 0,
            buckets: vec![Vec::new(); 65],
        }
    }
}

impl Radix {
    fn bucket(&self, deadline: u64) -> usize {
        (64 - (deadline ^ self.last).leading_zeros()) as usize
    }
}

impl Queue for Radix {
    fn push(&mut self, entry: Entry) {
        let bucket = self.bucket(entry.0);
        self.buckets[bucket].push(entry);
    }

    fn pop(&mut self) -> Option<Entry> {
        if self.buckets[0].is_empty() {
            let full = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
            let entries = std::mem::take(&mut self.buckets[full]);
            self.last = entries.iter().map(|entry| entry.0).min().unwrap_or(self.last);
            for &entry in &entries {
                let bucket = self.bucket(entry.0);
                self.buckets[bucket].push(entry);
            }
            self.buckets[full] = entries;
            self.buckets[full].clear();
            if full == 0 {
                return None;
            }
        }
        // Of equal deadlines, the one with the lower station comes first.
        let least = (0..self.buckets[0].len()).min_by_key(|&at| self.buckets[0][at].1)?;
        Some(self.buckets[0].swap_remove(least))
    }
}

/// Calendar queue (Brown 1988): a year of days of fixed length. Each day is searched for its least entry of
/// this year.
pub struct Calendar {
    days: Vec<Vec<Entry>>,
    now: u64,
    count: usize,
}

/// Length of a day: one slot, in units of 0.5 ns like all deadlines.
const DAY: u64 = 18_000;
const DAYS: u64 = 1_024;

impl Default for Calendar {
    fn default() -> Self {
        Self {
            days: vec![Vec::new(); DAYS as usize],
            now: 0,
            count: 0,
        }
    }
}

impl Queue for Calendar {
    fn push(&mut self, entry: Entry) {
        self.now = self.now.min(entry.0 / DAY);
        self.count += 1;
        self.days[(entry.0 / DAY % DAYS) as usize].push(entry);
    }

    fn pop(&mut self) -> Option<Entry> {
        while self.count > 0 {
            let today = &mut self.days[(self.now % DAYS) as usize];
            let least = (0..today.len())
                .filter(|&at| today[at].0 / DAY == self.now)
                .min_by_key(|&at| today[at]);
            if let Some(least) = least {
                self.count -= 1;
                return Some(today.swap_remove(least));
            }
            self.now += 1;
        }
        None
    }
}

/// Timing wheels (Varghese and Lauck 1987): wheels of 256 ticks, where a tick of one wheel is a turn of the
/// one below. The lowest tick is 1,024 × 0.5 ns.
pub struct Wheel {
    wheels: Vec<Vec<Vec<Entry>>>,
    now: u64,
    count: usize,
}

const TICK_BITS: u32 = 10;
const WHEEL_BITS: u32 = 8;
const WHEELS: usize = 5;

impl Default for Wheel {
    fn default() -> Self {
        Self {
            wheels: vec![vec![Vec::new(); 1 << WHEEL_BITS]; WHEELS],
            now: 0,
            count: 0,
        }
    }
}

impl Wheel {
    fn place(&mut self, entry: Entry) {
        let tick = (entry.0 >> TICK_BITS).max(self.now);
        let differs = 64 - (tick ^ self.now).leading_zeros();
        let wheel = (differs.saturating_sub(1) / WHEEL_BITS) as usize;
        let wheel = wheel.min(WHEELS - 1);
        let slot = tick >> (WHEEL_BITS * wheel as u32) & ((1 << WHEEL_BITS) - 1);
        self.wheels[wheel][slot as usize].push(entry);
    }

    fn turn(&mut self) {
        self.now += 1;
        for wheel in 1..WHEELS as u32 {
            if self.now & ((1 << (WHEEL_BITS * wheel)) - 1) != 0 {
                break;
            }
            let slot = self.now >> (WHEEL_BITS * wheel) & ((1 << WHEEL_BITS) - 1);
            let entries = std::mem::take(&mut self.wheels[wheel as usize][slot as usize]);
            entries.into_iter().for_each(|entry| self.place(entry));
        }
    }
}

impl Queue for Wheel {
    fn push(&mut self, entry: Entry) {
        self.count += 1;
        self.place(entry);
    }

    fn pop(&mut self) -> Option<Entry> {
        while self.count > 0 {
            let slot = &mut self.wheels[0][(self.now & ((1 << WHEEL_BITS) - 1)) as usize];
            if let Some(least) = (0..slot.len()).min_by_key(|&at| slot[at]) {
                self.count -= 1;
                return Some(slot.swap_remove(least));
            }
            self.turn();
        }
        None
    }
}

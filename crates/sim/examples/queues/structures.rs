//! Priority queues of (deadline, station), and what turns each into a set of deadlines that can be moved.

use links::air::schedule::{NEVER, Schedule};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An entry: deadline, station.
pub type Entry = (u64, usize);

/// A queue from which the least entry can be taken; what is put in is never before what was taken last.
pub trait Queue: Default {
    fn push(&mut self, entry: Entry);
    fn pop(&mut self) -> Option<Entry>;
}

/// Deadlines that move, by leaving behind what no longer holds.
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

/// The standard library's binary heap.
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

/// Ahuja et al. 1990: buckets by the highest bit in which a deadline differs from the one taken last.
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
        // Of equal deadlines the lower station first.
        let least = (0..self.buckets[0].len()).min_by_key(|&at| self.buckets[0][at].1)?;
        Some(self.buckets[0].swap_remove(least))
    }
}

/// Brown 1988: days of a fixed length in a year; a day is searched for its least entry of this year.
pub struct Calendar {
    days: Vec<Vec<Entry>>,
    now: u64,
    count: usize,
}

/// A day lasts a slot: deadlines are half nanoseconds.
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

/// Varghese and Lauck 1987: wheels of 256 ticks, each tick of one wheel a turn of the one below; the lowest tick is 1,024 half
/// nanoseconds.
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

//! Records of what was heard within the window, ten bytes a frame, and the sums over them.
//!
//! # Checked by
//! `delivery::tests`: the sums against a recount, the size of a record.

use alloc::boxed::Box;
use alloc::vec;

/// What a record counts: frames with a counter per receiver and TID, or frames of the shared counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Counter per receiver and TID, retry bit clear.
    First,
    /// Counter per receiver and TID, retry bit set.
    Retry,
    /// Counter per receiver and TID, never heard.
    Lost,
    /// Shared counter, to us, retry bit clear.
    SharedFirst,
    /// Shared counter, to us, retry bit set.
    SharedRetry,
    /// Shared counter, to others at our rate, retry bit clear.
    AlikeFirst,
    /// Shared counter, to others at our rate, retry bit set.
    AlikeRetry,
    /// Shared counter, to others at another rate.
    Alien,
    /// Shared counter, missing numbers.
    SharedLost,
}

/// Covers every four-bit value, so an index needs no check.
pub(super) const KINDS: usize = 16;

const COUNT_BITS: u16 = 12;
const COUNT_MASK: u16 = (1 << COUNT_BITS) - 1;
const BEGINS: u16 = 1 << 15;

/// One frame, or a run of lost frames.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(2))]
pub(super) struct Record {
    /// Arrival time in µs, modulo 2³².
    at_us: u32,
    /// Kind in the upper 4 bits, count in the lower 12.
    what: u16,
    /// Data rate, in units of 100 kb/s.
    rate: u16,
    /// Length in bytes, and in the top bit whether the frame starts an aggregate.
    length: u16,
}

/// Content of a record before it is packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) at_us: u32,
    pub(super) kind: Kind,
    /// 1 for a frame, or the number of lost frames, under 4096.
    pub(super) count: u16,
    /// In units of 100 kb/s.
    pub(super) rate: u16,
    pub(super) bytes: u16,
    pub(super) begins: bool,
}

/// Sums over the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sums {
    pub(super) frames: [u32; KINDS],
    /// Bytes of the measured frames.
    pub(super) bytes: u64,
    /// Sum of the bit times of measured frames of known rate, in ps.
    pub(super) bit_ps: u64,
    /// Measured frames of known rate.
    pub(super) rated: u32,
    /// Aggregates that the measured frames start.
    pub(super) aggregates: u32,
}

impl Entry {
    const fn pack(self) -> Record {
        let begins = if self.begins { BEGINS } else { 0 };
        Record {
            at_us: self.at_us,
            what: (self.kind as u16) << COUNT_BITS | (self.count & COUNT_MASK),
            rate: self.rate,
            length: (self.bytes & (BEGINS - 1)) | begins,
        }
    }
}

impl Record {
    const fn kind(self) -> usize {
        (self.what >> COUNT_BITS) as usize
    }

    const fn count(self) -> u32 {
        (self.what & COUNT_MASK) as u32
    }

    /// Whether this is a heard frame whose delivery is estimated.
    const fn is_measured(self) -> bool {
        const MEASURED: u16 = 1 << Kind::First as u16
            | 1 << Kind::Retry as u16
            | 1 << Kind::SharedFirst as u16
            | 1 << Kind::SharedRetry as u16;
        MEASURED >> self.kind() & 1 == 1
    }
}

/// Time per bit, in ps, at a rate in units of 100 kb/s. Both are zero if the rate is unknown. Keeps the last
/// result, because rates repeat and a division is slow.
#[derive(Debug, Clone, Copy)]
struct BitTime {
    rate: u16,
    ps: u64,
}

impl BitTime {
    const NONE: Self = Self { rate: 0, ps: 0 };

    #[inline]
    fn at(&mut self, rate: u16) -> u64 {
        if rate != self.rate {
            *self = Self {
                rate,
                ps: 10_000_000_u64.checked_div(rate.into()).unwrap_or_default(),
            };
        }
        self.ps
    }
}

impl Sums {
    #[inline]
    fn add(&mut self, record: Record, time: &mut BitTime) {
        self.frames[record.kind()] += record.count();
        if record.is_measured() {
            self.bytes += u64::from(record.length & (BEGINS - 1));
            self.bit_ps += time.at(record.rate);
            self.rated += u32::from(record.rate > 0);
            self.aggregates += u32::from(record.length >> 15);
        }
    }

    #[inline]
    fn remove(&mut self, record: Record, time: &mut BitTime) {
        self.frames[record.kind()] -= record.count();
        if record.is_measured() {
            self.bytes -= u64::from(record.length & (BEGINS - 1));
            self.bit_ps -= time.at(record.rate);
            self.rated -= u32::from(record.rate > 0);
            self.aggregates -= u32::from(record.length >> 15);
        }
    }
}

/// Records of one window, oldest first.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    records: Box<[Record]>,
    oldest: usize,
    len: usize,
    added: BitTime,
    removed: BitTime,
    pub(super) sums: Sums,
}

impl Ring {
    pub(super) fn new(records: usize) -> Self {
        Self {
            records: vec![Record::default(); records.max(1)].into_boxed_slice(),
            oldest: 0,
            len: 0,
            added: BitTime::NONE,
            removed: BitTime::NONE,
            sums: Sums::default(),
        }
    }

    /// Adds a record. A full ring drops its oldest one.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        if self.len == self.records.len() {
            self.pop();
        }
        let record = entry.pack();
        let at = self.oldest + self.len;
        let wrapped = if at >= self.records.len() {
            at - self.records.len()
        } else {
            at
        };
        self.records[wrapped] = record;
        self.len += 1;
        self.sums.add(record, &mut self.added);
    }

    #[inline]
    fn pop(&mut self) {
        self.sums.remove(self.records[self.oldest], &mut self.removed);
        self.oldest += 1;
        if self.oldest == self.records.len() {
            self.oldest = 0;
        }
        self.len -= 1;
    }

    /// Drops records older than `window_us`.
    #[inline]
    pub(super) fn expire(&mut self, now_us: u32, window_us: u32) {
        while self.len > 0 && now_us.wrapping_sub(self.records[self.oldest].at_us) > window_us {
            self.pop();
        }
    }

    /// Drops all records.
    pub(super) fn clear(&mut self) {
        (self.oldest, self.len) = (0, 0);
        self.sums = Sums::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_ten_bytes() {
        assert_eq!(size_of::<Record>(), 10);
    }

    #[test]
    fn a_full_ring_forgets_the_oldest() {
        let mut ring = Ring::new(3);
        let entry = |at_us, kind, count| Entry {
            at_us,
            kind,
            count,
            rate: 540,
            bytes: 1_500,
            begins: true,
        };
        for at_us in 0..4 {
            ring.push(entry(at_us, Kind::First, 1));
        }
        ring.push(entry(4, Kind::Lost, 2_047));
        assert_eq!(ring.sums.frames[Kind::First as usize], 2);
        assert_eq!(ring.sums.frames[Kind::Lost as usize], 2_047);
        assert_eq!((ring.sums.bytes, ring.sums.aggregates), (3_000, 2));
        ring.expire(10, 5);
        assert_eq!(ring.sums, Sums::default());
    }
}

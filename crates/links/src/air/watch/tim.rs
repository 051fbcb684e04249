//! Which clients an access point buffers packets for, as its beacons announce it: association identifiers and
//! the traffic indication map.
//!
//! # Sources
//! - IEEE 802.11-2016 §9.4.1.8 (identifiers: 1 to 2007, with the two top bits set where a frame carries one),
//!   §9.4.2.6 (the TIM element: DTIM count and period, bitmap control, the partial virtual bitmap from octet
//!   N1, which is even, to octet N2).
//!
//! # Where we differ, and why
//! 1. Every beacon is one with a DTIM, and the bit for broadcast frames is never set, because none are
//!    buffered.
//!
//! # Checked by
//! `tests`; in `sim`: `tests/capture.rs`, where tshark reads it.

use alloc::vec::Vec;

/// An association identifier: 1 to 2007.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aid(u16);

impl Aid {
    /// Lowest identifier.
    pub const FIRST: Self = Self(1);
    /// Highest identifier.
    pub const LAST: Self = Self(2_007);

    /// The identifier with this number. `None`: there is no such identifier.
    pub const fn new(number: u16) -> Option<Self> {
        if number >= Self::FIRST.0 && number <= Self::LAST.0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The identifier as frames carry it.
    pub const fn field(self) -> u16 {
        0xc000 | self.0
    }

    /// Lowest identifier that is not among these. `None`: all are assigned.
    pub fn free(mut taken: Vec<Self>) -> Option<Self> {
        taken.sort_unstable();
        let first = (1_u16..).zip(&taken).find(|(number, aid)| *number != aid.0);
        Self::new(first.map_or(taken.len() as u16 + 1, |(number, _)| number))
    }
}

const ELEMENT: u8 = 5;
/// The virtual bitmap: a bit for each identifier from 0 to 2007.
const OCTETS: usize = 251;
const DTIM_COUNT: u8 = 0;
const DTIM_PERIOD: u8 = 1;

/// Traffic indication map: the clients that an access point buffered packets for when it made a beacon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tim([u8; OCTETS]);

impl Tim {
    /// A map that announces nobody.
    pub const EMPTY: Self = Self([0; OCTETS]);

    /// A map that announces these clients.
    pub fn of(held: impl IntoIterator<Item = Aid>) -> Self {
        let mut map = Self::EMPTY;
        for aid in held {
            map.0[usize::from(aid.0 / 8)] |= 1 << (aid.0 % 8);
        }
        map
    }

    /// Whether the map announces packets for this client.
    pub const fn holds(&self, aid: Aid) -> bool {
        self.0[(aid.0 / 8) as usize] >> (aid.0 % 8) & 1 == 1
    }

    /// The part of the bitmap that is sent, and the number of its first octet. That octet is even and no
    /// earlier one has a bit set. The part ends with the last octet that has a bit set.
    fn partial(&self) -> (usize, &[u8]) {
        let has = |octet: &u8| *octet != 0;
        let (Some(first), Some(last)) = (self.0.iter().position(has), self.0.iter().rposition(has)) else {
            return (0, &self.0[..1]);
        };
        let first = first & !1;
        (first, &self.0[first..=last])
    }

    /// Number of octets beyond those of a map of one octet.
    pub(in crate::air) fn more_bytes(&self) -> u32 {
        self.partial().1.len() as u32 - 1
    }

    /// Appends the element.
    pub(in crate::air) fn write(&self, out: &mut Vec<u8>) {
        let (first, octets) = self.partial();
        // The offset, half of the first octet's number, is in the upper seven bits.
        let control = first as u8;
        let length = 3 + octets.len() as u8;
        out.extend_from_slice(&[ELEMENT, length, DTIM_COUNT, DTIM_PERIOD, control]);
        out.extend_from_slice(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    fn aid(number: u16) -> Aid {
        Aid::new(number).unwrap()
    }

    fn element(held: &[u16]) -> Vec<u8> {
        let mut out = Vec::new();
        Tim::of(held.iter().copied().map(aid)).write(&mut out);
        out
    }

    #[test]
    fn the_bitmap_begins_at_an_even_octet_and_ends_at_the_last_that_is_needed() {
        assert_eq!(element(&[]), [5, 4, 0, 1, 0, 0x00]);
        assert_eq!(element(&[1]), [5, 4, 0, 1, 0, 0x02]);
        assert_eq!(element(&[2, 7]), [5, 4, 0, 1, 0, 0x84]);
        assert_eq!(element(&[2, 7, 22, 24]), [5, 7, 0, 1, 0, 0x84, 0x00, 0x40, 0x01]);
        // 24 is the first bit of octet 3, and octet 2 is the even one before it.
        assert_eq!(element(&[24]), [5, 5, 0, 1, 2, 0x00, 0x01]);
        assert_eq!(element(&[16, 31]), [5, 5, 0, 1, 2, 0x01, 0x80]);
        assert_eq!(element(&[2_007]), [5, 4, 0, 1, 250, 0x80]);
    }

    #[test]
    fn the_least_free_identifier_is_given() {
        assert_eq!(Aid::free(Vec::new()), Aid::new(1));
        assert_eq!(Aid::free(Vec::from([aid(2), aid(1), aid(4)])), Aid::new(3));
        assert_eq!(Aid::free(Vec::from([aid(2), aid(3)])), Aid::new(1));
        assert_eq!(Aid::free((1..=2_007).map(aid).collect()), None);
        assert_eq!((Aid::new(0), Aid::new(2_008)), (None, None));
        assert_eq!(aid(1).field(), 0xc001);
    }

    /// Decodes an element as a receiver does (§9.4.2.6).
    fn read(element: &[u8]) -> BTreeSet<u16> {
        let [5, length, 0, 1, control, octets @ ..] = element else {
            panic!("{element:?}")
        };
        assert_eq!(usize::from(*length), element.len() - 2);
        assert_eq!(control & 1, 0, "nothing is held for everybody");
        let first = u16::from(control >> 1) * 2 * 8;
        let bits = (first..).zip(
            octets
                .iter()
                .flat_map(|octet| (0..8).map(move |bit| octet >> bit & 1 == 1)),
        );
        bits.filter(|&(_, held)| held).map(|(number, _)| number).collect()
    }

    proptest! {
        #[test]
        fn whoever_reads_it_finds_those_and_nobody_else(held in prop::collection::btree_set(1_u16..=2_007, 0..40)) {
            let numbers: Vec<u16> = held.iter().copied().collect();
            prop_assert_eq!(read(&element(&numbers)), held.clone());
            let map = Tim::of(held.iter().copied().map(aid));
            for number in 1..=2_007 {
                prop_assert_eq!(map.holds(aid(number)), held.contains(&number));
            }
        }
    }
}

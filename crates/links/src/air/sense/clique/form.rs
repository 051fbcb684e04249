//! Which stations form cliques, and which of them hear whom.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::{ALONE, Clique, Cliques, MOST, Reach};
use crate::air::sense::hearing::{Audience, Run};
use crate::air::sense::radio::Radio;

/// Cliques so far, and who hears their members, by the first member, channel and timing.
type Known = BTreeMap<(u32, u8, u8), Vec<(u16, Vec<Run>)>>;

impl Cliques {
    /// Finds the cliques of at least this many stations among the first `count` with audiences. Records in
    /// the audiences which members hear whom.
    pub(in crate::air) fn form(
        radios: &[Radio],
        count: usize,
        audiences: &mut [Audience],
        least: u32,
    ) -> Self {
        let mut found = Self {
            all: Vec::new(),
            of: vec![ALONE; audiences.len()],
        };
        let mut known = Known::new();
        for (station, radio) in radios.iter().enumerate().take(count) {
            let hearers = audiences[station].all_and(station as u32);
            let Some(lead) = hearers.first() else { continue };
            let known = known
                .entry((lead.start, radio.channel, radio.timing))
                .or_default();
            let same = known.iter().rev().find(|(_, theirs)| *theirs == hearers);
            let near = same.filter(|(of, _)| found.all[usize::from(*of)].place(station) < MOST);
            let of = near.map_or(found.all.len() as u16, |&(of, _)| of);
            if of == ALONE {
                return Self::default();
            }
            if near.is_none() {
                found.all.push(Clique::new(station as u32, *radio));
                known.push((of, hearers));
            }
            found.of[station] = of;
            let clique = &mut found.all[usize::from(of)];
            clique.members |= 1 << clique.place(station);
        }
        found.keep_large(least);
        for (station, audience) in audiences.iter_mut().enumerate() {
            audience.reach = found.reach(station as u32, audience).map(Box::new);
        }
        found
    }

    fn keep_large(&mut self, least: u32) {
        let large = |clique: &Clique| clique.members.count_ones() >= least;
        let mut kept = 0;
        let numbers: Vec<u16> = (self.all.iter())
            .map(|clique| {
                let number = if large(clique) { kept } else { ALONE };
                kept += u16::from(large(clique));
                number
            })
            .collect();
        self.all.retain(large);
        for of in self.of.iter_mut().filter(|of| **of != ALONE) {
            *of = numbers[usize::from(*of)];
        }
        if self.all.is_empty() {
            *self = Self::default();
        }
    }

    /// Which cliques hear a station. `None`: no member of any clique does.
    fn reach(&self, from: u32, audience: &Audience) -> Option<Reach> {
        let of = |station: u32| self.of.get(station as usize).copied().unwrap_or(ALONE);
        // How many of each clique do, and for whom it is loud.
        let mut hearing: BTreeMap<u16, (u32, u64)> = BTreeMap::new();
        let mut hears = |station: u32, loud: u64| {
            if let Some(clique) = self.all.get(usize::from(of(station))) {
                let (count, bits) = hearing.entry(of(station)).or_default();
                *count += 1;
                *bits |= loud << clique.place(station as usize);
            }
        };
        audience
            .loud
            .runs()
            .flatten()
            .for_each(|station| hears(station, 1));
        audience
            .faint
            .runs()
            .flatten()
            .for_each(|station| hears(station, 0));
        if hearing.is_empty() {
            return None;
        }
        let (mut whole, mut partly) = (Vec::new(), Vec::new());
        for (number, (count, loud)) in hearing {
            let members = self.all[usize::from(number)].members.count_ones();
            if count + u32::from(of(from) == number) == members {
                whole.push((number, loud));
            } else {
                partly.push(number);
            }
        }
        let is_other = |station: &u32| !whole.iter().any(|&(number, _)| number == of(*station));
        Some(Reach {
            loud: audience.loud.runs().flatten().filter(is_other).collect(),
            faint: audience.faint.runs().flatten().filter(is_other).collect(),
            whole,
            partly,
        })
    }
}

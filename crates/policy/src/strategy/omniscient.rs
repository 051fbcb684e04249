//! The best single path with knowledge of the next ten seconds: a baseline.
//!
//! # Sources
//! - mobiarch11 §3.1, §3.2: "Optimal TCP": one path at a time, the best one of every 10 s, changed without
//!   cost.
//!
//! # Where we differ, and why
//! 1. Among equals it keeps the present one.
//! 2. If no link could be chosen when a slot began, the first one that can is used for the rest of it.
//!
//! The policy [`crate::Policy::Omniscient`] runs it in worlds that know their future
//! ([`crate::LinkEvent::Foreseen`]).
//!
//! # Checked by
//! `tests` below; `tests/engine_baselines.rs`.

use crate::io::LinkId;
use units::{Bytes, Duration, Instant};

/// How long a choice stays. Slots are counted from the world's start.
pub const SLOT: Duration = Duration::from_secs(10);

/// The best single path of every slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OmniscientPath {
    slot: Option<u64>,
    link: Option<LinkId>,
}

impl OmniscientPath {
    /// The link at this time. `foreseen` is what each link would carry in the slot. It is read when a slot
    /// starts, and while no link is chosen. Links that would carry nothing are not chosen.
    pub fn link(&mut self, now: Instant, foreseen: &[(LinkId, Bytes)]) -> Option<LinkId> {
        let slot = now.as_nanos() / SLOT.as_nanos() as u64;
        if self.slot.replace(slot) != Some(slot) || self.link.is_none() {
            let held = self.link;
            self.link = foreseen
                .iter()
                .filter(|(_, carries)| *carries > Bytes::ZERO)
                .max_by_key(|(link, carries)| (*carries, Some(*link) == held, core::cmp::Reverse(*link)))
                .map(|(link, _)| *link);
        }
        self.link
    }

    /// When the next slot begins.
    pub fn wake_at(&self) -> Option<Instant> {
        let next = self.slot?.checked_add(1)?;
        Some(Instant::ZERO + SLOT * u32::try_from(next).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LinkId = LinkId(0);
    const B: LinkId = LinkId(1);

    fn foreseen(a: u64, b: u64) -> [(LinkId, Bytes); 2] {
        [(A, Bytes::new(a)), (B, Bytes::new(b))]
    }

    #[test]
    fn chooses_the_best_of_every_ten_seconds() {
        let mut path = OmniscientPath::default();
        assert_eq!(path.wake_at(), None);
        let mut at = |ms, a, b| path.link(Instant::from_millis(ms), &foreseen(a, b));
        assert_eq!(at(3_000, 5, 6), Some(B));
        assert_eq!(at(9_999, 9, 6), Some(B));
        assert_eq!(at(10_000, 9, 6), Some(A));
        assert_eq!(at(20_000, 7, 7), Some(A));
        assert_eq!(at(30_000, 0, 0), None);
        assert_eq!(at(31_000, 0, 7), Some(B), "better late than not at all");
        assert_eq!(at(45_000, 7, 7), Some(B), "the present one");
        assert_eq!(path.wake_at(), Some(Instant::from_secs(50)));
    }

    #[test]
    fn among_new_equals_it_chooses_the_first_and_then_stays() {
        let mut path = OmniscientPath::default();
        assert_eq!(path.link(Instant::ZERO, &foreseen(1, 2)), Some(B));
        assert_eq!(path.link(Instant::from_secs(10), &foreseen(2, 2)), Some(B));
        assert_eq!(
            OmniscientPath::default().link(Instant::ZERO, &foreseen(2, 2)),
            Some(A)
        );
    }

    #[test]
    fn never_carries_less_than_any_single_link() {
        let mut rng = units::Rng::named(1, "slots");
        for _ in 0..100 {
            let slots: Vec<(u64, u64)> = (0..30).map(|_| (rng.below(1_000), rng.below(1_000))).collect();
            let mut path = OmniscientPath::default();
            let mut total = 0;
            for (slot, &(a, b)) in (0..).zip(&slots) {
                let chosen = path.link(Instant::ZERO + SLOT * slot, &foreseen(a, b));
                total += if chosen == Some(A) { a } else { b };
            }
            let alone = [
                slots.iter().map(|s| s.0).sum::<u64>(),
                slots.iter().map(|s| s.1).sum(),
            ];
            assert!(
                alone.iter().all(|&alone| total >= alone),
                "{total} against {alone:?}"
            );
        }
    }
}

//! Finds the busiest link: the one that delivered most bytes in the last second.

use links::LinkId;
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Duration, Instant};

const LOOK_BACK: Duration = Duration::from_secs(1);

/// Keeps the totals of the last second.
#[derive(Debug, Default)]
pub(super) struct Busiest {
    history: VecDeque<(Instant, Vec<Bytes>)>,
    chosen: BTreeMap<u32, LinkId>,
}

impl Busiest {
    /// Records how much each link has delivered since the start.
    pub(super) fn remember(&mut self, now: Instant, totals: Vec<Bytes>) {
        self.history.push_back((now, totals));
        // Keep the latest entry that is at least a second old: the second is counted from it.
        while self
            .history
            .get(1)
            .is_some_and(|(at, _)| now.since(*at) >= LOOK_BACK)
        {
            self.history.pop_front();
        }
    }

    /// The busiest link of `round`: chosen on the first call, then kept.
    pub(super) fn of(&mut self, round: u32, totals: &[Bytes]) -> LinkId {
        let before = self.history.front().map_or(&[][..], |(_, totals)| totals);
        *self.chosen.entry(round).or_insert_with(|| {
            let gained = totals.iter().enumerate().map(|(link, total)| {
                let gained = *total - before.get(link).copied().unwrap_or_default();
                // The first of equal ones.
                (gained, std::cmp::Reverse(link as u16))
            });
            LinkId(gained.max().map_or(0, |(_, link)| link.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(all: [u64; 3]) -> Vec<Bytes> {
        all.map(Bytes::new).into()
    }

    #[test]
    fn the_busiest_link_is_chosen_by_the_last_second_and_kept() {
        let mut busiest = Busiest::default();
        let totals = |tenth: u64| match tenth {
            0..20 => bytes([tenth * 100, 0, 0]),
            _ => bytes([2_000, (tenth - 20) * 10, (tenth - 20) * 50]),
        };
        for tenth in 0..40 {
            busiest.remember(Instant::from_millis(tenth * 100), totals(tenth));
        }
        assert_eq!(
            busiest.of(1, &totals(40)),
            LinkId(2),
            "the first link was busy earlier"
        );
        assert_eq!(
            busiest.of(1, &bytes([9_999_999, 0, 0])),
            LinkId(2),
            "one round, one link"
        );
        assert_eq!(busiest.of(2, &bytes([9_999_999, 0, 0])), LinkId(0));
    }

    #[test]
    fn equal_links_give_the_first_as_busiest() {
        assert_eq!(Busiest::default().of(0, &bytes([5, 5, 5])), LinkId(0));
    }
}

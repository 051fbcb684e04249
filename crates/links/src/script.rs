//! The script of a run: walks and faults, and which links they apply to.

use crate::{Condition, Direction, Fault, LinkId, Other, Position};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use units::{Bytes, Duration, Instant};

/// A step of the script that a run follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// When.
    pub at: Instant,
    /// What.
    pub step: Step,
}

/// A scripted change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The client's radio moves here.
    Move(Position),
    /// The radios of another host, or another station, move here.
    MoveOther(Other, Position),
    /// The access point of this link is carried here.
    Carry(LinkId, Position),
    /// A fault begins or is fixed.
    Fault(FaultTarget, Fault),
    /// The link hands out a different address next. The network itself knows no addresses.
    Renew(FaultTarget),
}

/// The link that a step applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultTarget {
    /// This link.
    Link(LinkId),
    /// The link that delivered most in the second before the first step with this number. All steps with the
    /// number share it.
    Busiest(u32),
}

/// The condition of every link at a moment, as faults that were applied at these times have left it.
pub fn conditions(
    faults: impl IntoIterator<Item = (Instant, LinkId, Fault)>,
    links: usize,
    at: Instant,
    direction: Direction,
) -> Vec<Condition> {
    let (mut down, mut hole) = (vec![false; links], vec![false; links]);
    let mut conditions = vec![Condition::default(); links];
    for (_, link, fault) in faults.into_iter().filter(|(applied, ..)| *applied <= at) {
        let link = usize::from(link.0);
        match fault {
            Fault::Blackhole(on) => hole[link] = on,
            Fault::Down(on) => down[link] = on,
            Fault::Attenuation(loss) => conditions[link].attenuation = loss,
            Fault::Rate { up, down } => {
                conditions[link].rate = Some(if direction == Direction::Up { up } else { down });
            }
        }
        conditions[link].gone = hole[link] || down[link];
    }
    conditions
}

/// Period over which the busiest link is determined.
const LOOK_BACK: Duration = Duration::from_secs(1);

/// Finds the busiest link: the one that delivered most bytes in the last second.
#[derive(Debug, Default)]
pub struct Busiest {
    history: VecDeque<(Instant, Vec<Bytes>)>,
    chosen: BTreeMap<u32, LinkId>,
}

impl Busiest {
    /// Records how much each link has delivered since the start.
    pub fn remember(&mut self, now: Instant, totals: Vec<Bytes>) {
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
    pub fn of(&mut self, round: u32, totals: &[Bytes]) -> LinkId {
        let before = self.history.front().map_or(&[][..], |(_, totals)| totals);
        *self.chosen.entry(round).or_insert_with(|| {
            let gained = totals.iter().enumerate().map(|(link, total)| {
                let gained = *total - before.get(link).copied().unwrap_or_default();
                // The first of equal ones.
                (gained, core::cmp::Reverse(link as u16))
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

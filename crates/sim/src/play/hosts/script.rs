//! The script of a run: faults and the client's walk, in the order of time.
//!
//! # Where we differ, and why
//! 1. The busiest link of the last second is found from totals of every 100 ms, as in the lab.

use links::{Condition, Direction, Fault, Input, LinkId, Position};
use scenario::{Effect, FaultTarget, Plan, models};
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Duration, Instant};

/// Interval between updates of the client's position while it walks.
const STRIDE: Duration = Duration::from_millis(100);
/// Period over which the busiest link is determined.
const LOOK_BACK: Duration = Duration::from_secs(1);

/// What is still to happen, and which faults have happened.
#[derive(Debug)]
pub(super) struct Script {
    steps: VecDeque<(Instant, Step)>,
    /// Bytes that each link had delivered, for the last second.
    history: VecDeque<(Instant, Vec<Bytes>)>,
    /// The link that each round of a fault affects.
    chosen: BTreeMap<(usize, u32), LinkId>,
    faults: Vec<(Instant, LinkId, Fault)>,
}

/// A step, before its link is chosen.
#[derive(Debug, Clone, Copy)]
enum Step {
    Fault(usize, FaultTarget, Fault),
    Renew(usize, FaultTarget),
    Move(Position),
}

/// A step that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// This happens to the links.
    Links(Input),
    /// A link has another address from now on.
    Renew(LinkId),
}

impl Script {
    /// The script of a run with this seed.
    pub(super) fn new(plan: &Plan, seed: u64) -> Self {
        let faults = plan.timeline(seed).into_iter().map(|event| {
            let step = match fault(event.effect) {
                Some(fault) => Step::Fault(event.fault, event.whom, fault),
                None => Step::Renew(event.fault, event.whom),
            };
            (Instant::ZERO + event.at, step)
        });
        let mut steps: Vec<_> = walk(plan).chain(faults).collect();
        // The sort is stable: steps of the timeline at one moment keep their order.
        steps.sort_by_key(|(at, _)| *at);
        Self {
            steps: steps.into(),
            history: VecDeque::new(),
            chosen: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    /// When the next step is due.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.steps.front().map(|(at, _)| *at)
    }

    /// The next step that is due, for links that have delivered these bytes.
    pub(super) fn next(&mut self, now: Instant, totals: impl Fn() -> Vec<Bytes>) -> Option<Due> {
        let (at, step) = self.steps.pop_front_if(|(at, _)| *at <= now)?;
        Some(match step {
            Step::Move(position) => Due::Links(Input::Moved(position)),
            Step::Renew(number, whom) => Due::Renew(self.link(number, whom, totals)),
            Step::Fault(number, whom, fault) => {
                let link = self.link(number, whom, totals);
                self.faults.push((at, link, fault));
                Due::Links(Input::Fault(link, fault))
            }
        })
    }

    /// The link that a fault of this number affects.
    fn link(&mut self, number: usize, whom: FaultTarget, totals: impl Fn() -> Vec<Bytes>) -> LinkId {
        match whom {
            FaultTarget::Link(link) => LinkId(link as u16),
            FaultTarget::Busiest { round } => self.busiest((number, round), &totals()),
        }
    }

    /// Records how much each link has delivered since the start.
    pub(super) fn remember(&mut self, now: Instant, totals: Vec<Bytes>) {
        self.history.push_back((now, totals));
        // The latest entry that is at least a second old stays: the second is counted from it.
        while self
            .history
            .get(1)
            .is_some_and(|(at, _)| now.since(*at) >= LOOK_BACK)
        {
            self.history.pop_front();
        }
    }

    /// The busiest link of a round: chosen on the first call, then kept.
    fn busiest(&mut self, round: (usize, u32), totals: &[Bytes]) -> LinkId {
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

    /// The condition of every link at that moment, as faults have left it.
    pub(super) fn conditions(&self, links: usize, at: Instant, direction: Direction) -> Vec<Condition> {
        let mut gone = vec![[false; 2]; links];
        let mut conditions = vec![Condition::default(); links];
        for &(_, link, fault) in self.faults.iter().take_while(|(since, ..)| *since <= at) {
            let link = usize::from(link.0);
            match fault {
                Fault::Blackhole(on) => gone[link][0] = on,
                Fault::Down(on) => gone[link][1] = on,
                Fault::Attenuation(loss) => conditions[link].attenuation = loss,
                Fault::Rate { up, down } => {
                    conditions[link].rate = Some(if direction == Direction::Up { up } else { down });
                }
            }
            conditions[link].gone = gone[link].contains(&true);
        }
        conditions
    }
}

/// The fault of the links' models. `None`: they know no addresses.
const fn fault(effect: Effect) -> Option<Fault> {
    Some(match effect {
        Effect::Blackhole(on) => Fault::Blackhole(on),
        Effect::Down(down) => Fault::Down(down),
        Effect::Rate { up, down } => Fault::Rate { up, down },
        Effect::Attenuation(loss) => Fault::Attenuation(loss),
        Effect::NewAddress => return None,
    })
}

/// The client's position every [`STRIDE`], as long as it moves.
fn walk(plan: &Plan) -> impl Iterator<Item = (Instant, Step)> + '_ {
    let strides = (plan.duration.as_nanos() / STRIDE.as_nanos()) as u32;
    let client = plan.walkers.first();
    (1..=strides).filter_map(move |stride| {
        let (before, after) = (STRIDE * (stride - 1), STRIDE * stride);
        let there = client?.position(after);
        let moves = client?.position(before) != there;
        moves.then(|| (Instant::ZERO + after, Step::Move(models::position(there))))
    })
}

/// A fault in words.
pub(super) fn in_words(fault: Fault) -> String {
    match fault {
        Fault::Blackhole(true) => "drops everything silently".to_owned(),
        Fault::Blackhole(false) => "delivers again".to_owned(),
        Fault::Down(true) => "is down".to_owned(),
        Fault::Down(false) => "is up again".to_owned(),
        Fault::Rate { up, down } => format!("now {down} down, {up} up"),
        Fault::Attenuation(loss) => format!("signal weaker by {loss}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::common::plan;

    const CABLES: &str = "sentence = \"x\"\nduration_s = 10\n[cables.left]\nrate_mbps = 20\nrtt_ms = 20\n\
                          [cables.right]\nrate_mbps = 10\nrtt_ms = 40\n[flows.download]\ndirection = \"down\"\n";

    #[test]
    fn a_fault_of_the_busiest_link_ends_on_the_same_link() {
        let fault = "[[faults]]\nat_s = 2\nfor_s = 1\nlink = \"busiest\"\nkind = \"blackhole\"\n";
        let mut script = Script::new(&plan(&format!("{CABLES}{fault}"), &[]), 1);
        let totals = |left, right| [left, right].map(Bytes::new).to_vec();
        script.remember(Instant::ZERO, totals(0, 0));
        script.remember(Instant::from_secs(1), totals(900, 100));
        script.remember(Instant::from_secs(2), totals(950, 300));
        assert!(
            script
                .next(Instant::from_millis(1_999), || totals(0, 0))
                .is_none()
        );
        let right = LinkId(1);
        let began = script.next(Instant::from_secs(2), || totals(950, 300));
        let hole = |on| Some(Due::Links(Input::Fault(right, Fault::Blackhole(on))));
        assert_eq!(began, hole(true));
        let ended = script.next(Instant::from_secs(3), || totals(9_999, 300));
        assert_eq!(ended, hole(false));
        let gone = |ms| script.conditions(2, Instant::from_millis(ms), Direction::Down)[1].gone;
        assert_eq!([1_999, 2_000, 3_000].map(gone), [false, true, false]);
    }
}

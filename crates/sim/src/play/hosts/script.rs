//! The script of a run: what is still to happen, and which faults have happened.
//!
//! # Where we differ, and why
//! 1. The busiest link of the last second is found from totals of every 100 ms, as in the lab.

use super::forecast::Forecast;
use links::{
    Busiest, Condition, Direction, Fault, FaultTarget, Input, LinkId, NetworkConfig, Scheduled, Step,
};
use scenario::{Plan, models};
use std::collections::VecDeque;
use units::{Bytes, Instant};

/// The script, and the faults so far.
#[derive(Debug)]
pub(super) struct Script {
    steps: VecDeque<Scheduled>,
    busiest: Busiest,
    faults: Vec<(Instant, LinkId, Fault)>,
    /// Computed when it is first asked for: few policies need it.
    forecast: Option<Forecast>,
}

/// A step that is due, with its link.
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
        Self {
            steps: models::script(plan, seed).into(),
            busiest: Busiest::default(),
            faults: Vec::new(),
            forecast: None,
        }
    }

    /// When the next step is due.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.steps.front().map(|step| step.at)
    }

    /// The next step that is due, for links that have delivered these bytes.
    pub(super) fn next(&mut self, now: Instant, totals: impl FnOnce() -> Vec<Bytes>) -> Option<Due> {
        let Scheduled { at, step } = self.steps.pop_front_if(|step| step.at <= now)?;
        Some(match step {
            Step::Move(position) => Due::Links(Input::Moved(position)),
            Step::MoveOther(other, position) => Due::Links(Input::MovedOther(other, position)),
            Step::Carry(link, position) => Due::Links(Input::Carried(link, position)),
            Step::Renew(whom) => Due::Renew(self.link(whom, totals)),
            Step::Fault(whom, fault) => {
                let link = self.link(whom, totals);
                self.faults.push((at, link, fault));
                Due::Links(Input::Fault(link, fault))
            }
        })
    }

    fn link(&mut self, whom: FaultTarget, totals: impl FnOnce() -> Vec<Bytes>) -> LinkId {
        match whom {
            FaultTarget::Link(link) => link,
            FaultTarget::Busiest(round) => self.busiest.of(round, &totals()),
        }
    }

    /// Records how much each link has delivered since the start.
    pub(super) fn remember(&mut self, now: Instant, totals: Vec<Bytes>) {
        self.busiest.remember(now, totals);
    }

    /// What this link would carry from `now` on, in one slot of the policies that need to know it.
    pub(super) fn foreseen(&mut self, link: usize, now: Instant, of: (&Plan, &NetworkConfig, u64)) -> Bytes {
        let (plan, network, seed) = of;
        let forecast = self
            .forecast
            .get_or_insert_with(|| Forecast::new(plan, network, seed));
        forecast.of(link, now)
    }

    /// The condition of every link at that moment, as faults have left it.
    pub(super) fn conditions(&self, links: usize, at: Instant, direction: Direction) -> Vec<Condition> {
        links::conditions(self.faults.iter().copied(), links, at, direction)
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

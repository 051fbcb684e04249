//! What each link would carry in the near future, for policies that need to know it: virtual time knows the
//! models, the walk and the faults in advance.
//!
//! # Where we differ, and why
//! 1. It is what the models allow without fading, shadowing, contention or other traffic: what those leave is
//!    known only after the run.
//! 2. A fault of the busiest link is not foreseen: which link that is depends on the run.
//! 3. After the end of the run, everything stays as it is at its end.
//!
//! # Checked by
//! `tests` below; `tests/host_policies.rs`.

use links::{Fault, FaultTarget, LinkId, NetworkConfig, Step};
use policy::omniscient::SLOT;
use scenario::{Plan, models};
use trace::SERIES_BIN;
use units::{Bytes, Instant};

/// What each link could carry if it were used.
#[derive(Debug)]
pub(super) struct Forecast {
    /// Per link: bytes from the start of the run to each multiple of [`SERIES_BIN`].
    links: Vec<Vec<Bytes>>,
}

impl Forecast {
    /// For a run with this seed over this network.
    pub(super) fn new(plan: &Plan, network: &NetworkConfig, seed: u64) -> Self {
        let faults = faults(plan, seed);
        let count = plan.links.len();
        let conditions = |at, direction| links::conditions(faults.iter().copied(), count, at, direction);
        let lasts = plan.duration + SLOT;
        let of_link = |link| {
            let mut total = Bytes::ZERO;
            let rates = models::alone(plan, network, link, lasts, conditions).into_iter();
            let sums = rates.map(|rate| {
                total += rate * SERIES_BIN;
                total
            });
            std::iter::once(Bytes::ZERO).chain(sums).collect()
        };
        Self {
            links: (0..count).map(of_link).collect(),
        }
    }

    /// What this link would carry from `now` on in one [`SLOT`].
    pub(super) fn of(&self, link: usize, now: Instant) -> Bytes {
        let sums = &self.links[link];
        let bin = |at: Instant| {
            let bin = at.as_nanos() / SERIES_BIN.as_nanos() as u64;
            sums[(bin as usize).min(sums.len() - 1)]
        };
        bin(now + SLOT) - bin(now)
    }
}

/// Faults of links that are known in advance.
fn faults(plan: &Plan, seed: u64) -> Vec<(Instant, LinkId, Fault)> {
    let steps = models::script(plan, seed).into_iter();
    let known = steps.filter_map(|scheduled| match scheduled.step {
        Step::Fault(FaultTarget::Link(link), fault) => Some((scheduled.at, link, fault)),
        Step::Fault(FaultTarget::Busiest(_), _)
        | Step::Renew(_)
        | Step::Move(_)
        | Step::MoveOther(..)
        | Step::Carry(..) => None,
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::common::plan;

    #[test]
    fn foresees_rates_and_faults_but_not_those_of_the_busiest_link() {
        let text = "sentence = \"x\"\nduration_s = 30\n[cables.left]\nrate_mbps = 15\nrtt_ms = 20\n\
                    [cables.right]\nrate_mbps = 7.5\nrtt_ms = 40\n[flows.download]\ndirection = \"down\"\n\
                    [[faults]]\nat_s = 12\nfor_s = 4\nlink = \"left\"\nkind = \"blackhole\"\n\
                    [[faults]]\nat_s = 2\nfor_s = 1\nlink = \"busiest\"\nkind = \"blackhole\"\n";
        let plan = plan(text, &[]);
        let forecast = Forecast::new(&plan, &models::network(&plan, 1), 1);
        let carries = |link, s| forecast.of(link, Instant::from_secs(s)).get();
        // 1448 of 1500 bytes are payload.
        assert_eq!(carries(0, 0), 18_100_000);
        assert_eq!(carries(1, 0), 9_050_000);
        assert_eq!(carries(0, 10), 18_100_000 * 6 / 10);
        assert_eq!(carries(0, 14), 18_100_000 * 8 / 10);
        assert_eq!(carries(0, 29), 18_100_000);
    }
}

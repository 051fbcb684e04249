//! The daemon's output: pending facts for the engine, and observations for whoever records them.

use crate::daemon::api::error::chain;
use crate::daemon::api::observe::Observation;
use crate::daemon::api::setup::ObserveFn;
use policy::{Action, Input};
use std::collections::VecDeque;
use std::error::Error;
use units::Instant;

/// The queue of facts for the engine, and the observer.
pub(crate) struct Outlet {
    observe: ObserveFn,
    /// Facts that the engine has not processed yet.
    pub(crate) facts: VecDeque<Input>,
    /// The time of the latest event, for observations.
    pub(crate) now: Instant,
}

impl Outlet {
    pub(crate) fn new(observe: ObserveFn, now: Instant) -> Self {
        Self {
            observe,
            facts: VecDeque::new(),
            now,
        }
    }

    /// Appends a fact for the engine.
    pub(crate) fn tell(&mut self, input: Input) {
        self.facts.push_back(input);
    }

    pub(crate) fn observe(&mut self, observation: Observation<'_>) {
        (self.observe)(self.now, observation);
    }

    pub(crate) fn failed(&mut self, action: &Action, error: &dyn Error) {
        self.observe(Observation::Failed {
            action,
            why: &chain(error),
        });
    }

    pub(crate) fn trouble(&mut self, what: &str, error: &dyn Error) {
        self.observe(Observation::Trouble {
            what,
            why: &chain(error),
        });
    }

    /// Reports an error on a link, with the link's usual name.
    pub(crate) fn trouble_on(&mut self, link: &str, what: &str, error: &dyn Error) {
        self.trouble(&format!("{link}: {what}"), error);
    }
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outlet")
            .field("facts", &self.facts)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

//! The baselines that leave connections to the kernel: plain TCP over one link, and the kernel's own path
//! manager.
//!
//! # Sources
//! - nsdi15 §6.2.1, mobiarch11 §3.2: both papers compare with TCP over each link alone, and with MPTCP left
//!   to itself.
//! - Linux `Documentation/networking/mptcp.rst`: endpoints, from which the kernel's own path manager makes
//!   subflows.
//!
//! # Where we differ, and why
//! 1. Access points are associated as soon as they are heard, so that no baseline loses time that slowhand
//!    would not lose either.
//!
//! # Checked by
//! `tests::baselines`.

use crate::io::reason::Choice;
use crate::io::{LinkId, Verb};
use crate::known::path::Path;
use crate::known::state::State;
use crate::strategy::handover::audible;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use units::Instant;

/// Plain TCP over one link, associated whenever it is heard.
pub(crate) fn one_link(now: Instant, state: &mut State, link: LinkId) {
    if audible(now, state).contains(&link) {
        state.associate(now, link);
    }
    if state.paths.get(&link).is_some_and(Path::is_usable) {
        if state.route() != Some(link) {
            state.note(Some(link), None, Verb::Use, Choice::PlainTcp);
        }
        state.default_routes(link);
    }
}

/// Every link joined, an endpoint for each one with an address, and nothing else.
#[derive(Debug, Default)]
pub(crate) struct KernelPaths {
    endpoints: BTreeSet<LinkId>,
}

impl KernelPaths {
    pub(crate) fn decide(&mut self, now: Instant, state: &mut State) {
        for link in audible(now, state) {
            state.associate(now, link);
        }
        let usable: BTreeSet<LinkId> = state
            .paths
            .iter()
            .filter(|(_, path)| path.is_usable() && path.is_allowed())
            .map(|(&link, _)| link)
            .collect();
        let gone: Vec<LinkId> = self.endpoints.difference(&usable).copied().collect();
        let new: Vec<LinkId> = usable.difference(&self.endpoints).copied().collect();
        gone.into_iter().for_each(|link| state.endpoint(link, false));
        for link in new {
            state.endpoint(link, true);
            state.note(Some(link), None, Verb::Use, Choice::KernelPaths);
        }
        if state.route().is_none()
            && let Some(&first) = usable.first()
        {
            state.default_routes(first);
        }
        self.endpoints = usable;
    }
}

//! The baselines that leave connections to the kernel: plain TCP over one link, and the kernel's own path manager.

use crate::handover::audible;
use crate::io::LinkId;
use crate::path::Path;
use crate::state::State;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use units::Instant;

/// Plain TCP over one link: it is associated whenever it can be heard.
pub(crate) fn one_link(now: Instant, state: &mut State, link: LinkId) {
    if audible(now, state).contains(&link) {
        state.associate(now, link);
    }
    if state.paths.get(&link).is_some_and(Path::is_usable) {
        state.default_route(link);
    }
}

/// Every link joined, an endpoint for each that has an address, and nothing else.
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
        new.into_iter().for_each(|link| state.endpoint(link, true));
        if state.route().is_none()
            && let Some(&first) = usable.first()
        {
            state.default_route(first);
        }
        self.endpoints = usable;
    }
}

//! The baselines that only steer access points: nsdi15's marks, and one access point of a channel at a time.
//!
//! # Sources
//! - nsdi15 §5.2 (marks); FatVAP, juggler (one at a time). The steering itself is in
//!   [`crate::wifi::steering`].
//!
//! # Checked by
//! `tests/engine_steering.rs`.

use super::amendments::Amendments;
use super::handover::audible;
use super::kernel::KernelPaths;
use crate::choose::rank::{Use, Want};
use crate::io::reason::Choice;
use crate::io::{ConnId, LinkId};
use crate::known::state::State;
use crate::subflow::membership;
use crate::wifi::steer::Form;
use crate::wifi::steering::{Channels, Way};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::Instant;

/// As `mptcp`, with nsdi15's marks.
#[derive(Debug)]
pub(crate) struct Ecn {
    kernel: KernelPaths,
    channels: Channels,
}

impl Ecn {
    pub(crate) fn new(form: Form) -> Self {
        Self {
            kernel: KernelPaths::default(),
            channels: Channels::new(Way::Marking(form)),
        }
    }

    pub(crate) fn decide(&mut self, now: Instant, state: &mut State) {
        self.kernel.decide(now, state);
        self.channels.look(now, state);
    }
}

/// Every link joined, with one access point of a channel in use at a time.
#[derive(Debug)]
pub(crate) struct OneAtATime {
    amendments: Amendments,
    reported: BTreeMap<LinkId, Use>,
}

impl Default for OneAtATime {
    fn default() -> Self {
        Self {
            amendments: Amendments::of_one_at_a_time(),
            reported: BTreeMap::new(),
        }
    }
}

impl OneAtATime {
    pub(crate) fn decide(&mut self, now: Instant, state: &mut State) {
        for link in audible(now, state) {
            state.associate(now, link);
        }
        let usable = state.paths.iter().filter(|(_, path)| path.is_candidate());
        let mut wants: Vec<Want> = usable
            .map(|(&link, _)| Want::active(link, Choice::Healthy))
            .collect();
        self.amendments.apply(now, state, &mut wants);
        self.report(state, &wants);
        if state.route().is_none()
            && let Some(first) = wants.first()
        {
            state.default_routes(first.link);
        }
        let conns: Vec<ConnId> = state.conns.keys().copied().collect();
        for conn in conns {
            membership::fit(now, state, conn, &wants);
        }
    }

    /// Reports each change once.
    fn report(&mut self, state: &mut State, wants: &[Want]) {
        self.reported
            .retain(|link, _| wants.iter().any(|want| want.link == *link));
        for want in wants {
            if self.reported.insert(want.link, want.purpose) != Some(want.purpose) {
                state.note(Some(want.link), None, want.verb(), want.because);
            }
        }
    }
}

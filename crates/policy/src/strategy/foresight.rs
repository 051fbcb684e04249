//! The omniscient single path in the engine: uses one path at a time, in a world that reports the next ten
//! seconds.
//!
//! # Sources
//! - mobiarch11 §3.1: [`crate::omniscient`] decides.
//!
//! # Where we differ, and why
//! 1. The paper's path changes without cost. Here every usable link is associated beforehand, but the subflow
//!    has to be joined. A world that needs the paper's figure computes it from runs over single links.
//!
//! # Checked by
//! `tests/engine_baselines.rs`.

use crate::choose::rank::Want;
use crate::io::reason::Choice;
use crate::io::{ConnId, LinkId};
use crate::known::state::State;
use crate::strategy::handover::{audible, leave_others};
use crate::strategy::omniscient::OmniscientPath;
use crate::subflow::membership;
use alloc::vec::Vec;
use units::{Bytes, Instant};

/// One path at a time: the best of the next ten seconds.
#[derive(Debug, Default)]
pub(crate) struct Foresight {
    path: OmniscientPath,
    current: Option<LinkId>,
}

impl Foresight {
    pub(crate) fn decide(&mut self, now: Instant, state: &mut State) {
        for link in audible(now, state) {
            state.associate(now, link);
        }
        let usable = state.paths.iter().filter(|(_, path)| path.is_candidate());
        let foreseen: Vec<(LinkId, Bytes)> = usable
            .filter_map(|(&link, path)| Some((link, path.foreseen?)))
            .collect();
        let Some(link) = self.path.link(now, &foreseen) else {
            return;
        };
        let carries = foreseen.iter().find(|(known, _)| *known == link);
        let carries = carries.map_or(Bytes::ZERO, |(_, carries)| *carries);
        let want = Want::active(link, Choice::Foreseen { carries });
        if self.current.replace(link) != Some(link) {
            state.note(Some(link), None, want.verb(), want.because);
        }
        only(now, state, &[want]);
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.path.wake_at()
    }
}

/// Makes connections use these links and, once they do, no others.
pub(crate) fn only(now: Instant, state: &mut State, wants: &[Want]) {
    if let Some(first) = wants.first() {
        state.default_routes(first.link);
    }
    let conns: Vec<ConnId> = state.conns.keys().copied().collect();
    for conn in conns {
        membership::fit(now, state, conn, wants);
        leave_others(now, state, conn, wants);
    }
}

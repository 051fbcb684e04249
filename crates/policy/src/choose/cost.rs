//! Which links may be used, by trust and cost.
//!
//! Open or unknown networks are used only if the user allows their kind. A metered link is used until its cap
//! is reached, and again once the world reports a new metering period. A forbidden link is not associated
//! with and gets no subflow. Its subflows are closed, even if nothing else is left: otherwise the last
//! connection could exceed the cap.
//!
//! Traffic that arrives between two samples of the counter, or is in flight then, may exceed a cap. A user
//! who pays for every byte sets it a little lower.
//!
//! # Checked by
//! `tests/engine_cost.rs`.

use crate::io::reason::Access;
use crate::io::{ConnId, LinkId, SubflowId, Verb};
use crate::known::change::Change;
use crate::known::cost::Allowed;
use crate::known::state::State;
use alloc::vec::Vec;
use units::Instant;

/// Decides again which links may be used, and reports what changed.
pub(crate) fn judge(state: &mut State, allowed: Allowed) -> Change {
    let mut changed = Vec::new();
    for (&link, path) in &mut state.paths {
        if path.cost.judge(allowed) {
            changed.push(link);
        }
    }
    if changed.is_empty() {
        return Change::Counters;
    }
    changed.into_iter().for_each(|link| announce(state, link));
    Change::Shape
}

/// Closes what forbidden links carry.
pub(crate) fn evict(now: Instant, state: &mut State) {
    if !state.paths.values().any(|path| path.cost.refused.is_some()) {
        return;
    }
    let conns: Vec<ConnId> = state.conns.keys().copied().collect();
    for conn in conns {
        let refused = |link: &LinkId| {
            state
                .paths
                .get(link)
                .is_some_and(|path| path.cost.refused.is_some())
        };
        let doomed: Vec<SubflowId> = state
            .conns
            .get(&conn)
            .into_iter()
            .flat_map(|conn| conn.subflows.iter())
            .filter(|subflow| refused(&subflow.link))
            .map(|subflow| subflow.id)
            .collect();
        if !doomed.is_empty() {
            state.give_up(now, conn, &doomed);
        }
    }
}

/// Reports that a link is refused or may be used again, and leaves a refused one.
fn announce(state: &mut State, link: LinkId) {
    let refused = state.paths.get(&link).and_then(|path| path.cost.refused);
    match refused {
        Some(refused) => {
            state.note(Some(link), None, Verb::Refuse, Access::Refused(refused));
            state.leave(link);
        }
        None => state.note(Some(link), None, Verb::Retry, Access::Allowed),
    }
}

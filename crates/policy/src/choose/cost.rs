//! What a link may be used for: trust and money.
//!
//! Open or unknown networks are used only if the user allows their kind. A metered link is used until its cap
//! is reached, and again when the world says that a new metering period has begun. A link that may not be
//! used is not associated with and gets no subflow; what it carried is ended, also if nothing else is left: a
//! cap that is passed by the last connection is no cap.
//!
//! A cap is passed by what arrives between two readings of the counter, and by what is under way then: a user
//! who is billed for every byte sets it a little lower.
//!
//! # Checked by
//! `tests/engine_cost.rs`.

use crate::io::{ConnId, LinkId, SubflowId, Verb};
use crate::known::change::Change;
use crate::known::cost::Allowed;
use crate::known::state::State;
use alloc::string::String;
use alloc::vec::Vec;
use units::Instant;

/// Judges anew which links may be used, and says what changed.
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

/// Ends what links carry that may not be used any more.
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

/// Says that a link is refused, or may be used again, and leaves one that is refused.
fn announce(state: &mut State, link: LinkId) {
    let refused = state.paths.get(&link).and_then(|path| path.cost.refused);
    match refused {
        Some(refused) => {
            state.note(Some(link), None, Verb::Refuse, refused.why());
            state.leave(link);
        }
        None => state.note(
            Some(link),
            None,
            Verb::Retry,
            String::from("nothing speaks against its use any more"),
        ),
    }
}

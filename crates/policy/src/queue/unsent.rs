//! Caps the bytes that this host assigns to the subflows of a connection and has not sent.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: a subflow is given up to 64 KiB at a time,
//!   once its unsent bytes are under its limit.
//!
//! # Where we differ, and why
//! 1. The cap is one burst per subflow, whatever the links (the scheduler then adds one at most). A quarter
//!    of that cost 1 % on `window-upload`, and more only means more bytes to resend when a link dies. Like
//!    the window, it is set only where it matters: once more than a quarter of a megabyte is unsent. It then
//!    stays, since lifting it gains nothing.
//!
//! # Checked by
//! `tests::bounds`; `window-upload` in the benchmarks.

use super::tuning::{BACKLOG_WORTH_BOUNDING, UNSENT_LIMIT};
use crate::io::reason::Queue;
use crate::io::{Action, ConnId, Verb};
use crate::known::conn::Subflow;
use crate::known::state::State;
use units::{Bitrate, Bytes};

/// Sets the cap once more than a quarter of a megabyte is unsent.
pub(super) fn bound(state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let unsent: Bytes = conn.subflows.iter().map(|subflow| subflow.sample.unsent).sum();
    if conn.unsent_reason.is_none() && unsent > BACKLOG_WORTH_BOUNDING {
        let sends: Bitrate = conn.subflows.iter().map(Subflow::sends).sum();
        let why = Queue::Unsent {
            limit: UNSENT_LIMIT,
            unsent,
            lasts: sends.time_for(unsent),
        };
        conn.unsent_reason = Some(why);
        state.push(Action::Unsent(id, Some(UNSENT_LIMIT)));
        state.note(None, Some(id), Verb::Unsent, why);
    }
}

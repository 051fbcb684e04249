//! Which subflow of a connection is being replaced by another one over the same link.
//!
//! [`crate::subflow::renewal`] begins and ends that.

use crate::io::{LinkId, SubflowId};
use units::Instant;

/// What is replaced in one connection, and when that last began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Renewals {
    pub(crate) going_on: Option<Renewal>,
    pub(crate) last: Option<Instant>,
}

impl Renewals {
    /// Whether a subflow over this link is being replaced.
    pub(crate) fn is_over(&self, link: LinkId) -> bool {
        self.going_on.is_some_and(|renewal| renewal.link == link)
    }

    /// The other subflow over this link cannot come any more: its join was refused, not only late.
    pub(crate) fn join_failed(&mut self, link: LinkId) {
        self.going_on = self.going_on.filter(|renewal| renewal.link != link);
    }
}

/// A subflow that is about to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Renewal {
    pub(crate) old: SubflowId,
    pub(crate) link: LinkId,
    pub(crate) since: Instant,
}

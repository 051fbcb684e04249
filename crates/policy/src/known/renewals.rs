//! Which subflow of a connection is being replaced by another over the same link.
//!
//! [`crate::subflow::renewal`] starts and ends a replacement.

use crate::io::{LinkId, SubflowId};
use units::Instant;

/// What is being replaced in one connection, and when a replacement last began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Renewals {
    pub(crate) open: Option<Renewal>,
    pub(crate) last: Option<Instant>,
}

impl Renewals {
    /// Whether a subflow over this link is being replaced.
    pub(crate) fn is_over(&self, link: LinkId) -> bool {
        self.open.is_some_and(|renewal| renewal.link == link)
    }

    /// The replacement over this link cannot come: its join was refused, and is not merely late.
    pub(crate) fn join_failed(&mut self, link: LinkId) {
        self.open = self.open.filter(|renewal| renewal.link != link);
    }
}

/// A subflow that is to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Renewal {
    pub(crate) old: SubflowId,
    pub(crate) link: LinkId,
    pub(crate) since: Instant,
}

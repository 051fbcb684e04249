//! The path manager of a stock kernel, for the policies that leave connections to it: each link with an
//! endpoint is joined by each connection.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/pm_kernel.c` (`mptcp_pm_create_subflow_or_signal_addr`,
//!   `mptcp_nl_remove_subflow_and_signal_addr`).
//!
//! # Where we differ, and why
//! 1. The peer is told first that an address is gone, then the subflow is closed, in one step.

use policy::{ConnId, LinkId};
use std::collections::BTreeSet;

/// Links with an endpoint.
#[derive(Debug, Default)]
pub(super) struct Endpoints(BTreeSet<LinkId>);

/// What follows from a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// This connection joins over this link.
    Join(ConnId, LinkId),
    /// This connection gives up its subflows over this link.
    Part(ConnId, LinkId),
}

impl Endpoints {
    /// Adds or removes an endpoint, for these connections.
    pub(super) fn set(&mut self, link: LinkId, wanted: bool, conns: &[ConnId]) -> Vec<Step> {
        let step = match (wanted, self.0.contains(&link)) {
            (true, false) => Step::Join,
            (false, true) => Step::Part,
            _ => return Vec::new(),
        };
        if wanted {
            self.0.insert(link);
        } else {
            self.0.remove(&link);
        }
        conns.iter().map(|&conn| step(conn, link)).collect()
    }

    /// Whether connections are left to the kernel's path manager.
    pub(super) fn are_managed(&self) -> bool {
        !self.0.is_empty()
    }

    /// A connection can be joined from now on.
    pub(super) fn joinable(&self, conn: ConnId) -> Vec<Step> {
        self.0.iter().map(|&link| Step::Join(conn, link)).collect()
    }
}

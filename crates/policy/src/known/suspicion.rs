//! One suspicion of a link: which hosts are probed, and which of them replied.
//!
//! [`crate::alive::idle`] raises it, and decides what follows.
//!
//! # Checked by
//! `tests::liveness`.

use crate::io::reason::Evidence;
use crate::io::{HostId, LinkId};
use alloc::vec::Vec;
use units::Instant;

/// Which hosts are probed, and their replies.
#[derive(Debug, Clone)]
pub(crate) struct Suspicion {
    pub(crate) since: Instant,
    pub(crate) link: LinkId,
    pub(crate) until: Instant,
    pub(crate) next: Instant,
    pub(crate) rounds: u32,
    pub(crate) targets: Vec<Target>,
    /// A link over which a host replied: that link is alive.
    pub(crate) living: Option<LinkId>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) host: HostId,
    pub(crate) counts: Counts,
    /// The other link over which it has replied.
    pub(crate) elsewhere: Option<LinkId>,
}

/// What the silence of a host proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// A program waits for it.
    Wanted,
    /// It has replied over the link before.
    Before,
    /// It is the link's next hop, and has replied before.
    NextHop,
    /// Nothing: it was only heard over another link.
    Nothing,
}

impl Suspicion {
    /// Records a reply over some link.
    pub(crate) fn replied(&mut self, over: LinkId, host: HostId) {
        if over == self.link {
            self.targets.retain(|target| target.host != host);
            return;
        }
        self.living.get_or_insert(over);
        for target in self.targets.iter_mut().filter(|target| target.host == host) {
            target.elsewhere.get_or_insert(over);
        }
    }

    /// Records that a host cannot be probed over the suspect.
    pub(crate) fn failed(&mut self, host: HostId) {
        self.targets.retain(|target| target.host != host);
    }

    /// Why the link is suspect.
    pub(crate) fn reason(&self, now: Instant) -> Evidence {
        Evidence::HostsSilent {
            silence: now - self.since,
            hosts: self.targets.len(),
        }
    }
}

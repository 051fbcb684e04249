//! ECN marks in both directions, and the reasons for them.

use crate::bpf::Hook;
use crate::daemon::queues::marks::{MarkError, Marks};
use policy::{LinkId, Note, Reason, Verb};
use std::collections::BTreeMap;
use units::Ratio;

/// Marks in both directions, and the reasons for them.
#[derive(Debug)]
pub(crate) struct Marking {
    /// Marks on received packets.
    pub(crate) arriving: Marks,
    /// Marks on sent packets.
    pub(crate) sent: Marks,
    /// The last reason given for the marks of each link.
    pub(crate) reasons: BTreeMap<LinkId, Reason>,
}

impl Default for Marking {
    fn default() -> Self {
        Self {
            arriving: Marks::at(Hook::Ingress),
            sent: Marks::at(Hook::Egress),
            reasons: BTreeMap::new(),
        }
    }
}

impl Marking {
    /// Prepares this link for its first mark.
    pub(crate) fn prepare(&mut self, link: LinkId, ifindex: u32) -> Result<(), MarkError> {
        let marks = [&mut self.arriving, &mut self.sent];
        let prepared = marks.map(|marks| marks.prepare(link, ifindex));
        // A kernel that refuses one direction refuses the other.
        prepared.into_iter().find(Result::is_err).unwrap_or(Ok(()))
    }

    /// Detaches both directions from an interface that is gone or no longer managed.
    pub(crate) fn detach(&mut self, ifindex: u32) -> Vec<MarkError> {
        let marks = [&mut self.arriving, &mut self.sent];
        let detached = marks.map(|marks| marks.detach(ifindex));
        detached.into_iter().filter_map(Result::err).collect()
    }

    /// Sets the share of a link's packets to mark, received or sent.
    pub(crate) fn set(
        &mut self,
        link: LinkId,
        ifindex: u32,
        rate: Ratio,
        hook: Hook,
    ) -> Result<(), MarkError> {
        let marks = match hook {
            Hook::Ingress => &mut self.arriving,
            Hook::Egress => &mut self.sent,
        };
        marks.set(link, ifindex, rate)
    }

    /// Remembers the reason for a mark. It is not part of a link's state, but reports include it.
    pub(crate) fn remember(&mut self, note: &Note) {
        if let Some(link) = note.link.filter(|_| note.verb == Verb::Mark) {
            self.reasons.insert(link, note.reason.clone());
        }
    }
}

//! Marks in both directions, and why.

use crate::bpf::Hook;
use crate::daemon::queues::marks::{MarkError, Marks};
use policy::{LinkId, Note, Verb};
use std::collections::BTreeMap;
use units::Ratio;

/// See the module.
#[derive(Debug)]
pub(crate) struct Marking {
    /// On what arrives.
    pub(crate) arriving: Marks,
    /// On what is sent.
    pub(crate) sent: Marks,
    /// The last reason given for the marks of each link.
    pub(crate) why: BTreeMap<LinkId, String>,
}

impl Default for Marking {
    fn default() -> Self {
        Self {
            arriving: Marks::at(Hook::Ingress),
            sent: Marks::at(Hook::Egress),
            why: BTreeMap::new(),
        }
    }
}

impl Marking {
    /// Makes ready for the first mark on this link.
    pub(crate) fn prepare(&mut self, link: LinkId, ifindex: u32) -> Result<(), MarkError> {
        let marks = [&mut self.arriving, &mut self.sent];
        let prepared = marks.map(|marks| marks.prepare(link, ifindex));
        // A kernel that refuses one refuses the other.
        prepared.into_iter().find(Result::is_err).unwrap_or(Ok(()))
    }

    /// An interface is gone, or not ours any more.
    pub(crate) fn detach(&mut self, ifindex: u32) -> Vec<MarkError> {
        let marks = [&mut self.arriving, &mut self.sent];
        let detached = marks.map(|marks| marks.detach(ifindex));
        detached.into_iter().filter_map(Result::err).collect()
    }

    /// Marks a share of what arrives by a link, or of what leaves.
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

    /// What was said about marks is not a link's state, and is asked for all the same.
    pub(crate) fn remember(&mut self, note: &Note) {
        if let Some(link) = note.link.filter(|_| note.verb == Verb::Mark) {
            self.why.insert(link, note.why.clone());
        }
    }
}

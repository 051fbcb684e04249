//! ECN marks on the received or the sent packets of links: the rate for each link, and where the program is
//! attached.
//!
//! If a link's connections ask for ECN, the program is loaded and attached when the link appears, not with
//! the first mark. Loading takes some 10 ms and attaching some 4 ms. In that time slow start fills the queue
//! that the mark was to keep short. On other links both happen with the first mark. An interface that
//! disappears takes the program with it. A link that comes back under another index is attached anew.
//!
//! # Checked by
//! `daemon::tests::marks`; `tests/bpf/marker.rs` (real packets); `lab`'s `tests/ecn.rs` (the engine's marks
//! on real connections).

use crate::bpf::{AttachError, Hook, LoadError, MapError, MarkCounters, MarkSlot, Marker};
use crate::daemon::queues::passage::{Passage, Turn, cause};
use crate::rtnl::IfName;
use policy::LinkId;
use std::collections::BTreeMap;
use thiserror::Error;
use units::{Duration, Ratio};

/// Why a link could not be marked.
#[derive(Debug, Error)]
pub enum MarkError {
    /// The program could not be loaded.
    #[error("this kernel cannot mark packets: {0}")]
    Load(#[from] LoadError),
    /// The program could not be attached to this link.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The rate could not be written.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// A link that may be marked.
#[derive(Debug, Clone, Copy)]
struct Marked {
    ifindex: u32,
    slot: MarkSlot,
    rate: Ratio,
    /// The slot's counters before the first mark was requested.
    before: Option<MarkCounters>,
}

/// The marker, and the links that it is attached to.
#[derive(Debug)]
pub(crate) struct Marks {
    hook: Hook,
    marker: Option<Marker>,
    /// This kernel has refused the program. That was reported, and loading is not tried again.
    refused: bool,
    links: BTreeMap<LinkId, Marked>,
    passage: Passage,
}

impl Marks {
    pub(crate) fn at(hook: Hook) -> Self {
        Self {
            hook,
            marker: None,
            refused: false,
            links: BTreeMap::new(),
            passage: Passage::default(),
        }
    }

    /// Prepares this link for its first mark.
    pub(crate) fn prepare(&mut self, link: LinkId, ifindex: u32) -> Result<(), MarkError> {
        let is_there = |known: &Marked| known.ifindex == ifindex;
        if self.refused || self.links.get(&link).is_some_and(is_there) {
            return Ok(());
        }
        let marker = match &mut self.marker {
            Some(marker) => marker,
            none => none.insert(Marker::load(self.hook).inspect_err(|_| self.refused = true)?),
        };
        let slot = marker.attach(ifindex)?;
        self.passage.forget(ifindex);
        let marked = Marked {
            ifindex,
            slot,
            rate: Ratio::ZERO,
            before: None,
        };
        self.links.insert(link, marked);
        Ok(())
    }

    /// Marks this share of the ECN-capable packets from the next packet on.
    pub(crate) fn set(&mut self, link: LinkId, ifindex: u32, rate: Ratio) -> Result<(), MarkError> {
        let is_marked = |marked: &Marked| marked.ifindex == ifindex && marked.before.is_some();
        if rate == Ratio::ZERO && !self.links.get(&link).is_some_and(is_marked) {
            return Ok(());
        }
        self.prepare(link, ifindex)?;
        if let (Some(marker), Some(marked)) = (&self.marker, self.links.get_mut(&link)) {
            if marked.before.is_none() {
                marked.before = Some(marker.counters(marked.slot)?);
            }
            marker.set_rate(marked.slot, rate)?;
            marked.rate = rate;
        }
        Ok(())
    }

    /// Detaches the program from an interface that is gone or no longer managed.
    pub(crate) fn detach(&mut self, ifindex: u32) -> Result<(), MarkError> {
        let gone = self.links.iter().find(|(_, marked)| marked.ifindex == ifindex);
        let Some((&link, marked)) = gone else {
            return Ok(());
        };
        let slot = marked.slot;
        self.links.remove(&link);
        self.passage.forget(ifindex);
        if let Some(marker) = &mut self.marker {
            marker.detach(slot)?;
        }
        Ok(())
    }

    /// Compares the packets that the interface has carried in this direction with those that reached the
    /// program. Returns why none do, when that is found.
    pub(crate) fn mind_passage(&mut self, ifindex: u32, name: IfName, carried: u64) -> Option<String> {
        let marker = self.marker.as_ref()?;
        let marked = self.links.values().find(|marked| marked.ifindex == ifindex)?;
        let ours = marker.passed(marked.slot).ok()?;
        if self.passage.look(ifindex, carried, ours)? == Turn::Cleared {
            return None;
        }
        let why = cause(self.hook, name, marker.ahead(ifindex));
        self.passage.block(ifindex, why.clone());
        Some(why)
    }

    /// Why nothing is marked on a link, if another program keeps the packets from ours.
    pub(crate) fn blocked(&self, link: LinkId) -> Option<&str> {
        self.passage.why(self.links.get(&link)?.ifindex)
    }

    #[cfg(test)]
    pub(crate) fn is_ready(&self, link: LinkId) -> bool {
        self.links.contains_key(&link)
    }

    /// CPU time of the program so far, if it is loaded and the kernel counts it.
    pub(crate) fn run_time(&self) -> Duration {
        let counted = self.marker.as_ref().and_then(|marker| marker.run_time().ok());
        counted.map_or(Duration::ZERO, |counted| counted.time)
    }

    /// The rate in force on a link, and the program's counters there. `None` if the link was never marked.
    pub(crate) fn of(&self, link: LinkId) -> Option<(Ratio, MarkCounters)> {
        let marked = self.links.get(&link)?;
        let now = self.marker.as_ref()?.counters(marked.slot).ok()?;
        Some((marked.rate, since(now, marked.before?)))
    }
}

/// Difference between two samples of the counters.
const fn since(now: MarkCounters, before: MarkCounters) -> MarkCounters {
    MarkCounters {
        ect: now.ect - before.ect,
        not_ect: now.not_ect - before.not_ect,
        ce: now.ce - before.ce,
        asked: now.asked - before.asked,
        made: now.made - before.made,
        segments: now.segments - before.segments,
    }
}

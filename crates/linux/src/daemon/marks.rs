//! Marks on what arrives by a link, or on what leaves: at which rate each is marked, and where the program is attached.
//!
//! The program is loaded with the first mark that the engine asks for, and attached to a link with the first for that link. An interface
//! that goes takes the program with it; a link that comes back under another index is attached anew with its next mark.
//!
//! # Checked by
//! `daemon::tests::acts`; `tests/bpf/marker.rs` (real packets); `lab`'s `tests/ecn.rs` (the engine's marks on real connections).

use crate::bpf::{AttachError, Hook, LoadError, MapError, MarkCounters, MarkSlot, Marker};
use policy::LinkId;
use std::collections::BTreeMap;
use thiserror::Error;
use units::{Duration, Ratio};

/// Why a link could not be marked.
#[derive(Debug, Error)]
pub enum MarkError {
    /// The program is not there.
    #[error("this kernel cannot mark packets; see `slowhand doctor`")]
    Load(#[from] LoadError),
    /// Nor on this link.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The rate could not be written.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// A link that was marked at some time.
#[derive(Debug, Clone, Copy)]
struct Marked {
    ifindex: u32,
    slot: MarkSlot,
    rate: Ratio,
    /// What the slot had counted before it was this link's.
    before: MarkCounters,
}

/// The marker and the links it is attached to.
#[derive(Debug)]
pub(super) struct Marks {
    hook: Hook,
    marker: Option<Marker>,
    /// This kernel has refused the program; that was said, and it is not asked again.
    refused: bool,
    links: BTreeMap<LinkId, Marked>,
}

impl Marks {
    pub(super) const fn at(hook: Hook) -> Self {
        Self {
            hook,
            marker: None,
            refused: false,
            links: BTreeMap::new(),
        }
    }

    /// From the next packet on, this share of what goes by ECN-capable is marked.
    pub(super) fn set(&mut self, link: LinkId, ifindex: u32, rate: Ratio) -> Result<(), MarkError> {
        let known = self.links.get(&link).filter(|known| known.ifindex == ifindex);
        if self.refused || rate == Ratio::ZERO && known.is_none() {
            return Ok(());
        }
        let marker = match &mut self.marker {
            Some(marker) => marker,
            none => none.insert(Marker::load(self.hook).inspect_err(|_| self.refused = true)?),
        };
        let mut marked = match known {
            Some(known) => *known,
            None => {
                let slot = marker.attach(ifindex)?;
                Marked {
                    ifindex,
                    slot,
                    rate,
                    before: marker.counters(slot)?,
                }
            }
        };
        marker.set_rate(marked.slot, rate)?;
        marked.rate = rate;
        self.links.insert(link, marked);
        Ok(())
    }

    /// An interface is gone, or not ours any more.
    pub(super) fn detach(&mut self, ifindex: u32) -> Result<(), MarkError> {
        let gone = self.links.iter().find(|(_, marked)| marked.ifindex == ifindex);
        let Some((&link, marked)) = gone else {
            return Ok(());
        };
        let slot = marked.slot;
        self.links.remove(&link);
        if let Some(marker) = &mut self.marker {
            marker.detach(slot)?;
        }
        Ok(())
    }

    /// What the program took so far, if it is loaded and somebody counts.
    pub(super) fn run_time(&self) -> Duration {
        let counted = self.marker.as_ref().and_then(|marker| marker.run_time().ok());
        counted.map_or(Duration::ZERO, |counted| counted.time)
    }

    /// The rate in force on a link, and what the program has seen and done there; `None` if it was never marked.
    pub(super) fn of(&self, link: LinkId) -> Option<(Ratio, MarkCounters)> {
        let marked = self.links.get(&link)?;
        let now = self.marker.as_ref()?.counters(marked.slot).ok()?;
        Some((marked.rate, since(now, marked.before)))
    }
}

/// What was counted between two readings.
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

//! Sets Congestion Experienced on what arrives by a link, or on what leaves, at a rate per link.
//!
//! To whoever sends it looks as if a router on that path had marked, so they slow down there and nowhere else. A link has a *slot*
//! while it is attached; the rate is the slot's and acts on the next packet. The decision is error diffusion
//! ([`policy`]'s `mark`, `bpf/mark.h`): n ECN-capable packets at one rate get floor(n · rate) marks.
//!
//! # Where we differ, and why
//! A step in the rate can starve a whole MPTCP connection for seconds, because the peer has queued on the marked subflow. This
//! module marks as it is told; ramps are the caller's.
//!
//! # Checked by
//! `tests` (the program itself against `golden/mark.csv`), `tests/bpf/marker.rs` (real packets).

use super::cost::RunTime;
use super::map::{Map, Plain};
use super::object::{Embedded, Loaded, embedded};
use super::tcx::{Attached, Hook};
use super::{AttachError, LoadError, MapError, Program};
use std::collections::BTreeMap;
use std::io;
use units::Ratio;

const OBJECT: Embedded = embedded!("marker");

/// As `SLOTS` in `bpf/marker.bpf.c`.
const SLOTS: u32 = 256;

/// A link's place in the marker, from attaching to detaching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkSlot(u32);

/// What a slot has seen and done, in packets as the peer sent them.
///
/// Nothing resets them, not even another link in the slot: read differences. Something is wrong when `made` falls behind
/// `asked`, and nothing can come of marking where `ect` stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarkCounters {
    /// Came ECN-capable and unmarked.
    pub ect: u64,
    /// Came not ECN-capable; left alone.
    pub not_ect: u64,
    /// Came marked already; left alone.
    pub ce: u64,
    /// Marks that were due.
    pub asked: u64,
    /// Of those, marks that were made.
    pub made: u64,
    /// Packets that are marked because of us: more than `made` where one header stood for several.
    pub segments: u64,
}

/// As `struct mark_tally` in `bpf/marker.bpf.c`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tally {
    sum: u64,
    ect: u64,
    not_ect: u64,
    ce: u64,
    asked: u64,
    made: u64,
    segments: u64,
    passed: u64,
}

// SAFETY: eight u64 in C order.
unsafe impl Plain for Tally {}

impl From<Tally> for MarkCounters {
    fn from(tally: Tally) -> Self {
        let Tally {
            ect,
            not_ect,
            ce,
            asked,
            made,
            segments,
            sum: _,
            passed: _,
        } = tally;
        Self {
            ect,
            not_ect,
            ce,
            asked,
            made,
            segments,
        }
    }
}

/// Marks on the links of one network namespace. See the module.
#[derive(Debug)]
pub struct Marker {
    attached: Attached,
    slots: Map<u32, u32>,
    rates: Map<u32, u64>,
    tallies: Map<u32, Tally>,
    links: BTreeMap<MarkSlot, u32>,
}

impl Marker {
    /// Loads the program, or says what the kernel lacks.
    pub fn load(hook: Hook) -> Result<Self, LoadError> {
        let marker = Self::from_object(&OBJECT.load(&["marker"])?, hook)?;
        if marker.attached.is_supported() {
            Ok(marker)
        } else {
            Err(LoadError::NoTcx)
        }
    }

    fn from_object(loaded: &Loaded, hook: Hook) -> Result<Self, LoadError> {
        let program = loaded.program("marker").map_err(LoadError::Exhausted)?;
        Ok(Self {
            attached: Attached::new(program, hook),
            slots: loaded.map("slots").map_err(LoadError::Exhausted)?,
            rates: loaded.map("rates").map_err(LoadError::Exhausted)?,
            tallies: loaded.map("tallies").map_err(LoadError::Exhausted)?,
            links: BTreeMap::new(),
        })
    }

    /// Looks at what goes by this interface from now on, and marks nothing until a rate is set. An interface that is
    /// attached already keeps its slot.
    pub fn attach(&mut self, ifindex: u32) -> Result<MarkSlot, AttachError> {
        let slot = self.slot_for(ifindex).ok_or(AttachError::NoSlot(SLOTS))?;
        let kernel = |source| AttachError::Kernel { ifindex, source };
        self.rates.set(slot.0, 0).map_err(kernel)?;
        self.attached.attach(ifindex)?;
        self.slots.set(ifindex, slot.0).map_err(kernel)?;
        self.links.insert(slot, ifindex);
        Ok(slot)
    }

    /// The slot that the interface has, or the first that is free.
    fn slot_for(&self, ifindex: u32) -> Option<MarkSlot> {
        let taken = self
            .links
            .iter()
            .find(|&(_, &link)| link == ifindex)
            .map(|(&slot, _)| slot);
        taken.or_else(|| {
            (0..SLOTS)
                .map(MarkSlot)
                .find(|slot| !self.links.contains_key(slot))
        })
    }

    /// Leaves the slot's interface alone and frees the slot; says whether it was taken.
    pub fn detach(&mut self, slot: MarkSlot) -> Result<bool, MapError> {
        let Some(ifindex) = self.links.remove(&slot) else {
            return Ok(false);
        };
        self.attached.detach(ifindex);
        Ok(self.slots.remove(ifindex)?)
    }

    /// From the next packet on, this share of the ECN-capable packets is marked.
    pub fn set_rate(&self, slot: MarkSlot, rate: Ratio) -> Result<(), MapError> {
        Ok(self.rates.set(slot.0, rate.as_raw())?)
    }

    /// What the program took so far, if somebody counts ([`CountRunTime`](super::CountRunTime)).
    pub fn run_time(&self) -> io::Result<RunTime> {
        self.attached.run_time()
    }

    /// Packets of any kind that have reached the program on the slot's link, each header once. Read differences. Where it stands still although the interface
    /// carries packets, another program ends the chain before ours.
    pub fn passed(&self, slot: MarkSlot) -> Result<u64, MapError> {
        Ok(self.tallies.value(slot.0)?.unwrap_or_default().passed)
    }

    /// The programs that run before ours on this interface.
    pub fn ahead(&self, ifindex: u32) -> io::Result<Vec<Program>> {
        self.attached.ahead(ifindex)
    }

    /// What the slot has seen and done so far.
    pub fn counters(&self, slot: MarkSlot) -> Result<MarkCounters, MapError> {
        Ok(self.tallies.value(slot.0)?.unwrap_or_default().into())
    }
}

#[cfg(test)]
mod tests;

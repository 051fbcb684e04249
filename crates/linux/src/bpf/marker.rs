//! Sets Congestion Experienced (CE) on packets that arrive or leave on a link, at a rate per link.
//!
//! To the sender it looks as if a router on that path had marked, so it slows down on that path only. A link
//! has a *slot* while it is attached. The rate belongs to the slot and applies from the next packet on. Marks
//! are chosen by error diffusion ([`policy`]'s `mark`, `bpf/mark.h`): n ECN-capable packets at one rate get
//! floor(n · rate) marks.
//!
//! # Where we differ, and why
//! A step in the rate can starve a whole MPTCP connection for seconds, because the peer has data queued on
//! the marked subflow. This module sets the rate it is given. The caller must ramp it.
//!
//! # Checked by
//! `tests` (the program against `golden/mark.csv`), `tests/bpf/marker.rs` (real packets).

use super::cost::RunTime;
use super::map::{Map, Plain};
use super::object::{Embedded, Loaded, embedded};
use super::tcx::{Attached, Hook};
use super::{AttachError, LoadError, MapError, Program};
use std::collections::BTreeMap;
use std::io;
use units::Ratio;

const OBJECT: Embedded = embedded!("marker");

/// `SLOTS` in `bpf/marker.bpf.c`.
const SLOTS: u32 = 256;

/// A link's slot in the marker while it is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkSlot(u32);

/// Counters of a slot, in packets as the peer sent them.
///
/// They are never reset, not even for another link in the slot, so use differences. If `made` falls behind
/// `asked`, something is wrong. If `ect` does not grow, marking has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarkCounters {
    /// Packets that arrived ECN-capable and unmarked.
    pub ect: u64,
    /// Packets that arrived not ECN-capable and were left unchanged.
    pub not_ect: u64,
    /// Packets that arrived already marked and were left unchanged.
    pub ce: u64,
    /// Marks due.
    pub asked: u64,
    /// Of those, marks set.
    pub made: u64,
    /// Packets marked by the program. More than `made` if one header covered several.
    pub segments: u64,
}

/// Same layout as `struct mark_tally` in `bpf/marker.bpf.c`.
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

/// Marks packets on the links of one network namespace. See the module.
#[derive(Debug)]
pub struct Marker {
    attached: Attached,
    slots: Map<u32, u32>,
    rates: Map<u32, u64>,
    tallies: Map<u32, Tally>,
    links: BTreeMap<MarkSlot, u32>,
}

impl Marker {
    /// Loads the program, or returns what the kernel lacks.
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

    /// Attaches to an interface and counts its packets. Nothing is marked until a rate is set. An interface
    /// that is already attached keeps its slot.
    pub fn attach(&mut self, ifindex: u32) -> Result<MarkSlot, AttachError> {
        let slot = self.slot_for(ifindex).ok_or(AttachError::NoSlot(SLOTS))?;
        let kernel = |source| AttachError::Kernel { ifindex, source };
        self.rates.set(slot.0, 0).map_err(kernel)?;
        self.attached.attach(ifindex)?;
        self.slots.set(ifindex, slot.0).map_err(kernel)?;
        self.links.insert(slot, ifindex);
        Ok(slot)
    }

    /// The interface's slot, or the first free one.
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

    /// Detaches the slot's interface and frees the slot. Returns whether it was in use.
    pub fn detach(&mut self, slot: MarkSlot) -> Result<bool, MapError> {
        let Some(ifindex) = self.links.remove(&slot) else {
            return Ok(false);
        };
        self.attached.detach(ifindex);
        Ok(self.slots.remove(ifindex)?)
    }

    /// Sets the share of ECN-capable packets to mark, from the next packet on.
    pub fn set_rate(&self, slot: MarkSlot, rate: Ratio) -> Result<(), MapError> {
        Ok(self.rates.set(slot.0, rate.as_raw())?)
    }

    /// The program's run time, counted while [`CountRunTime`](super::CountRunTime) is active.
    pub fn run_time(&self) -> io::Result<RunTime> {
        self.attached.run_time()
    }

    /// Packets of any kind seen by the program on the slot's link, one per header. Use differences. If it
    /// does not grow although the interface carries packets, another program ends the chain before this one.
    pub fn passed(&self, slot: MarkSlot) -> Result<u64, MapError> {
        Ok(self.tallies.value(slot.0)?.unwrap_or_default().passed)
    }

    /// The programs that run before this one on the interface.
    pub fn ahead(&self, ifindex: u32) -> io::Result<Vec<Program>> {
        self.attached.ahead(ifindex)
    }

    /// The slot's counters so far.
    pub fn counters(&self, slot: MarkSlot) -> Result<MarkCounters, MapError> {
        Ok(self.tallies.value(slot.0)?.unwrap_or_default().into())
    }
}

#[cfg(test)]
mod tests;

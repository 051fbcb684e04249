//! Limits on the sockets of subflows, of one or of all in a connection, maintained by walks.
//!
//! The next walk restores a cleared limit, so an entry is in state *giving back* before it is removed.

use super::cost::RunTime;
use super::map::{Map, Plain};
use super::pass::{OBJECT, Pass, Walker};
use super::{LoadError, MapError, PassError};
use policy::ConnId;
use std::collections::BTreeSet;
use std::io;
use units::Bytes;

/// Map value: let the kernel decide.
const GIVE_BACK: u32 = 0;

/// The limited socket option.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    Clamp,
    Unsent,
    Pacing,
}

impl Limit {
    /// Names of the program and the map in `bpf/clamp.bpf.c`.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Clamp => ("clamp", "clamps"),
            Self::Unsent => ("unsent", "unsent_limits"),
            Self::Pacing => ("pacing", "pacing_caps"),
        }
    }
}

/// A connection or subflow with a limit.
pub(super) trait Holder: Copy + Ord {
    /// Key of the holder in the programs' map.
    type Key: Plain;

    fn key(self) -> Self::Key;
}

impl Holder for ConnId {
    type Key = u32;

    fn key(self) -> u32 {
        self.0
    }
}

#[derive(Debug)]
pub(super) struct Limits<H: Holder> {
    walker: Walker,
    bytes: Map<H::Key, u32>,
    set: BTreeSet<H>,
    giving_back: BTreeSet<H>,
}

impl<H: Holder> Limits<H> {
    pub(super) fn load(limit: Limit) -> Result<Self, LoadError> {
        let (program, map) = limit.names();
        let loaded = OBJECT.load(&[program])?;
        let walker = Walker::new(&loaded, program)?;
        let bytes = loaded.map(map).map_err(LoadError::Exhausted)?;
        Ok(Self {
            walker,
            bytes,
            set: BTreeSet::new(),
            giving_back: BTreeSet::new(),
        })
    }

    pub(super) fn run_time(&self) -> io::Result<RunTime> {
        self.walker.run_time()
    }

    pub(super) fn set(&mut self, holder: H, limit: Bytes) -> Result<(), MapError> {
        self.bytes.set(holder.key(), to_bytes(limit))?;
        self.giving_back.remove(&holder);
        self.set.insert(holder);
        Ok(())
    }

    pub(super) fn clear(&mut self, holder: H) -> Result<(), MapError> {
        if self.set.contains(&holder) {
            self.bytes.set(holder.key(), GIVE_BACK)?;
            self.set.remove(&holder);
            self.giving_back.insert(holder);
        }
        Ok(())
    }

    /// Walks the sockets if there is any limit to set or restore.
    pub(super) fn apply(&mut self) -> Result<Pass, PassError> {
        if self.set.is_empty() && self.giving_back.is_empty() {
            return Ok(Pass::default());
        }
        let pass = self.walker.walk()?;
        while let Some(holder) = self.giving_back.pop_first() {
            self.bytes.remove(holder.key()).map_err(MapError::from)?;
        }
        Ok(pass)
    }

    /// Restores all limits.
    pub(super) fn release(&mut self) -> Result<Pass, PassError> {
        for holder in std::mem::take(&mut self.set) {
            self.giving_back.insert(holder);
            self.bytes.set(holder.key(), GIVE_BACK).map_err(MapError::from)?;
        }
        self.apply()
    }
}

/// Converts to the programs' unit. Never 0, which has a special meaning there.
pub(super) fn to_bytes(limit: Bytes) -> u32 {
    u32::try_from(limit.get()).unwrap_or(u32::MAX).max(1)
}

//! Caps on the pacing rate of single subflows: set at once, removed when their time is over.
//!
//! # Where we differ, and why
//! 1. A cap stays on its socket even if this process dies. So it is put on record first, like other limits,
//!    and every request for a cap says how long it lasts.
//! 2. A connection that its program has closed may still have much to send, so a walk over the sockets
//!    removes its cap too.
//! 3. A cap comes just before a queue overflows and lasts a few round trips. So sockets are walked sooner
//!    than for permanent limits.
//!
//! # Checked by
//! `daemon::tests::levers`, `daemon::tests::undone`; what a crash leaves on sockets: `tests/bpf/limits.rs`.

use crate::bpf::{PacedSubflow, PacingLever, RunTime};
use crate::daemon::queues::levers::{Lever, LeverError, walk};
use crate::daemon::queues::walks::{AFTER_FAILURE, Walks};
use crate::journal::{Change, Journal};
use policy::ConnId;
use std::collections::BTreeMap;
use units::{Bitrate, Instant};

/// A cap on one subflow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cap {
    pub(crate) subflow: PacedSubflow,
    pub(crate) rate: Bitrate,
    pub(crate) until: Instant,
}

/// The caps in force.
#[derive(Debug)]
pub(crate) struct Caps {
    lever: Lever<PacingLever>,
    until: BTreeMap<PacedSubflow, Instant>,
    walks: Walks,
}

impl Caps {
    pub(crate) fn new() -> Self {
        Self {
            lever: Lever::Untried,
            until: BTreeMap::new(),
            walks: Walks::hasty(),
        }
    }

    pub(crate) fn load(&mut self) {
        self.lever.need(PacingLever::load);
    }

    pub(crate) fn put_on(&mut self, cap: Cap, journal: &mut Journal) -> Result<(), LeverError> {
        self.load();
        let lever = self.lever.get("how fast a subflow sends")?;
        journal.will(Change::SocketLimits)?;
        lever.set(cap.subflow, cap.rate)?;
        self.until.insert(cap.subflow, cap.until);
        self.walks.ask();
        Ok(())
    }

    /// Removes the caps of a connection that is gone or left alone. Its sockets may live on for a while.
    pub(crate) fn release(&mut self, conn: ConnId) -> Result<(), LeverError> {
        let of_it = |subflow: &PacedSubflow| subflow.conn == conn;
        let subflows: Vec<PacedSubflow> = self.until.keys().copied().filter(of_it).collect();
        subflows
            .into_iter()
            .try_for_each(|subflow| self.take_off(subflow))
    }

    fn take_off(&mut self, subflow: PacedSubflow) -> Result<(), LeverError> {
        if let Some(lever) = self.lever.loaded() {
            lever.clear(subflow)?;
        }
        self.until.remove(&subflow);
        self.walks.ask();
        Ok(())
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let ends = self.until.values().min().copied();
        [ends, self.walks.wake_at()].into_iter().flatten().min()
    }

    pub(crate) fn tick(&mut self, now: Instant) -> Result<(), LeverError> {
        let is_over = |(&subflow, &until): (&PacedSubflow, &Instant)| (until <= now).then_some(subflow);
        let over: Vec<PacedSubflow> = self.until.iter().filter_map(is_over).collect();
        for subflow in over {
            // If removal fails, it is tried again after a pause.
            self.until.insert(subflow, now + AFTER_FAILURE);
            self.take_off(subflow)?;
        }
        match self.lever.loaded().filter(|_| self.walks.is_due(now)) {
            Some(lever) => walk(now, &mut self.walks, None, || lever.apply()),
            None => Ok(()),
        }
    }

    pub(crate) fn release_all(&mut self) -> Result<(), LeverError> {
        self.lever.loaded().map(PacingLever::release).transpose()?;
        Ok(())
    }

    pub(crate) fn run_time(&self) -> Option<RunTime> {
        self.lever.get_ref()?.run_time().ok()
    }
}

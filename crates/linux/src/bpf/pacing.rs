//! Temporarily caps the pacing rate of one of this host's subflows, for a slow start that sees no marks.
//!
//! Only a subflow that already paces is capped, because the option would enable pacing for good on any other.
//! BBR paces. Reno and cubic pace only under the fq qdisc.
//!
//! # Sources
//! - net/core/sock.c (sk_setsockopt, SO_MAX_PACING_RATE), net/ipv4/tcp_bbr.c (sk_pacing_status), Linux 6.18.
//!
//! # Where we differ, and why
//! The kernel refuses the option on an MPTCP socket, and its subflows have no descriptors. So a BPF iterator
//! sets it from outside (`bpf/clamp.bpf.c`). No program can set it there, so any cap on a subflow is treated
//! as slowhand's and removed.
//!
//! # Checked by
//! `tests/bpf/limits.rs`.

use super::cost::RunTime;
use super::limits::{Holder, Limit, Limits};
use super::{LoadError, MapError, Pass, PassError};
use policy::ConnId;
use std::io;
use units::{Bitrate, Bytes};

/// A subflow, identified by its connection and local port. If two addresses use the same port, both subflows
/// are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacedSubflow {
    /// Its connection.
    pub conn: ConnId,
    /// Its local port.
    pub local_port: u16,
}

impl Holder for PacedSubflow {
    type Key = u64;

    fn key(self) -> u64 {
        u64::from(self.local_port) << 32 | u64::from(self.conn.0)
    }
}

/// Caps the pacing rate of single subflows. See the module.
#[derive(Debug)]
pub struct PacingLever {
    caps: Limits<PacedSubflow>,
}

impl PacingLever {
    /// Loads the iterator, or returns what the kernel lacks.
    pub fn load() -> Result<Self, LoadError> {
        Ok(Self {
            caps: Limits::load(Limit::Pacing)?,
        })
    }

    /// Caps the rate of a subflow from the next [`apply`](Self::apply) on, if it paces.
    pub fn set(&mut self, subflow: PacedSubflow, rate: Bitrate) -> Result<(), MapError> {
        self.caps.set(subflow, Bytes::new(rate.as_bps() / 8))
    }

    /// Removes the cap at the next [`apply`](Self::apply). Call it also for a closed subflow.
    pub fn clear(&mut self, subflow: PacedSubflow) -> Result<(), MapError> {
        self.caps.clear(subflow)
    }

    /// Walks the sockets of the calling thread's namespace and applies the settings. The limits in the result
    /// are in bytes per second.
    pub fn apply(&mut self) -> Result<Pass, PassError> {
        self.caps.apply()
    }

    /// The program's run time, counted while [`CountRunTime`](super::CountRunTime) is active.
    pub fn run_time(&self) -> io::Result<RunTime> {
        self.caps.run_time()
    }

    /// Removes all caps. Call it before drop, because caps stay on the sockets.
    pub fn release(&mut self) -> Result<Pass, PassError> {
        self.caps.release()
    }
}

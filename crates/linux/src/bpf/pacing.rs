//! Caps how fast one of this host's subflows sends, for a moment: for a slow start that hears no mark.
//!
//! Only a subflow that paces already is capped: asking one that does not would have it pace for good. BBR paces; reno and cubic do under the fq qdisc only.
//!
//! # Sources
//! - net/core/sock.c (sk_setsockopt, SO_MAX_PACING_RATE), net/ipv4/tcp_bbr.c (sk_pacing_status), Linux 6.18.
//!
//! # Where we differ, and why
//! The kernel refuses the option on an MPTCP socket, and its subflows have no descriptors: so it is set from outside, by a BPF iterator (`bpf/clamp.bpf.c`).
//! No program can set it there, so whatever cap a subflow has is taken for ours, and taken off.
//!
//! # Checked by
//! `tests/bpf/limits.rs`.

use super::cost::RunTime;
use super::limits::{Holder, Limit, Limits};
use super::{LoadError, MapError, Pass, PassError};
use policy::ConnId;
use std::io;
use units::{Bitrate, Bytes};

/// One subflow, by its connection and its port at this host. Where two addresses happen to use the same one, both are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacedSubflow {
    /// Its connection.
    pub conn: ConnId,
    /// Its port here.
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
    /// Loads the iterator, or says what the kernel lacks.
    pub fn load() -> Result<Self, LoadError> {
        Ok(Self {
            caps: Limits::load(Limit::Pacing)?,
        })
    }

    /// At the next [`apply`](Self::apply), the subflow sends no faster, if it paces.
    pub fn set(&mut self, subflow: PacedSubflow, rate: Bitrate) -> Result<(), MapError> {
        self.caps.set(subflow, Bytes::new(rate.as_bps() / 8))
    }

    /// At the next [`apply`](Self::apply), it sends as its controller likes. Also to be called when it has closed.
    pub fn clear(&mut self, subflow: PacedSubflow) -> Result<(), MapError> {
        self.caps.clear(subflow)
    }

    /// Walks the sockets of the calling thread's namespace and sets what was asked for since; limits of the pass are bytes a second.
    pub fn apply(&mut self) -> Result<Pass, PassError> {
        self.caps.apply()
    }

    /// What the program took so far, if somebody counts ([`CountRunTime`](super::CountRunTime)).
    pub fn run_time(&self) -> io::Result<RunTime> {
        self.caps.run_time()
    }

    /// Gives every cap back. To be called before dropping: caps stay on the sockets.
    pub fn release(&mut self) -> Result<Pass, PassError> {
        self.caps.release()
    }
}

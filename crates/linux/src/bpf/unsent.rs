//! Bounds what waits unsent on this host's own subflows, for uploads.
//!
//! A stock MPTCP scheduler puts megabytes on a subflow that it cannot send yet; when the link dies they must be sent again
//! elsewhere, behind what waits there. With TCP_NOTSENT_LOWAT on the *subflows* the scheduler stops at the limit: it asks before
//! it assigns, and then assigns a burst, so up to 64 KiB more than the limit can be unsent on a subflow.
//!
//! # Sources
//! - net/ipv4/tcp.c (tcp_stream_memory_free), net/mptcp/protocol.c (mptcp_subflow_get_send), Linux 6.18.
//!
//! # Where we differ, and why
//! The same option on the MPTCP socket, or as a sysctl, has no effect on the scheduler, and SO_SNDBUF would end autotuning
//! for good; so the limit is set on the subflows from outside, by a BPF iterator (`bpf/clamp.bpf.c`).
//!
//! # Checked by
//! `tests/bpf/limits.rs`.

use super::cost::RunTime;
use super::limits::{Limit, Limits};
use super::{LoadError, MapError, Pass, PassError};
use policy::ConnId;
use std::io;
use units::Bytes;

/// Bounds the unsent bytes on each subflow, per connection. See the module.
#[derive(Debug)]
pub struct UnsentLever {
    limits: Limits<ConnId>,
}

impl UnsentLever {
    /// Loads the iterator, or says what the kernel lacks.
    pub fn load() -> Result<Self, LoadError> {
        Ok(Self {
            limits: Limits::load(Limit::Unsent)?,
        })
    }

    /// At the next [`apply`](Self::apply), each subflow of the connection takes no new data while more than this is unsent.
    pub fn set(&mut self, conn: ConnId, unsent: Bytes) -> Result<(), MapError> {
        self.limits.set(conn, unsent)
    }

    /// At the next [`apply`](Self::apply), the kernel decides again. Also to be called when the connection has closed.
    pub fn clear(&mut self, conn: ConnId) -> Result<(), MapError> {
        self.limits.clear(conn)
    }

    /// Walks the sockets of the calling thread's namespace and sets what was asked for; to be called again when a subflow joins, which has no limit yet.
    pub fn apply(&mut self) -> Result<Pass, PassError> {
        self.limits.apply()
    }

    /// What the program took so far, if somebody counts ([`CountRunTime`](super::CountRunTime)).
    pub fn run_time(&self) -> io::Result<RunTime> {
        self.limits.run_time()
    }

    /// Gives every limit back. To be called before dropping: limits stay on the sockets.
    pub fn release(&mut self) -> Result<Pass, PassError> {
        self.limits.release()
    }
}

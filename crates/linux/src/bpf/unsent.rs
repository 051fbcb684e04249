//! Limits the unsent bytes on this host's own subflows, for uploads.
//!
//! A stock MPTCP scheduler assigns megabytes to a subflow that cannot send them yet. If the link dies, they
//! must be reinjected on other links, behind the backlog there. With TCP_NOTSENT_LOWAT on the *subflows*, the
//! scheduler stops at the limit. It checks the limit before it assigns a burst, so a subflow can have up to
//! 64 KiB more than the limit unsent.
//!
//! # Sources
//! - net/ipv4/tcp.c (tcp_stream_memory_free), net/mptcp/protocol.c (mptcp_subflow_get_send), Linux 6.18.
//!
//! # Where we differ, and why
//! The same option on the MPTCP socket, or as a sysctl, has no effect on the scheduler. SO_SNDBUF would end
//! autotuning for good. So a BPF iterator sets the limit on the subflows from outside (`bpf/clamp.bpf.c`).
//!
//! # Checked by
//! `tests/bpf/limits.rs`.

use super::cost::RunTime;
use super::limits::{Limit, Limits};
use super::{LoadError, MapError, Pass, PassError};
use policy::ConnId;
use std::io;
use units::Bytes;

/// Limits the unsent bytes on each subflow, per connection. See the module.
#[derive(Debug)]
pub struct UnsentLever {
    limits: Limits<ConnId>,
}

impl UnsentLever {
    /// Loads the iterator, or returns what the kernel lacks.
    pub fn load() -> Result<Self, LoadError> {
        Ok(Self {
            limits: Limits::load(Limit::Unsent)?,
        })
    }

    /// Sets the limit of unsent bytes for each subflow of the connection, from the next
    /// [`apply`](Self::apply) on.
    pub fn set(&mut self, conn: ConnId, unsent: Bytes) -> Result<(), MapError> {
        self.limits.set(conn, unsent)
    }

    /// Restores the kernel's limit at the next [`apply`](Self::apply). Call it also for a closed connection.
    pub fn clear(&mut self, conn: ConnId) -> Result<(), MapError> {
        self.limits.clear(conn)
    }

    /// Walks the sockets of the calling thread's namespace and applies the settings. Call it again when a
    /// subflow joins, because it has no limit yet.
    pub fn apply(&mut self) -> Result<Pass, PassError> {
        self.limits.apply()
    }

    /// The program's run time, counted while [`CountRunTime`](super::CountRunTime) is active.
    pub fn run_time(&self) -> io::Result<RunTime> {
        self.limits.run_time()
    }

    /// Removes all limits. Call it before drop, because limits stay on the sockets.
    pub fn release(&mut self) -> Result<Pass, PassError> {
        self.limits.release()
    }
}

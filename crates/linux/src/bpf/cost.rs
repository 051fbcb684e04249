//! What our programs cost, by the kernel's own count.
//!
//! # Sources
//! - kernel/bpf/syscall.c (Linux 6.18): BPF_ENABLE_STATS counts while any descriptor from it is open, so unlike the sysctl
//!   `kernel.bpf_stats_enabled` nothing has to be put back. Counting itself costs about 20 ns a run, which is in the figure.

use super::chain::info;
use super::map::check;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// While this lives, the kernel counts the run time of every BPF program of the host.
#[derive(Debug)]
pub struct CountRunTime {
    _fd: OwnedFd,
}

impl CountRunTime {
    /// Needs CAP_SYS_ADMIN.
    pub fn start() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) })?;
        // SAFETY: the kernel has just given us this descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { _fd: fd })
    }
}

/// What one program took while somebody counted. Read differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunTime {
    /// On all processors together.
    pub time: Duration,
    /// How often it ran: packets, or sockets walked over.
    pub runs: u64,
}

pub(super) fn run_time(program: BorrowedFd<'_>) -> io::Result<RunTime> {
    let info = info(program)?;
    Ok(RunTime {
        time: Duration::from_nanos(info.run_time_ns),
        runs: info.run_cnt,
    })
}

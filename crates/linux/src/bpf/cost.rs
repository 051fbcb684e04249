//! CPU time of slowhand's BPF programs, counted by the kernel.
//!
//! # Sources
//! - kernel/bpf/syscall.c (Linux 6.18): BPF_ENABLE_STATS counts while a descriptor from it is open. Unlike
//!   with the sysctl `kernel.bpf_stats_enabled`, nothing needs to be restored. Counting costs about 20 ns per
//!   run, which the result includes.

use super::chain::info;
use super::map::check;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// While it exists, the kernel counts the run time of every BPF program of the host.
#[derive(Debug)]
pub struct CountRunTime {
    _fd: OwnedFd,
}

impl CountRunTime {
    /// Starts counting. Needs CAP_SYS_ADMIN.
    pub fn start() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) })?;
        // SAFETY: the kernel has just given us this descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { _fd: fd })
    }
}

/// Cumulative run time of one program while counting is active. Use differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunTime {
    /// CPU time on all processors together.
    pub time: Duration,
    /// Number of runs: packets, or sockets walked.
    pub runs: u64,
}

pub(super) fn run_time(program: BorrowedFd<'_>) -> io::Result<RunTime> {
    let info = info(program)?;
    Ok(RunTime {
        time: Duration::from_nanos(info.run_time_ns),
        runs: info.run_cnt,
    })
}

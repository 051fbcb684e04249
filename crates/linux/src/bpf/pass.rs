//! A walk over the TCP sockets of the calling thread's network namespace with a BPF iterator.
//!
//! The programs are in `bpf/clamp.bpf.c`. Each writes one record per relevant subflow.
//!
//! # Sources
//! - kernel/bpf/bpf_iter.c, net/ipv4/tcp_ipv4.c (Linux 6.18): the namespace is that of the thread that opens
//!   the iterator.

use super::cost::{RunTime, run_time};
use super::map::check;
use super::object::{Embedded, Loaded, embedded};
use super::tcx::create_link;
use super::{LoadError, MapError, PassError};
use policy::ConnId;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use units::Bytes;

pub(super) const OBJECT: Embedded = embedded!("clamp");

/// Size of `struct pass_record` in `bpf/clamp.bpf.c`.
const RECORD_BYTES: usize = 16;

/// Result of a walk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// Every subflow with a limit of its own or of its connection, in the kernel's order.
    pub subflows: Vec<SubflowLimit>,
}

/// One subflow's limit before and after a walk, in bytes, or for a pacing cap in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowLimit {
    /// The connection of the subflow.
    pub conn: ConnId,
    /// Limit found by the walk.
    pub before: Bytes,
    /// Limit left by the walk.
    pub after: Bytes,
    /// The kernel's error number if it refused the new limit, else 0.
    pub errno: i32,
}

impl Pass {
    /// Number of subflows whose limit changed.
    pub fn changed(&self) -> usize {
        self.subflows
            .iter()
            .filter(|subflow| subflow.before != subflow.after)
            .count()
    }

    /// Number of subflows for which the kernel refused the limit.
    pub fn refused(&self) -> usize {
        self.subflows.iter().filter(|subflow| subflow.errno != 0).count()
    }
}

/// A loaded iterator for any number of walks.
#[derive(Debug)]
pub(super) struct Walker {
    program: OwnedFd,
    link: OwnedFd,
}

impl Walker {
    /// Attaches one of the programs of a loaded [`OBJECT`].
    pub(super) fn new(loaded: &Loaded, program: &str) -> Result<Self, LoadError> {
        let program = loaded.program(program).map_err(LoadError::Exhausted)?;
        let link = create_link(program.as_fd(), 0, libbpf_sys::BPF_TRACE_ITER);
        Ok(Self {
            program,
            link: link.map_err(LoadError::NoIterator)?,
        })
    }

    /// The program's run time. The walk around it costs more.
    pub(super) fn run_time(&self) -> io::Result<RunTime> {
        run_time(self.program.as_fd())
    }

    pub(super) fn walk(&self) -> Result<Pass, PassError> {
        Ok(Pass {
            subflows: self.records()?.chunks_exact(RECORD_BYTES).map(parse).collect(),
        })
    }

    /// Walks the sockets and returns the records that the program wrote.
    pub(super) fn records(&self) -> Result<Vec<u8>, PassError> {
        let mut records = Vec::new();
        self.open()?.read_to_end(&mut records).map_err(PassError::Read)?;
        Ok(records)
    }

    fn open(&self) -> Result<File, PassError> {
        // SAFETY: the descriptor is a live BPF link.
        let code = unsafe { libbpf_sys::bpf_iter_create(self.link.as_raw_fd()) };
        let fd = check(code).map_err(PassError::Open)?;
        // SAFETY: the kernel has just given us this descriptor.
        Ok(unsafe { File::from_raw_fd(fd) })
    }
}

fn parse(record: &[u8]) -> SubflowLimit {
    let word = |at: usize| u32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
    SubflowLimit {
        conn: ConnId(word(0)),
        before: Bytes::new(u64::from(word(4))),
        after: Bytes::new(u64::from(word(8))),
        errno: word(12).cast_signed().saturating_neg(),
    }
}

/// Why limits left by a crash could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The program could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The walk failed.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The program's settings could not be written.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// Restores the kernel's default limits on every MPTCP subflow of the calling thread's network namespace.
///
/// Call it at the start after a crash, because a lever's settings on sockets outlive the process. Only
/// slowhand can have set these limits. On an MPTCP socket the kernel refuses TCP_WINDOW_CLAMP and
/// SO_MAX_PACING_RATE, and does not pass TCP_NOTSENT_LOWAT to the subflows. On a socket that fell back in its
/// handshake a program may set them, so such sockets are skipped.
pub fn restore_subflows() -> Result<Pass, RestoreError> {
    let loaded = OBJECT.load(&["restore"])?;
    Ok(Walker::new(&loaded, "restore")?.walk()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_parsed_in_the_order_of_the_c_struct() {
        let words: [i32; 4] = [7, 100, 200, -22];
        let record: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let expected = SubflowLimit {
            conn: ConnId(7),
            before: Bytes::new(100),
            after: Bytes::new(200),
            errno: 22,
        };
        assert_eq!(parse(&record), expected);
    }
}

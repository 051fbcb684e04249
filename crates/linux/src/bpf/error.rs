//! What can go wrong between us and the kernel's BPF, one enum per operation.

use std::io;
use thiserror::Error;

/// Why a program could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The kernel does not describe its own structures.
    #[error("this kernel has no BTF (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF=y")]
    NoBtf,
    /// The kernel has BTF, but no MPTCP in it.
    #[error("this kernel has no MPTCP: it needs CONFIG_MPTCP=y\n{0}")]
    NoMptcp(String),
    /// Rights are missing: these.
    #[error(
        "loading BPF needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, and {} missing here: run as root, or give them to the service", are(.0)
    )]
    NotPermitted(Vec<&'static str>),
    /// All rights, and still not allowed, by a kernel that keeps its memory to itself.
    #[error("the kernel is locked down ({0}) and refuses BPF: boot with lockdown=integrity or none")]
    LockedDown(String),
    /// All rights, and still not allowed.
    #[error(
        "the kernel refuses BPF although this process has the rights for it: those of a container do not count, and a security module \
         or a filter of system calls may forbid it; run on the host itself"
    )]
    Forbidden,
    /// No way to attach to a link such that the program goes away with us.
    #[error("this kernel has no tcx links: it needs 6.6 or newer, and CONFIG_NET_XGRESS=y")]
    NoTcx,
    /// No iterators over TCP sockets.
    #[error(
        "this kernel has no BPF iterator over TCP sockets: it needs 5.9 or newer, and CONFIG_BPF_SYSCALL=y"
    )]
    NoIterator(#[source] io::Error),
    /// The verifier, or anything else in the kernel, said no.
    #[error(
        "the kernel refused the BPF program `{program}`; please report this with the kernel's words:\n{log}"
    )]
    Refused {
        /// The object that was loaded.
        program: &'static str,
        /// The end of what libbpf and the verifier wrote.
        log: String,
    },
    /// The machine ran out of something.
    #[error("no memory or descriptors left for BPF; see `ulimit -l` and `ulimit -n`")]
    Exhausted(#[source] io::Error),
}

/// `CAP_BPF is`, `CAP_BPF, CAP_PERFMON are`.
fn are(names: &[&str]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

/// Why a program could not be attached to a link.
#[derive(Debug, Error)]
pub enum AttachError {
    /// There is no such interface in the calling thread's network namespace.
    #[error("no interface {0} in this network namespace; did it go away?")]
    NoInterface(u32),
    /// All places for links that user space chose to mark are taken.
    #[error("no marking slot left: at most {0} links at a time; detach one")]
    NoSlot(u32),
    /// Anything else that the kernel said.
    #[error("attaching BPF to interface {ifindex}")]
    Kernel {
        /// The interface.
        ifindex: u32,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Why a map could not be written or read.
#[derive(Debug, Error)]
pub enum MapError {
    /// Too many connections have a limit.
    #[error("no room for another connection: 65536 have a limit; clear those that are closed")]
    Full,
    /// Anything else that the kernel said.
    #[error("reading or writing a BPF map")]
    Kernel(#[source] io::Error),
}

/// Why a pass over the sockets ended early.
#[derive(Debug, Error)]
pub enum PassError {
    /// The iterator could not be opened.
    #[error("opening the BPF iterator over TCP sockets")]
    Open(#[source] io::Error),
    /// The iterator stopped.
    #[error("walking the TCP sockets")]
    Read(#[source] io::Error),
    /// The list of limits could not be kept up.
    #[error(transparent)]
    Map(#[from] MapError),
}

impl From<io::Error> for MapError {
    fn from(error: io::Error) -> Self {
        if error.raw_os_error() == Some(libc::E2BIG) {
            Self::Full
        } else {
            Self::Kernel(error)
        }
    }
}

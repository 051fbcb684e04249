//! Errors of the kernel's BPF interface, one enum per operation.

use std::io;
use thiserror::Error;

/// Why a program could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The kernel has no BTF.
    #[error("this kernel has no BTF (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF=y")]
    NoBtf,
    /// The kernel has BTF, but without MPTCP.
    #[error("this kernel has no MPTCP: it needs CONFIG_MPTCP=y\n{0}")]
    NoMptcp(String),
    /// These capabilities are missing.
    #[error(
        "loading BPF needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, and {} missing here: run as root, or give them to the service", are(.0)
    )]
    NotPermitted(Vec<&'static str>),
    /// The process has all capabilities, but kernel lockdown (confidentiality) forbids BPF.
    #[error("the kernel is locked down ({0}) and refuses BPF: boot with lockdown=integrity or none")]
    LockedDown(String),
    /// The process has all capabilities, but the kernel refuses.
    #[error(
        "the kernel refuses BPF although this process has the capabilities: those in a container do not count, and a security module \
         or a filter of system calls may forbid it; run on the host itself"
    )]
    Forbidden,
    /// tcx links are missing, so programs could not be detached when the process ends.
    #[error("this kernel has no tcx links: it needs 6.6 or newer, and CONFIG_NET_XGRESS=y")]
    NoTcx,
    /// The kernel has no BPF iterators over TCP sockets.
    #[error(
        "this kernel has no BPF iterator over TCP sockets: it needs 5.9 or newer, and CONFIG_BPF_SYSCALL=y"
    )]
    NoIterator(#[source] io::Error),
    /// The verifier or another part of the kernel refused.
    #[error(
        "the kernel refused the BPF program `{program}`; please report this with the kernel's log:\n{log}"
    )]
    Refused {
        /// The object.
        program: &'static str,
        /// End of the log of libbpf and the verifier.
        log: String,
    },
    /// Memory or descriptors are exhausted.
    #[error("no memory or descriptors left for BPF; see `ulimit -l` and `ulimit -n`")]
    Exhausted(#[source] io::Error),
}

/// `CAP_BPF is`, `CAP_BPF, CAP_PERFMON are`.
fn are(names: &[&str]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

/// Why a program could not be attached to an interface.
#[derive(Debug, Error)]
pub enum AttachError {
    /// The calling thread's network namespace has no such interface.
    #[error("no interface {0} in this network namespace; did it go away?")]
    NoInterface(u32),
    /// All marking slots are in use.
    #[error("no marking slot left: at most {0} links at a time; detach one")]
    NoSlot(u32),
    /// Any other kernel error.
    #[error("attaching BPF to interface {ifindex}")]
    Kernel {
        /// The interface.
        ifindex: u32,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Why a map could not be read or written.
#[derive(Debug, Error)]
pub enum MapError {
    /// The map is full.
    #[error("no room for another connection: 65536 have a limit; clear those that are closed")]
    Full,
    /// Any other kernel error.
    #[error("reading or writing a BPF map")]
    Kernel(#[source] io::Error),
}

/// Why a walk over the sockets failed.
#[derive(Debug, Error)]
pub enum PassError {
    /// The iterator could not be opened.
    #[error("opening the BPF iterator over TCP sockets")]
    Open(#[source] io::Error),
    /// Reading the iterator failed.
    #[error("walking the TCP sockets")]
    Read(#[source] io::Error),
    /// The map of limits could not be updated.
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

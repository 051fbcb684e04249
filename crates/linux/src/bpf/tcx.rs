//! Programs at a link's ingress and egress, attached so that they go away with us.
//!
//! A tcx link is a descriptor: closing it, by dropping the value or by the end of the process, takes the program off the
//! interface. (tc filters on a clsact qdisc would stay.) Removing the interface ends the link too; the descriptor is then
//! an empty shell.
//!
//! # Sources
//! - kernel/bpf/tcx.c (Linux 6.18): the interface is looked up in the network namespace of the calling thread.

use super::AttachError;
use super::cost::{RunTime, run_time};
use super::map::check;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// No interface has this index; the kernel says so only if it knows tcx at all.
const NO_INTERFACE: u32 = i32::MAX as u32;

/// Where on an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// What arrives, before the stack sees it.
    Ingress,
    /// What leaves, after the stack has let go of it.
    Egress,
}

impl Hook {
    const fn attach_type(self) -> libbpf_sys::bpf_attach_type {
        match self {
            Self::Ingress => libbpf_sys::BPF_TCX_INGRESS,
            Self::Egress => libbpf_sys::BPF_TCX_EGRESS,
        }
    }
}

/// One program on any number of interfaces of one network namespace.
#[derive(Debug)]
pub(super) struct Attached {
    program: OwnedFd,
    hook: Hook,
    links: BTreeMap<u32, OwnedFd>,
}

impl Attached {
    pub(super) fn new(program: OwnedFd, hook: Hook) -> Self {
        Self {
            program,
            hook,
            links: BTreeMap::new(),
        }
    }

    /// What the program took so far, on all links.
    pub(super) fn run_time(&self) -> io::Result<RunTime> {
        run_time(self.program.as_fd())
    }

    /// Does the running kernel have tcx links?
    pub(super) fn is_supported(&self) -> bool {
        let probe = create_link(self.program.as_fd(), NO_INTERFACE, self.hook.attach_type());
        probe.is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV))
    }

    /// Attaches, or attaches anew: an index may have been given to another interface meanwhile.
    pub(super) fn attach(&mut self, ifindex: u32) -> Result<(), AttachError> {
        self.detach(ifindex);
        let link = create_link(self.program.as_fd(), ifindex, self.hook.attach_type());
        let link = link.map_err(|source| match source.raw_os_error() {
            Some(libc::ENODEV) => AttachError::NoInterface(ifindex),
            _ => AttachError::Kernel { ifindex, source },
        })?;
        self.links.insert(ifindex, link);
        Ok(())
    }

    /// Takes the program off; says whether it was on.
    pub(super) fn detach(&mut self, ifindex: u32) -> bool {
        self.links.remove(&ifindex).as_ref().map(take_off).is_some()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.links.values().for_each(take_off);
    }
}

/// Closing our descriptor takes the program off only when there is no other: and a program that this process is just starting has a copy until
/// it becomes another program.
fn take_off(link: &OwnedFd) {
    // SAFETY: the descriptor is live. A link whose interface is gone has nothing to take off.
    unsafe { libbpf_sys::bpf_link_detach(link.as_raw_fd()) };
}

/// A BPF link of `program` to `target`, whose meaning depends on the type.
pub(super) fn create_link(
    program: BorrowedFd<'_>,
    target: u32,
    attach_type: libbpf_sys::bpf_attach_type,
) -> io::Result<OwnedFd> {
    let target = i32::try_from(target).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: the descriptor is live, and no options are passed.
    let code =
        unsafe { libbpf_sys::bpf_link_create(program.as_raw_fd(), target, attach_type, std::ptr::null()) };
    let fd = check(code)?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

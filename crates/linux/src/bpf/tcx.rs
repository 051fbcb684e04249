//! Programs at an interface's ingress and egress that are detached when the process ends.
//!
//! A tcx link is a descriptor. Closing it, by drop or at the end of the process, detaches the program. (tc
//! filters on a clsact qdisc would stay.) Removing the interface also ends the link, and the descriptor is
//! then without effect.
//!
//! Slowhand's programs go to the head of the chain and pass every packet on, so they also see packets that a
//! later program drops. A program that another process puts before them may end the chain first.
//! [`Attached::ahead`] lists those.
//!
//! # Sources
//! - kernel/bpf/tcx.c, kernel/bpf/mprog.c (Linux 6.18): the interface is looked up in the network namespace
//!   of the calling thread. BPF_F_BEFORE without a relative program means the head.
//!
//! # Checked by
//! `tests/bpf/chain.rs`.

use super::AttachError;
use super::chain::{Program, info, programs_at};
use super::cost::{RunTime, run_time};
use super::map::check;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// An interface index that does not exist. The kernel reports that only if it supports tcx.
const NO_INTERFACE: u32 = i32::MAX as u32;

/// A hook of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Arriving packets, before the network stack.
    Ingress,
    /// Leaving packets, after the network stack.
    Egress,
}

impl Hook {
    pub(super) const fn attach_type(self) -> libbpf_sys::bpf_attach_type {
        match self {
            Self::Ingress => libbpf_sys::BPF_TCX_INGRESS,
            Self::Egress => libbpf_sys::BPF_TCX_EGRESS,
        }
    }
}

/// One program attached to any number of interfaces of one network namespace.
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

    /// The program's run time on all links.
    pub(super) fn run_time(&self) -> io::Result<RunTime> {
        run_time(self.program.as_fd())
    }

    /// Whether the running kernel supports tcx links.
    pub(super) fn is_supported(&self) -> bool {
        let probe = create_head_link(self.program.as_fd(), NO_INTERFACE, self.hook);
        probe.is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV))
    }

    /// Attaches, or attaches again: the index may belong to another interface now.
    pub(super) fn attach(&mut self, ifindex: u32) -> Result<(), AttachError> {
        self.detach(ifindex);
        let link = create_head_link(self.program.as_fd(), ifindex, self.hook);
        let link = link.map_err(|source| match source.raw_os_error() {
            Some(libc::ENODEV) => AttachError::NoInterface(ifindex),
            _ => AttachError::Kernel { ifindex, source },
        })?;
        self.links.insert(ifindex, link);
        Ok(())
    }

    /// Whether the program is attached to this interface.
    pub(super) fn is_on(&self, ifindex: u32) -> bool {
        self.links.contains_key(&ifindex)
    }

    /// The programs that run before this one on the interface. One of them may end the chain.
    pub(super) fn ahead(&self, ifindex: u32) -> io::Result<Vec<Program>> {
        let ours = info(self.program.as_fd())?.id;
        let chain = programs_at(ifindex, self.hook)?;
        Ok(chain
            .into_iter()
            .take_while(|program| program.id != ours)
            .collect())
    }

    /// Detaches the program and returns whether it was attached.
    pub(super) fn detach(&mut self, ifindex: u32) -> bool {
        self.links.remove(&ifindex).as_ref().map(take_off).is_some()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.links.values().for_each(take_off);
    }
}

/// Detaches explicitly. Closing this descriptor detaches only if it is the last one, and a child process
/// between fork and exec has a copy.
fn take_off(link: &OwnedFd) {
    // SAFETY: the descriptor is live. For a removed interface there is nothing to detach.
    unsafe { libbpf_sys::bpf_link_detach(link.as_raw_fd()) };
}

/// Creates a tcx link at the head of an interface's chain.
fn create_head_link(program: BorrowedFd<'_>, ifindex: u32, hook: Hook) -> io::Result<OwnedFd> {
    let head = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        flags: libbpf_sys::BPF_F_BEFORE,
        ..Default::default()
    };
    create_link_with(program, ifindex, hook.attach_type(), Some(&head))
}

/// Creates a BPF link of `program` to `target`. The type determines the meaning of `target`.
pub(super) fn create_link(
    program: BorrowedFd<'_>,
    target: u32,
    attach_type: libbpf_sys::bpf_attach_type,
) -> io::Result<OwnedFd> {
    create_link_with(program, target, attach_type, None)
}

fn create_link_with(
    program: BorrowedFd<'_>,
    target: u32,
    attach_type: libbpf_sys::bpf_attach_type,
    options: Option<&libbpf_sys::bpf_link_create_opts>,
) -> io::Result<OwnedFd> {
    let target = i32::try_from(target).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    let options = options.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the descriptor is live, and the options are null or outlive the call.
    let code = unsafe { libbpf_sys::bpf_link_create(program.as_raw_fd(), target, attach_type, options) };
    let fd = check(code)?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

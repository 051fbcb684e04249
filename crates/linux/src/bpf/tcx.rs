//! Programs at a link's ingress and egress, attached so that they go away with us.
//!
//! A tcx link is a descriptor: closing it, by dropping the value or by the end of the process, takes the program off the
//! interface. (tc filters on a clsact qdisc would stay.) Removing the interface ends the link too; the descriptor is then
//! an empty shell.
//!
//! Our programs go to the head of the chain and pass every packet on, so they see what a program behind them takes out of it. One that another process puts
//! ahead later may end the chain before ours: [`Attached::ahead`] names those.
//!
//! # Sources
//! - kernel/bpf/tcx.c, kernel/bpf/mprog.c (Linux 6.18): the interface is looked up in the network namespace of the calling thread. BPF_F_BEFORE without a
//!   program to stand before means the head.
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
    pub(super) const fn attach_type(self) -> libbpf_sys::bpf_attach_type {
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
        let probe = create_head_link(self.program.as_fd(), NO_INTERFACE, self.hook);
        probe.is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV))
    }

    /// Attaches, or attaches anew: an index may have been given to another interface meanwhile.
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

    /// Whether the program is on this interface.
    pub(super) fn is_on(&self, ifindex: u32) -> bool {
        self.links.contains_key(&ifindex)
    }

    /// The programs that run before ours on this interface. One of them may end the chain.
    pub(super) fn ahead(&self, ifindex: u32) -> io::Result<Vec<Program>> {
        let ours = info(self.program.as_fd())?.id;
        let chain = programs_at(ifindex, self.hook)?;
        Ok(chain
            .into_iter()
            .take_while(|program| program.id != ours)
            .collect())
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

/// A tcx link at the head of an interface's chain.
fn create_head_link(program: BorrowedFd<'_>, ifindex: u32, hook: Hook) -> io::Result<OwnedFd> {
    let head = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        flags: libbpf_sys::BPF_F_BEFORE,
        ..Default::default()
    };
    create_link_with(program, ifindex, hook.attach_type(), Some(&head))
}

/// A BPF link of `program` to `target`, whose meaning depends on the type.
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

//! The programs at one hook of an interface, in the order in which they run. A program that does not return TCX_NEXT ends the chain: those behind it
//! never see the packet.
//!
//! # Sources
//! - kernel/bpf/mprog.c, include/net/tcx.h, kernel/bpf/syscall.c (`bpf_prog_get_fd_by_id` needs CAP_SYS_ADMIN), Linux 6.18.
//!
//! # Checked by
//! `tests/bpf/chain.rs`.

use super::map::check;
use super::tcx::Hook;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// As `BPF_MPROG_MAX` in the kernel.
const MOST: usize = 64;

/// A program in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The kernel's number for it, as `bpftool prog` shows it.
    pub id: u32,
    /// Its name; `None` where this process may not ask for it.
    pub name: Option<String>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "`{name}` (BPF program {})", self.id),
            None => write!(f, "BPF program {}", self.id),
        }
    }
}

/// The chain of an interface of the calling thread's network namespace, the first program first.
///
/// # Errors
/// Without CAP_NET_ADMIN, where there is no such interface, or on a kernel without tcx.
pub fn programs_at(ifindex: u32, hook: Hook) -> io::Result<Vec<Program>> {
    let target = i32::try_from(ifindex).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    let mut ids = [0; MOST];
    let mut query = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as libbpf_sys::size_t,
        prog_ids: ids.as_mut_ptr(),
        ..Default::default()
    };
    query.__bindgen_anon_1.count = MOST as u32;
    // SAFETY: the query says how many numbers `ids` takes, and both outlive the call.
    check(unsafe { libbpf_sys::bpf_prog_query_opts(target, hook.attach_type(), &raw mut query) })?;
    // SAFETY: both fields of the union are the same number.
    let count = unsafe { query.__bindgen_anon_1.count } as usize;
    Ok(ids.iter().take(count).map(|&id| Program::of(id)).collect())
}

impl Program {
    fn of(id: u32) -> Self {
        Self { id, name: name(id) }
    }
}

fn name(id: u32) -> Option<String> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) }).ok()?;
    // SAFETY: the kernel has just given us this descriptor.
    let program = unsafe { OwnedFd::from_raw_fd(fd) };
    let info = info(std::os::fd::AsFd::as_fd(&program)).ok()?;
    let bytes = info.name.map(|c| c.to_ne_bytes()[0]);
    let name = CStr::from_bytes_until_nul(&bytes).ok()?.to_string_lossy();
    Some(name.into_owned()).filter(|name| !name.is_empty())
}

/// What the kernel says of a program.
pub(super) fn info(program: BorrowedFd<'_>) -> io::Result<libbpf_sys::bpf_prog_info> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = u32::try_from(size_of_val(&info)).expect("the info is short");
    // SAFETY: `info` is `length` bytes long and outlives the call; its pointers are null with zero lengths.
    let code =
        unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut length) };
    check(code).map(|_| info)
}

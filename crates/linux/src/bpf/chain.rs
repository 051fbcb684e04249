//! Lists the programs at one hook of an interface in the order in which they run. A program that does not
//! return TCX_NEXT ends the chain, so later ones never see the packet.
//!
//! # Sources
//! - kernel/bpf/mprog.c, include/net/tcx.h, kernel/bpf/syscall.c (`bpf_prog_get_fd_by_id` needs
//!   CAP_SYS_ADMIN), Linux 6.18.
//!
//! # Checked by
//! `tests/bpf/chain.rs`.

use super::map::check;
use super::tcx::Hook;
use crate::rtnl::Rtnl;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The kernel's `BPF_MPROG_MAX`.
const MOST: usize = 64;

/// Program names in `bpf/window.bpf.c` and `bpf/marker.bpf.c`.
const OURS: [&str; 2] = ["window", "marker"];

/// A program in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The kernel's id for it, as `bpftool prog` shows it.
    pub id: u32,
    /// Its name, or `None` if this process may not read it.
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

/// Lists the chain of an interface of the calling thread's network namespace, the first program first.
///
/// # Errors
/// Without CAP_NET_ADMIN, if there is no such interface, or on a kernel without tcx.
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

    /// Whether it is one of slowhand's, judging by its name.
    fn is_ours(&self) -> bool {
        self.name
            .as_ref()
            .is_some_and(|name| OURS.contains(&name.as_str()))
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

/// Text for `doctor`: programs of others on the interfaces of the calling thread's network namespace. It is
/// an error if one runs before slowhand's.
pub(crate) fn in_words() -> Result<String, String> {
    let mut others = Vec::new();
    let mut rtnl = Rtnl::open().map_err(|error| error.to_string())?;
    for link in rtnl.links().map_err(|error| error.to_string())? {
        for (hook, direction) in [(Hook::Ingress, "ingress"), (Hook::Egress, "egress")] {
            // Other checks report a kernel without tcx, or missing privileges.
            let chain = programs_at(link.ifindex, hook).unwrap_or_default();
            let place = format!("{} {direction}", link.name);
            let ahead = ahead_of_ours(&chain);
            if !ahead.is_empty() {
                return Err(overtaken(&place, &ahead));
            }
            others.extend(
                chain
                    .iter()
                    .filter(|program| !program.is_ours())
                    .map(|program| format!("{program} on {place}")),
            );
        }
    }
    Ok(match others.len() {
        0 => "no interface has a tcx program of another owner".to_owned(),
        _ => format!("slowhand's programs run before {}", others.join(", ")),
    })
}

/// The programs of others before the last one of slowhand's.
fn ahead_of_ours(chain: &[Program]) -> Vec<&Program> {
    let last = chain.iter().rposition(Program::is_ours).unwrap_or(0);
    chain[..last]
        .iter()
        .filter(|program| !program.is_ours())
        .collect()
}

fn overtaken(place: &str, ahead: &[&Program]) -> String {
    let names = Vec::from_iter(ahead.iter().map(ToString::to_string)).join(", ");
    format!(
        "{names} is ahead of slowhand's program on {place}; if it does not return TCX_NEXT, nothing is marked there and windows are limited by a coarser \
         clamp (`slowhand why` says so): attach it behind, or restart slowhand"
    )
}

/// Reads the kernel's description of a program.
pub(super) fn info(program: BorrowedFd<'_>) -> io::Result<libbpf_sys::bpf_prog_info> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = u32::try_from(size_of_val(&info)).expect("the info is short");
    // SAFETY: `info` is `length` bytes long and outlives the call; its pointers are null with zero lengths.
    let code =
        unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut length) };
    check(code).map(|_| info)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::{Marker, WindowKind, WindowLever};
    use crate::testing::foreign::{Foreign, Verdict};
    use crate::testing::{index, inside, plug};

    #[test]
    fn doctor_names_the_programs_before_and_after_ours() {
        inside(|| {
            plug("eth0");
            let eth0 = index(&mut Rtnl::open().unwrap(), "eth0");
            assert_eq!(
                in_words().unwrap(),
                "no interface has a tcx program of another owner"
            );
            let behind = Foreign::attach(eth0, libbpf_sys::BPF_TCX_INGRESS, Verdict::Pass);
            let behind_id = programs_at(eth0, Hook::Ingress).unwrap()[0].id;
            let mut marker = Marker::load(Hook::Ingress).unwrap();
            marker.attach(eth0).unwrap();
            assert_eq!(
                in_words().unwrap(),
                format!("slowhand's programs run before `foreign` (BPF program {behind_id}) on eth0 ingress")
            );
            drop(behind);
            let mut window = WindowLever::load_kind(WindowKind::Egress).unwrap();
            window.attach(eth0).unwrap();
            let _ahead = Foreign::attach(eth0, libbpf_sys::BPF_TCX_EGRESS, Verdict::Pass);
            let id = programs_at(eth0, Hook::Egress).unwrap()[0].id;
            assert_eq!(
                in_words().unwrap_err(),
                format!(
                    "`foreign` (BPF program {id}) is ahead of slowhand's program on eth0 egress; if it does not return TCX_NEXT, nothing is marked there and windows \
                     are limited by a coarser clamp (`slowhand why` says so): attach it behind, or restart slowhand"
                )
            );
        });
    }
}

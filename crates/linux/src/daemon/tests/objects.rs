//! The BPF objects that another process holds, and those that it has pinned.
//!
//! A process may have closed the descriptors of some of its programs. Programs from the same object file
//! refer to the same type description (BTF). The kernel reuses such numbers only after 2 billion allocations.

use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The usual place for pinned programs and maps.
const BPFFS: &CStr = c"/sys/fs/bpf";

/// The objects of a process at one moment.
#[derive(Debug)]
pub(super) struct Objects {
    /// Type descriptions (BTF) of the object files.
    descriptions: BTreeSet<u32>,
    maps: BTreeSet<u32>,
}

impl Objects {
    pub(super) fn of(pid: u32) -> Self {
        let programs = numbers(pid, "prog_id:");
        let its = ProgInfoIter::default().filter(|program| programs.contains(&program.id));
        Self {
            // All programs without BTF have 0.
            descriptions: its.map(|program| program.btf_id).filter(|&id| id != 0).collect(),
            maps: numbers(pid, "map_id:"),
        }
    }

    /// Those of its programs that the kernel has now.
    pub(super) fn programs(&self) -> BTreeSet<String> {
        ProgInfoIter::default()
            .filter(|program| self.descriptions.contains(&program.btf_id))
            .map(|program| program.name.to_string_lossy().into_owned())
            .collect()
    }

    /// Those of its maps that the kernel has now.
    pub(super) fn maps(&self) -> BTreeSet<String> {
        MapInfoIter::default()
            .filter(|map| self.maps.contains(&map.id) || self.descriptions.contains(&map.btf_id))
            .map(|map| map.name.to_string_lossy().into_owned())
            .collect()
    }
}

/// Number of tcx programs at the egress of this interface in this thread's namespace.
pub(super) fn on_the_way_out(ifindex: u32) -> u32 {
    let mut count = 0;
    let index = i32::try_from(ifindex).unwrap();
    // SAFETY: only the count is written, because no list is requested.
    let code = unsafe {
        libbpf_sys::bpf_prog_query(
            index,
            libbpf_sys::BPF_TCX_EGRESS,
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &raw mut count,
        )
    };
    assert_eq!(code, 0, "{}", io::Error::last_os_error());
    count
}

/// Numbers that the kernel shows for a process's descriptors.
fn numbers(pid: u32, field: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    for descriptor in fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten() {
        let text = fs::read_to_string(descriptor.path()).unwrap_or_default();
        let values = text.lines().filter_map(|line| line.strip_prefix(field));
        numbers.extend(values.filter_map(|value| value.trim().parse::<u32>().ok()));
    }
    numbers
}

/// Gives the command its own BPF file system at the usual place, where no other process pins anything.
pub(super) fn with_own_bpffs(command: &mut Command) {
    let mount = || {
        let (none, bpf) = (std::ptr::null(), c"bpf".as_ptr());
        // SAFETY: the C strings outlive the calls. Only the child's mounts change.
        let fine = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(
                    none,
                    c"/".as_ptr(),
                    none,
                    libc::MS_REC | libc::MS_PRIVATE,
                    none.cast(),
                ) == 0
                && libc::mount(bpf, BPFFS.as_ptr(), bpf, 0, none.cast()) == 0
        };
        match fine {
            true => Ok(()),
            false => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(mount) };
}

/// The BPF file system that a process sees. It exists as long as somebody has it open.
#[derive(Debug)]
pub(super) struct Pins(File);

impl Pins {
    /// The one of a process that has its own.
    pub(super) fn of(pid: u32) -> Self {
        let bpffs = BPFFS.to_str().unwrap();
        let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
        let is_it = |line: &str| line.contains(&format!(" {bpffs} ")) && line.contains(" - bpf ");
        assert!(mounts.lines().any(is_it), "{mounts}");
        Self(File::open(format!("/proc/{pid}/root{bpffs}")).unwrap())
    }

    fn root(&self) -> PathBuf {
        format!("/proc/self/fd/{}/", self.0.as_raw_fd()).into()
    }

    /// All pinned objects. Leaves out the kernel's own lists of all maps and programs.
    pub(super) fn list(&self) -> Vec<PathBuf> {
        let mut found = list(&self.root());
        found.retain(|path| path.extension().is_none_or(|extension| extension != "debug"));
        found
    }

    /// Whether the list would show an object if one were pinned.
    pub(super) fn would_be_seen(&self) -> bool {
        let folder = self.root().join("folder");
        fs::create_dir(&folder).unwrap();
        let seen = self.list() == [folder.clone()];
        fs::remove_dir(&folder).unwrap();
        seen
    }
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(list(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

//! What another process holds of BPF, and what it has pinned.
//!
//! A process may have closed the descriptors of some of its programs: those from the same object file name the same description of types (BTF).
//! Numbers of all of these are given anew only after two thousand millions.

use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs and maps are pinned by custom.
const BPFFS: &CStr = c"/sys/fs/bpf";

/// What a process held when it was looked at.
#[derive(Debug)]
pub(super) struct Objects {
    /// Of the object files.
    descriptions: BTreeSet<u32>,
    maps: BTreeSet<u32>,
}

impl Objects {
    pub(super) fn of(pid: u32) -> Self {
        let programs = numbers(pid, "prog_id:");
        let its = ProgInfoIter::default().filter(|program| programs.contains(&program.id));
        Self {
            // 0 would be every program that has none.
            descriptions: its.map(|program| program.btf_id).filter(|&id| id != 0).collect(),
            maps: numbers(pid, "map_id:"),
        }
    }

    /// The programs of these that the kernel has now.
    pub(super) fn programs(&self) -> BTreeSet<String> {
        ProgInfoIter::default()
            .filter(|program| self.descriptions.contains(&program.btf_id))
            .map(|program| program.name.to_string_lossy().into_owned())
            .collect()
    }

    /// The same of maps.
    pub(super) fn maps(&self) -> BTreeSet<String> {
        MapInfoIter::default()
            .filter(|map| self.maps.contains(&map.id) || self.descriptions.contains(&map.btf_id))
            .map(|map| map.name.to_string_lossy().into_owned())
            .collect()
    }
}

/// How many programs look at what leaves by this interface of this thread's namespace (tcx).
pub(super) fn on_the_way_out(ifindex: u32) -> u32 {
    let mut count = 0;
    let index = i32::try_from(ifindex).unwrap();
    // SAFETY: nothing is written but the number; no list is asked for.
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

/// Numbers that the kernel tells of a process's descriptors.
fn numbers(pid: u32, field: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    for descriptor in fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten() {
        let text = fs::read_to_string(descriptor.path()).unwrap_or_default();
        let values = text.lines().filter_map(|line| line.strip_prefix(field));
        numbers.extend(values.filter_map(|value| value.trim().parse::<u32>().ok()));
    }
    numbers
}

/// Gives the command a BPF file system of its own at the usual place, where nobody else pins anything.
pub(super) fn with_own_bpffs(command: &mut Command) {
    let mount = || {
        let (none, bpf) = (std::ptr::null(), c"bpf".as_ptr());
        // SAFETY: C strings that outlive the calls; the mounts of the child only.
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
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(mount) };
}

/// The BPF file system that a process sees. It stays for whoever has it open.
#[derive(Debug)]
pub(super) struct Pins(File);

impl Pins {
    /// Of a process with one of its own.
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

    /// Everything that is pinned there. The kernel itself offers a look at all maps and programs.
    pub(super) fn list(&self) -> Vec<PathBuf> {
        let mut found = list(&self.root());
        found.retain(|path| path.extension().is_none_or(|extension| extension != "debug"));
        found
    }

    /// Whether it would be seen if somebody pinned something.
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

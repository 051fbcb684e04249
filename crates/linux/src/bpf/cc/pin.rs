//! Controllers that stay after the process that loaded them ends, each pinned in its own directory of a BPF
//! file system.

use super::{ControllerName, PinError, UnloadError};
use crate::bpf::map::check;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// include/uapi/linux/magic.h
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;

/// A directory of pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    dir: PathBuf,
}

impl Default for Pins {
    /// `/sys/fs/bpf/slowhand/cc`.
    fn default() -> Self {
        Self::at("/sys/fs/bpf/slowhand/cc")
    }
}

impl Pins {
    pub(super) const LINK: &str = "link";

    /// Another directory, on a BPF file system.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Names of the controllers pinned here, sorted.
    pub fn names(&self) -> io::Result<Vec<ControllerName>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_str().and_then(|name| name.parse().ok());
            names.extend(name.filter(|_| entry.path().join(Self::LINK).exists()));
        }
        names.sort();
        Ok(names)
    }

    pub(super) fn write<'a>(
        &self,
        name: &ControllerName,
        objects: impl IntoIterator<Item = (&'static str, BorrowedFd<'a>)>,
    ) -> Result<(), PinError> {
        let own = self.prepare(name)?;
        let pinned = objects
            .into_iter()
            .try_for_each(|(file, fd)| pin(&own.join(file), fd));
        if pinned.is_err() {
            // Remove what was pinned before the failure. The caller needs the error of the failure itself.
            let _ = fs::remove_dir_all(&own);
        }
        pinned
    }

    /// Creates the directory of a controller.
    fn prepare(&self, name: &ControllerName) -> Result<PathBuf, PinError> {
        if !is_bpffs(&self.dir) {
            return Err(PinError::NotBpffs(self.dir.clone()));
        }
        let own = self.dir.join(name.as_str());
        let made = fs::create_dir_all(&self.dir).and_then(|()| fs::create_dir(&own));
        match made {
            Ok(()) => Ok(own),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(PinError::Exists(own)),
            Err(source) => Err(PinError::Kernel { path: own, source }),
        }
    }
}

/// Removes a pinned controller from the kernel. Sockets that use it keep it until they close.
pub fn unload(pins: &Pins, name: &ControllerName) -> Result<(), UnloadError> {
    let own = pins.dir.join(name.as_str());
    match fs::remove_dir_all(&own) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(UnloadError::NotPinned {
            name: name.clone(),
            dir: pins.dir.clone(),
        }),
        Err(source) => Err(UnloadError::Kernel { path: own, source }),
    }
}

fn pin(path: &Path, fd: BorrowedFd<'_>) -> Result<(), PinError> {
    let failed = |source| PinError::Kernel {
        path: path.to_owned(),
        source,
    };
    let text = c_path(path).map_err(failed)?;
    // SAFETY: the descriptor is live and the path is a C string that outlives the call.
    let code = unsafe { libbpf_sys::bpf_obj_pin(fd.as_raw_fd(), text.as_ptr()) };
    check(code).map(drop).map_err(failed)
}

/// Whether the nearest existing directory is on a BPF file system.
fn is_bpffs(dir: &Path) -> bool {
    let nearest = dir.ancestors().find(|dir| dir.exists());
    nearest.is_some_and(|dir| fs_magic(dir).is_ok_and(|magic| magic == BPF_FS_MAGIC))
}

fn fs_magic(path: &Path) -> io::Result<i64> {
    let text = c_path(path)?;
    let mut stat = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the path is a C string, and `stat` has room for the answer.
    if unsafe { libc::statfs(text.as_ptr(), stat.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed, and then filled by the kernel.
    Ok(unsafe { stat.assume_init() }.f_type)
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_outside_bpffs_is_refused_with_the_fix() {
        let pins = Pins::at("/proc/self/nowhere");
        let refused = pins.prepare(&"slow_lia".parse().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("mount -t bpf"), "{refused}");
        assert_eq!(pins.names().unwrap(), []);
    }
}

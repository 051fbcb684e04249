//! A pinned controller outlives the value that loaded it, until it is unloaded.

use crate::{can_run, load};
use linux::bpf::cc::{self, Coupled, PinError, Pins, UnloadError};
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A BPF file system for this test.
struct Bpffs(PathBuf);

impl Bpffs {
    fn mount(test: &str) -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("make a directory");
        let (target, kind) = (c_path(&dir), CString::new("bpf").expect("no zero"));
        // SAFETY: C strings that outlive the call; no data is passed.
        let code = unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
        assert_eq!(code, 0, "mount: {}", std::io::Error::last_os_error());
        Self(dir)
    }
}

impl Drop for Bpffs {
    fn drop(&mut self) {
        let target = c_path(&self.0);
        // A child that another test has just started holds a copy of a descriptor in it until its `exec`.
        let until = Instant::now() + Duration::from_secs(20);
        // SAFETY: a C string that outlives the call.
        while unsafe { libc::umount(target.as_ptr()) } != 0 {
            let error = std::io::Error::last_os_error();
            let is_busy = error.raw_os_error() == Some(libc::EBUSY);
            assert!(is_busy && Instant::now() < until, "umount: {error}");
            std::thread::sleep(Duration::from_millis(10));
        }
        fs::remove_dir(&self.0).expect("remove the directory");
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().expect("the test's path is text")).expect("no zero")
}

fn registered(name: &str) -> bool {
    let loaded = cc::loaded().expect("list");
    loaded
        .iter()
        .any(|loaded| loaded.name.as_str() == name && loaded.registered)
}

#[test]
fn a_pinned_controller_stays_until_it_is_unloaded() {
    if !can_run() {
        return;
    }
    let fs = Bpffs::mount("pins");
    let pins = Pins::at(fs.0.join("slowhand/cc"));
    let controller = load(Coupled::Cla, "pi");
    let name = controller.name().clone();
    controller.pin(&pins).expect("pin");
    assert!(registered(name.as_str()));
    assert_eq!(pins.names().expect("list"), std::slice::from_ref(&name));
    assert!(pins.dir().join(name.as_str()).join("orders").exists());

    cc::unload(&pins, &name).expect("unload");
    crate::net::eventually("gone", || !registered(name.as_str()), || name.to_string());
    assert_eq!(pins.names().expect("list"), []);
    let again = cc::unload(&pins, &name);
    assert!(matches!(again, Err(UnloadError::NotPinned { .. })), "{again:?}");
}

#[test]
fn a_directory_outside_bpffs_is_refused_and_the_controller_unloaded() {
    if !can_run() {
        return;
    }
    let controller = load(Coupled::Lia, "or");
    let name = controller.name().clone();
    let refused = controller.pin(&Pins::at(std::env::temp_dir().join("nowhere")));
    assert!(matches!(refused, Err(PinError::NotBpffs(_))), "{refused:?}");
    crate::net::eventually("gone", || !registered(name.as_str()), || name.to_string());
}

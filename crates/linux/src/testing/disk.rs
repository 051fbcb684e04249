//! A full disk.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Capacity of the disk, in bytes.
pub const PAGE: usize = 4096;

/// Runs `work` with a folder in which one page can be written, over all files. Only the thread of `work` sees
/// it.
pub fn on_a_full_disk<T: Send>(work: impl FnOnce(&Path) -> T + Send) -> T {
    let folder = std::env::temp_dir().join(format!("slowhand-disk-{:?}", std::thread::current().id()));
    std::fs::create_dir_all(&folder).unwrap();
    let in_it = || {
        mount(&folder).unwrap();
        work(&folder)
    };
    let done = std::thread::scope(|scope| scope.spawn(in_it).join());
    std::fs::remove_dir(&folder).unwrap();
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn mount(folder: &Path) -> io::Result<()> {
    let (none, tmpfs) = (std::ptr::null(), c"tmpfs".as_ptr());
    let folder = CString::new(folder.as_os_str().as_bytes())?;
    let private = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: C strings that outlive the calls. Only this thread's mounts change.
    let fine = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, private, none.cast()) == 0
            && libc::mount(tmpfs, folder.as_ptr(), tmpfs, 0, c"nr_blocks=1".as_ptr().cast()) == 0
    };
    match fine {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

//! Runs the program as a user does.
#![allow(dead_code, reason = "each test binary uses its own part of it")]

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run of the program printed, and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// A shell that starts the tests in the background has them ignore Ctrl-C, and what is ignored stays so in their children: there an interrupt
/// would be lost that comes before the program listens.
fn hear_interrupts() {
    use nix::sys::signal::{SigHandler, Signal, signal};
    // SAFETY: the default runs no code of ours.
    unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) }.unwrap();
}

/// The program, to be run at the root of the repository.
pub fn program() -> Command {
    hear_interrupts();
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowhand"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs the program with these arguments.
pub fn slowhand(arguments: &[&str]) -> Ran {
    program().args(arguments).output().unwrap().into()
}

/// Lets the command alone see a directory in place of another: a kernel that says something else of itself.
pub fn seeing(command: &mut Command, directory: &Path, place: &str) {
    use std::os::unix::process::CommandExt as _;
    let text = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
    let (from, onto, all) = (text(directory), text(Path::new(place)), text(Path::new("/")));
    let see = move || {
        let none = std::ptr::null();
        // SAFETY: C strings that outlive the calls; the mounts of the child only.
        let fine = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(
                    none,
                    all.as_ptr(),
                    none,
                    libc::MS_REC | libc::MS_PRIVATE,
                    none.cast(),
                ) == 0
                && libc::mount(from.as_ptr(), onto.as_ptr(), none, libc::MS_BIND, none.cast()) == 0
        };
        match fine {
            true => Ok(()),
            false => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(see) };
}

/// A directory of its own, gone at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it; `name` tells tests apart.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slowhand-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

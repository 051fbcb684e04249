//! Real programs in a lab's hosts.
//!
//! The client's program gets its own process namespace. When the program or the lab ends, the kernel kills
//! everything that the program started. Servers run the same way in the server's namespace. All programs see
//! the host's files, but not its network.
//!
//! # Sources
//! - `pid_namespaces(7)`: when the first process of a namespace ends, the kernel kills all others;
//!   `PR_SET_PDEATHSIG` in `prctl(2)`.
//!
//! # Checked by
//! `tests/shell.rs`: curl and iperf3 against nginx and iperf3; a program's orphans die with it.

use linux::netns::Netns;
use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;
use units::Duration;

/// Environment variable with the server's address, for programs.
pub const SERVER_VARIABLE: &str = "SLOWHAND_SERVER";
const GLANCE: Duration = Duration::from_millis(10);

/// The programs of a run. Each is passed to `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The client's program. The run is over when it ends.
    pub client: OsString,
    /// The server's programs. They start before the client's program and end after it. The client's program
    /// waits until one of them listens, for some seconds at most.
    pub servers: Vec<OsString>,
}

/// How the programs ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramsEnded {
    /// The client's exit status; `None`: it was still running when the run ended, and was killed.
    pub client: Option<ExitStatus>,
    /// Servers that ended by themselves, by their index.
    pub servers: Vec<(usize, ExitStatus)>,
}

impl ProgramsEnded {
    /// The client's exit code, as a shell has it (128 + signal); `None`: killed at the end of the run.
    pub fn code(&self) -> Option<i32> {
        let status = self.client?;
        status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal))
    }
}

/// Why a program could not be run.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// It could not be started.
    #[error("cannot start `{program}` in the lab; check that /bin/sh exists and run as root")]
    Start {
        /// The command.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// No thread to wait for it.
    #[error("cannot start a thread; check the limit `ulimit -u`")]
    Thread(#[source] io::Error),
}

/// A running program; dropping it kills the program and everything that it started.
#[derive(Debug)]
pub(crate) struct Running {
    child: Arc<Mutex<Child>>,
    over: Arc<AtomicBool>,
}

impl Running {
    /// Starts `program` in `netns`.
    pub(crate) fn start(program: &OsString, netns: &Netns, server: IpAddr) -> Result<Self, ProgramError> {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(program)
            .env(SERVER_VARIABLE, server.to_string());
        command.stdin(Stdio::null());
        netns.prepare(&mut command);
        let child = spawn_contained(&mut command).map_err(|source| ProgramError::Start {
            program: program.to_string_lossy().into_owned(),
            source,
        })?;
        Ok(Self {
            child: Arc::new(Mutex::new(child)),
            over: Arc::default(),
        })
    }

    /// Calls `ended` on a separate thread when the program ends by itself.
    pub(crate) fn when_ended(&self, ended: impl FnOnce() + Send + 'static) -> Result<(), ProgramError> {
        let (child, over) = (Arc::clone(&self.child), Arc::clone(&self.over));
        let wait = move || {
            while !over.load(Ordering::Relaxed) {
                if matches!(lock(&child).try_wait(), Ok(Some(_)) | Err(_)) {
                    ended();
                    return;
                }
                std::thread::sleep(GLANCE);
            }
        };
        let thread = std::thread::Builder::new().name("lab-program".into());
        thread.spawn(wait).map(drop).map_err(ProgramError::Thread)
    }

    /// Ends the program. Returns its exit status if it had ended by itself, otherwise kills it.
    pub(crate) fn finish(self) -> Option<ExitStatus> {
        lock(&self.child).try_wait().ok().flatten()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let mut child = lock(&self.child);
        // It may have ended already. In either case nothing of it is left after this.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn lock(child: &Mutex<Child>) -> std::sync::MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program as the first process of a process namespace, which dies with the thread that starts it.
///
/// `unshare` moves only the *children* of a process into a new process namespace, so a guard process is in
/// between. It starts the program, waits for it, and passes its exit status on.
pub(crate) fn spawn_contained(command: &mut Command) -> io::Result<Child> {
    // SAFETY: between fork and exec the hook makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(contain) };
    command.spawn()
}

/// In the child: becomes the guard of a grandchild, which continues to exec.
fn contain() -> io::Result<()> {
    // SAFETY: no pointers; this process has one thread.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    // SAFETY: as above.
    check(unsafe { libc::unshare(libc::CLONE_NEWPID) })?;
    // SAFETY: the child of a forked, single-threaded process; only async-signal-safe calls follow on either
    // side.
    match check(unsafe { libc::fork() })? {
        0 => {
            // SAFETY: no pointers.
            check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
            Ok(())
        }
        program => guard(program),
    }
}

/// Waits for the program and exits with its status.
fn guard(program: libc::pid_t) -> ! {
    close_all();
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for the call.
        let waited = unsafe { libc::waitpid(program, &raw mut status, 0) };
        if waited == program {
            break;
        }
        if waited < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            break;
        }
    }
    let code = if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        128 + libc::WTERMSIG(status)
    };
    // SAFETY: ends this process at once, without running the parent's exit handlers.
    unsafe { libc::_exit(code) }
}

/// Closes all descriptors. Otherwise the guard would hold the pipe by which `spawn` learns that exec
/// succeeded, and `spawn` would wait until the program ends.
fn close_all() {
    // SAFETY: the guard uses no descriptor after this.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            0 as libc::c_uint,
            libc::c_uint::MAX,
            0 as libc::c_uint,
        )
    };
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

//! Pipes between two sockets, borrowed only while bytes are in them.
//!
//! An idle connection has no pipe. This keeps its memory small, and keeps the pages of all pipes below the
//! kernel's limit per user.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::pipe2;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// Size of a pipe, in bytes. The kernel limits all pipes of an ordinary user to 64 MiB.
pub const SIZE: usize = 256 * 1024;
/// Empty pipes that a pool keeps.
const KEPT: usize = 64;

/// An empty pipe.
#[derive(Debug)]
pub struct Pipe {
    /// The end to read from.
    pub out: OwnedFd,
    /// The end to write into.
    pub into: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (out, into) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        // Beyond the limit it keeps the size that it has.
        let _ = fcntl(&into, FcntlArg::F_SETPIPE_SZ(SIZE as i32));
        Ok(Self { out, into })
    }
}

/// Empty pipes of one thread.
#[derive(Debug, Default)]
pub struct Pool(Mutex<Vec<Pipe>>);

impl Pool {
    /// Takes an empty pipe.
    pub fn take(&self) -> io::Result<Pipe> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(Pipe::new, Ok)
    }

    /// Returns a pipe that is empty again.
    pub fn put(&self, pipe: Pipe) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(pipe);
        }
    }
}

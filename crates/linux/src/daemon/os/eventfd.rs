//! A descriptor that wakes a sleeping loop.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// An eventfd that never blocks.
#[derive(Debug)]
pub(crate) struct EventFd(OwnedFd);

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Wakes the loop. Allowed in a signal handler.
    pub(crate) fn signal(&self) {
        let one = 1u64.to_ne_bytes();
        // A full counter (EAGAIN) has already woken the reader. The write cannot fail in any other way.
        // SAFETY: the buffer is live and its length is passed with it.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Resets the counter, so that the descriptor is not readable.
    pub(crate) fn clear(&self) {
        let mut count = [0u8; 8];
        // An empty counter (EAGAIN) needs no reset.
        // SAFETY: the buffer is live and its length is passed with it.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

impl AsRawFd for EventFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

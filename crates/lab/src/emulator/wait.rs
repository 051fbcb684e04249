//! Sleeps until a device has a packet or until a time with nanosecond precision. Another thread can wake the
//! sleeper.
//!
//! # Sources
//! - `epoll_pwait2(2)`, `eventfd(2)`, `sched(7)`, `PR_SET_TIMERSLACK` in `prctl(2)`.

use super::StartError;
use linux::realtime;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use units::Duration;

const MAX_EVENTS: usize = 64;

/// Waits for descriptors.
#[derive(Debug)]
pub(super) struct Waiter {
    epoll: OwnedFd,
    ready: Vec<libc::epoll_event>,
}

impl Waiter {
    pub(super) fn new() -> Result<Self, StartError> {
        // SAFETY: no pointers; the result is checked and owned once.
        let epoll = own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map_err(StartError::Wait)?;
        let mut waiter = Self {
            epoll,
            ready: Vec::with_capacity(MAX_EVENTS),
        };
        match waiter.pwait2(Some(Duration::ZERO)) {
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Err(StartError::NoPreciseWait),
            _ => Ok(waiter),
        }
    }

    /// Wakes with `token` while `source` can be read.
    pub(super) fn watch_fd(&self, source: &impl AsRawFd, token: u64) -> Result<(), StartError> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: token,
        };
        // SAFETY: `event` is valid for the call.
        let added = unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                source.as_raw_fd(),
                &raw mut event,
            )
        };
        check(added).map_err(StartError::Wait)
    }

    /// Sleeps until a descriptor is readable or `timeout` is over. Returns how many are readable; see
    /// [`Waiter::token`].
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> usize {
        // The only remaining error is an interruption by a signal; nothing is readable then.
        self.pwait2(timeout).unwrap_or(0)
    }

    fn pwait2(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let limit = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs().min(3_600).cast_signed(),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        self.ready.clear();
        // SAFETY: `ready` has room for `MAX_EVENTS`; `limit` is null or valid for the call; no signal mask.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.ready.as_mut_ptr(),
                MAX_EVENTS as libc::c_int,
                limit,
                std::ptr::null::<libc::sigset_t>(),
                0,
            )
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: the kernel has filled the first `count` entries.
        unsafe { self.ready.set_len(count) };
        Ok(count)
    }

    /// The token of the `index`th readable descriptor.
    pub(super) fn token(&self, index: usize) -> u64 {
        self.ready[index].u64
    }
}

/// Wakes a [`Waiter`] from any thread.
#[derive(Debug, Clone)]
pub(super) struct Waker {
    fd: Arc<OwnedFd>,
}

impl Waker {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked and owned once.
        let fd = own(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
        Ok(Self { fd: Arc::new(fd) })
    }

    pub(super) fn wake(&self) {
        let one = 1u64;
        // SAFETY: writes eight bytes from `one`. It can only fail when the counter is full, and then the
        // sleeper is awake.
        unsafe { libc::write(self.fd(), (&raw const one).cast(), 8) };
    }

    pub(super) fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: reads eight bytes into `count`; an empty eventfd says EAGAIN.
        unsafe { libc::read(self.fd(), (&raw mut count).cast(), 8) };
    }

    fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.fd()
    }
}

/// Asks for real-time scheduling and exact timers for the calling thread. Returns whether real-time
/// scheduling was granted.
pub(super) fn become_punctual() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    realtime::request(realtime::EXACT)
}

fn own(fd: libc::c_int) -> io::Result<OwnedFd> {
    check(fd)?;
    // SAFETY: the kernel just gave us this descriptor and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

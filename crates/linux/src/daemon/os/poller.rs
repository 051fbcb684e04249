//! Waits until one of several descriptors is readable or a timeout ends, with a resolution of 1 ns.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

const BATCH: usize = 16;

/// An epoll instance with a tag for every descriptor.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
}

/// The tags of readable descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ready(u64);

impl Ready {
    pub(crate) const fn has(self, tag: u8) -> bool {
        self.0 & (1 << tag) != 0
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and nobody else owns it.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { epoll })
    }

    /// Watches a descriptor until it is closed. Tags are 0..64. Several descriptors may share one.
    pub(crate) fn add(&self, fd: RawFd, tag: u8) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: u64::from(tag),
        };
        // SAFETY: `event` is live during the call.
        let rc = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        if rc < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Sleeps until a descriptor is readable or `timeout` is over. `None` means no timeout.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> io::Result<Ready> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        let count = match wait(&self.epoll, &mut events, timeout) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(Ready(
            events[..count]
                .iter()
                .fold(0, |ready, event| ready | 1 << event.u64),
        ))
    }
}

fn wait(epoll: &OwnedFd, events: &mut [libc::epoll_event], timeout: Option<Duration>) -> io::Result<usize> {
    let until = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let until = until.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let none = std::ptr::null::<libc::sigset_t>();
    // SAFETY: the buffer is live and its length is passed with it; `until` is null or points into this frame.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            events.as_mut_ptr(),
            events.len(),
            until,
            none,
            0usize,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::os::eventfd::EventFd;

    #[test]
    fn a_timeout_ends_with_nothing_ready() {
        let poller = Poller::new().unwrap();
        assert_eq!(
            poller.wait(Some(Duration::from_micros(300))).unwrap(),
            Ready::default()
        );
    }

    #[test]
    fn a_readable_descriptor_is_reported_by_its_tag() {
        let poller = Poller::new().unwrap();
        let (quiet, loud) = (EventFd::new().unwrap(), EventFd::new().unwrap());
        poller.add(quiet.as_raw_fd(), 1).unwrap();
        poller.add(loud.as_raw_fd(), 63).unwrap();
        loud.signal();
        let ready = poller.wait(None).unwrap();
        assert!(ready.has(63) && !ready.has(1));
        loud.clear();
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), Ready::default());
    }
}

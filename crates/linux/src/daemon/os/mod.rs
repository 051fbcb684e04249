//! Wraps the system calls that the loop needs: clocks, epoll, and a descriptor that wakes a sleeping loop.
//!
//! In: nothing of the daemon. Out: [`clock::Clock`], [`poller::Poller`], [`eventfd::EventFd`].

pub(crate) mod clock;
pub(crate) mod eventfd;
pub(crate) mod poller;

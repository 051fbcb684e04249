//! Waiting for what must happen, with an end.

#[path = "../../../linux/src/testing/patience.rs"]
mod patience;

use linux::netlink::{Protocol, Socket};
use linux::netns::Netns;
pub use patience::Patience;
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::Duration;

/// For what a daemon does at once on a machine with time for it.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longer than a daemon waits for the rest of what a DHCP client does.
const QUIET: Duration = Duration::from_millis(1_200);

/// Looks again and again until it is so.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    assert!(within(PATIENCE, &mut done), "this never came: {what}");
}

/// Whether it is so in time.
pub fn within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let mut patience = Patience::of(limit);
    while !done() {
        if !patience.lasts() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Whether there is something to read at one of these in time.
pub fn readable<const N: usize>(fds: [RawFd; N], limit: Duration) -> bool {
    let events = libc::POLLIN;
    let mut fds = fds.map(|fd| libc::pollfd {
        fd,
        events,
        revents: 0,
    });
    let limit = libc::c_int::try_from(limit.as_millis()).unwrap();
    // SAFETY: an array of this length.
    unsafe { libc::poll(fds.as_mut_ptr(), N as libc::nfds_t, limit) > 0 }
}

/// Notices every change of a rule, a route, an address or a link of a namespace.
pub struct RouteMonitor(Socket);

impl RouteMonitor {
    /// Notices changes from now on.
    pub fn on(netns: &Netns) -> Self {
        let open = || {
            let socket = Socket::open(Protocol::Route).unwrap();
            let groups = [
                libc::RTNLGRP_LINK,
                libc::RTNLGRP_IPV4_IFADDR,
                libc::RTNLGRP_IPV6_IFADDR,
                libc::RTNLGRP_IPV4_ROUTE,
                libc::RTNLGRP_IPV6_ROUTE,
                libc::RTNLGRP_IPV4_RULE,
                libc::RTNLGRP_IPV6_RULE,
            ];
            groups.iter().for_each(|group| socket.subscribe(*group).unwrap());
            socket
        };
        Self(netns.run(open).unwrap())
    }

    /// Waits until nothing has happened for a while.
    pub fn until_quiet(mut self) {
        let mut patience = Patience::of(PATIENCE);
        while patience.lasts() {
            if !readable([self.0.as_raw_fd()], QUIET) {
                return;
            }
            // What was lost was a change, too.
            while !matches!(self.0.receive(), Ok(None)) {}
        }
    }
}

//! The kernel's own reports: remaining sockets, counters, log messages.

use crate::net::run;
use linux::netns::Netns;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::AsRawFd as _;

/// Messages that a healthy kernel does not log. The log covers the whole host, so ordinary lines of others do
/// not count.
const COMPLAINTS: [&str; 8] = [
    "WARNING:",
    "BUG:",
    "refcount_t",
    "Call Trace:",
    "general protection fault",
    "unregister_netdevice: waiting",
    "blocked for more than",
    "rcu: INFO:",
];

/// A namespace's TCP and MPTCP sockets that are not freed, orphans included, by protocol.
pub fn sockets(host: &Netns) -> BTreeMap<String, u64> {
    let text = read_inside(host, "protocols");
    let mut left = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut words = line.split_whitespace();
        if let (Some(protocol), Some(_size), Some(Ok(count))) =
            (words.next(), words.next(), words.next().map(str::parse))
            && protocol.contains("TCP")
            && count > 0
        {
            left.insert(protocol.to_owned(), count);
        }
    }
    left
}

/// An MPTCP counter, by its name in `nstat` without `MPTcpExt`.
pub fn mptcp_count(host: &Netns, name: &str) -> u64 {
    let text = read_inside(host, "netstat");
    let mut lines = text.lines().filter(|line| line.starts_with("MPTcpExt:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let found = names
        .split_whitespace()
        .zip(values.split_whitespace())
        .find(|(known, _)| *known == name);
    let (_, value) = found.unwrap_or_else(|| panic!("this kernel does not count {name}"));
    value.parse().expect("a number")
}

/// All sockets and counters of a host, to diagnose what is left.
pub fn said_of(host: &Netns) -> String {
    run(host, "ss -tMnaeoi") + &run(host, "nstat -as")
}

fn read_inside(host: &Netns, file: &str) -> String {
    let path = format!("/proc/thread-self/net/{file}");
    let read = host
        .run(|| std::fs::read_to_string(&path))
        .expect("enter the host");
    read.expect("the kernel counts")
}

/// The kernel's log after a given moment.
pub struct Log(File);

impl Log {
    pub fn from_now() -> Self {
        let mut log = File::open("/dev/kmsg").expect("root may read the kernel's log");
        log.seek(SeekFrom::End(0)).expect("go to its end");
        // SAFETY: no memory; the descriptor is open.
        let code = unsafe { libc::fcntl(log.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
        Self(log)
    }

    /// Complaints logged after the log was opened.
    pub fn complaints(mut self) -> Vec<String> {
        let (mut found, mut record) = (Vec::new(), vec![0; 8_192]);
        loop {
            match self.0.read(&mut record) {
                Ok(length) => {
                    let line = String::from_utf8_lossy(&record[..length]);
                    let complains = COMPLAINTS.iter().any(|word| line.contains(word));
                    found.extend(complains.then(|| line.trim_end().to_owned()));
                }
                // Lines were overwritten before they were read. The next read returns the oldest remaining
                // one.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return found,
                Err(error) => panic!("reading the kernel's log: {error}"),
            }
        }
    }
}

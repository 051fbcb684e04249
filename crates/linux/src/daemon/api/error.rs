//! Why a daemon cannot start, and why it ends.

use crate::journal::{JournalError, SetSysctlError};
use crate::mptcp_pm::{EventError, LimitsError, OpenError};
use crate::netlink;
use crate::rtnl::WatchError;
use crate::sysctl::SysctlError;
use std::io;
use thiserror::Error;

/// Why a daemon could not start. What it had changed by then has been put back.
#[derive(Debug, Error)]
pub enum StartError {
    /// The kernel's MPTCP.
    #[error(transparent)]
    Mptcp(#[from] OpenError),
    /// Its events.
    #[error(transparent)]
    Events(#[from] EventError),
    /// Its limits.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// Links, addresses and routes.
    #[error(transparent)]
    Links(#[from] WatchError),
    /// A netlink socket.
    #[error(transparent)]
    Netlink(#[from] netlink::OpenError),
    /// The record of changes.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A kernel parameter.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    /// A kernel parameter, on record.
    #[error(transparent)]
    SetSysctl(#[from] SetSysctlError),
    /// Sockets for probes.
    #[error("sockets for probes cannot be opened; they need CAP_NET_RAW: run as root")]
    Probes(#[source] io::Error),
    /// No name for ourselves.
    #[error("/dev/urandom cannot be read; servers need a random number to know this host by")]
    Random(#[source] io::Error),
    /// The loop's own descriptors.
    #[error("no file descriptor left for the loop; see `ulimit -n`")]
    Loop(#[source] io::Error),
}

/// Why a daemon ended before it was told to.
#[derive(Debug, Error)]
pub enum RunError {
    /// Links, addresses and routes cannot be watched any more.
    #[error(transparent)]
    Links(#[from] WatchError),
    /// Connections cannot be watched any more.
    #[error(transparent)]
    Events(#[from] EventError),
    /// The loop's own descriptors.
    #[error("waiting for events; start the daemon again")]
    Loop(#[source] io::Error),
    /// What was changed could not be put back.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What was changed could not all be put back.
    #[error("left as it is: {}", .0.join("; "))]
    Left(Vec<String>),
}

/// An error with everything behind it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // A transparent error repeats its cause's words.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

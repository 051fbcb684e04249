//! Why a daemon cannot start, and why it ends.

use crate::daemon::api::networks::NetworksError;
use crate::journal::{JournalError, SetSysctlError};
use crate::mptcp_pm::{EventError, LimitsError, OpenError};
use crate::netlink;
use crate::rtnl::WatchError;
use crate::sysctl::SysctlError;
use std::io;
use thiserror::Error;

/// Why a daemon could not start. Its changes up to that point have been restored.
#[derive(Debug, Error)]
pub enum StartError {
    /// The kernel's MPTCP path manager could not be opened.
    #[error(transparent)]
    Mptcp(#[from] OpenError),
    /// Its events could not be subscribed to.
    #[error(transparent)]
    Events(#[from] EventError),
    /// Its limits could not be set.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// Links, addresses and routes could not be watched.
    #[error(transparent)]
    Links(#[from] WatchError),
    /// A netlink socket could not be opened.
    #[error(transparent)]
    Netlink(#[from] netlink::OpenError),
    /// The record of changes could not be opened.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A kernel parameter could not be read or written.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    /// A recorded kernel parameter could not be set.
    #[error(transparent)]
    SetSysctl(#[from] SetSysctlError),
    /// Networks for flows could not be set up.
    #[error(transparent)]
    Networks(#[from] Box<NetworksError>),
    /// The sockets for probes could not be opened.
    #[error("sockets for probes cannot be opened; they need CAP_NET_RAW: run as root")]
    Probes(#[source] io::Error),
    /// No random number for this host's identifier.
    #[error("/dev/urandom cannot be read; servers need a random number to recognise this host")]
    Random(#[source] io::Error),
    /// The loop's own descriptors could not be opened.
    #[error("no file descriptor left for the loop; see `ulimit -n`")]
    Loop(#[source] io::Error),
}

/// Why a daemon ended before it was stopped.
#[derive(Debug, Error)]
pub enum RunError {
    /// Links, addresses and routes can no longer be watched.
    #[error(transparent)]
    Links(#[from] WatchError),
    /// Connections can no longer be watched.
    #[error(transparent)]
    Events(#[from] EventError),
    /// The loop's own descriptors failed.
    #[error("waiting for events; start the daemon again")]
    Loop(#[source] io::Error),
    /// The record of changes failed, so the changes could not be restored.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Some changes could not be restored.
    #[error("left as it is: {}", .0.join("; "))]
    Left(Vec<String>),
}

/// Formats an error and all its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // The text of a transparent error is that of its cause.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

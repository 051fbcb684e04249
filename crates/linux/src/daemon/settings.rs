//! What the daemon changes for the whole namespace, on record: who manages paths, the kernel's own limits, and, where windows of running
//! connections cannot be bounded, the receive buffer of new ones.
//!
//! # Sources
//! - `Documentation/networking/mptcp-sysctl.rst`, `ip-sysctl.rst` (`tcp_rmem`), Linux 6.18.
//!
//! # Where we differ, and why
//! 1. A receive buffer of n bytes gives a window of about 3/5 n (2 MB gave 1.2 MB), so the buffer is 5/3 of the window that is wanted, and
//!    never more than the host allowed before.

use super::StartError;
use super::sender::{Sender, default_controller};
use crate::journal::{Change, Journal, JournalError, Leftover, SetSysctlError, Undone};
use crate::mptcp_pm::{Commands, Limits};
use crate::rtnl::Rtnl;
use crate::sysctl::{self, Key, PathManager};
use std::path::Path;
use thiserror::Error;
use units::Bytes;

/// The most that the kernel takes.
const CLIENT_LIMITS: Limits = Limits {
    subflows: 8,
    add_addr_accepted: 8,
};
/// A buffer under this ruins every connection.
const LEAST_BUFFER: u64 = 256 * 1024;

/// Why what a crashed run left could not be taken back.
#[derive(Debug, Error)]
pub enum RecoverError {
    /// The record cannot be read, or another daemon has it open.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The settings are as they were, but limits may still lie on sockets.
    #[error("limits may still lie on open connections, and go when the connections are closed: {0}")]
    Sockets(String),
}

/// Puts back what a crashed run left in the calling thread's namespace, limits on sockets included; how many changes were on record.
///
/// # Errors
/// When something is left.
pub fn recover(journal: &Path) -> Result<usize, RecoverError> {
    let undone = Journal::open(journal)?.1;
    let on_sockets = |left: &Leftover| left.change == Change::SocketLimits;
    match undone.left.into_iter().find(on_sockets) {
        Some(left) => Err(RecoverError::Sockets(left.why)),
        None => Ok(undone.done),
    }
}

/// The record of changes, and the handle to make those of routes.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) rtnl: Rtnl,
    pub(super) journal: Journal,
    /// What could not be put back after a crash, for the log.
    pub(super) left: Vec<String>,
    /// `tcp_rmem` before the first change: minimum, default, maximum.
    rmem: Option<[u64; 3]>,
    /// Its maximum now, if it was changed.
    buffer: Option<u64>,
}

impl Settings {
    /// Opens the record and takes back what a crashed run left.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, StartError> {
        let (journal, undone) = match path {
            Some(path) => Journal::open(path)?,
            None => (Journal::in_memory(), Undone::default()),
        };
        let left = undone.left.iter().map(ToString::to_string).collect();
        Ok(Self {
            rtnl: Rtnl::open()?,
            journal,
            left,
            rmem: None,
            buffer: None,
        })
    }

    /// Chooses who manages the paths of connections from now on.
    pub(super) fn take_over(
        &mut self,
        commands: &mut Commands,
        manager: PathManager,
    ) -> Result<(), StartError> {
        let (key, value) = sysctl::path_manager(manager)?;
        self.journal.set_sysctl(&key, value)?;
        let old = commands.limits()?;
        if old != CLIENT_LIMITS {
            let pair = |limits: Limits| (limits.subflows, limits.add_addr_accepted);
            self.journal.will(Change::Limits {
                old: pair(old),
                new: pair(CLIENT_LIMITS),
            })?;
            commands.set_limits(CLIENT_LIMITS)?;
        }
        Ok(())
    }

    /// Chooses what new connections are sent with from now on.
    pub(super) fn send_with(&mut self, sender: Option<&Sender>) -> Result<(), StartError> {
        let Some(sender) = sender else { return Ok(()) };
        Ok(self.journal.set_sysctl(&default_controller(), sender.name())?)
    }

    /// The most that the receive buffer of a new connection may grow to, if it was lowered.
    pub(super) fn buffer(&self) -> Option<Bytes> {
        self.buffer.map(Bytes::new)
    }

    /// The window of connections that are made from now on. Small changes are not worth a line on record.
    pub(super) fn bound_new_connections(&mut self, window: Bytes) -> Result<(), SetSysctlError> {
        let key = Key::new("net.ipv4.tcp_rmem");
        let [least, default, most] = match self.rmem {
            Some(before) => before,
            None => *self.rmem.insert(three(&sysctl::read(&key)?)),
        };
        let most = (window.get() * 5 / 3).max(LEAST_BUFFER).min(most);
        if self
            .buffer
            .is_some_and(|buffer| most.abs_diff(buffer) < buffer / 4)
        {
            return Ok(());
        }
        self.buffer = Some(most);
        // Tabs, as the kernel writes it: the record compares.
        self.journal
            .set_sysctl(&key, &format!("{least}\t{}\t{most}", default.min(most)))
    }
}

fn three(text: &str) -> [u64; 3] {
    let mut values = text.split_whitespace().map(|value| value.parse().unwrap_or(0));
    std::array::from_fn(|_| values.next().unwrap_or(0))
}

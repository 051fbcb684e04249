//! Recorded changes to the whole namespace: the path manager, its limits, and the receive buffer of a subflow
//! that joins. If windows of running connections cannot be limited, also the receive buffer of new ones.
//!
//! # Sources
//! - `Documentation/networking/mptcp-sysctl.rst`, `ip-sysctl.rst` (`tcp_rmem`), Linux 6.18.
//! - net/mptcp/protocol.c (mptcp_rcv_space_adjust: subflows get the connection's receive buffer when that
//!   grows), net/mptcp/sockopt.c (mptcp_sockopt_sync_locked: a later subflow gets only what a program has
//!   set), net/ipv4/tcp_input.c (tcp_grow_window), Linux 6.18.
//!
//! # Where we differ, and why
//! 1. A receive buffer of n bytes gives a window of about 3/5 n (2 MB gave 1.2 MB). So the buffer is 5/3 of
//!    the wanted window, but never more than the host's own setting. Connections may want windows of all
//!    sizes. A new one gets the largest, in steps of 1/4, because each size is a line on record.
//! 2. A subflow that joins after the connection's buffer has grown keeps the default one, 128 KiB, and never
//!    announces more than 80 kB. While an older subflow lives, nobody notices, because the largest window
//!    counts. Once a roaming host has replaced all of them, the connection has only 80 kB. So while the
//!    kernel creates the socket of a join, and only then, the default is the connection's buffer, as on its
//!    other subflows. It is not larger, because a socket announces all that its buffer holds and never takes
//!    that back.
//!
//! # Checked by
//! `tests`; `daemon::tests::acts`, `daemon::tests::levers`, `daemon::tests::undone`; `journal::tests`.

use crate::daemon::api::error::StartError;
use crate::daemon::api::sender::{Sender, default_controller};
use crate::journal::{Change, Journal, JournalError, Leftover, SetSysctlError, Undone};
use crate::mptcp_pm::{Commands, Limits};
use crate::sysctl::{self, Key, PathManager};
use policy::ConnId;
use std::collections::BTreeMap;
use std::iter;
use std::path::Path;
use thiserror::Error;
use units::Bytes;

/// The largest limits that the kernel accepts.
const CLIENT_LIMITS: Limits = Limits {
    subflows: 8,
    add_addr_accepted: 8,
};
/// The receive buffer of a new socket: minimum, default, maximum.
const RMEM: &str = "net.ipv4.tcp_rmem";
/// A smaller buffer ruins every connection.
const LEAST_BUFFER: u64 = 256 * 1024;

/// Why what a crashed run left could not be undone.
#[derive(Debug, Error)]
pub enum RecoverError {
    /// The record cannot be read, or another daemon has it open.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Limits may remain on sockets.
    #[error(
        "limits may still lie on open connections, and go when the connections are closed: {}{}", words(.on_sockets), and_others(.others)
    )]
    Sockets {
        /// The limits that remain, and why they could not be removed.
        on_sockets: Vec<Leftover>,
        /// Other changes that were not restored.
        others: Vec<Leftover>,
    },
}

fn words(left: &[Leftover]) -> String {
    let words = left.iter().map(ToString::to_string);
    Vec::from_iter(words).join("; ")
}

fn and_others(left: &[Leftover]) -> String {
    match left {
        [] => String::new(),
        _ => format!("; and left as it is: {}", words(left)),
    }
}

/// Restores what a crashed run left in the calling thread's namespace, including limits on sockets. The
/// result names what the user has changed meanwhile and what the kernel refused to restore. Neither is on
/// record any more.
///
/// # Errors
/// If the record cannot be read, or limits may remain on sockets.
pub fn recover(journal: &Path) -> Result<Undone, RecoverError> {
    let mut undone = Journal::open(journal)?.1;
    let is_on_socket =
        |left: &mut Leftover| matches!(left.change, Change::SocketLimits | Change::FallbackWindow(_));
    let on_sockets = Vec::from_iter(undone.left.extract_if(.., is_on_socket));
    if on_sockets.is_empty() {
        return Ok(undone);
    }
    Err(RecoverError::Sockets {
        on_sockets,
        others: undone.left,
    })
}

/// The record of changes, and the settings changed by it.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) journal: Journal,
    /// What could not be restored after a crash, for the log.
    pub(crate) left: Vec<String>,
    /// `tcp_rmem` before the first change: minimum, default, maximum.
    rmem: Option<[u64; 3]>,
    /// The windows that living connections would have if they could be limited.
    wanted: BTreeMap<ConnId, Bytes>,
    /// The maximum of `tcp_rmem` now, if it was changed.
    buffer: Option<u64>,
    /// `tcp_rmem` before a join, if it could not be restored.
    owed: Option<String>,
    /// Who manages the paths of connections, once that was chosen.
    manager: Option<PathManager>,
    /// The congestion controller of new connections. Held until no socket can choose it any more.
    sender: Option<Sender>,
}

impl Settings {
    /// Opens the record and undoes what a crashed run left.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, StartError> {
        let (journal, undone) = match path {
            Some(path) => Journal::open(path)?,
            None => (Journal::in_memory(), Undone::default()),
        };
        let left = undone.left.iter().map(ToString::to_string).collect();
        Ok(Self {
            journal,
            left,
            rmem: None,
            wanted: BTreeMap::new(),
            buffer: None,
            owed: None,
            manager: None,
            sender: None,
        })
    }

    /// Chooses who manages the paths of connections from now on.
    pub(crate) fn take_over(
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
        self.manager = Some(manager);
        Ok(())
    }

    /// Chooses the path manager again if another program has changed it. Returns whether one had.
    pub(crate) fn keep_path_manager(&mut self, commands: &mut Commands) -> Result<bool, StartError> {
        let Some(manager) = self.manager else {
            return Ok(false);
        };
        let (key, value) = sysctl::path_manager(manager)?;
        if sysctl::read(&key)? == value && commands.limits()? == CLIENT_LIMITS {
            return Ok(false);
        }
        self.take_over(commands, manager)?;
        Ok(true)
    }

    /// Sets the congestion controller of new connections.
    pub(crate) fn send_with(&mut self, sender: Option<Sender>) -> Result<(), StartError> {
        self.sender = sender;
        let Some(sender) = &self.sender else { return Ok(()) };
        Ok(self.journal.set_sysctl(&default_controller(), sender.name())?)
    }

    /// The largest receive buffer of a new connection, if it was lowered.
    pub(crate) fn buffer(&self) -> Option<Bytes> {
        self.buffer.map(Bytes::new)
    }

    /// Limits the window of connections created from now on to the largest that a living one wants.
    pub(crate) fn bound_new_connections(
        &mut self,
        conn: ConnId,
        window: Bytes,
    ) -> Result<(), SetSysctlError> {
        let key = Key::new(RMEM);
        let [least, default, most] = match self.rmem {
            Some(before) => before,
            None => *self.rmem.insert(three(&sysctl::read(&key)?)),
        };
        self.wanted.insert(conn, window);
        let largest = self.wanted.values().max().map_or(window, |largest| *largest);
        let most = buffer_for(largest).min(most);
        // A small change is not worth a line on record.
        if self
            .buffer
            .is_some_and(|buffer| (buffer * 7 / 10..=buffer).contains(&most))
        {
            return Ok(());
        }
        // With tabs, as the kernel writes it: the record compares the text.
        self.journal
            .set_sysctl(&key, &format!("{least}\t{}\t{most}", default.min(most)))?;
        self.buffer = Some(most);
        Ok(())
    }

    /// Calls `join`, with which the kernel creates a socket, so that the socket gets its connection's receive
    /// buffer. The buffer is at least the default and at most what the host allows. If the connection has a
    /// clamp, the buffer is for twice that window at most: before a clamp is set, the kernel announces all
    /// that the buffer holds.
    pub(crate) fn with_buffer<T>(
        &mut self,
        buffer: Bytes,
        clamp: Option<Bytes>,
        join: impl FnOnce() -> T,
    ) -> (T, Result<(), SetSysctlError>) {
        let key = Key::new(RMEM);
        // First restore what could not be restored last time. If that fails again, report it again.
        if let Some(usual) = &self.owed
            && let Err(error) = sysctl::write(&key, usual)
        {
            return (join(), Err(error.into()));
        }
        self.owed = None;
        let usual = match sysctl::read(&key) {
            Ok(usual) => usual,
            Err(error) => return (join(), Err(error.into())),
        };
        let [least, default, most] = three(&usual);
        let useful = clamp.map_or(u64::MAX, |window| buffer_for(window * 2));
        let buffer = buffer.get().min(useful).min(most);
        if buffer <= default {
            return (join(), Ok(()));
        }
        let value = format!("{least}\t{buffer}\t{most}");
        let (joined, given) = self.journal.set_sysctl_while(&key, &value, join);
        if given.is_err() && sysctl::read(&key).is_ok_and(|now| now == value) {
            self.owed = Some(usual);
        }
        (joined, given)
    }

    /// Removes a connection that is gone. The setting for new connections stays.
    pub(crate) fn forget(&mut self, conn: ConnId) {
        self.wanted.remove(&conn);
    }
}

/// The smallest buffer in the steps that gives such a window.
fn buffer_for(window: Bytes) -> u64 {
    let enough = window.get().saturating_mul(5) / 3;
    let steps = iter::successors(Some(LEAST_BUFFER), |step| step.checked_add(step / 4));
    steps.into_iter().find(|step| *step >= enough).unwrap_or(enough)
}

fn three(text: &str) -> [u64; 3] {
    let mut values = text.split_whitespace().map(|value| value.parse().unwrap_or(0));
    std::array::from_fn(|_| values.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PAGE, inside, on_a_full_disk};
    use proptest::prelude::*;

    fn rmem() -> String {
        sysctl::read(&Key::new(RMEM)).unwrap()
    }

    fn of_new_connections() -> Bytes {
        Bytes::new(three(&rmem())[2])
    }

    #[test]
    fn a_new_connection_gets_the_largest_window_of_the_living() {
        inside(|| {
            let mut settings = Settings::open(None).unwrap();
            let [small, large] = [Bytes::from_kib(200), Bytes::from_kib(600)];
            settings.bound_new_connections(ConnId(1), large).unwrap();
            let enough = of_new_connections();
            assert!(
                enough.get() >= large.get() * 5 / 3 && enough.get() < large.get() * 9 / 4,
                "{enough:?}"
            );
            settings.bound_new_connections(ConnId(2), small).unwrap();
            assert_eq!(of_new_connections(), enough);
            settings.forget(ConnId(1));
            settings.bound_new_connections(ConnId(2), small).unwrap();
            assert!(of_new_connections() < enough);
        });
    }

    /// The buffer of a socket that joins a connection with this buffer and clamp.
    fn of_what_joins(settings: &mut Settings, buffer: Bytes, clamp: Option<Bytes>) -> u64 {
        let (seen, given) = settings.with_buffer(buffer, clamp, || three(&rmem()));
        given.unwrap();
        seen[1]
    }

    #[test]
    fn a_join_gets_its_connections_buffer_and_others_keep_theirs() {
        inside(|| {
            let before = rmem();
            let [_, default, most] = three(&before);
            let mut settings = Settings::open(None).unwrap();
            let large = Bytes::from_kib(4_096);
            assert_eq!(of_what_joins(&mut settings, large, None), large.get());
            assert_eq!(of_what_joins(&mut settings, Bytes::new(2 * most), None), most);
            assert_eq!(of_what_joins(&mut settings, Bytes::from_kib(64), None), default);
            let clamp = Bytes::from_kib(300);
            let clamped = of_what_joins(&mut settings, large, Some(clamp));
            assert!(
                clamped >= clamp.get() * 10 / 3 && clamped < large.get(),
                "{clamped}"
            );
            assert_eq!((rmem(), settings.journal.changes().len()), (before.clone(), 0));
            settings
                .bound_new_connections(ConnId(1), Bytes::from_kib(200))
                .unwrap();
            let bounded = rmem();
            assert_eq!(
                of_what_joins(&mut settings, large, None),
                of_new_connections().get()
            );
            assert_eq!((rmem(), settings.journal.changes().len()), (bounded, 1));
            assert_eq!(settings.journal.undo().unwrap().left, []);
            assert_eq!(rmem(), before);
        });
    }

    #[test]
    fn a_join_succeeds_even_if_its_buffer_cannot_be_raised() {
        on_a_full_record(|settings| {
            let (joined, given) = settings.with_buffer(Bytes::from_kib(4_096), None, || 7);
            assert!(joined == 7 && given.is_err());
        });
    }

    #[test]
    fn a_failed_restore_is_retried_before_the_next_join() {
        inside(|| {
            let before = rmem();
            let mut settings = Settings::open(None).unwrap();
            settings.owed = Some(before.clone());
            sysctl::write(&Key::new(RMEM), "4096\t1000000\t6291456").unwrap();
            let joined = of_what_joins(&mut settings, Bytes::from_kib(4_096), None);
            assert_eq!((joined, rmem()), (4_096 * 1_024, before));
        });
    }

    #[test]
    fn a_buffer_that_could_not_be_set_is_not_reported_and_is_retried() {
        on_a_full_record(|settings| {
            let mut bound = || settings.bound_new_connections(ConnId(1), Bytes::from_kib(200));
            assert!(bound().is_err() && bound().is_err());
            assert_eq!(settings.buffer(), None);
        });
    }

    /// Runs `test` with a record that takes no further line. Nothing may be set then.
    fn on_a_full_record(test: impl FnOnce(&mut Settings) + Send) {
        inside(|| {
            on_a_full_disk(|disk| {
                let before = rmem();
                let mut settings = Settings::open(Some(&disk.join("journal"))).unwrap();
                let full = Change::Sysctl {
                    key: Key::new(RMEM),
                    old: before.clone(),
                    new: "1".repeat(PAGE - 160),
                };
                settings.journal.will(full).unwrap();
                test(&mut settings);
                assert_eq!(rmem(), before);
            });
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn however_many_connections_want_whatever_the_buffer_is_put_back(
            wanted in prop::collection::vec((0u32..5, 1u64..4_000), 1..200)
        ) {
            inside(|| {
                let before = rmem();
                let mut settings = Settings::open(None).unwrap();
                for (conn, kib) in wanted {
                    settings.bound_new_connections(ConnId(conn), Bytes::from_kib(kib)).unwrap();
                }
                assert_ne!(rmem(), before);
                assert!(settings.journal.changes().len() <= 15, "one line for each step");
                assert_eq!(settings.journal.undo().unwrap().left, []);
                assert_eq!(rmem(), before);
            });
        }
    }
}

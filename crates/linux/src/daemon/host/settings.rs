//! What the daemon changes for the whole namespace, on record: who manages paths, the kernel's own limits, the receive buffer of a subflow that is joined, and,
//! where windows of running connections cannot be bounded, that of new ones.
//!
//! # Sources
//! - `Documentation/networking/mptcp-sysctl.rst`, `ip-sysctl.rst` (`tcp_rmem`), Linux 6.18.
//! - net/mptcp/protocol.c (mptcp_rcv_space_adjust: subflows get the connection's receive buffer when that grows), net/mptcp/sockopt.c (mptcp_sockopt_sync_locked:
//!   one that joins later gets only what a program has set), net/ipv4/tcp_input.c (tcp_grow_window), Linux 6.18.
//!
//! # Where we differ, and why
//! 1. A receive buffer of n bytes gives a window of about 3/5 n (2 MB gave 1.2 MB), so the buffer is 5/3 of the window that is wanted, and
//!    never more than the host allowed before. Connections may want windows of all sizes; a new one gets the largest's, in steps of a quarter:
//!    each size is a line on record.
//! 2. A subflow that joins when the connection's buffer has grown keeps the default one, 128 KiB, and announces 80 kB for good. Nobody notices while an older one
//!    is left, since the largest window counts; once a roaming host has replaced all of them, it is the connection's. So while the kernel makes the socket of a
//!    join, and no longer, the default is what the connection has, as on its other subflows. (Not more: a socket announces all that its buffer holds, and does not take that back.)
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

/// The most that the kernel takes.
const CLIENT_LIMITS: Limits = Limits {
    subflows: 8,
    add_addr_accepted: 8,
};
/// The receive buffer of a new socket: least, default, most.
const RMEM: &str = "net.ipv4.tcp_rmem";
/// A buffer under this ruins every connection.
const LEAST_BUFFER: u64 = 256 * 1024;

/// Why what a crashed run left could not be taken back.
#[derive(Debug, Error)]
pub enum RecoverError {
    /// The record cannot be read, or another daemon has it open.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Limits may still lie on sockets.
    #[error(
        "limits may still lie on open connections, and go when the connections are closed: {}{}", words(.on_sockets), and_others(.others)
    )]
    Sockets {
        /// Those, and why they could not be taken off.
        on_sockets: Vec<Leftover>,
        /// What else was not put back.
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

/// Puts back what a crashed run left in the calling thread's namespace, limits on sockets included. What the user has changed since, or the kernel
/// refused to put back, is in the answer; it is not on record any more.
///
/// # Errors
/// When the record cannot be read, and when limits may be left on sockets.
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

/// The record of changes, and what is changed by it.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) journal: Journal,
    /// What could not be put back after a crash, for the log.
    pub(crate) left: Vec<String>,
    /// `tcp_rmem` before the first change: minimum, default, maximum.
    rmem: Option<[u64; 3]>,
    /// The windows that living connections would have if they could be bounded.
    wanted: BTreeMap<ConnId, Bytes>,
    /// Its maximum now, if it was changed.
    buffer: Option<u64>,
    /// What it was before a join, if it could not be put back.
    owed: Option<String>,
    /// Who manages the paths of connections, once that was chosen.
    manager: Option<PathManager>,
    /// Dropped when nobody can choose it any more.
    sender: Option<Sender>,
}

impl Settings {
    /// Opens the record and takes back what a crashed run left.
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

    /// Chooses anew who manages paths, if somebody else has changed that. Answers whether somebody had.
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

    /// Chooses what new connections are sent with from now on.
    pub(crate) fn send_with(&mut self, sender: Option<Sender>) -> Result<(), StartError> {
        self.sender = sender;
        let Some(sender) = &self.sender else { return Ok(()) };
        Ok(self.journal.set_sysctl(&default_controller(), sender.name())?)
    }

    /// The most that the receive buffer of a new connection may grow to, if it was lowered.
    pub(crate) fn buffer(&self) -> Option<Bytes> {
        self.buffer.map(Bytes::new)
    }

    /// The window of connections that are made from now on: the largest that a living one wants.
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
        // A step back and forth is worth no change.
        if self
            .buffer
            .is_some_and(|buffer| (buffer * 7 / 10..=buffer).contains(&most))
        {
            return Ok(());
        }
        // Tabs, as the kernel writes it: the record compares.
        self.journal
            .set_sysctl(&key, &format!("{least}\t{}\t{most}", default.min(most)))?;
        self.buffer = Some(most);
        Ok(())
    }

    /// Has the kernel make a socket by `join`, whose receive buffer is that of its connection as far as the host allows, and no less than others begin with. What a
    /// clamp is to bound gets what that window takes twice over: the kernel announces all that the buffer holds before a clamp is set.
    pub(crate) fn with_buffer<T>(
        &mut self,
        buffer: Bytes,
        clamp: Option<Bytes>,
        join: impl FnOnce() -> T,
    ) -> (T, Result<(), SetSysctlError>) {
        let key = Key::new(RMEM);
        // What could not be put back last time; if it cannot be now either, that is told again.
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

    /// A connection is gone; what others began with stays.
    pub(crate) fn forget(&mut self, conn: ConnId) {
        self.wanted.remove(&conn);
    }
}

/// The least buffer of a step that gives such a window.
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
    fn a_new_connection_gets_the_window_of_the_largest_that_lives() {
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

    /// The buffer that a socket has which joins a connection with such a buffer and clamp.
    fn of_what_joins(settings: &mut Settings, buffer: Bytes, clamp: Option<Bytes>) -> u64 {
        let (seen, given) = settings.with_buffer(buffer, clamp, || three(&rmem()));
        given.unwrap();
        seen[1]
    }

    #[test]
    fn what_joins_has_its_connections_buffer_and_others_what_they_had() {
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
    fn what_joins_does_so_also_where_its_buffer_cannot_be_raised() {
        on_a_full_record(|settings| {
            let (joined, given) = settings.with_buffer(Bytes::from_kib(4_096), None, || 7);
            assert!(joined == 7 && given.is_err());
        });
    }

    #[test]
    fn what_could_not_be_put_back_is_before_the_next_join() {
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
    fn a_buffer_that_could_not_be_set_is_not_told_and_tried_again() {
        on_a_full_record(|settings| {
            let mut bound = || settings.bound_new_connections(ConnId(1), Bytes::from_kib(200));
            assert!(bound().is_err() && bound().is_err());
            assert_eq!(settings.buffer(), None);
        });
    }

    /// With a record that takes not one line more. Nothing is set then.
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

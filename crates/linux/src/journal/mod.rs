//! A record on disk of every change to the host, so that a stop, a crash or a restart leaves the host as it
//! was.
//!
//! Every change is recorded on disk before it is made. [`Journal::undo`] undoes the changes in reverse order.
//! [`Journal::open`] first does the same with the changes that a crashed run left. Undoing twice is harmless.
//! Values that the user has changed in the meantime are kept and reported.
//!
//! Routes and rules need no line each, because slowhand's carry a protocol number of their own. One line
//! requests a sweep. The same holds for limits on the sockets of subflows, where no other program may set
//! any. A parameter that is set repeatedly has one line for each of its values, and each line holds the value
//! before the first. Whichever of these values it has when undone, that original is restored. If the user
//! sets the parameter in between, later lines hold the user's value, and only those lines count. Restoring
//! older values is then up to the user.
//!
//! # Where we differ, and why
//! 1. The file is locked with `flock`. The kernel drops the lock of a dead process, so a stale owner cannot
//!    block a start, and process ids need not be trusted.
//! 2. The file names the boot and the network namespace. After a reboot there is nothing to undo, and in
//!    another namespace the undo would affect the wrong host.
//!
//! # Checked by
//! `tests`: lines that parse back, random changes in any order with a crash at any point, and values that the
//! user has changed.

mod change;
mod shared;
#[cfg(test)]
mod tests;
mod undo;

pub use change::{Change, ParseChangeError, TakenOver};
pub use shared::{List, Shared, SharedError};
pub use undo::{Leftover, Undone};

use crate::netns::Netns;
use crate::sysctl::{self, Key, SysctlError};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

const FIRST_LINE: &str = "slowhand journal 1";
/// Before a change that has been undone since it was recorded.
const UNDONE: &str = "undone\t";

/// The journal of one run.
#[derive(Debug)]
pub struct Journal {
    /// `None` in a disposable namespace, where no change outlives the process.
    file: Option<File>,
    path: PathBuf,
    /// Length of the file up to the last complete line, in bytes.
    length: u64,
    changes: Vec<Change>,
}

/// Why a journal could not be opened or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Accessing the file or its folder failed.
    #[error("the journal {path} could not be {doing}; is its folder writable?")]
    File {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Another process holds the journal.
    #[error("another slowhand is running with the journal {0}; stop it with `slowhand down`")]
    InUse(PathBuf),
    /// The file is not a valid journal.
    #[error("{path}:{line}: {source}; if the file is damaged, undo its changes by hand and remove it")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error in that line.
        source: ParseChangeError,
    },
    /// The file belongs to another network namespace.
    #[error(
        "{0} was written in another network namespace; run there to undo its changes, or remove the file"
    )]
    OtherNamespace(PathBuf),
}

/// Why a parameter could not be set with a record.
#[derive(Debug, Error)]
pub enum SetSysctlError {
    /// Writing the record failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Setting the parameter failed.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
}

/// Scope of the changes: the boot and the network namespace.
fn here() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = Netns::current().map(|netns| netns.id().unwrap_or(0)).unwrap_or(0);
    format!("here {} {namespace}", boot.trim())
}

impl Drop for Journal {
    /// Unlocks explicitly: a child process between fork and exec has a copy of the descriptor. Closing only
    /// ours would leave the file locked until the exec.
    fn drop(&mut self) {
        // If this fails, the lock is released when the process ends.
        let _ = self.file.as_ref().map(File::unlock);
    }
}

impl Journal {
    /// Creates a journal for a disposable namespace. Changes can be undone, but nothing is written to disk.
    pub const fn in_memory() -> Self {
        Self {
            file: None,
            path: PathBuf::new(),
            length: 0,
            changes: Vec::new(),
        }
    }

    /// Opens the journal and undoes what a crashed run left in it. The lock is held until drop.
    pub fn open(path: &Path) -> Result<(Self, Undone), JournalError> {
        let failed = |doing| {
            move |source| JournalError::File {
                path: path.to_owned(),
                doing,
                source,
            }
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed("created"))?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed("opened"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed("locked")(error)),
        }
        let mut journal = Self {
            file: Some(file),
            path: path.to_owned(),
            length: 0,
            changes: Vec::new(),
        };
        journal.changes = journal.read()?;
        let undone = journal.undo()?;
        Ok((journal, undone))
    }

    fn read(&mut self) -> Result<Vec<Change>, JournalError> {
        let mut bytes = Vec::new();
        let path = self.path.clone();
        let file = self
            .file
            .as_mut()
            .map_or(Ok(0), |file| file.read_to_end(&mut bytes));
        file.map_err(|source| JournalError::File {
            path: path.clone(),
            doing: "read",
            source,
        })?;
        // A line without its end was being written at a power failure, so its change was not made. It may be
        // cut within a character.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let whole = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = whole.lines().enumerate();
        match lines.next() {
            None => return Ok(Vec::new()),
            Some((_, FIRST_LINE)) => {}
            Some((_, line)) => {
                let source = ParseChangeError::NotAJournal(line.to_owned());
                return Err(JournalError::Damaged {
                    path,
                    line: 1,
                    source,
                });
            }
        }
        if let Some((_, place)) = lines.next() {
            match same_place(place) {
                Place::Here => {}
                Place::BeforeReboot => return Ok(Vec::new()),
                Place::Elsewhere => return Err(JournalError::OtherNamespace(path)),
            }
        }
        let mut changes = Vec::new();
        for (at, line) in lines {
            let undone = line.strip_prefix(UNDONE);
            let change = undone.unwrap_or(line).parse();
            let change = change.map_err(|source| JournalError::Damaged {
                path: path.clone(),
                line: at + 1,
                source,
            })?;
            match undone {
                Some(_) => changes.retain(|one| *one != change),
                None => changes.push(change),
            }
        }
        Ok(changes)
    }

    /// Records a change on disk before returning. Call it before making the change. A change that is already
    /// recorded needs no second line, because a parameter's line holds its original value.
    pub fn will(&mut self, change: Change) -> Result<(), JournalError> {
        if self.has(&change) {
            return Ok(());
        }
        // Changes that were undone leave their lines.
        let head = if self.changes.is_empty() && self.length == 0 {
            format!("{FIRST_LINE}\n{}\n", here())
        } else {
            String::new()
        };
        self.append(&format!("{head}{change}\n"))
            .map_err(|source| self.failed("written", source))?;
        self.changes.push(change);
        Ok(())
    }

    /// A change has been undone, so that the user may change the same without having it undone later.
    pub fn undone(&mut self, change: &Change) -> Result<(), JournalError> {
        if !self.has(change) {
            return Ok(());
        }
        self.append(&format!("{UNDONE}{change}\n"))
            .map_err(|source| self.failed("written", source))?;
        self.changes.retain(|one| one != change);
        Ok(())
    }

    /// Appends `text`. On a full disk, part of a line may be written. The next call first cuts off such a
    /// part, so that no line continues it.
    fn append(&mut self, text: &str) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.set_len(self.length)?;
        file.seek(SeekFrom::Start(self.length))?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        self.length += text.len() as u64;
        Ok(())
    }

    /// Sets a kernel parameter and records it. If it already has the value, nothing is recorded.
    pub fn set_sysctl(&mut self, key: &Key, value: &str) -> Result<(), SetSysctlError> {
        let now = sysctl::read(key)?;
        if now == value {
            return Ok(());
        }
        let old = self.before(key, &now).unwrap_or(now);
        if old != value {
            self.will(Change::Sysctl {
                key: key.clone(),
                old,
                new: value.to_owned(),
            })?;
        }
        Ok(sysctl::write(key, value)?)
    }

    /// A parameter of an interface has another name, since its interface has one. It is restored under that.
    pub fn renamed(&mut self, from: &Key, to: &Key) -> Result<(), JournalError> {
        let latest = self.latest_of(from).next();
        let Some((old, new)) = latest.map(|(old, new)| (old.to_owned(), new.to_owned())) else {
            return Ok(());
        };
        let key = to.clone();
        self.will(Change::Sysctl { key, old, new })
    }

    /// Sets a kernel parameter for the duration of `work`, with a record that is removed after the parameter
    /// is restored. If somebody else sets it in between, that value is kept.
    pub fn set_sysctl_while<T>(
        &mut self,
        key: &Key,
        value: &str,
        work: impl FnOnce() -> T,
    ) -> (T, Result<(), SetSysctlError>) {
        let before = match sysctl::read(key) {
            Ok(before) => before,
            Err(error) => return (work(), Err(error.into())),
        };
        let whole = (self.changes.len(), self.length);
        let set = self.set_sysctl(key, value);
        let done = work();
        let back = set.and_then(|()| {
            if sysctl::read(key)? == value {
                sysctl::write(key, &before)?;
            }
            Ok(self.shorten(whole)?)
        });
        (done, back)
    }

    /// Drops the records beyond the first `changes` and beyond `length` bytes.
    fn shorten(&mut self, (changes, length): (usize, u64)) -> Result<(), JournalError> {
        let shortened = self.file.as_ref().map_or(Ok(()), |file| file.set_len(length));
        shortened.map_err(|source| self.failed("shortened", source))?;
        self.changes.truncate(changes);
        self.length = length;
        Ok(())
    }

    /// The value that a parameter had before slowhand set it to `now`. `None` if slowhand did not.
    fn before(&self, key: &Key, now: &str) -> Option<String> {
        let (old, _) = self.latest_of(key).find(|(_, new)| *new == now)?;
        Some(old.to_owned())
    }

    /// The lines of a parameter recorded after somebody else last set it, newest first. Each is the original
    /// and the new value.
    fn latest_of(&self, key: &Key) -> impl Iterator<Item = (&str, &str)> {
        let mut lines = undo::lines_of(&self.changes, key).rev().peekable();
        let before = lines.peek().map(|(old, _)| *old);
        lines.take_while(move |(old, _)| Some(*old) == before)
    }

    /// Whether a change is recorded. Of a parameter's lines, only those after somebody else last set it
    /// count.
    fn has(&self, change: &Change) -> bool {
        match change {
            Change::Sysctl { key, old, new } => self.latest_of(key).any(|line| line == (old, new)),
            _ => self.changes.contains(change),
        }
    }

    /// Undoes every change, the latest first, and empties the file.
    pub fn undo(&mut self) -> Result<Undone, JournalError> {
        let mut undone = Undone::default();
        let mut later = Vec::new();
        while let Some(change) = self.changes.pop() {
            undone.record(&change, undo::undo(&change, &self.changes, &later));
            later.insert(0, change);
        }
        let emptied = self
            .file
            .as_mut()
            .map_or(Ok(()), |file| file.set_len(0).and_then(|()| file.rewind()));
        emptied.map_err(|source| self.failed("emptied", source))?;
        self.length = 0;
        Ok(undone)
    }

    /// The recorded changes.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> JournalError {
        JournalError::File {
            path: self.path.clone(),
            doing,
            source,
        }
    }
}

enum Place {
    Here,
    BeforeReboot,
    Elsewhere,
}

fn same_place(line: &str) -> Place {
    let now = here();
    let boot = |line: &str| line.split(' ').nth(1).map(str::to_owned);
    match line {
        _ if line == now => Place::Here,
        _ if boot(line) != boot(&now) => Place::BeforeReboot,
        _ => Place::Elsewhere,
    }
}

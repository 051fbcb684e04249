//! A record on disk of everything that is changed on a host, so that stop, crash and restart leave the host as it was.
//!
//! Every change is written down, and on disk, before it is made. [`Journal::undo`] takes them back in reverse order;
//! [`Journal::open`] does the same first with what a crashed run left. Undoing twice does no harm, and what the user has
//! changed in the meantime is left as it is and reported.
//!
//! Routes and rules need no line each: ours carry a protocol number of their own, so one line says "sweep". So it is with limits on the
//! sockets of subflows, where nobody else may set any. A parameter that is set again and again has one line for each value it was given, all
//! with what it was before the first: whichever of ours it has, that is put back. Once somebody else has set it in between, there are lines
//! with what they set, and only those count: what is older is theirs to put back.
//!
//! # Where we differ, and why
//! 1. The file is locked with `flock`: the kernel drops the lock of a process that died, so no stale owner can block a start,
//!    and no process id has to be trusted.
//! 2. The file names the boot and the network namespace: after a reboot there is nothing to take back, and in another namespace it
//!    would be the wrong host's.
//!
//! # Checked by
//! `tests`: round trip of lines; random changes, to and fro, and a crash at any point; values that the user changed since.

mod change;
mod shared;
#[cfg(test)]
mod tests;
mod undo;

pub use change::{Change, ParseChangeError};
pub use shared::{List, Shared, SharedError};
pub use undo::{Leftover, Undone};

use crate::netns::Netns;
use crate::sysctl::{self, Key, SysctlError};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

const FIRST_LINE: &str = "slowhand journal 1";

/// The changes of one run.
#[derive(Debug)]
pub struct Journal {
    /// `None`: in a namespace that is thrown away, nothing outlives the process.
    file: Option<File>,
    path: PathBuf,
    /// How long the file is as far as it is whole.
    length: u64,
    changes: Vec<Change>,
}

/// Why a journal could not be opened or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file or its folder.
    #[error("the journal {path} could not be {doing}; is its folder writable?")]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else is at work.
    #[error("another slowhand is running with the journal {0}; stop it with `slowhand down`")]
    InUse(PathBuf),
    /// The file is not a journal.
    #[error("{path}:{line}: {source}; if the file is damaged, see it through and remove it")]
    Damaged {
        /// Which.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: ParseChangeError,
    },
    /// It belongs to another network namespace.
    #[error(
        "{0} was written in another network namespace; run there to take its changes back, or remove the file"
    )]
    OtherNamespace(PathBuf),
}

/// Why a parameter could not be set on record.
#[derive(Debug, Error)]
pub enum SetSysctlError {
    /// The record.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The parameter.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
}

/// Where and when changes hold: the boot, and the network namespace.
fn here() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = Netns::current().map(|netns| netns.id().unwrap_or(0)).unwrap_or(0);
    format!("here {} {namespace}", boot.trim())
}

impl Drop for Journal {
    /// A program that this process is just starting has a copy of the descriptor until it becomes another program; closing ours alone would
    /// leave the file locked until then.
    fn drop(&mut self) {
        // What fails is undone when the process ends.
        let _ = self.file.as_ref().map(File::unlock);
    }
}

impl Journal {
    /// For a namespace that is thrown away: changes can be undone, but nothing is written to disk.
    pub const fn in_memory() -> Self {
        Self {
            file: None,
            path: PathBuf::new(),
            length: 0,
            changes: Vec::new(),
        }
    }

    /// Opens the journal, and first takes back what a crashed run left in it. Held until dropped.
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
        // A line without its end was being written when the power went; its change was not made yet. It may end within a character.
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
        let parse = |(at, line): (usize, &str)| {
            line.parse().map_err(|source| JournalError::Damaged {
                path: path.clone(),
                line: at + 1,
                source,
            })
        };
        lines.map(parse).collect()
    }

    /// Writes a change down, on disk when this returns. Make it only then. One that is on record already needs no second line: a parameter's line
    /// says what it was before all of ours.
    pub fn will(&mut self, change: Change) -> Result<(), JournalError> {
        if self.has(&change) {
            return Ok(());
        }
        let begins = self.changes.is_empty();
        let head = if begins {
            format!("{FIRST_LINE}\n{}\n", here())
        } else {
            String::new()
        };
        self.append(&format!("{head}{change}\n"))
            .map_err(|source| self.failed("written", source))?;
        self.changes.push(change);
        Ok(())
    }

    /// Where the disk is full a line may be written in part; the next must not continue it, so that part is cut off first.
    fn append(&mut self, text: &str) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.set_len(self.length)?;
        file.seek(SeekFrom::Start(self.length))?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        self.length += text.len() as u64;
        Ok(())
    }

    /// Sets a kernel parameter on record; nothing is recorded when it has the value already.
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

    /// Sets a kernel parameter while `work` is done. It is on record meanwhile, and not any more once it has been put back. What somebody else
    /// has set it to in between stays.
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

    /// Forgets what was written down since there were so many changes, in so many bytes.
    fn shorten(&mut self, (changes, length): (usize, u64)) -> Result<(), JournalError> {
        let shortened = self.file.as_ref().map_or(Ok(()), |file| file.set_len(length));
        shortened.map_err(|source| self.failed("shortened", source))?;
        self.changes.truncate(changes);
        self.length = length;
        Ok(())
    }

    /// What a parameter was before we set it to what it is now, if we did.
    fn before(&self, key: &Key, now: &str) -> Option<String> {
        let (old, _) = self.latest_of(key).find(|(_, new)| *new == now)?;
        Some(old.to_owned())
    }

    /// The lines of a parameter since somebody else has set it, the last first: what it was before them, and what it became.
    fn latest_of(&self, key: &Key) -> impl Iterator<Item = (&str, &str)> {
        let mut lines = undo::lines_of(&self.changes, key).rev().peekable();
        let before = lines.peek().map(|(old, _)| *old);
        lines.take_while(move |(old, _)| Some(*old) == before)
    }

    /// A parameter's line counts only since somebody else has set it.
    fn has(&self, change: &Change) -> bool {
        match change {
            Change::Sysctl { key, old, new } => self.latest_of(key).any(|line| line == (old, new)),
            _ => self.changes.contains(change),
        }
    }

    /// Takes every change back, the latest first, and empties the file.
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

    /// What is on record.
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

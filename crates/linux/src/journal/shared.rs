//! One host-wide value that runs side by side need: changed by the first, put back by the last.
//!
//! The values of `net.ipv4.tcp_allowed_congestion_control` and the like belong to the initial namespace, so every run of every
//! namespace shares them. A file under a runtime folder, locked while it is read and written, holds what the value was and who
//! needs what; holders that died are struck off by whoever comes next. So are words that the kernel knows no more: it refuses a list
//! for a single one of them (`tcp_set_allowed_congestion_control`), and a controller that was loaded when the record began may be gone.

use crate::sysctl::{self, Key, SysctlError};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a shared value could not be held.
#[derive(Debug, Error)]
pub enum SharedError {
    /// The record.
    #[error("the record {path} of a host-wide value; is its folder writable?")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The parameter.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
}

/// A word in a host-wide list of words, needed by this holder until dropped.
#[derive(Debug)]
pub struct Shared {
    path: PathBuf,
    list: List,
    holder: Holder,
}

/// A list of words, and the list of the words that may stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The list.
    pub key: Key,
    /// What the kernel knows now.
    pub known: Key,
}

impl List {
    /// The congestion controllers that anybody may use.
    pub fn allowed_controllers() -> Self {
        Self {
            key: Key::new("net.ipv4.tcp_allowed_congestion_control"),
            known: Key::new("net.ipv4.tcp_available_congestion_control"),
        }
    }
}

/// Who needs which word: a process by its id and start time; once for every time that it asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    pid: u32,
    started: u64,
    word: String,
}

#[derive(Debug, Default)]
struct Record {
    before: String,
    holders: Vec<Holder>,
}

/// A process's start time in clock ticks since boot; `None` when there is no such process.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name is in parentheses and may hold anything; the start time is the 20th field behind it.
    stat[stat.rfind(')')? + 1..]
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

impl Holder {
    fn lives(&self) -> bool {
        start_time(self.pid) == Some(self.started)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        Some(Self {
            pid: next()?.parse().ok()?,
            started: next()?.parse().ok()?,
            word: next()?.to_owned(),
        })
    }

    fn line(&self) -> String {
        format!("{}\t{}\t{}\n", self.pid, self.started, self.word)
    }
}

impl Record {
    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let before = lines.next().unwrap_or_default().to_owned();
        Self {
            before,
            holders: lines.filter_map(Holder::parse).collect(),
        }
    }

    fn text(&self) -> String {
        let holders: String = self.holders.iter().map(Holder::line).collect();
        format!("{}\n{holders}", self.before)
    }

    /// The list as it was, and every word that somebody needs; of what is known.
    fn value(&self, known: &str) -> String {
        let known: BTreeSet<&str> = known.split_whitespace().collect();
        let before: Vec<&str> = self.before.split_whitespace().collect();
        let needed: BTreeSet<&str> = self.holders.iter().map(|holder| holder.word.as_str()).collect();
        let added = needed.into_iter().filter(|word| !before.contains(word));
        let all = before.iter().copied().chain(added);
        all.filter(|word| known.contains(word))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl Shared {
    /// Makes sure that this namespace's list holds `word`. The record is kept in `folder`.
    pub fn hold(folder: &Path, list: &List, word: &str) -> Result<Self, SharedError> {
        let path = folder.join(list.key.name());
        let file = |source| SharedError::File {
            path: path.clone(),
            source,
        };
        std::fs::create_dir_all(folder).map_err(file)?;
        let pid = std::process::id();
        let started = start_time(pid).unwrap_or(0);
        let shared = Self {
            path: path.clone(),
            list: list.clone(),
            holder: Holder {
                pid,
                started,
                word: word.into(),
            },
        };
        shared.change(|record, holder| record.holders.push(holder))?;
        Ok(shared)
    }

    fn change(&self, change: impl FnOnce(&mut Record, Holder)) -> Result<(), SharedError> {
        let failed = |source| SharedError::File {
            path: self.path.clone(),
            source,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.path)
            .map_err(failed)?;
        file.lock().map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let mut record = Record::parse(&text);
        if record.holders.is_empty() {
            record.before = sysctl::read(&self.list.key)?;
        }
        record.holders.retain(Holder::lives);
        change(&mut record, self.holder.clone());
        // On record first: a crash in between leaves a word too much, which the next holder takes back.
        write(&mut file, &record.text()).map_err(failed)?;
        self.set(&record)?;
        if record.holders.is_empty() {
            write(&mut file, "").map_err(failed)?;
        }
        Ok(())
    }

    /// A controller may be unloaded between the two lines, by somebody who knows nothing of the record: then once more.
    fn set(&self, record: &Record) -> Result<(), SysctlError> {
        let set = || sysctl::write(&self.list.key, &record.value(&sysctl::read(&self.list.known)?));
        match set() {
            Err(SysctlError::Missing(_)) => set(),
            other => other,
        }
    }

    /// Puts back what died with its holders. To be called at every start.
    pub fn recover(folder: &Path, list: &List) -> Result<(), SharedError> {
        let path = folder.join(list.key.name());
        if !path.exists() {
            return Ok(());
        }
        let holder = Holder {
            pid: 0,
            started: 0,
            word: String::new(),
        };
        let nobody = std::mem::ManuallyDrop::new(Self {
            path,
            list: list.clone(),
            holder,
        });
        nobody.change(|_, _| {})
    }
}

fn write(file: &mut File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

impl Drop for Shared {
    fn drop(&mut self) {
        let released = self.change(|record, holder| {
            if let Some(at) = record.holders.iter().position(|other| *other == holder) {
                record.holders.swap_remove(at);
            }
        });
        if let Err(error) = released {
            // The next start takes it back: the record still names this process.
            eprintln!("slowhand: {} was not put back: {error}", self.list.key);
        }
    }
}

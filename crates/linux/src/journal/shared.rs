//! A host-wide value that several concurrent runs need: the first run changes it and the last one restores
//! it.
//!
//! Parameters such as `net.ipv4.tcp_allowed_congestion_control` belong to the initial namespace, so the runs
//! of all namespaces share them. A file in a runtime folder, locked while in use, records the original value
//! and the holder of each word. Each access removes holders that have died.
//!
//! Only the held words are ever changed, and unchanged lists are not written. Writing this list withdraws the
//! permission of every controller that is not in it (`tcp_set_allowed_congestion_control`), and other
//! programs load and unload theirs at any time. The kernel refuses a list with a single unknown word.

use crate::sysctl::{self, Key, SysctlError};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a shared value could not be held.
#[derive(Debug, Error)]
pub enum SharedError {
    /// Accessing the record failed.
    #[error("the record {path} of a host-wide value; is its folder writable?")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Accessing the parameter failed.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
}

/// A word in a host-wide list, held until drop.
#[derive(Debug)]
pub struct Shared {
    path: PathBuf,
    list: List,
    holder: Holder,
}

/// A parameter with a list of words, and the parameter with the permitted words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The list.
    pub key: Key,
    /// The words that the kernel currently knows.
    pub known: Key,
}

impl List {
    /// The list of congestion controllers that every user may use.
    pub fn allowed_controllers() -> Self {
        Self {
            key: Key::new("net.ipv4.tcp_allowed_congestion_control"),
            known: Key::new("net.ipv4.tcp_available_congestion_control"),
        }
    }
}

/// A holder of a word: a process, by its id and start time, with one entry per request.
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

/// A process's start time in clock ticks since boot. `None` if there is no such process.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name is in parentheses and may contain any character. The start time is the 20th field
    // after it.
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

    fn words(&self) -> BTreeSet<String> {
        self.holders.iter().map(|holder| holder.word.clone()).collect()
    }

    /// The new list: `now`, without `released` words that were not there originally, plus all held words that
    /// are known. `None` if nothing changes.
    fn value(&self, now: &str, known: &str, released: &BTreeSet<String>) -> Option<String> {
        let has = |list: &str, word: &str| list.split_whitespace().any(|other| other == word);
        let needed = self.words();
        let kept = now
            .split_whitespace()
            .filter(|word| !released.contains(*word) || has(&self.before, word));
        let missing = needed
            .iter()
            .map(String::as_str)
            .filter(|word| !has(now, word) && has(known, word));
        let value: Vec<&str> = kept.chain(missing).collect();
        (!value.iter().copied().eq(now.split_whitespace())).then(|| value.join(" "))
    }

    /// Keeps a word that is in the list already without a holder.
    fn keep_what_stands(&mut self, now: &str, word: &str) {
        let stands = now.split_whitespace().any(|other| other == word);
        if stands
            && !self.words().contains(word)
            && !self.before.split_whitespace().any(|other| other == word)
        {
            self.before = format!("{} {word}", self.before);
        }
    }
}

impl Shared {
    /// Ensures that this namespace's list contains `word`. The record is kept in `folder`.
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
        let now = sysctl::read(&list.key)?;
        shared.change(|record, holder| {
            record.keep_what_stands(&now, &holder.word);
            record.holders.push(holder);
        })?;
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
        let held = record.words();
        record.holders.retain(Holder::lives);
        change(&mut record, self.holder.clone());
        // Recorded first: a crash in between leaves one extra word, which the next holder removes.
        write(&mut file, &record.text()).map_err(failed)?;
        self.set(&record, &held - &record.words())?;
        if record.holders.is_empty() {
            write(&mut file, "").map_err(failed)?;
        }
        Ok(())
    }

    /// Sets the list. Another program may unload a controller between the reads and the write, so this tries
    /// twice.
    fn set(&self, record: &Record, released: BTreeSet<String>) -> Result<(), SysctlError> {
        let set = || {
            let (now, known) = (sysctl::read(&self.list.key)?, sysctl::read(&self.list.known)?);
            match record.value(&now, &known, &released) {
                Some(value) => sysctl::write(&self.list.key, &value),
                None => Ok(()),
            }
        };
        match set() {
            Err(SysctlError::Missing(_)) => set(),
            other => other,
        }
    }

    /// Restores what dead holders left. Call it at every start.
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
            // The next start restores it, because the record still names this process.
            tracing::warn!(why = %error, "{} was not restored", self.list.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(before: &str, words: &[&str]) -> Record {
        let holder = |word: &&str| Holder {
            pid: 1,
            started: 1,
            word: (*word).to_owned(),
        };
        Record {
            before: before.to_owned(),
            holders: words.iter().map(holder).collect(),
        }
    }

    fn released(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn controllers_loaded_by_others_keep_their_permission() {
        let value = record("reno", &["cubic"]).value("reno theirs", "reno cubic theirs", &released(&[]));
        assert_eq!(value.as_deref(), Some("reno theirs cubic"));
        let value =
            record("reno", &[]).value("reno theirs cubic", "reno cubic theirs", &released(&["cubic"]));
        assert_eq!(value.as_deref(), Some("reno theirs"));
    }

    #[test]
    fn an_unchanged_list_is_not_written() {
        let held = record("reno", &["cubic"]);
        assert_eq!(held.value("reno cubic", "reno cubic bbr", &released(&[])), None);
        assert_eq!(held.value("reno cubic", "reno", &released(&["gone"])), None);
        assert_eq!(
            record("reno", &["gone"]).value("reno", "reno", &released(&[])),
            None
        );
    }

    #[test]
    fn a_word_that_was_there_before_it_was_held_stays() {
        let mut record = record("reno", &[]);
        record.keep_what_stands("reno slow_lia", "slow_lia");
        assert_eq!(
            record.value("reno slow_lia", "reno slow_lia", &released(&["slow_lia"])),
            None
        );
        // A word that a holder added does not stay.
        let mut record = self::record("reno", &["cubic"]);
        record.keep_what_stands("reno cubic", "cubic");
        assert_eq!(record.before, "reno");
    }
}

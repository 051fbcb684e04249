//! One host-wide value that runs side by side need: changed by the first, put back by the last.
//!
//! The values of `net.ipv4.tcp_allowed_congestion_control` and the like belong to the initial namespace, so every run of every
//! namespace shares them. A file under a runtime folder, locked while it is read and written, holds what the value was and who
//! needs what; holders that died are struck off by whoever comes next. Nothing but the words that were held is ever changed, and nothing is
//! written where nothing changes: who sets this list takes the permission of every controller that is not in it
//! (`tcp_set_allowed_congestion_control`), and others load and unload theirs at any time. The kernel refuses a list for a single word that it
//! does not know any more.

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

    fn words(&self) -> BTreeSet<String> {
        self.holders.iter().map(|holder| holder.word.clone()).collect()
    }

    /// The list as it is now, without what nobody needs any more that had not been in it, with what somebody needs that is known; `None` if
    /// that is the same.
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

    /// A word that stands in the list already, for which no holder is to blame, stays there.
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
        // On record first: a crash in between leaves a word too much, which the next holder takes back.
        write(&mut file, &record.text()).map_err(failed)?;
        self.set(&record, &held - &record.words())?;
        if record.holders.is_empty() {
            write(&mut file, "").map_err(failed)?;
        }
        Ok(())
    }

    /// A controller may be unloaded between the lines, by somebody who knows nothing of the record: then once more.
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
            let line = format_args!("slowhand: {} was not put back: {error}", self.list.key);
            // Whoever reads there may have gone; a panic here would end everything.
            drop(writeln!(io::stderr(), "{line}"));
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
    fn what_others_have_loaded_since_keeps_its_permission() {
        let value = record("reno", &["cubic"]).value("reno theirs", "reno cubic theirs", &released(&[]));
        assert_eq!(value.as_deref(), Some("reno theirs cubic"));
        let value =
            record("reno", &[]).value("reno theirs cubic", "reno cubic theirs", &released(&["cubic"]));
        assert_eq!(value.as_deref(), Some("reno theirs"));
    }

    #[test]
    fn nothing_is_written_where_nothing_changes() {
        let held = record("reno", &["cubic"]);
        assert_eq!(held.value("reno cubic", "reno cubic bbr", &released(&[])), None);
        assert_eq!(held.value("reno cubic", "reno", &released(&["gone"])), None);
        assert_eq!(
            record("reno", &["gone"]).value("reno", "reno", &released(&[])),
            None
        );
    }

    #[test]
    fn a_word_that_stood_there_before_it_was_held_stays() {
        let mut record = record("reno", &[]);
        record.keep_what_stands("reno slow_lia", "slow_lia");
        assert_eq!(
            record.value("reno slow_lia", "reno slow_lia", &released(&["slow_lia"])),
            None
        );
        // What a holder put there does not.
        let mut record = self::record("reno", &["cubic"]);
        record.keep_what_stands("reno cubic", "cubic");
        assert_eq!(record.before, "reno");
    }
}

//! `--record DIR`: a recording of the engine of every run.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use trace::{PolicyName, Shown};

use show::output::Output;
use show::tell;

/// Where recordings go. After a failure nothing more is written; [`Self::finish`] returns the failure.
pub struct Recordings {
    folder: PathBuf,
    written: Mutex<anyhow::Result<usize>>,
}

/// The parts of a recording's name.
#[derive(Debug, Clone, Copy)]
pub struct Of<'r> {
    pub scenario: &'r str,
    pub policy: &'r PolicyName,
    pub seed: u64,
    /// Distinguishes runs that differ only in values of the scenario.
    pub number: Option<usize>,
}

impl Of<'_> {
    fn file_name(self) -> String {
        let number = self.number.map_or(String::new(), |number| format!("-{number}"));
        let name = format!("{}-{}-{}{number}.record", self.scenario, self.policy, self.seed);
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "-+._".contains(char);
        name.replace(|char| !is_plain(char), "-")
    }
}

impl Recordings {
    /// Makes the folder, and sees that files can be made in it.
    pub fn open(folder: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let Some(folder) = folder else { return Ok(None) };
        drop(Output::create(&folder.join("slowhand.record"))?);
        Ok(Some(Self {
            folder: folder.to_owned(),
            written: Mutex::new(Ok(0)),
        }))
    }

    /// Writes a recording, if there is one.
    pub fn keep(&self, of: Of<'_>, recording: Option<&[u8]>) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Ok(count), Some(bytes)) = (&mut *written, recording) {
            let file = Output::create(&self.folder.join(of.file_name()));
            match file.and_then(|file| file.write_quietly(bytes)) {
                Ok(()) => *count += 1,
                Err(error) => *written = Err(error),
            }
        }
    }

    /// Prints their paths on standard error.
    pub fn finish(self) -> anyhow::Result<()> {
        let count = self
            .written
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)?;
        let plural = if count == 1 { "" } else { "s" };
        tell!(
            "wrote {count} recording{plural} into {}",
            Shown(self.folder.display())
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_named_after_its_run() {
        let of = |policy: &str, number| {
            let policy = policy.parse().unwrap();
            let of = Of {
                scenario: "two homes/x",
                policy: &policy,
                seed: 7,
                number,
            };
            of.file_name()
        };
        assert_eq!(of("tcp:dsl", None), "two-homes-x-tcp-dsl-7.record");
        assert_eq!(
            of("handover+cell", Some(2)),
            "two-homes-x-handover+cell-7-2.record"
        );
    }
}

//! Where a live host keeps what: configuration, state that survives a crash, and what a running daemon is reached by.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use thiserror::Error;

/// Directories of a live host.
#[derive(Debug, Clone, clap::Args)]
pub struct Place {
    /// Where a running daemon is reached.
    #[arg(long, value_name = "DIR", default_value = "/run/slowhand")]
    pub runtime_dir: PathBuf,

    /// Where the journal of what was changed is kept.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/slowhand")]
    pub state_dir: PathBuf,
}

/// Why the place of the daemon could not be taken.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another daemon has it.
    #[error("slowhand is running already (process {pid}); `slowhand down` ends it")]
    Taken {
        /// Its process, as far as known.
        pid: String,
    },
    /// The directory cannot be used.
    #[error(
        "{path}: cannot be used ({source}); run as root, or choose another with --runtime-dir and --state-dir"
    )]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Held by the one daemon of a place; free again whenever its process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    /// A program that this process is just starting has a copy of the descriptor until it becomes another program; closing ours alone would
    /// leave the file locked until then.
    fn drop(&mut self) {
        // What fails is undone when the process ends.
        let _ = self.file.unlock();
    }
}

impl Place {
    /// The socket on which a running daemon answers.
    pub fn socket(&self) -> PathBuf {
        self.runtime_dir.join("control.sock")
    }

    /// What was changed on this host and is to be put back.
    pub fn journal(&self) -> PathBuf {
        self.state_dir.join("journal")
    }

    /// Makes the directories and takes the place.
    pub fn lock(&self) -> Result<Lock, LockError> {
        for path in [&self.runtime_dir, &self.state_dir] {
            std::fs::create_dir_all(path).map_err(|source| LockError::Unusable {
                path: path.clone(),
                source,
            })?;
        }
        let path = self.runtime_dir.join("lock");
        let unusable = |source| LockError::Unusable {
            path: path.clone(),
            source,
        };
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = options.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Taken { pid: owner(file) }),
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(unusable)?;
        write!(file, "{}", std::process::id()).map_err(unusable)?;
        Ok(Lock { file })
    }
}

fn owner(mut file: File) -> String {
    let mut pid = String::new();
    match file.read_to_string(&mut pid) {
        Ok(length) if length > 0 => pid,
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_daemon_at_a_time() {
        let root = std::env::temp_dir().join(format!("slowhand-place-{}", std::process::id()));
        let place = Place {
            runtime_dir: root.join("run"),
            state_dir: root.join("lib"),
        };
        let lock = place.lock().unwrap();
        let LockError::Taken { pid } = place.lock().unwrap_err() else {
            panic!("taken twice")
        };
        assert_eq!(pid, std::process::id().to_string());
        // What a program that is being started has from `fork` to `execve`.
        let _copy = lock.file.try_clone().unwrap();
        drop(lock);
        drop(place.lock().unwrap());
        std::fs::remove_dir_all(root).unwrap();
    }
}

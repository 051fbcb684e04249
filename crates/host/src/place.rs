//! The directories of a live host: configuration, state that survives a crash, and the sockets of a running
//! daemon.
//!
//! The holder of the [`Lock`] is the only daemon of its directories and of its network namespace. Other users
//! can neither open the locked file nor claim the namespace, so only root can block a daemon.

use super::trusted::{self, Keeping, TrustError};
use linux::claim::{Claim, ClaimError};
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Mode of files that other users must not open.
const OWN: u32 = 0o600;

/// Directories of a live host.
#[derive(Debug, Clone, clap::Args)]
pub struct Place {
    /// Directory of the running daemon's sockets.
    #[arg(long, value_name = "DIR", default_value = "/run/slowhand")]
    pub runtime_dir: PathBuf,

    /// Directory of the journal that lists what to restore, and of addresses on earlier visits.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/slowhand")]
    pub state_dir: PathBuf,
}

/// Why the lock was not obtained.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another daemon uses these directories.
    #[error("slowhand is running already (process {pid}); `slowhand down` ends it")]
    Taken {
        /// Its process ID, as far as known.
        pid: String,
    },
    /// Another daemon with other directories has this network namespace, or this cannot be determined.
    #[error("{0}{more}", more = elsewhere(.0))]
    Namespace(#[source] ClaimError),
    /// A directory cannot be used.
    #[error(
        "{path}: cannot be used ({source}); run as root, or choose another with --runtime-dir and --state-dir"
    )]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others could replace files in a directory.
    #[error("{0}, or choose another with --runtime-dir and --state-dir")]
    Open(#[source] TrustError),
}

const fn elsewhere(error: &ClaimError) -> &'static str {
    match error {
        ClaimError::Taken(_) => " with other directories; `slowhand down` with its --runtime-dir ends it",
        ClaimError::Mark(_) | ClaimError::List(_) => "",
    }
}

/// Held by the only daemon of a place, and released when its process ends, however that happens.
#[derive(Debug)]
pub struct Lock {
    file: File,
    _claim: Claim,
}

impl Drop for Lock {
    /// Unlocks the file. A program that this process is just starting has a copy of the descriptor until
    /// `execve`. Closing ours alone would leave the file locked until then.
    fn drop(&mut self) {
        // The end of the process unlocks it if this fails.
        let _ = self.file.unlock();
    }
}

impl Place {
    /// The socket on which a running daemon answers root.
    pub fn control(&self) -> PathBuf {
        self.runtime_dir.join("control.sock")
    }

    /// The socket on which it reports its state to everybody.
    pub fn status(&self) -> PathBuf {
        self.runtime_dir.join("status.sock")
    }

    /// Socket on which the agent answers Prometheus.
    pub fn agent_metrics(&self) -> PathBuf {
        self.runtime_dir.join("agent.sock")
    }

    /// The directory for the sockets of `wpa_supplicant`, while access points are joined.
    pub fn wifi(&self) -> PathBuf {
        self.runtime_dir.join("wifi")
    }

    /// Addresses that networks gave on earlier visits.
    pub fn leases(&self) -> PathBuf {
        self.state_dir.join("leases")
    }

    /// The journal of the changes to undo on this host.
    pub fn journal(&self) -> PathBuf {
        self.state_dir.join("journal")
    }

    /// Makes the directories and takes the lock, together with the calling thread's network namespace.
    pub fn lock(&self) -> Result<Lock, LockError> {
        prepare(&self.runtime_dir, 0o755)?;
        prepare(&self.state_dir, 0o700)?;
        let path = self.runtime_dir.join("lock");
        let file = locked(&path)?;
        own(&self.journal())?;
        let claim = Claim::take().map_err(LockError::Namespace)?;
        let mut lock = Lock { file, _claim: claim };
        lock.sign()
            .map_err(|source| LockError::Unusable { path, source })?;
        Ok(lock)
    }
}

impl Lock {
    /// Writes the process ID into the file.
    fn sign(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        write!(self.file, "{}", std::process::id())
    }
}

/// Makes a directory with this mode. An existing one is not changed, and must be closed to others.
fn prepare(path: &Path, mode: u32) -> Result<(), LockError> {
    let unusable = |source| LockError::Unusable {
        path: path.to_owned(),
        source,
    };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(unusable)?;
    }
    match std::fs::create_dir(path) {
        // Sets the mode whatever the umask is.
        Ok(()) => std::fs::set_permissions(path, Permissions::from_mode(mode)).map_err(unusable)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(unusable(error)),
    }
    let found = std::fs::metadata(path).map_err(unusable)?;
    trusted::check(path, &found, Keeping::Public).map_err(LockError::Open)
}

/// Opens a file, creating it if needed, that nobody else may open: a user who can open a file can lock it.
fn own(path: &Path) -> Result<File, LockError> {
    let options = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(OWN)
        .open(path);
    // A file of an older version may be readable.
    let closed = options.and_then(|file| file.set_permissions(Permissions::from_mode(OWN)).map(|()| file));
    closed.map_err(|source| LockError::Unusable {
        path: path.to_owned(),
        source,
    })
}

fn locked(path: &Path) -> Result<File, LockError> {
    let file = own(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LockError::Taken { pid: owner(file) }),
        Err(TryLockError::Error(source)) => Err(LockError::Unusable {
            path: path.to_owned(),
            source,
        }),
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
    use linux::netns::{CreateError, Netns};
    use std::os::unix::fs::MetadataExt as _;

    /// Runs `work` with a place in its own directory and namespace.
    fn with_place(test: &str, work: impl FnOnce(&Place, &Path) + Send) {
        let netns = match Netns::new() {
            Err(CreateError::NotPermitted) => {
                println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
                return;
            }
            netns => netns.unwrap(),
        };
        let root = std::env::temp_dir().join(format!("slowhand-place-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let place = Place {
            runtime_dir: root.join("run"),
            state_dir: root.join("lib"),
        };
        netns.run(|| work(&place, &root)).unwrap();
        std::fs::remove_dir_all(root).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn one_daemon_at_a_time() {
        with_place("once", |place, _| {
            let lock = place.lock().unwrap();
            let LockError::Taken { pid } = place.lock().unwrap_err() else {
                panic!("taken twice")
            };
            assert_eq!(pid, std::process::id().to_string());
            // The copy that a starting program has from `fork` to `execve`.
            let _copy = lock.file.try_clone().unwrap();
            drop(lock);
            drop(place.lock().unwrap());
        });
    }

    #[test]
    fn one_daemon_in_a_namespace_whatever_its_directories() {
        with_place("elsewhere", |place, root| {
            let _lock = place.lock().unwrap();
            let other = Place {
                runtime_dir: root.join("run-2"),
                state_dir: root.join("lib-2"),
            };
            let refused = other.lock().unwrap_err().to_string();
            let pid = std::process::id();
            assert_eq!(
                refused,
                format!(
                    "slowhand is running already in this network namespace (process {pid}) with other directories; `slowhand down` with its \
                     --runtime-dir ends it"
                )
            );
            Netns::new().unwrap().run(|| drop(other.lock().unwrap())).unwrap();
        });
    }

    #[test]
    fn what_others_must_not_open_they_cannot() {
        with_place("modes", |place, _| {
            let (lock, journal) = (place.runtime_dir.join("lock"), place.journal());
            for _ in 0..2 {
                let _lock = place.lock().unwrap();
                let modes = [&place.runtime_dir, &place.state_dir, &lock, &journal].map(|path| mode(path));
                assert_eq!(modes, [0o755, 0o700, 0o600, 0o600]);
                // Modes as set by an older version.
                for path in [&lock, &journal] {
                    std::fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
                }
            }
            std::fs::set_permissions(&place.state_dir, Permissions::from_mode(0o755)).unwrap();
            drop(place.lock().unwrap());
            assert_eq!(mode(&place.state_dir), 0o755, "it may be used by others, too");
        });
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        with_place("open", |place, _| {
            std::fs::create_dir(&place.runtime_dir).unwrap();
            std::fs::set_permissions(&place.runtime_dir, Permissions::from_mode(0o775)).unwrap();
            let run = place.runtime_dir.display().to_string();
            assert_eq!(
                place.lock().unwrap_err().to_string(),
                format!(
                    "{run}: mode 0775, writable by others; run chmod go-w {run}, or choose another with --runtime-dir and --state-dir"
                )
            );
            std::fs::set_permissions(&place.runtime_dir, Permissions::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(&place.runtime_dir, Some(65_534), None).unwrap();
            assert_eq!(
                place.lock().unwrap_err().to_string(),
                format!(
                    "{run}: belongs to user 65534, who could change it; run chown 0 {run}, or choose another with --runtime-dir and --state-dir"
                )
            );
        });
    }
}

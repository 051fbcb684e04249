//! Reads files that decide what root does. Checks their owner, who else may change or read them, and their
//! length.
//!
//! The check is on the opened file, so that it cannot be exchanged in between.

use nix::unistd::geteuid;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Greatest length of a configuration or key, in bytes.
const LONGEST: u64 = 1 << 20;

/// What users other than the owner may do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// All may read it, only the owner may change it.
    Public,
    /// Only the owner may read or change it.
    Secret,
}

impl Keeping {
    /// Permissions that only the owner may have.
    const fn forbidden(self) -> u32 {
        match self {
            Self::Public => 0o022,
            Self::Secret => 0o077,
        }
    }
}

/// Why a file is not read, or a directory not used.
#[derive(Debug, Error)]
pub enum TrustError {
    /// It does not exist.
    #[error("{0}: there is no such file")]
    Absent(PathBuf),
    /// It cannot be read.
    #[error("{path}: cannot be read ({source}); fix its permissions or delete it")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A device, a pipe or a directory.
    #[error("{0}: not a regular file; name one")]
    NotAFile(PathBuf),
    /// Longer than any valid file.
    #[error("{0}: longer than 1 MiB; is this the right file?")]
    TooLong(PathBuf),
    /// Another user could change what root does.
    #[error("{path}: belongs to user {owner}, who could change it; run chown {ours} {path}")]
    Owner {
        /// Which.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The right owner.
        ours: u32,
    },
    /// Others may change it, or read a secret.
    #[error("{path}: mode {mode:04o}, {what} by others; run chmod {remedy} {path}")]
    Mode {
        /// Which.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// What others may do with it.
        what: &'static str,
        /// Mode that prevents it.
        remedy: &'static str,
    },
}

/// Reads a file that only root and the user we run as can change.
pub fn read(path: &Path, keeping: Keeping) -> Result<String, TrustError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => TrustError::Absent(path.to_owned()),
        _ => TrustError::Unreadable {
            path: path.to_owned(),
            source,
        },
    };
    // A pipe without a writer must not block us.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path);
    let file = opened.map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(TrustError::NotAFile(path.to_owned()));
    }
    check(path, &found, keeping)?;
    let text = text_of(&file).map_err(unreadable)?;
    text.ok_or_else(|| TrustError::TooLong(path.to_owned()))
}

/// The file's text; `None` if it is longer than any valid file.
fn text_of(file: &File) -> io::Result<Option<String>> {
    let mut text = String::new();
    let length = file.take(LONGEST + 1).read_to_string(&mut text)?;
    Ok((length as u64 <= LONGEST).then_some(text))
}

/// Checks that only root and the user we run as have the owner's permissions on this file or directory.
pub fn check(path: &Path, found: &Metadata, keeping: Keeping) -> Result<(), TrustError> {
    let ours = geteuid().as_raw();
    if ![0, ours].contains(&found.uid()) {
        return Err(TrustError::Owner {
            path: path.to_owned(),
            owner: found.uid(),
            ours,
        });
    }
    let mode = found.mode() & 0o7777;
    if mode & keeping.forbidden() == 0 {
        return Ok(());
    }
    let (what, remedy) = match (mode & 0o022 != 0, keeping) {
        (true, Keeping::Public) => ("writable", "go-w"),
        (true, Keeping::Secret) => ("writable", "600"),
        (false, _) => ("readable", "600"),
    };
    Err(TrustError::Mode {
        path: path.to_owned(),
        mode,
        what,
        remedy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    /// The error about a file with these permissions, without its name; or the file's text.
    fn said(mode: u32, keeping: Keeping, change: impl FnOnce(&Path)) -> Result<String, String> {
        let name = format!(
            "slowhand-trusted-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        );
        let path = std::env::temp_dir().join(name);
        fs::write(&path, "key").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        change(&path);
        let read =
            read(&path, keeping).map_err(|error| error.to_string().replace(path.to_str().unwrap(), "FILE"));
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        read
    }

    #[test]
    fn what_others_may_do_with_a_file_is_refused_with_its_mode_and_the_remedy() {
        let (public, secret) = (Keeping::Public, Keeping::Secret);
        #[rustfmt::skip]
        let table = [
            (0o644, public, Ok("key")),
            (0o600, public, Ok("key")),
            (0o664, public, Err("FILE: mode 0664, writable by others; run chmod go-w FILE")),
            (0o646, public, Err("FILE: mode 0646, writable by others; run chmod go-w FILE")),
            (0o600, secret, Ok("key")),
            (0o400, secret, Ok("key")),
            (0o644, secret, Err("FILE: mode 0644, readable by others; run chmod 600 FILE")),
            (0o640, secret, Err("FILE: mode 0640, readable by others; run chmod 600 FILE")),
            (0o622, secret, Err("FILE: mode 0622, writable by others; run chmod 600 FILE")),
        ];
        for (mode, keeping, expected) in table {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(said(mode, keeping, |_| {}), expected, "{mode:o} {keeping:?}");
        }
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        if !geteuid().is_root() {
            println!("skipped: needs root (CAP_CHOWN) to give a file away");
            return;
        }
        let give = |path: &Path| std::os::unix::fs::chown(path, Some(65_534), None).unwrap();
        assert_eq!(
            said(0o600, Keeping::Secret, give),
            Err("FILE: belongs to user 65534, who could change it; run chown 0 FILE".to_owned())
        );
    }

    #[test]
    fn what_is_no_file_holds_nobody_up() {
        let other = |make: fn(&Path)| {
            said(0o600, Keeping::Public, |path| {
                fs::remove_file(path).unwrap();
                make(path);
            })
        };
        let refused = Err("FILE: not a regular file; name one".to_owned());
        let pipe = |path: &Path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        };
        assert_eq!(other(pipe), refused);
        assert_eq!(other(|path| fs::create_dir(path).unwrap()), refused);
        assert_eq!(other(|_| {}), Err("FILE: there is no such file".to_owned()));
        let endless = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        assert_eq!(other(endless), refused);
    }

    #[test]
    fn more_than_makes_sense_is_not_read() {
        let long = |path: &Path| fs::write(path, vec![b'#'; 2 << 20]).unwrap();
        assert_eq!(
            said(0o600, Keeping::Public, long),
            Err("FILE: longer than 1 MiB; is this the right file?".to_owned())
        );
    }
}

//! The keys of a relay: one file for each client, which nobody else may read.
//!
//! A file `NAME.key` has 64 hexadecimal digits. The client has the same file. A relay reads its folder again
//! every second: a new key works at once, and connections of a removed one end.

use crate::egress::Network;
use nix::unistd::geteuid;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use wire::mobility::Key;

const EXTENSION: &str = "key";
/// Bits of a mode that let somebody else read or change the file.
const OTHERS: u32 = 0o077;
const LONGEST_NAME: usize = 64;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Others may read or change it.
    #[error("mode {mode:04o} on {path}: others can read or change it; run chmod 600 {path}")]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Somebody else owns it.
    #[error("{path} belongs to user {owner}, who could change it; run chown root {path}")]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// It is no key.
    #[error("{0}: a key is 64 hexadecimal digits, as `slowhand relay key add` writes them")]
    NotAKey(PathBuf),
    /// It cannot be read or written.
    #[error("{path}: {source}; check that its folder exists and that you may {doing} it")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The name cannot be a file's.
    #[error("`{0}` cannot name a key; use letters, digits, `-`, `_` and `.`, not first, and at most 64")]
    Name(String),
    /// There is a key of this name.
    #[error("there is a key `{0}` already; remove it first, or choose another name")]
    Exists(String),
    /// There is no key of this name.
    #[error("there is no key `{0}`; `slowhand relay key list` shows all")]
    Absent(String),
}

/// A key with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The secret.
    pub key: Key,
}

/// What the configuration says of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    /// Destinations beyond the default.
    pub allow: Vec<Network>,
    /// Most connections at once; `None`: as many as for every key.
    pub connections: Option<usize>,
}

/// Reads a key from a file that only root or its user can read. `owner` may own it, too.
pub fn read(path: &Path, owner: Option<u32>) -> Result<Key, KeyError> {
    let failed = |source| KeyError::File {
        path: path.to_owned(),
        doing: "read",
        source,
    };
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path);
    let file = opened.map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let mode = found.mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(KeyError::Mode {
            path: path.to_owned(),
            mode,
        });
    }
    let trusted = [Some(0), Some(geteuid().as_raw()), owner];
    if !trusted.contains(&Some(found.uid())) {
        return Err(KeyError::Owner {
            path: path.to_owned(),
            owner: found.uid(),
        });
    }
    let mut text = String::new();
    // A file of keys has one line. More than this is no key.
    file.take(256).read_to_string(&mut text).map_err(failed)?;
    Key::from_hex(&text).ok_or_else(|| KeyError::NotAKey(path.to_owned()))
}

/// The names of the keys in a folder, sorted. A folder that does not exist has none.
pub fn names(folder: &Path) -> Result<Vec<String>, KeyError> {
    let failed = |source| KeyError::File {
        path: folder.to_owned(),
        doing: "read",
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION)
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// All keys of a folder. The first bad one is an error.
pub fn load(folder: &Path) -> Result<Vec<Named>, KeyError> {
    let owner = fs::metadata(folder).ok().map(|found| found.uid());
    let names = names(folder)?;
    let read = |name: String| {
        let key = read(&file(folder, &name), owner)?;
        Ok(Named { name, key })
    };
    names.into_iter().map(read).collect()
}

/// Makes a key, and returns its file.
pub fn add(folder: &Path, name: &str) -> Result<PathBuf, KeyError> {
    let path = valid(folder, name)?;
    let failed = |doing: &'static str| {
        let path = path.clone();
        move |source: io::Error| KeyError::File { path, doing, source }
    };
    fs::create_dir_all(folder).map_err(failed("create"))?;
    let mut secret = [0; 32];
    random(&mut secret).map_err(failed("make"))?;
    let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path);
    let mut opened = match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(KeyError::Exists(name.to_owned()));
        }
        created => created.map_err(failed("create"))?,
    };
    let written = writeln!(opened, "{digits}").and_then(|()| opened.sync_all());
    written.map_err(failed("write"))?;
    // The relay has a user of its own, who owns the folder.
    let owner = fs::metadata(folder).map_err(failed("read"))?;
    if owner.uid() != geteuid().as_raw() {
        let given = std::os::unix::fs::fchown(&opened, Some(owner.uid()), Some(owner.gid()));
        given.map_err(failed("give its owner"))?;
    }
    Ok(path)
}

/// Removes a key.
pub fn remove(folder: &Path, name: &str) -> Result<(), KeyError> {
    let path = valid(folder, name)?;
    match fs::remove_file(&path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(KeyError::Absent(name.to_owned())),
        Err(source) => Err(KeyError::File {
            path,
            doing: "remove",
            source,
        }),
    }
}

fn valid(folder: &Path, name: &str) -> Result<PathBuf, KeyError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let first = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !first || name.len() > LONGEST_NAME || !name.chars().all(fine) {
        return Err(KeyError::Name(name.to_owned()));
    }
    Ok(file(folder, name))
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{EXTENSION}"))
}

/// Fills `bytes` from the kernel's random numbers.
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn folder(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("slowhand-keys-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn a_key_is_added_listed_and_removed() {
        let folder = folder("cycle");
        assert_eq!(load(&folder).unwrap(), []);
        let path = add(&folder, "laptop").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(matches!(add(&folder, "laptop"), Err(KeyError::Exists(_))));
        add(&folder, "car").unwrap();
        let keys = load(&folder).unwrap();
        assert_eq!(
            Vec::from_iter(keys.iter().map(|key| &key.name)),
            ["car", "laptop"]
        );
        assert_ne!(keys[0].key, keys[1].key);
        remove(&folder, "laptop").unwrap();
        assert!(matches!(remove(&folder, "laptop"), Err(KeyError::Absent(_))));
        assert_eq!(names(&folder).unwrap(), ["car"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let folder = folder("mode");
        let path = add(&folder, "laptop").unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = load(&folder).unwrap_err().to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn names_stay_in_their_folder() {
        let folder = folder("names");
        for name in ["", ".", "../x", "a/b", ".hidden", "a b", "-x", &"n".repeat(65)] {
            assert!(matches!(add(&folder, name), Err(KeyError::Name(_))), "{name}");
            assert!(matches!(remove(&folder, name), Err(KeyError::Name(_))), "{name}");
        }
    }
}

//! Kernel parameters under `/proc/sys`, of the calling thread's network namespace where they belong to one.
//!
//! # Sources
//! - `Documentation/networking/mptcp-sysctl.rst`, `ip-sysctl.rst` (Linux 6.18).
//!
//! # Where we differ, and why
//! 1. The path manager's name is looked for under both of its names: `path_manager` (a word) since 6.16, `pm_type` (a number)
//!    before. Features are detected, not versions.
//!
//! # Checked by
//! `tests`, in namespaces of their own.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The name of a parameter, with dots: `net.mptcp.enabled`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// A parameter by its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Its name, with dots.
    pub fn name(&self) -> &str {
        &self.0
    }

    fn path(&self) -> PathBuf {
        // A dot inside a component (an interface's name) is written as a slash, as sysctl(8) has it.
        let relative: String = self.0.chars().map(swap_separators).collect();
        PathBuf::from("/proc/sys").join(relative)
    }
}

const fn swap_separators(c: char) -> char {
    match c {
        '.' => '/',
        '/' => '.',
        other => other,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a parameter could not be read or written.
#[derive(Debug, Error)]
pub enum SysctlError {
    /// The kernel does not have it.
    #[error("this kernel has no {0}; a newer kernel, or one built with the feature, has it")]
    Missing(Key),
    /// Not allowed.
    #[error("{0} may not be changed; run as root, or with CAP_NET_ADMIN in this namespace")]
    Denied(Key),
    /// Not for anybody here, as in most containers.
    #[error(
        "/proc/sys is read-only here, and {0} cannot be changed; in a container, mount it writable or set the parameter from outside"
    )]
    ReadOnly(Key),
    /// The kernel refuses the value.
    #[error("{key} does not take `{value}`")]
    Value {
        /// The parameter.
        key: Key,
        /// What it was to become.
        value: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// It could not be read.
    #[error("reading {0}")]
    Read(Key, #[source] io::Error),
}

/// The present value, without the line's end.
pub fn read(key: &Key) -> Result<String, SysctlError> {
    match fs::read_to_string(key.path()) {
        Ok(value) => Ok(value.trim_end().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SysctlError::Missing(key.clone())),
        Err(error) => Err(SysctlError::Read(key.clone(), error)),
    }
}

/// Sets a value. To keep a way back, go through [`crate::journal::Journal::set_sysctl`].
pub fn write(key: &Key, value: &str) -> Result<(), SysctlError> {
    fs::write(key.path(), value).map_err(|source| refused(key, value, source))
}

/// Whether a value could be set. Sets none.
pub fn writable(key: &Key) -> Result<(), SysctlError> {
    let opened = fs::OpenOptions::new().write(true).open(key.path());
    opened.map(drop).map_err(|source| refused(key, "", source))
}

fn refused(key: &Key, value: &str, source: io::Error) -> SysctlError {
    match source.kind() {
        io::ErrorKind::NotFound => SysctlError::Missing(key.clone()),
        io::ErrorKind::PermissionDenied => SysctlError::Denied(key.clone()),
        io::ErrorKind::ReadOnlyFilesystem => SysctlError::ReadOnly(key.clone()),
        _ => SysctlError::Value {
            key: key.clone(),
            value: value.to_owned(),
            source,
        },
    }
}

/// Who manages the paths of new connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathManager {
    /// The kernel, by endpoints and limits.
    Kernel,
    /// A daemon, by netlink.
    Userspace,
}

/// The parameter that chooses the path manager on this kernel, and the value to give it.
pub fn path_manager(wanted: PathManager) -> Result<(Key, &'static str), SysctlError> {
    let named = Key::new("net.mptcp.path_manager");
    let numbered = Key::new("net.mptcp.pm_type");
    let (name, number) = match wanted {
        PathManager::Kernel => ("kernel", "0"),
        PathManager::Userspace => ("userspace", "1"),
    };
    if named.path().exists() {
        Ok((named, name))
    } else if numbered.path().exists() {
        Ok((numbered, number))
    } else {
        Err(SysctlError::Missing(named))
    }
}

/// Whether new connections may be MPTCP.
pub fn mptcp_enabled() -> Key {
    Key::new("net.mptcp.enabled")
}

/// Seconds for which a lost first SYN makes new connections fall back to plain TCP.
pub fn blackhole_timeout() -> Key {
    Key::new("net.mptcp.blackhole_timeout")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::Netns;

    #[test]
    fn a_value_belongs_to_the_namespace_of_the_thread() {
        let netns = Netns::new().unwrap();
        let key = Key::new("net.ipv4.ip_default_ttl");
        let before = read(&key).unwrap();
        let inside = netns
            .run(|| write(&key, "77").and_then(|()| read(&key)))
            .unwrap()
            .unwrap();
        assert_eq!(inside, "77");
        assert_eq!(read(&key).unwrap(), before);
    }

    #[test]
    fn what_is_missing_or_refused_is_named() {
        let netns = Netns::new().unwrap();
        let missing = read(&Key::new("net.mptcp.nonesuch")).unwrap_err();
        assert!(
            matches!(&missing, SysctlError::Missing(key) if key.name() == "net.mptcp.nonesuch"),
            "{missing}"
        );
        let refused = netns
            .run(|| write(&mptcp_enabled(), "many"))
            .unwrap()
            .unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("net.mptcp.enabled does not take `many`"),
            "{refused}"
        );
    }

    #[test]
    fn the_path_manager_can_be_chosen() {
        let netns = Netns::new().unwrap();
        let chosen = netns.run(|| {
            let (key, value) = path_manager(PathManager::Userspace).unwrap();
            write(&key, value).unwrap();
            (read(&key).unwrap(), value)
        });
        let (got, value) = chosen.unwrap();
        assert_eq!(got, value);
    }

    #[test]
    fn dots_in_interface_names_are_written_as_slashes() {
        let key = Key::new("net.ipv4.conf.eth0/5.rp_filter");
        assert_eq!(
            key.path(),
            PathBuf::from("/proc/sys/net/ipv4/conf/eth0.5/rp_filter")
        );
    }
}

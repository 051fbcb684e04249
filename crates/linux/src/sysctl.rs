//! Kernel parameters under `/proc/sys`. Those of a network namespace are the calling thread's.
//!
//! # Sources
//! - `Documentation/networking/mptcp-sysctl.rst`, `ip-sysctl.rst` (Linux 6.18).
//!
//! # Where we differ, and why
//! 1. The path manager's parameter is searched under both its names: `path_manager` (a word) from Linux 6.16
//!    on, and `pm_type` (a number) in older kernels. Features are detected instead of versions.
//!
//! # Checked by
//! `tests`, in fresh namespaces.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The name of a parameter, with dots: `net.mptcp.enabled`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// Creates a key from a parameter's name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Name of the parameter, with dots.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether it is a parameter of one interface.
    pub fn is_of_interface(&self) -> bool {
        let all = |name: &str| ["all", "default"].contains(&name);
        let interface = self.0.split('.').skip_while(|part| *part != "conf").nth(1);
        interface.is_some_and(|name| !all(name))
    }

    fn path(&self) -> PathBuf {
        // A dot within a component (an interface name) is written as a slash, as in sysctl(8).
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
    /// The kernel does not have the parameter.
    #[error("this kernel has no {0}; a newer kernel, or one built with the feature, has it")]
    Missing(Key),
    /// Permission denied.
    #[error("{0} may not be changed; run as root, or with CAP_NET_ADMIN in this namespace")]
    Denied(Key),
    /// `/proc/sys` is mounted read-only, as in most containers.
    #[error(
        "/proc/sys is read-only here, and {0} cannot be changed; in a container, mount it writable or set the parameter from outside"
    )]
    ReadOnly(Key),
    /// The kernel refused the value.
    #[error("{key} does not accept `{value}`")]
    Value {
        /// The parameter.
        key: Key,
        /// The refused value.
        value: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The parameter could not be read.
    #[error("reading {0}")]
    Read(Key, #[source] io::Error),
}

/// Reads the current value, without the line end.
pub fn read(key: &Key) -> Result<String, SysctlError> {
    match fs::read_to_string(key.path()) {
        Ok(value) => Ok(value.trim_end().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SysctlError::Missing(key.clone())),
        Err(error) => Err(SysctlError::Read(key.clone(), error)),
    }
}

/// Sets a value. Use [`crate::journal::Journal::set_sysctl`] to make the change undoable.
pub fn write(key: &Key, value: &str) -> Result<(), SysctlError> {
    fs::write(key.path(), value).map_err(|source| refused(key, value, source))
}

/// Checks whether a value could be set, without setting one.
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

/// The path manager of new connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathManager {
    /// The kernel's, with endpoints and limits.
    Kernel,
    /// A daemon, over netlink.
    Userspace,
}

/// The parameter that selects the path manager on this kernel, and the value for `wanted`.
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

/// The parameter that enables MPTCP for new connections.
pub fn mptcp_enabled() -> Key {
    Key::new("net.mptcp.enabled")
}

/// The parameter for how long new connections use plain TCP after a lost first SYN, in seconds.
pub fn blackhole_timeout() -> Key {
    Key::new("net.mptcp.blackhole_timeout")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::Netns;

    #[test]
    fn a_value_is_that_of_the_threads_namespace() {
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
    fn missing_and_refused_parameters_are_named() {
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
                .contains("net.mptcp.enabled does not accept `many`"),
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

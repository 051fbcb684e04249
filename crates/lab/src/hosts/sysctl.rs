//! Settings of one network namespace, under `/proc/sys/net`.
//!
//! # Sources
//! - `proc_sys_net(5)`: a thread sees the settings of the namespace it is in.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a setting could not be made.
#[derive(Debug, Error)]
#[error("setting {name} to `{value}`: {hint}")]
pub struct SysctlError {
    /// Its name, as `sysctl` spells it.
    pub name: &'static str,
    /// The value.
    pub value: String,
    hint: &'static str,
    source: io::Error,
}

impl SysctlError {
    /// The kernel has no such setting.
    pub(crate) fn is_missing(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

/// Sets it in the calling thread's namespace.
pub(crate) fn set(name: &'static str, value: &str) -> Result<(), SysctlError> {
    std::fs::write(path(name), value).map_err(|source| SysctlError {
        name,
        value: value.to_owned(),
        hint: hint(name, &source),
        source,
    })
}

/// Reads it in the calling thread's namespace; `None`: this kernel has no such setting.
pub(crate) fn get(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path(name)).ok()?;
    Some(text.trim().to_owned())
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/sys/{}", name.replace('.', "/")))
}

fn hint(name: &str, error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound if name.starts_with("net.mptcp") => {
            "this kernel has no MPTCP; it needs CONFIG_MPTCP=y (Linux 5.6 or later)"
        }
        io::ErrorKind::NotFound => "this kernel has no such setting or value; see `sysctl -a`",
        io::ErrorKind::PermissionDenied => "run as root",
        _ => "see `dmesg`",
    }
}

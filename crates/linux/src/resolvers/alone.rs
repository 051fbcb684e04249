//! Makes some DNS servers the only ones of this process and of the programs that it starts.
//!
//! In a mount namespace of their own, other files lie over `resolv.conf` and `nsswitch.conf`. The host's own
//! files stay as they are.
//!
//! # Sources
//! - resolv.conf(5), nsswitch.conf(5), nscd(8); mount_namespaces(7), user_namespaces(7).
//!
//! # Where we differ, and why
//! 1. Names come from `/etc/hosts` and these servers alone. Another module of `nsswitch.conf`, or `nscd`,
//!    would ask a program outside, which uses the servers of all links.
//!
//! # Checked by
//! `host::portal` in `cli`'s tests.

use std::ffi::CString;
use std::fs::Permissions;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error;

/// As many as a C library reads.
const MOST: usize = 3;
const RESOLVERS: &str = "/etc/resolv.conf";
const SOURCES: &str = "/etc/nsswitch.conf";
const CACHES: [&str; 2] = ["/run/nscd/socket", "/var/run/nscd/socket"];

/// Why other resolvers cannot be set.
#[derive(Debug, Error)]
pub enum AloneError {
    /// This user may not have mounts of its own.
    #[error("this system lets only root have mounts of its own ({0}); run the command with sudo")]
    Mounts(io::Error),
    /// A file cannot be replaced.
    #[error("{}: cannot be replaced for the program ({error})", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's refusal.
        error: io::Error,
    },
}

/// Lets this process and those that it starts use these resolvers alone. The files that replace the host's
/// are made in `folder`, and must stay there.
///
/// Call it before any thread is started: a process with threads cannot get a user namespace.
///
/// # Errors
/// If the kernel refuses mounts, or a file cannot be written.
pub fn use_alone(resolvers: &[IpAddr], folder: &Path) -> Result<(), AloneError> {
    own_mounts().map_err(AloneError::Mounts)?;
    let servers = resolvers
        .iter()
        .take(MOST)
        .map(|server| format!("nameserver {server}\n"));
    replace(folder, RESOLVERS, &String::from_iter(servers))?;
    if let Ok(text) = fs::read_to_string(SOURCES) {
        replace(folder, SOURCES, &without_other_sources(&text))?;
    }
    for cache in CACHES.map(Path::new).into_iter().filter(|cache| cache.exists()) {
        // Nobody can connect to a device.
        bind(Path::new("/dev/null"), cache).map_err(|error| failed(cache, error))?;
    }
    Ok(())
}

/// `nsswitch.conf` where names of hosts come from a file and DNS alone.
fn without_other_sources(text: &str) -> String {
    let is_of_hosts = |line: &&str| line.trim_start().starts_with("hosts:");
    let others = text.lines().filter(|line| !is_of_hosts(line));
    others
        .chain(["hosts: files dns"])
        .map(|line| format!("{line}\n"))
        .collect()
}

fn replace(folder: &Path, path: &'static str, text: &str) -> Result<(), AloneError> {
    let path = Path::new(path);
    let copy = folder.join(path.file_name().unwrap_or_default());
    // The program may be another user's.
    fs::write(&copy, text)
        .and_then(|()| fs::set_permissions(&copy, Permissions::from_mode(0o644)))
        .and_then(|()| bind(&copy, path))
        .map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> AloneError {
    AloneError::File {
        path: path.to_owned(),
        error,
    }
}

fn bind(from: &Path, onto: &Path) -> io::Result<()> {
    let [from, onto] = [from, onto].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (from, onto, none) = (from?, onto?, std::ptr::null());
    // SAFETY: C strings that outlive the call.
    done(unsafe { libc::mount(from.as_ptr(), onto.as_ptr(), none, libc::MS_BIND, none.cast()) })
}

/// Gives this process mounts of its own. Users other than root get a user namespace first, in which they keep
/// their number.
fn own_mounts() -> io::Result<()> {
    // SAFETY: no pointers.
    if let Err(error) = done(unsafe { libc::unshare(libc::CLONE_NEWNS) }) {
        match error.raw_os_error() {
            Some(libc::EPERM) => own_user_namespace()?,
            _ => return Err(error),
        }
    }
    let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: C strings that outlive the call.
    done(unsafe { libc::mount(none, c"/".as_ptr(), none, private, none.cast()) })
}

fn own_user_namespace() -> io::Result<()> {
    // SAFETY: no pointers.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    // SAFETY: no pointers.
    done(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn done(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_come_from_files_and_dns_alone() {
        let text = "passwd: files systemd\nhosts: files resolve [!UNAVAIL=return] dns\nnetworks: files\n";
        let expected = "passwd: files systemd\nnetworks: files\nhosts: files dns\n";
        assert_eq!(without_other_sources(text), expected);
    }
}

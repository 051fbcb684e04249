//! Network namespaces without names.
//!
//! A namespace created here has no name and no mount. It lives as long as a descriptor, a socket or a thread
//! in it. However a process ends, even by `kill -9`, the kernel removes the namespace with all its links,
//! routes, rules and endpoints.
//!
//! The namespace of a *thread* determines where its sockets are opened and which `/proc/sys/net` it sees. So
//! work inside a namespace runs on a thread that enters it and never leaves.
//!
//! # Sources
//! - `network_namespaces(7)`, `setns(2)`, `unshare(2)`.
//!
//! # Checked by
//! `tests`: a fresh namespace has only a loopback, which is up. Nothing done inside is visible outside. A
//! program started inside stays inside.

use crate::netlink;
use crate::rtnl::{LinkError, Rtnl};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// Index of the loopback, the first link of every network namespace.
const LOOPBACK: u32 = 1;

/// Why a network namespace could not be created.
#[derive(Debug, Error)]
pub enum CreateError {
    /// CAP_SYS_ADMIN is missing.
    #[error("creating a network namespace needs CAP_SYS_ADMIN: run as root")]
    NotPermitted,
    /// The kernel was built without network namespaces.
    #[error("this kernel has no network namespaces; it needs CONFIG_NET_NS=y")]
    Unsupported,
    /// The user's limit of namespaces is reached.
    #[error("no network namespace left; raise user.max_net_namespaces")]
    LimitReached,
    /// Any other error of `unshare` or of opening the namespace.
    #[error("creating a network namespace")]
    Kernel(#[source] io::Error),
    /// No thread could be started.
    #[error("no thread could be started; see `ulimit -u`")]
    Thread(#[source] io::Error),
    /// The loopback could not be brought up.
    #[error("bringing up `lo` in a new network namespace")]
    Loopback(#[source] LinkError),
    /// rtnetlink could not be opened.
    #[error("opening rtnetlink in a new network namespace")]
    Netlink(#[source] netlink::OpenError),
}

/// Why an existing network namespace could not be opened.
#[derive(Debug, Error)]
#[error("opening the network namespace {}; is its owner still running?", path.display())]
pub struct OpenError {
    path: PathBuf,
    source: io::Error,
}

/// Why a thread could not enter a network namespace.
#[derive(Debug, Error)]
pub enum EnterError {
    /// The kernel refused.
    #[error("entering a network namespace needs CAP_SYS_ADMIN: run as root")]
    Kernel(#[source] io::Error),
    /// No thread could be started.
    #[error("no thread could be started; see `ulimit -u`")]
    Thread(#[source] io::Error),
}

/// A network namespace, kept alive by this value.
#[derive(Debug)]
pub struct Netns {
    fd: OwnedFd,
}

impl Netns {
    /// Creates a namespace that has only a loopback, which is up.
    pub fn new() -> Result<Self, CreateError> {
        std::thread::scope(|scope| {
            let maker = std::thread::Builder::new().name("netns-make".into());
            let made = maker.spawn_scoped(scope, make).map_err(CreateError::Thread)?;
            made.join().expect("creating a namespace does not panic")
        })
    }

    /// Opens the namespace of the calling thread.
    pub fn current() -> Result<Self, OpenError> {
        Self::open(Path::new("/proc/thread-self/ns/net"))
    }

    /// Opens a namespace by path, such as those of `ip netns add` under `/run/netns`.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let file = File::open(path).map_err(|source| OpenError {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { fd: file.into() })
    }

    /// Moves the calling thread into this namespace permanently.
    pub fn enter(&self) -> Result<(), EnterError> {
        set_netns(self.fd.as_raw_fd()).map_err(EnterError::Kernel)
    }

    /// Runs `work` on a new thread inside this namespace and waits for its result.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, EnterError> {
        std::thread::scope(|scope| {
            let worker = std::thread::Builder::new().name("netns-run".into());
            let inside = || self.enter().map(|()| work());
            let handle = worker.spawn_scoped(scope, inside).map_err(EnterError::Thread)?;
            handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Makes `command` start its program inside this namespace.
    ///
    /// The child uses the parent's descriptor, so spawn it before this value is dropped.
    pub fn prepare<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let fd = self.fd.as_raw_fd();
        // SAFETY: between fork and exec the hook makes one system call and allocates nothing.
        unsafe { command.pre_exec(move || set_netns(fd)) }
    }

    /// A number that is unique among all existing namespaces.
    pub fn id(&self) -> io::Result<u64> {
        let file = File::from(self.fd.try_clone()?);
        Ok(file.metadata()?.ino())
    }

    /// Duplicates the handle.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            fd: self.fd.try_clone()?,
        })
    }
}

impl AsRawFd for Netns {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Creates a namespace. Call it on a temporary thread, because `unshare` moves the whole thread.
fn make() -> Result<Netns, CreateError> {
    // SAFETY: no pointers are passed; only this thread's namespace changes.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EPERM) => CreateError::NotPermitted,
            Some(libc::EINVAL) => CreateError::Unsupported,
            Some(libc::ENOSPC) => CreateError::LimitReached,
            _ => CreateError::Kernel(error),
        });
    }
    let netns = Netns::current().map_err(|error| CreateError::Kernel(error.source))?;
    let mut rtnl = Rtnl::open().map_err(CreateError::Netlink)?;
    rtnl.set_up(LOOPBACK, true).map_err(CreateError::Loopback)?;
    Ok(netns)
}

fn set_netns(fd: RawFd) -> io::Result<()> {
    // SAFETY: no pointers are passed; a closed descriptor is an error, not a fault.
    if unsafe { libc::setns(fd, libc::CLONE_NEWNET) } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fresh, inside, name, plug};

    #[test]
    fn a_fresh_namespace_has_only_a_loopback_that_is_up() {
        inside(|| {
            let links = Rtnl::open().unwrap().links().unwrap();
            assert_eq!(links.len(), 1, "{links:?}");
            assert!(links[0].loopback && links[0].up);
        });
    }

    #[test]
    fn changes_inside_are_not_visible_outside() {
        let Some(netns) = fresh() else { return };
        let outside = Netns::current().unwrap();
        netns.run(|| plug("inside0")).unwrap();
        assert_ne!(netns.id().unwrap(), outside.id().unwrap());
        assert_eq!(Rtnl::open().unwrap().link_named(name("inside0")).unwrap(), None);
        assert_eq!(Netns::current().unwrap().id().unwrap(), outside.id().unwrap());
    }

    #[test]
    fn a_program_started_inside_sees_the_inside() {
        let Some(netns) = fresh() else { return };
        netns.run(|| plug("inside1")).unwrap();
        let mut command = Command::new("ip");
        command.args(["-o", "link"]);
        let seen = netns.prepare(&mut command).output().unwrap();
        assert!(String::from_utf8_lossy(&seen.stdout).contains("inside1"));
    }

    #[test]
    fn a_missing_namespace_is_named() {
        let error = Netns::open(Path::new("/proc/self/ns/nothing")).unwrap_err();
        assert!(error.to_string().contains("/proc/self/ns/nothing"), "{error}");
    }
}

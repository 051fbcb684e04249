//! What can go wrong, one enum per operation.

use super::{ControllerName, Missing};
use crate::bpf::{LoadError, MapError};
use crate::diag::DiagError;
use crate::netlink;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Not a name for a controller.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{}` cannot name a controller: use 1 to 15 letters, digits, `_` or `-`", .0.escape_debug())]
pub struct NameError(pub String);

/// Why a controller could not be given to the kernel.
#[derive(Debug, Error)]
pub enum CcError {
    /// The kernel lacks something.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The programs could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Another controller has the name.
    #[error("the kernel already has a controller `{0}`; unload it, or choose another name")]
    NameTaken(ControllerName),
    /// The kernel took the programs, but not the controller.
    #[error("the kernel refused the controller `{name}`: {reason}")]
    Refused {
        /// Which.
        name: ControllerName,
        /// libbpf's words.
        reason: String,
    },
}

/// Why an order about windows could not be given.
#[derive(Debug, Error)]
pub enum OrderError {
    /// Too many are standing.
    #[error("no room for another order: 65536 stand; take back those of closed connections")]
    Full,
    /// Anything else.
    #[error("writing an order for the windows of a connection")]
    Map(#[source] MapError),
}

/// Why a controller could not be made to outlive us.
#[derive(Debug, Error)]
pub enum PinError {
    /// BPF's file system is not there.
    #[error("{} is not on a BPF file system: run `mount -t bpf bpf /sys/fs/bpf`", .0.display())]
    NotBpffs(PathBuf),
    /// Something of this name is there already.
    #[error("{} exists already; unload that controller first", .0.display())]
    Exists(PathBuf),
    /// Anything else.
    #[error("pinning {}: {source}", .path.display())]
    Kernel {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Why a controller could not be unloaded.
#[derive(Debug, Error)]
pub enum UnloadError {
    /// Nothing pinned has this name.
    #[error(
        "no controller `{name}` is pinned under {}; one that is not pinned goes with the process that loaded it", .dir.display()
    )]
    NotPinned {
        /// Which.
        name: ControllerName,
        /// Where was looked.
        dir: PathBuf,
    },
    /// The pin could not be removed.
    #[error("removing {}: {source}", .path.display())]
    Kernel {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Why it could not be said what is loaded or used.
#[derive(Debug, Error)]
pub enum StatusError {
    /// Not allowed to look.
    #[error("looking at BPF needs CAP_SYS_ADMIN: run as root")]
    NotPermitted,
    /// The kernel's structures are not described.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Pins or objects could not be read.
    #[error("looking for controllers: {0}")]
    Kernel(String),
    /// No netlink.
    #[error(transparent)]
    Open(#[from] netlink::OpenError),
    /// Sockets could not be listed.
    #[error(transparent)]
    Diag(#[from] DiagError),
}

//! Errors of the controllers, one enum per operation.

use super::{ControllerName, Missing};
use crate::bpf::{LoadError, MapError};
use crate::diag::DiagError;
use crate::netlink;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// An invalid controller name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{}` is not a valid controller name: use 1 to 15 letters, digits, `_` or `-`", .0.escape_debug())]
pub struct NameError(pub String);

/// Why a controller could not be loaded.
#[derive(Debug, Error)]
pub enum CcError {
    /// The kernel lacks a feature.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The programs could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Another controller has this name.
    #[error("the kernel already has a controller `{0}`; unload it, or choose another name")]
    NameTaken(ControllerName),
    /// The kernel accepted the programs but refused the controller.
    #[error("the kernel refused the controller `{name}`: {reason}")]
    Refused {
        /// The controller.
        name: ControllerName,
        /// libbpf's error text.
        reason: String,
    },
}

/// Why a window order could not be given.
#[derive(Debug, Error)]
pub enum OrderError {
    /// The map of orders is full.
    #[error("no room for another order: 65536 are active; withdraw those of closed connections")]
    Full,
    /// Anything else.
    #[error("writing an order for the windows of a connection")]
    Map(#[source] MapError),
}

/// Why a controller could not be pinned.
#[derive(Debug, Error)]
pub enum PinError {
    /// The BPF file system is not mounted.
    #[error("{} is not on a BPF file system: run `mount -t bpf bpf /sys/fs/bpf`", .0.display())]
    NotBpffs(PathBuf),
    /// A file of this name exists already.
    #[error("{} exists already; unload that controller first", .0.display())]
    Exists(PathBuf),
    /// Anything else.
    #[error("pinning {}: {source}", .path.display())]
    Kernel {
        /// The path.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Why a controller could not be unloaded.
#[derive(Debug, Error)]
pub enum UnloadError {
    /// No pinned controller has this name.
    #[error(
        "no controller `{name}` is pinned under {}; an unpinned one ends with the process that loaded it", .dir.display()
    )]
    NotPinned {
        /// The name.
        name: ControllerName,
        /// The searched directory.
        dir: PathBuf,
    },
    /// The pin could not be removed.
    #[error("removing {}: {source}", .path.display())]
    Kernel {
        /// The path.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Why loaded or used controllers could not be listed.
#[derive(Debug, Error)]
pub enum StatusError {
    /// CAP_SYS_ADMIN is missing.
    #[error("listing BPF objects needs CAP_SYS_ADMIN: run as root")]
    NotPermitted,
    /// The kernel has no description of its structures.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Pins or objects could not be read.
    #[error("listing controllers: {0}")]
    Kernel(String),
    /// The netlink socket could not be opened.
    #[error(transparent)]
    Open(#[from] netlink::OpenError),
    /// Sockets could not be listed.
    #[error(transparent)]
    Diag(#[from] DiagError),
}

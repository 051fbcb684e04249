//! Errors of socket statistics.

use crate::netlink::RequestError;
use thiserror::Error;

/// Why sockets could not be read.
#[derive(Debug, Error)]
pub enum DiagError {
    /// The kernel cannot list this kind of socket.
    #[error(
        "this kernel cannot show TCP or MPTCP sockets; it needs CONFIG_INET_DIAG, CONFIG_INET_TCP_DIAG and CONFIG_INET_MPTCP_DIAG"
    )]
    Unsupported,
    /// Anything else.
    #[error("reading socket statistics: {0}")]
    Kernel(#[source] RequestError),
}

impl From<RequestError> for DiagError {
    fn from(source: RequestError) -> Self {
        // If the handler is missing, 6.18 returns ENOENT for lookups and dumps. Older kernels return EINVAL
        // for dumps.
        match source.errno() {
            Some(libc::ENOENT | libc::EOPNOTSUPP | libc::EPROTONOSUPPORT) => Self::Unsupported,
            _ => Self::Kernel(source),
        }
    }
}

/// Why a socket could not be closed.
#[derive(Debug, Error)]
pub enum EndError {
    /// The kernel does not support `SOCK_DESTROY`.
    #[error("this kernel cannot close other programs' sockets; it needs CONFIG_INET_DIAG_DESTROY")]
    Unsupported,
    /// Anything else.
    #[error("closing a socket: {0}")]
    Kernel(#[source] RequestError),
}

impl From<RequestError> for EndError {
    fn from(source: RequestError) -> Self {
        match source.errno() {
            Some(libc::EOPNOTSUPP) => Self::Unsupported,
            _ => Self::Kernel(source),
        }
    }
}

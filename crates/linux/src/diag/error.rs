//! What can go wrong.

use crate::netlink::RequestError;
use thiserror::Error;

/// Why sockets could not be looked at.
#[derive(Debug, Error)]
pub enum DiagError {
    /// The kernel cannot list this kind of socket.
    #[error(
        "this kernel cannot show TCP or MPTCP sockets; it needs CONFIG_INET_DIAG, CONFIG_INET_TCP_DIAG and CONFIG_INET_MPTCP_DIAG"
    )]
    Unsupported,
    /// Anything else.
    #[error("looking at sockets: {0}")]
    Kernel(#[source] RequestError),
}

impl From<RequestError> for DiagError {
    fn from(source: RequestError) -> Self {
        // 6.18 answers a family whose handler is missing with ENOENT for both, older kernels EINVAL in dumps.
        match source.errno() {
            Some(libc::ENOENT | libc::EOPNOTSUPP | libc::EPROTONOSUPPORT) => Self::Unsupported,
            _ => Self::Kernel(source),
        }
    }
}

/// Why a socket could not be ended.
#[derive(Debug, Error)]
pub enum EndError {
    /// The kernel ends no sockets for others.
    #[error("this kernel ends no sockets; it needs CONFIG_INET_DIAG_DESTROY")]
    Unsupported,
    /// Anything else.
    #[error("ending a socket: {0}")]
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

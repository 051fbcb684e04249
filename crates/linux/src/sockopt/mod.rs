//! Socket options for a program's own MPTCP sockets, and for its congestion controller.
//!
//! # Facts to know
//! - If a socket fell back to plain TCP, an accepted one returns EOPNOTSUPP for the MPTCP options, and a
//!   connected one sets [`MptcpInfo::fallback`]. [`is_fallback`] handles both.
//! - `setsockopt(TCP_CONGESTION)` on an MPTCP socket may succeed without effect. [`set_congestion`] reads the
//!   result back.
//!
//! # Sources
//! - `net/mptcp/sockopt.c`, `include/uapi/linux/mptcp.h` (Linux 6.18); `Documentation/networking/mptcp.rst`.
//!
//! # Checked by
//! `tests`: live connections of both kinds, both families and both sides.

mod full;
#[cfg(test)]
mod tests;

pub use full::{FullInfo, SubflowInfo};

use crate::diag::CongestionName;
use crate::info::{MptcpInfo, TcpInfo};
use crate::mptcp_pm::Subflow;
use full::subflow_ends;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use thiserror::Error;

const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;
const MPTCP_FULL_INFO: i32 = 4;
/// `struct mptcp_subflow_data`.
const SUBFLOW_DATA_LEN: usize = 16;
/// Local and remote `struct sockaddr_storage`.
const ADDRS_LEN: usize = 256;
/// Most subflows that are read. The kernel limits its own path manager to 8 beside the first, and sets no
/// other limit.
const MOST_SUBFLOWS: usize = 64;

/// Why an MPTCP socket could not be created.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The kernel was built without MPTCP.
    #[error("this kernel has no MPTCP; it needs CONFIG_MPTCP=y (Linux 5.6)")]
    Unsupported,
    /// MPTCP is disabled in this namespace.
    #[error("MPTCP is disabled here; enable it with `sysctl net.mptcp.enabled=1`")]
    Disabled,
    /// Anything else.
    #[error("creating an MPTCP socket; see `ulimit -n`")]
    Kernel(#[source] io::Error),
}

/// Why a socket option could not be read.
#[derive(Debug, Error)]
pub enum InfoError {
    /// It is not an MPTCP socket, or it fell back to plain TCP.
    #[error(
        "the connection is plain TCP; open it with IPPROTO_MPTCP, and check whether the peer supports MPTCP"
    )]
    NotMptcp,
    /// The kernel does not support the option.
    #[error("this kernel lacks the socket option; it needs Linux {since}")]
    Unsupported {
        /// The first kernel version that supports it.
        since: &'static str,
    },
    /// Anything else.
    #[error("reading a socket option")]
    Kernel(#[source] io::Error),
}

/// Why a congestion controller was not set.
#[derive(Debug, Error)]
pub enum SetCongestionError {
    /// No controller has this name.
    #[error(
        "this kernel has no congestion controller `{name}`; see net.ipv4.tcp_available_congestion_control"
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// The controller needs CAP_NET_ADMIN.
    #[error(
        "`{name}` is not in net.ipv4.tcp_allowed_congestion_control; add it there, or run with CAP_NET_ADMIN"
    )]
    NotAllowed {
        /// The name.
        name: String,
    },
    /// The kernel reported success without setting it.
    #[error("the socket still uses `{now}` instead of `{name}`; is it loaded and allowed here?")]
    Ignored {
        /// The name.
        name: String,
        /// The controller in use.
        now: CongestionName,
    },
    /// Anything else.
    #[error("setting congestion controller `{name}`")]
    Kernel {
        /// The name.
        name: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Creates a blocking MPTCP stream socket for the family of `address`.
pub fn mptcp_socket(address: SocketAddr) -> Result<Socket, SocketError> {
    Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::MPTCP)).map_err(
        |error| match error.raw_os_error() {
            Some(libc::EPROTONOSUPPORT | libc::EINVAL) => SocketError::Unsupported,
            Some(libc::ENOPROTOOPT) => SocketError::Disabled,
            _ => SocketError::Kernel(error),
        },
    )
}

/// Reads the connection's counters.
pub fn mptcp_info(socket: &impl AsFd) -> Result<MptcpInfo, InfoError> {
    let mut bytes = [0; MptcpInfo::LEN];
    let len = get(socket, SOL_MPTCP, MPTCP_INFO, &mut bytes).map_err(|error| refused(error, "5.16"))?;
    Ok(MptcpInfo::parse(&bytes[..len]))
}

/// Whether the connection is plain TCP although its socket, or its listener, is MPTCP.
pub fn is_fallback(socket: &impl AsFd) -> Result<bool, InfoError> {
    match mptcp_info(socket) {
        Ok(info) => Ok(info.fallback),
        Err(InfoError::NotMptcp) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Reads the counters of every subflow, in the order of [`subflows`].
pub fn tcp_infos(socket: &impl AsFd) -> Result<Vec<TcpInfo>, InfoError> {
    per_subflow(socket, MPTCP_TCPINFO, TcpInfo::LEN, |bytes| {
        Some(TcpInfo::parse(bytes))
    })
}

/// Reads both addresses of every subflow.
pub fn subflows(socket: &impl AsFd) -> Result<Vec<Subflow>, InfoError> {
    per_subflow(socket, MPTCP_SUBFLOW_ADDRS, ADDRS_LEN, subflow_ends)
}

/// Reads the counters of the connection and of every subflow in one call (Linux 6.5). Reuse `into` for
/// repeated calls.
pub fn full_info(socket: &impl AsFd, into: &mut FullInfo) -> Result<(), InfoError> {
    // The request points to two arrays beside it in `into`, with their lengths. They live as long as it does.
    let request = into.request();
    let len = get(socket, SOL_MPTCP, MPTCP_FULL_INFO, request).map_err(|error| refused(error, "6.5"))?;
    into.read(len);
    Ok(())
}

/// Reads the counters of a plain TCP connection, or of an MPTCP connection's first subflow.
pub fn tcp_info(socket: &impl AsFd) -> Result<TcpInfo, InfoError> {
    let mut bytes = [0; TcpInfo::LEN];
    let len = get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).map_err(InfoError::Kernel)?;
    Ok(TcpInfo::parse(&bytes[..len]))
}

/// Lets clients send data to this listener with their SYN, and at most `pending` of them at once before their
/// handshake is complete (TCP_FASTOPEN, RFC 7413). It needs bit 1 of `net.ipv4.tcp_fastopen`.
pub fn accept_fast_open(listener: &impl AsFd, pending: i32) -> io::Result<()> {
    set(
        listener,
        libc::IPPROTO_TCP,
        libc::TCP_FASTOPEN,
        &pending.to_ne_bytes(),
    )
}

/// Makes the next `connect` of this socket return at once, if the kernel has a cookie of the server. The
/// first bytes then leave with the SYN (TCP_FASTOPEN_CONNECT, RFC 7413). Otherwise it asks for a cookie.
pub fn connect_fast_open(socket: &impl AsFd) -> io::Result<()> {
    set(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_FASTOPEN_CONNECT,
        &1_i32.to_ne_bytes(),
    )
}

/// Reads the congestion controller in use.
pub fn congestion(socket: &impl AsFd) -> Result<CongestionName, InfoError> {
    let mut bytes = [0; 16];
    let len = get(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut bytes).map_err(InfoError::Kernel)?;
    Ok(CongestionName::from_bytes(&bytes[..len]))
}

/// Sets the congestion controller of a connection and all its subflows, and verifies that it is in use.
pub fn set_congestion(socket: &impl AsFd, name: &str) -> Result<(), SetCongestionError> {
    let owned = || name.to_owned();
    set(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes()).map_err(|source| {
        match source.raw_os_error() {
            Some(libc::ENOENT) => SetCongestionError::Unknown { name: owned() },
            Some(libc::EPERM) => SetCongestionError::NotAllowed { name: owned() },
            _ => SetCongestionError::Kernel {
                name: owned(),
                source,
            },
        }
    })?;
    match congestion(socket) {
        Ok(now) if now.as_str() == name => Ok(()),
        Ok(now) => Err(SetCongestionError::Ignored { name: owned(), now }),
        Err(InfoError::Kernel(source)) => Err(SetCongestionError::Kernel {
            name: owned(),
            source,
        }),
        Err(_) => unreachable!("reading the controller fails with the kernel's error only"),
    }
}

/// Reads one element per subflow: `struct mptcp_subflow_data` and an array.
fn per_subflow<T>(
    socket: &impl AsFd,
    option: i32,
    element_len: usize,
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Result<Vec<T>, InfoError> {
    let mut bytes = vec![0; SUBFLOW_DATA_LEN + MOST_SUBFLOWS * element_len];
    bytes[..4].copy_from_slice(&(SUBFLOW_DATA_LEN as u32).to_ne_bytes());
    bytes[12..16].copy_from_slice(
        &u32::try_from(element_len)
            .expect("a few hundred bytes")
            .to_ne_bytes(),
    );
    get(socket, SOL_MPTCP, option, &mut bytes).map_err(|error| refused(error, "5.16"))?;
    let word = |at: usize| crate::netlink::u32_at(&bytes, at).unwrap_or(0) as usize;
    let (count, kernel_len) = (word(4).min(MOST_SUBFLOWS), word(8).min(element_len));
    let elements = bytes[SUBFLOW_DATA_LEN..].chunks_exact(element_len).take(count);
    Ok(elements
        .filter_map(|element| parse(&element[..kernel_len]))
        .collect())
}

fn refused(error: io::Error, since: &'static str) -> InfoError {
    match error.raw_os_error() {
        // A plain TCP socket does not know the option level at all. An MPTCP socket that fell back does.
        Some(libc::EOPNOTSUPP) => InfoError::NotMptcp,
        Some(libc::ENOPROTOOPT) => InfoError::Unsupported { since },
        _ => InfoError::Kernel(error),
    }
}

fn get(socket: &impl AsFd, level: i32, option: i32, into: &mut [u8]) -> io::Result<usize> {
    let mut len = libc::socklen_t::try_from(into.len()).expect("a few kilobytes");
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the buffer is live and its length is passed with it. So are the arrays to which
    // MPTCP_FULL_INFO's buffer points.
    let rc = unsafe { libc::getsockopt(fd, level, option, into.as_mut_ptr().cast(), &raw mut len) };
    if rc < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(len as usize)
    }
}

fn set(socket: &impl AsFd, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let len = libc::socklen_t::try_from(value.len()).expect("a few bytes");
    // SAFETY: the value is live and its length is passed with it.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            len,
        )
    };
    if rc < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

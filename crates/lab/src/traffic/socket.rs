//! TCP and MPTCP sockets that never block for longer than the interval at which the stop flag is checked.

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;
use thiserror::Error;

/// Timeout of a read or write, which is then repeated: the granularity of stopping.
pub(super) const GLANCE: Duration = Duration::from_millis(20);

/// The protocol of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Multipath TCP.
    Mptcp,
    /// Plain TCP.
    Tcp,
}

/// Why a socket could not be made.
#[derive(Debug, Error)]
pub enum SocketError {
    /// No socket of this protocol.
    #[error("cannot open a {0:?} socket; for Mptcp, check `sysctl net.mptcp.enabled`")]
    Create(Transport, #[source] io::Error),
    /// The congestion controller is not the requested one.
    #[error(
        "the socket uses congestion control {got} instead of {asked}; check `sysctl net.ipv4.tcp_allowed_congestion_control`"
    )]
    Congestion {
        /// The requested one.
        asked: String,
        /// The one read back.
        got: String,
    },
    /// An option was refused.
    #[error("the kernel refused {0}")]
    Option(&'static str, #[source] io::Error),
}

impl Transport {
    const fn protocol(self) -> Protocol {
        match self {
            Self::Mptcp => Protocol::MPTCP,
            Self::Tcp => Protocol::TCP,
        }
    }

    /// Creates a socket for this address with this congestion controller, and reads the controller back: the
    /// kernel silently ignores an unknown name on an MPTCP socket.
    pub(super) fn socket(self, address: SocketAddr, cc: &str) -> Result<Socket, SocketError> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(self.protocol()))
            .map_err(|e| SocketError::Create(self, e))?;
        socket
            .set_tcp_congestion(cc.as_bytes())
            .map_err(|e| SocketError::Option("TCP_CONGESTION", e))?;
        let got = congestion(&socket)?;
        if got != cc {
            return Err(SocketError::Congestion {
                asked: cc.into(),
                got,
            });
        }
        Ok(socket)
    }
}

/// The congestion controller of a socket.
fn congestion(socket: &Socket) -> Result<String, SocketError> {
    let name = socket
        .tcp_congestion()
        .map_err(|e| SocketError::Option("reading TCP_CONGESTION", e))?;
    Ok(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
}

/// Sets a short timeout for reads and writes, and makes closing discard unsent data, even when the process is
/// killed. Otherwise the kernel would keep the connection, and its namespace, for a minute.
pub(super) fn impatient(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(GLANCE))?;
    stream.set_write_timeout(Some(GLANCE))?;
    let socket = SockRef::from(stream);
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_tcp_nodelay(true)
}

/// Waits until there is something to read or to accept, at most this long.
pub(super) fn is_readable(socket: &impl AsRawFd, patience: Duration) -> bool {
    let mut wanted = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let millis = patience.as_millis() as libc::c_int;
    // SAFETY: `wanted` is one valid pollfd, and its descriptor is open as long as `socket` is borrowed.
    unsafe { libc::poll(&raw mut wanted, 1, millis) > 0 }
}

/// The result of one read or write with a timeout.
#[derive(Debug)]
pub(super) enum Moved {
    /// This many bytes were moved.
    Bytes(usize),
    /// Nothing was moved in time.
    Nothing,
    /// The other end closed.
    End,
    /// The connection is broken.
    Broken(io::Error),
}

impl From<io::Result<usize>> for Moved {
    fn from(result: io::Result<usize>) -> Self {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        match result {
            Ok(0) => Self::End,
            Ok(bytes) => Self::Bytes(bytes),
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => Self::Nothing,
            Err(error) => Self::Broken(error),
        }
    }
}

/// Reads what is available.
pub(super) fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> Moved {
    stream.read(buffer).into()
}

/// Writes what fits.
pub(super) fn write(stream: &mut TcpStream, buffer: &[u8]) -> Moved {
    stream.write(buffer).into()
}

//! Sockets of both kinds, and the options that both programs set on them.

use linux::sockopt;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Connections that the kernel accepts before the program does. It cuts this down to `net.core.somaxconn`.
const BACKLOG: i32 = 1_024;
/// Most unsent bytes in the kernel. What has not been sent can still leave over another link.
const UNSENT: u32 = 128 * 1024;
/// Silence after which the kernel asks the peer whether it is still there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);
/// Unanswered questions after which the connection ends.
const KEEPALIVE_TRIES: u32 = 8;

/// Whether a socket may have several subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Plain TCP.
    Tcp,
    /// MPTCP, or plain TCP if the peer does not speak it.
    Mptcp,
}

impl Kind {
    const fn protocol(self) -> Protocol {
        match self {
            Self::Tcp => Protocol::TCP,
            Self::Mptcp => Protocol::MPTCP,
        }
    }
}

/// Listens at `address`. Several listeners may share an address, and the kernel spreads connections.
pub fn listen(address: SocketAddr, kind: Kind) -> io::Result<TcpListener> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(kind.protocol()))?;
    socket.set_reuse_address(true)?;
    if kind == Kind::Mptcp {
        socket.set_reuse_port(true)?;
    }
    if address.is_ipv6() {
        // The unspecified address takes IPv4, too.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// Connects to `address`. A `mark` needs CAP_NET_RAW.
pub async fn connect(address: SocketAddr, kind: Kind, mark: Option<u32>) -> io::Result<TcpStream> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(kind.protocol()))?;
    if let Some(mark) = mark {
        socket.set_mark(mark)?;
    }
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => return Err(error),
        _ => {}
    }
    let stream = TcpStream::from_std(socket.into())?;
    stream.writable().await?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None => Ok(stream),
    }
}

/// Sets what every carried connection needs. An option that the kernel refuses changes only its speed.
pub fn prepare(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_EVERY)
        .with_retries(KEEPALIVE_TRIES);
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_tcp_keepalive(&keepalive);
    let _ = socket.set_tcp_notsent_lowat(UNSENT);
}

/// Whether the peer speaks MPTCP on this connection.
pub fn is_mptcp(stream: &TcpStream) -> bool {
    matches!(sockopt::is_fallback(stream), Ok(false))
}

/// Ends the connection with a reset.
pub fn reset(stream: TcpStream) {
    resets_on_close(&stream, true);
}

/// Whether closing the connection resets it, also when this process is killed. Otherwise the peer sees an
/// ordinary end, which says that it has got all bytes.
pub fn resets_on_close(stream: &TcpStream, resets: bool) {
    let _ = SockRef::from(stream).set_linger(resets.then_some(Duration::ZERO));
}

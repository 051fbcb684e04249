//! Sockets of both kinds, and the options that both programs set on them.

use linux::info::TcpState;
use linux::sockopt;
use linux::sysctl::{self, Key};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Connections that the kernel accepts before the program does. It cuts this down to `net.core.somaxconn`.
const BACKLOG: i32 = 1_024;
/// Connections with data in their SYN whose handshake is not complete. The kernel defers to it beyond that.
const FAST_OPENS: i32 = 256;
/// The bit of `net.ipv4.tcp_fastopen` for servers.
const SERVERS: u32 = 2;
/// Interval at which a handshake in progress is polled.
const HANDSHAKE_POLL: Duration = Duration::from_millis(1);
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

/// Listens at `address`. Several listeners may share an address, and the kernel spreads connections. Accepted
/// connections have what [`prepare`] sets.
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
    prepare(&socket);
    if kind == Kind::Mptcp {
        // Without it, requests come after the handshake.
        let _ = sockopt::accept_fast_open(&socket, FAST_OPENS);
    }
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// What a connection that is opened may do before the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// Nothing.
    First,
    /// Its first bytes may leave with the SYN.
    WithData,
}

/// Connects to `address`. A `mark` needs CAP_NET_RAW.
pub async fn connect(address: SocketAddr, kind: Kind, mark: Option<u32>) -> io::Result<TcpStream> {
    let (stream, _) = open(address, kind, mark, Handshake::First).await?;
    Ok(stream)
}

/// Connects over MPTCP from `own` to `address`. If this host no longer has `own`, the kernel chooses.
pub async fn connect_from(own: Option<IpAddr>, address: SocketAddr, mark: u32) -> io::Result<TcpStream> {
    let socket = prepared(address, Kind::Mptcp, Some(mark))?;
    if let Some(own) = own {
        // The port is chosen with the destination: thousands of connections may share one.
        let _ = setsockopt(&socket, IpBindAddressNoPort, &true);
        let _ = socket.bind(&SocketAddr::new(own, 0).into());
    }
    let (stream, _) = begin(socket, address, Handshake::First).await?;
    Ok(stream)
}

/// Connects to `address`, and says whether the handshake still waits for the first bytes.
pub async fn open(
    address: SocketAddr,
    kind: Kind,
    mark: Option<u32>,
    handshake: Handshake,
) -> io::Result<(TcpStream, bool)> {
    begin(prepared(address, kind, mark)?, address, handshake).await
}

fn prepared(address: SocketAddr, kind: Kind, mark: Option<u32>) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(kind.protocol()))?;
    if let Some(mark) = mark {
        socket.set_mark(mark)?;
    }
    Ok(socket)
}

async fn begin(socket: Socket, address: SocketAddr, handshake: Handshake) -> io::Result<(TcpStream, bool)> {
    if handshake == Handshake::WithData {
        // A kernel without it opens the connection first.
        let _ = sockopt::connect_fast_open(&socket);
    }
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Ok(()) => {
            let waits = handshake == Handshake::WithData && state(&socket) != TcpState::Established;
            return Ok((TcpStream::from_std(socket.into())?, waits));
        }
        Err(error) if error.raw_os_error() == Some(nix::libc::EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    let stream = TcpStream::from_std(socket.into())?;
    stream.writable().await?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None => Ok((stream, false)),
    }
}

/// State of a connection's first subflow.
pub fn state(socket: &impl AsFd) -> TcpState {
    sockopt::tcp_info(socket).map_or(TcpState::Close, |info| info.state)
}

/// Whether this host lets its servers accept data with a SYN. `None` if it does not say.
pub fn fast_open_allowed() -> Option<bool> {
    let flags = sysctl::read(&Key::new("net.ipv4.tcp_fastopen")).ok()?;
    let flags: u32 = flags.trim().parse().ok()?;
    Some(flags & SERVERS != 0)
}

/// Returns when the client has completed the handshake.
///
/// The kernel (Linux 6.18) does not send what is written to an MPTCP socket before that, not even afterwards.
/// Only a later write would release it. That happens when the request came with the SYN.
pub async fn handshake_complete(accepted: &TcpStream) {
    while state(accepted) == TcpState::SynRecv {
        tokio::time::sleep(HANDSHAKE_POLL).await;
    }
}

/// Sets what every carried connection needs. An option that the kernel refuses changes only its speed.
pub fn prepare(stream: &impl AsFd) {
    let socket = SockRef::from(stream);
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_tcp_notsent_lowat(UNSENT);
}

/// Lets the kernel find out whether a silent peer is still there. Short connections do without: each option
/// of an MPTCP socket costs.
pub fn keep_alive(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_EVERY)
        .with_retries(KEEPALIVE_TRIES);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn accepted_connections_have_what_their_listener_has() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            for kind in [Kind::Tcp, Kind::Mptcp] {
                let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), kind).unwrap();
                let address = listener.local_addr().unwrap();
                let (client, accepted) = tokio::join!(connect(address, kind, None), listener.accept());
                let (client, (accepted, _)) = (client.unwrap(), accepted.unwrap());
                assert!(
                    !client.nodelay().unwrap() && accepted.nodelay().unwrap(),
                    "{kind:?}"
                );
                let lowat = SockRef::from(&accepted).tcp_notsent_lowat().unwrap();
                assert_eq!(lowat, UNSENT, "{kind:?}");
            }
        });
    }
}

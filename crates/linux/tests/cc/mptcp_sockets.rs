//! MPTCP sockets of the host that the calling thread is in.

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::net::SocketAddr;

fn socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).expect("socket")
}

/// Waits for connections.
pub fn listen(address: SocketAddr) -> Socket {
    let listener = socket();
    listener.set_reuse_address(true).expect("reuse");
    listener.bind(&SockAddr::from(address)).expect("bind");
    listener.listen(8).expect("listen");
    listener
}

/// A connection.
pub fn connect(address: SocketAddr) -> Socket {
    let socket = socket();
    socket.connect(&SockAddr::from(address)).expect("connect");
    socket
}

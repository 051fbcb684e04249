//! MPTCP sockets in the calling thread's network namespace.

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::net::SocketAddr;

fn socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).expect("socket")
}

/// Opens a listening socket.
pub fn listen(address: SocketAddr) -> Socket {
    let listener = socket();
    listener.set_reuse_address(true).expect("reuse");
    listener.bind(&SockAddr::from(address)).expect("bind");
    listener.listen(8).expect("listen");
    listener
}

/// Opens a connection.
pub fn connect(address: SocketAddr) -> Socket {
    let socket = socket();
    socket.connect(&SockAddr::from(address)).expect("connect");
    socket
}

//! Connections between a host that is looked after and its server.

use crate::{Host, SERVER, output};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A connection over which a few bytes have gone both ways, and the listener that takes its joins.
pub(crate) fn connection(host: &Host) -> [Socket; 3] {
    let mptcp = || Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
    let address = SockAddr::from(SERVER.parse::<SocketAddr>().unwrap());
    let listener = host.server.run(|| {
        let listener = mptcp();
        listener.set_reuse_address(true).unwrap();
        listener.bind(&address).unwrap();
        listener.listen(128).unwrap();
        listener
    });
    let listener = listener.unwrap();
    let mut client = host.client.run(mptcp).unwrap();
    client.connect(&address).unwrap();
    let mut server = accepted(&listener, &client);
    client.write_all(b"hello").unwrap();
    server.read_exact(&mut [0; 5]).unwrap();
    server.write_all(b"world").unwrap();
    client.read_exact(&mut [0; 5]).unwrap();
    [client, server, listener]
}

/// The server's end of this client's connection. A probe of the daemon may come before it: when a SYN is
/// lost, the daemon connects to the same server over each link.
pub(crate) fn accepted(listener: &Socket, client: &Socket) -> Socket {
    let wanted = client.local_addr().unwrap().as_socket();
    loop {
        let (server, peer) = listener.accept().unwrap();
        if peer.as_socket() == wanted {
            return server;
        }
    }
}

/// A download that continues until it is dropped, over links slow enough for queues to show.
pub(crate) struct Download(Arc<AtomicBool>);

impl Download {
    pub(crate) fn start(host: &Host) -> Self {
        let slow = |link| {
            output(&format!(
                "tc qdisc add dev {link} root tbf rate 40mbit burst 16kb latency 40ms"
            ))
        };
        host.server.run(|| ["w0", "w1"].map(slow)).unwrap();
        let [mut client, mut server, listener] = connection(host);
        client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while !is_over.load(Ordering::Relaxed) {
                // What is not there yet is no end.
                let _ = client.read(&mut buffer);
            }
        });
        // It ends with its client.
        std::thread::spawn(move || {
            while server.write_all(&[0; 64 * 1024]).is_ok() {}
            drop(listener);
        });
        Self(over)
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connection to a server that does not speak MPTCP.
pub(crate) fn plain_connection(host: &Host) -> [Socket; 2] {
    let address = SockAddr::from(SERVER.parse::<SocketAddr>().unwrap());
    let listener = host.server.run(|| {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        listener.bind(&address).unwrap();
        listener.listen(128).unwrap();
        listener
    });
    let mptcp = || Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
    let client = host.client.run(mptcp).unwrap();
    client.connect(&address).unwrap();
    let server = accepted(&listener.unwrap(), &client);
    [client, server]
}

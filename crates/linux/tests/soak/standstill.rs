//! Connections that Linux itself stalls.
//!
//! With 1,000 connections whose subflows come and go, Linux 6.18 occasionally stalls one for ever: its TCP
//! continues, but none of its data is delivered (docs/kernel.md describes the two observed ways). This also
//! happens with the kernel's own controllers. A controller only decides how much a subflow may send, so it
//! cannot be the cause. The check is therefore whether the subflows of a stalled connection still carry data.

use crate::net::eventually;
use linux::diag::{Diag, States};
use linux::netns::Netns;
use socket2::Socket;
use std::net::SocketAddr;
use std::time::Duration;

/// One of this many connections may stall. In 435 runs of 1,000, three side by side, fifteen stalled,
/// and never two in one run.
pub const ONE_OF: usize = 500;
/// How long a reader waits. A sender without replies retries within seconds.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Data received at this end of a connection.
#[derive(Debug, Clone, Copy)]
struct Come {
    /// Bytes received by its subflows, duplicates included.
    carried: u64,
    /// Sequence number of the next byte it expects.
    waits_for: u64,
}

/// Fails unless the connection's subflows still carry data, none of which is delivered.
pub fn is_above_tcp(host: &Netns, receiver: &Socket, state: impl Fn() -> String) {
    let before = come(host, receiver);
    let carries = || come(host, receiver).carried > before.carried;
    eventually("carried anything", carries, &state);
    let now = come(host, receiver);
    assert_eq!(
        now.waits_for,
        before.waits_for,
        "it continues by itself: {}",
        state()
    );
}

fn come(host: &Netns, receiver: &Socket) -> Come {
    let [local, remote] = [receiver.local_addr(), receiver.peer_addr()].map(address);
    host.run(|| look(local, remote))
        .expect("enter the receiver")
        .expect("the receiver's connection is listed")
}

fn address(of: std::io::Result<socket2::SockAddr>) -> SocketAddr {
    of.expect("it is connected").as_socket().expect("an IP address")
}

fn look(local: SocketAddr, remote: SocketAddr) -> Option<Come> {
    let mut diag = Diag::open().expect("ask for sockets");
    let mut found = None;
    let connections = diag.each_mptcp(States::ALL, |connection| {
        if (connection.local, connection.remote) == (local, remote) {
            found = Some(connection.info);
        }
    });
    connections.expect("list the connections");
    let info = found?;
    let mut carried = 0;
    let subflows = diag.each_tcp(States::ALL, |tcp| {
        let is_ours = tcp.subflow.map(|subflow| subflow.token) == info.token;
        carried += tcp
            .info
            .filter(|_| is_ours)
            .map_or(0, |tcp| tcp.bytes_received.get());
    });
    subflows.expect("list the subflows");
    Some(Come {
        carried,
        waits_for: info.rcv_nxt,
    })
}

//! Connections that Linux itself brings to a standstill.
//!
//! With 1,000 connections whose subflows come and go, Linux 6.18 loses one now and then for ever: its TCP goes on, and nothing of what it carries is
//! delivered (docs/kernel.md has the two ways that were seen). It does so with its own controllers too, and no controller can, which only says
//! how much a subflow may send. So what is asked of a connection that stands still is whether its subflows still carry.

use crate::net::eventually;
use linux::diag::{Diag, States};
use linux::netns::Netns;
use socket2::Socket;
use std::net::SocketAddr;
use std::time::Duration;

/// Of so many connections one may stand still: in 435 runs of 1,000, three side by side, it were fifteen, never two in one run.
pub const ONE_OF: usize = 500;
/// Who reads waits as long. A sender that hears nothing tries again within seconds.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How much has come to this end of a connection.
#[derive(Debug, Clone, Copy)]
struct Come {
    /// By its subflows, counted as often as it came.
    carried: u64,
    /// The number of the byte that it waits for.
    waits_for: u64,
}

/// Fails unless the connection's subflows still carry something, of which nothing is delivered.
pub fn is_above_tcp(host: &Netns, receiver: &Socket, state: impl Fn() -> String) {
    let before = come(host, receiver);
    let carries = || come(host, receiver).carried > before.carried;
    eventually("carried anything", carries, &state);
    let now = come(host, receiver);
    assert_eq!(
        now.waits_for,
        before.waits_for,
        "it goes on by itself: {}",
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

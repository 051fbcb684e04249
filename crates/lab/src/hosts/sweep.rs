//! Ends every connection in a namespace.
//!
//! The kernel keeps an MPTCP connection that nobody closed in order for `net.mptcp.close_timeout` (60 s), and with it the whole
//! namespace. When a run is over nobody waits for its connections any more.
//!
//! # Sources
//! - `include/uapi/linux/inet_diag.h`, `SOCK_DESTROY` in `include/uapi/linux/sock_diag.h` (Linux 6.18).
//!
//! # Checked by
//! `tests/swept.rs`: namespaces are gone soon after a run.

use linux::diag::{Diag, States, TcpSocket};
use linux::netlink::{Builder, Protocol, Socket};
use linux::netns::Netns;
use std::net::{IpAddr, SocketAddr};

const SOCK_DESTROY: u16 = 21;
const REQUEST_LEN: usize = 56;

/// Ends all TCP connections of a namespace, subflows and with them MPTCP connections too. What cannot be ended (a kernel without
/// `CONFIG_INET_DIAG_DESTROY`) ends by itself, later.
pub(crate) fn sweep(netns: &Netns) {
    // A namespace that cannot be entered has nothing left to sweep.
    let _ = netns.run(|| {
        let (Ok(mut diag), Ok(mut socket)) = (Diag::open(), Socket::open(Protocol::SockDiag)) else {
            return;
        };
        let mut found = Vec::new();
        if diag.each_tcp(States::ALL, |tcp| found.push(*tcp)).is_err() {
            return;
        }
        let mut request = Builder::new();
        for tcp in found {
            request.start(SOCK_DESTROY, 0).header(&destroy(&tcp));
            // It may have ended by itself in the meantime.
            let _ = socket.request(&mut request);
        }
    });
}

/// A `struct inet_diag_req_v2` that names one socket.
fn destroy(tcp: &TcpSocket) -> [u8; REQUEST_LEN] {
    let mut request = [0; REQUEST_LEN];
    request[0] = (if tcp.local.is_ipv6() {
        libc::AF_INET6
    } else {
        libc::AF_INET
    }) as u8;
    request[1] = libc::IPPROTO_TCP as u8;
    request[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
    put_end(&mut request, 8, 12, tcp.local);
    put_end(&mut request, 10, 28, tcp.remote);
    request[44..48].copy_from_slice(&tcp.ifindex.unwrap_or(0).to_ne_bytes());
    request[48..56].copy_from_slice(&tcp.cookie.to_ne_bytes());
    request
}

fn put_end(request: &mut [u8; REQUEST_LEN], port_at: usize, addr_at: usize, end: SocketAddr) {
    request[port_at..port_at + 2].copy_from_slice(&end.port().to_be_bytes());
    match end.ip() {
        IpAddr::V4(v4) => request[addr_at..addr_at + 4].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => request[addr_at..addr_at + 16].copy_from_slice(&v6.octets()),
    }
}

//! Decides when the client's program begins: as soon as a user would start it, once there is a route to the
//! server and the server listens.
//!
//! # Checked by
//! `tests/shell.rs`: the program waits for a slow server.

use crate::hosts::Hosts;
use linux::diag::{Diag, States};
use linux::netns::Netns;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use units::{Duration, Instant};

/// How long it waits for a route to the server.
const ROUTE_PATIENCE: Duration = Duration::from_secs(10);
/// How long it waits at most for one of the servers to listen: this time or this part of the run, whichever
/// is shorter.
const SERVER_PATIENCE: Duration = Duration::from_secs(5);
const PART: u32 = 4;
/// The port for looking up a route; any will do.
const DISCARD: u16 = 9;

/// Whether the client's program may begin now. `serving`: how long servers will run, if there are any.
pub(super) fn may_begin(now: Instant, hosts: &Hosts, server: IpAddr, serving: Option<Duration>) -> bool {
    let waited = now.since(Instant::ZERO);
    let patience = serving.map(|lasts| SERVER_PATIENCE.min(lasts / PART));
    (waited >= ROUTE_PATIENCE || has_route(&hosts.client, server))
        && patience.is_none_or(|patience| waited >= patience || listens(&hosts.server))
}

fn has_route(netns: &Netns, server: IpAddr) -> bool {
    let connect = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.connect((server, DISCARD));
    netns.run(connect).is_ok_and(|connected| connected.is_ok())
}

fn listens(netns: &Netns) -> bool {
    let look = || {
        let mut found = false;
        let listed = Diag::open().map(|mut diag| diag.each_tcp(States::LISTEN, |_| found = true));
        found && matches!(listed, Ok(Ok(()))) || has_udp("udp") || has_udp("udp6")
    };
    netns.run(look).is_ok_and(|found| found)
}

/// Whether the calling thread's namespace has a UDP socket, according to a table whose first line is its
/// header.
fn has_udp(table: &str) -> bool {
    let text = std::fs::read_to_string(format!("/proc/thread-self/net/{table}"));
    text.is_ok_and(|text| text.lines().count() > 1)
}

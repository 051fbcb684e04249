//! One connection over IPv4 and IPv6, with a server that announces its second address.

use super::flow::{Download, Source};
use super::net::{Net, PORT, SERVER};
use super::rig::{PATIENCE, Running, Seen, declared};
use crate::daemon::DeclaredLink;
use crate::testing::output;
use policy::{
    Action, ConnEvent, Family, Input, JoinFailure, LinkId, Policy, Reason, RemoteId, SubflowEvent, Verb,
};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::SocketAddr;

const MUCH: u64 = 500_000;
const SERVER_V6: &str = "fd00:ff::1";

/// Link 0 has IPv4 only, and link 1 IPv6 only.
struct Mixed {
    net: Net,
    _source: Source,
}

impl Mixed {
    /// The server announces this address.
    fn announcing(address: &str) -> Option<Self> {
        let net = Net::with_links(2)?;
        net.in_client(|| {
            output("ip addr del fd00:0::1/64 dev w0");
            output("ip addr del 10.0.1.1/24 dev w1");
        });
        net.in_server(|| output(&format!("ip mptcp endpoint add {address} signal")));
        let _source = Source::start(&net.server);
        Some(Self { net, _source })
    }

    fn daemon(&self) -> Running {
        let mut links = declared(2);
        links[1] = DeclaredLink {
            gateway: Some("fd00:1::2".parse().unwrap()),
            ..links[1].clone()
        };
        let daemon = Running::over(&self.net, Policy::Slowhand, links, None);
        daemon.until("both links are usable", |seen| {
            [0, 1].iter().all(|link| {
                let usable = policy::LinkEvent::Usable(true);
                seen.told.contains(&Input::Link(LinkId(*link), usable))
            })
        });
        daemon
    }
}

/// The server's IPv4 address, as an IPv6 socket names it.
fn mapped() -> SocketAddr {
    (SERVER.to_ipv6_mapped(), PORT).into()
}

fn v6() -> SocketAddr {
    (SERVER_V6.parse::<std::net::IpAddr>().unwrap(), PORT).into()
}

fn is_joined(seen: &Seen, over: u16) -> bool {
    let joined = |input: &Input| matches!(input, Input::Subflow(_, SubflowEvent::Established { link, initial: false, .. }) if *link == LinkId(over));
    seen.told.iter().any(joined)
}

/// The addresses of peers that the engine was told about.
fn remotes(seen: &Seen) -> Vec<(RemoteId, Family)> {
    let remote = |input: &Input| match *input {
        Input::Conn(_, ConnEvent::Remote(remote, family)) => Some((remote, family)),
        _ => None,
    };
    seen.told.iter().filter_map(remote).collect()
}

/// The addresses to which joins over this link were requested.
fn tried(seen: &Seen, over: u16) -> Vec<RemoteId> {
    let join = |action: &Action| match *action {
        Action::Join { link, remote, .. } if link == LinkId(over) => Some(remote),
        _ => None,
    };
    seen.done.iter().filter_map(join).collect()
}

/// A connection that begins at `server` over one link continues over the other when the first one dies.
fn survives_in_the_other_family(server: SocketAddr, announced: &str, first: u8, second: u8) {
    let Some(mixed) = Mixed::announcing(announced) else {
        return;
    };
    let daemon = mixed.daemon();
    let download = Download::from(&mixed.net, server);
    daemon.until("the other family is joined", |seen| {
        is_joined(seen, second.into())
    });
    download.expect_more(MUCH, PATIENCE);
    mixed.net.kill(first);
    daemon.until("the first link is found dead", |seen| {
        let dead = LinkId(first.into());
        seen.given_up().any(|(link, _)| link == dead)
    });
    download.expect_more(MUCH, PATIENCE);
    let last = *tried(&daemon.seen(), second.into()).last().unwrap();
    assert_ne!(last, RemoteId::FIRST);
}

#[test]
fn a_connection_begun_over_ipv4_continues_over_ipv6() {
    survives_in_the_other_family(mapped(), SERVER_V6, 0, 1);
}

#[test]
fn a_connection_begun_over_ipv6_continues_over_ipv4() {
    survives_in_the_other_family(v6(), "10.255.0.1", 1, 0);
}

#[test]
fn an_announced_address_that_does_not_answer_is_given_up_and_reported() {
    let Some(mixed) = Mixed::announcing("fd00:ff::9") else {
        return;
    };
    let daemon = mixed.daemon();
    let download = Download::from(&mixed.net, mapped());
    let failure = |input: &Input| match *input {
        Input::Conn(_, ConnEvent::JoinFailed { link, reason }) => Some((link, reason)),
        _ => None,
    };
    daemon.until("the join fails", |seen| {
        let mut failed = seen.told.iter().filter_map(failure);
        failed.any(|failed| failed == (LinkId(1), JoinFailure::Timeout))
    });
    let so_far = tried(&daemon.seen(), 1).len();
    assert!(so_far <= 3, "{so_far}");
    let why = Reason::Join(JoinFailure::Timeout);
    daemon.until("the user is told why", |seen| {
        let notes = seen.done.iter();
        let is_it = |action: &Action| matches!(action, Action::Note(note) if note.verb == Verb::Refuse && note.reason == why);
        notes.into_iter().any(is_it)
    });
    download.expect_more(MUCH, PATIENCE);
    assert!(!output_of_client(&mixed.net, "ss -tnH state syn-sent").contains("fd00:ff::9"));
}

fn output_of_client(net: &Net, command: &str) -> String {
    net.in_client(|| output(command))
}

/// The kernel adds no IPv6 subflow to a program's IPv4 socket.
#[test]
fn an_ipv4_socket_is_not_joined_over_ipv6() {
    let Some(mixed) = Mixed::announcing(SERVER_V6) else {
        return;
    };
    let daemon = mixed.daemon();
    let download = Download::from(&mixed.net, mixed.net.address());
    daemon.until("the link's join fails", |seen| {
        let failed = |input: &Input| {
            matches!(
                input,
                Input::Conn(
                    _,
                    ConnEvent::JoinFailed {
                        link: LinkId(1),
                        reason: JoinFailure::NoAddress
                    }
                )
            )
        };
        seen.told.iter().any(failed)
    });
    download.expect_more(MUCH, PATIENCE);
    assert_eq!(remotes(&daemon.seen()), [(RemoteId::FIRST, Family::V4)]);
}

/// Only the kernel knows that the socket is IPv6 only. It says so when it refuses the join.
#[test]
fn a_socket_of_ipv6_alone_is_joined_over_ipv4_once() {
    let Some(mixed) = Mixed::announcing("10.255.0.1") else {
        return;
    };
    let daemon = mixed.daemon();
    let _client = mixed.net.in_client(|| {
        let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
        socket.set_only_v6(true).unwrap();
        socket.connect(&v6().into()).unwrap();
        socket
    });
    daemon.until("the announced address is useless", |seen| {
        let gone = |input: &Input| matches!(input, Input::Conn(_, ConnEvent::RemoteGone(_)));
        seen.told.iter().any(gone)
    });
    daemon.until("the link's join fails", |seen| {
        let failed = |input: &Input| {
            matches!(
                input,
                Input::Conn(
                    _,
                    ConnEvent::JoinFailed {
                        link: LinkId(0),
                        reason: JoinFailure::NoAddress
                    }
                )
            )
        };
        seen.told.iter().any(failed)
    });
    let announced = tried(&daemon.seen(), 0);
    let announced = announced.iter().filter(|remote| **remote != RemoteId::FIRST);
    assert_eq!(announced.count(), 1);
}

/// A daemon that starts later learns announced addresses from the subflows to them.
#[test]
fn a_restarted_daemon_knows_the_address_that_a_subflow_has() {
    let Some(mixed) = Mixed::announcing(SERVER_V6) else {
        return;
    };
    let mut daemon = mixed.daemon();
    let download = Download::from(&mixed.net, mapped());
    daemon.until("the other family is joined", |seen| is_joined(seen, 1));
    let before = remotes(&daemon.seen());
    daemon.stop();
    let daemon = mixed.daemon();
    daemon.until("both addresses are known", |seen| remotes(seen) == before);
    assert_eq!(before.len(), 2);
    download.expect_more(MUCH, PATIENCE);
}

#[test]
fn an_address_that_the_server_withdraws_is_forgotten() {
    let Some(mixed) = Mixed::announcing(SERVER_V6) else {
        return;
    };
    let daemon = mixed.daemon();
    let download = Download::from(&mixed.net, mapped());
    daemon.until("the other family is joined", |seen| is_joined(seen, 1));
    let id = remotes(&daemon.seen())[1].0;
    mixed
        .net
        .in_server(|| output(&format!("ip mptcp endpoint delete id {}", id.0)));
    daemon.until("the engine knows", |seen| {
        let gone =
            |input: &Input| matches!(*input, Input::Conn(_, ConnEvent::RemoteGone(remote)) if remote == id);
        seen.told.iter().any(gone)
    });
    download.expect_more(MUCH, PATIENCE);
}

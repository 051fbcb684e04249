//! Connections that are closing are not changed, and joins at the wrong moment do not count as refused.

use super::flow::{Source, connect, listen};
use super::net::Net;
use super::rig::{Manual, PATIENCE};
use crate::daemon::LeftAlone;
use crate::daemon::act::error::ActError;
use crate::daemon::act::join::why_not_joined;
use crate::daemon::api::report::FallbackCause;
use crate::daemon::flows::book::Phase;
use crate::testing::{Patience, output};
use policy::{Action, ConnEvent, ConnId, Input, JoinFailure, LinkId, Policy, RemoteId};
use socket2::Socket;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use units::Bytes;

/// A client and its server in one thread, after an exchange of one byte each way.
struct Both {
    client: TcpStream,
    server: TcpStream,
    _listener: Socket,
}

impl Both {
    fn start(net: &Net) -> Self {
        let listener = net.in_server(|| listen(net));
        let client = TcpStream::from(connect(net));
        let server: TcpStream = listener.accept().unwrap().0.into();
        let both = Self {
            client,
            server,
            _listener: listener,
        };
        for (mut from, mut to) in [(&both.client, &both.server), (&both.server, &both.client)] {
            from.write_all(b"!").unwrap();
            to.read_exact(&mut [0]).unwrap();
        }
        both
    }

    /// Closes one direction of the connection at this end.
    fn close_half(&self, end: End) {
        let closing = match end {
            End::Client => &self.client,
            End::Server => &self.server,
        };
        closing.shutdown(Shutdown::Write).unwrap();
        // Wait until the FIN has arrived.
        if end == End::Server {
            assert_eq!((&self.client).read(&mut [0]).unwrap(), 0);
        }
    }

    /// Asserts that the other direction still carries data.
    fn goes_on(&self, closed: End) {
        let (mut from, mut to) = match closed {
            End::Client => (&self.server, &self.client),
            End::Server => (&self.client, &self.server),
        };
        from.write_all(b"more").unwrap();
        let mut read = [0; 4];
        to.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"more");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Client,
    Server,
}

/// A daemon that knows one connection, which has a subflow over the first of these links.
fn managed(net: &Net, links: u8) -> (Manual, Both, ConnId) {
    let mut daemon = Manual::start(links);
    let both = Both::start(net);
    let conn = daemon.conn();
    (daemon, both, conn)
}

fn is_left_in_peace(daemon: &Manual, conn: ConnId) -> bool {
    let conn = daemon.daemon.world.conns.flows.conn(conn);
    conn.is_some_and(|conn| conn.phase == Phase::LeftAlone(LeftAlone::Closing))
}

/// How often each kernel has changed subflows.
fn done(net: &Net) -> [u64; 3] {
    ["MPJoinSynTx", "RmAddrTx", "MPPrioTx"].map(|counter| net.client_counter(counter))
}

/// Asserts that no action of an engine that does not know yet has an effect.
fn nothing_is_done_to_it(net: &Net, daemon: &mut Manual, conn: ConnId) {
    let second = daemon.subflow(1);
    let before = done(net);
    let link = LinkId(2);
    let backup = true;
    for action in [
        Action::Join {
            conn,
            link,
            remote: RemoteId::FIRST,
            backup,
        },
        Action::SetBackup {
            subflow: second,
            backup,
        },
        Action::Destroy(second),
        Action::Withdraw(second),
    ] {
        daemon.act(action).unwrap();
    }
    let bound = daemon.act(Action::Window(conn, Some(Bytes::from_kib(32).into())));
    assert!(matches!(bound, Err(ActError::NoConnection)), "{bound:?}");
    assert_eq!(done(net), before);
    assert!(daemon.daemon.world.conns.flows.subflow(second).unwrap().living());
    assert_eq!(daemon.failures(), [""; 0]);
}

fn half_closed_by(end: End) {
    let Some(net) = Net::with_links(3) else { return };
    net.in_client(|| {
        let (mut daemon, both, conn) = managed(&net, 3);
        daemon.join(1);
        both.close_half(end);
        daemon.until("it is found", |daemon, _| {
            let conn = daemon.world.conns.flows.conn(conn);
            conn.is_some_and(|conn| conn.phase == Phase::LeftAlone(LeftAlone::Closing))
        });
        nothing_is_done_to_it(&net, &mut daemon, conn);
        both.goes_on(end);
    });
}

#[test]
fn a_connection_half_closed_by_the_client_is_not_changed() {
    half_closed_by(End::Client);
}

#[test]
fn a_connection_half_closed_by_the_server_is_not_changed() {
    half_closed_by(End::Server);
}

#[test]
fn a_closing_connection_is_not_changed_even_before_the_next_sample() {
    let Some(net) = Net::with_links(3) else { return };
    net.in_client(|| {
        let (mut daemon, both, conn) = managed(&net, 3);
        daemon.join(1);
        both.close_half(End::Server);
        assert!(!is_left_in_peace(&daemon, conn), "nobody has looked");
        nothing_is_done_to_it(&net, &mut daemon, conn);
        assert!(is_left_in_peace(&daemon, conn));
    });
}

#[test]
fn a_join_that_a_closing_peer_resets_is_no_refusal() {
    let Some(net) = Net::with_links(2) else { return };
    net.in_client(|| {
        let (mut daemon, both, conn) = managed(&net, 2);
        both.close_half(End::Server);
        let world = &mut daemon.daemon.world;
        let (host, links) = (&mut world.host, &world.links);
        let refused = JoinFailure::Refused;
        world.conns.join_failed(conn, LinkId(1), refused, host, links);
        assert!(is_left_in_peace(&daemon, conn));
        daemon.until("the engine hears of the end", |_, seen| {
            seen.told.contains(&Input::Conn(conn, ConnEvent::Closed))
        });
        let failed = |input: &Input| matches!(input, Input::Conn(_, ConnEvent::JoinFailed { .. }));
        assert!(!daemon.facts().iter().any(failed));
    });
}

#[test]
fn a_connection_half_closed_before_the_start_is_not_changed() {
    let Some(net) = Net::with_links(2) else { return };
    net.in_client(|| {
        output("ip route add default via 10.0.0.2 dev w0 metric 100");
        output("sysctl -qw net.mptcp.path_manager=userspace");
        let closing = Both::start(&net);
        closing.close_half(End::Client);
        let mut daemon = Manual::with_policy(2, Policy::SlowhandNoWindow);
        daemon.until("it is known", |daemon, _| {
            daemon.world.conns.flows.conns().count() == 1
        });
        let conn = daemon.daemon.world.conns.flows.conns().next().unwrap().id;
        assert!(is_left_in_peace(&daemon, conn));
        daemon.for_a_while(Duration::from_millis(300));
        assert_eq!(done(&net), [0; 3]);
        closing.goes_on(End::Client);
    });
}

#[test]
fn a_join_from_an_address_that_has_just_gone_is_no_refusal() {
    let Some(net) = Net::with_links(2) else { return };
    net.in_client(|| {
        let (mut daemon, _both, conn) = managed(&net, 2);
        output("ip addr del 10.0.1.1/24 dev w1");
        let link = LinkId(1);
        daemon.request(conn, link);
        assert_eq!(daemon.join_failure(), JoinFailure::Untimely);
        assert_eq!(daemon.failures(), [""; 0]);
        output("ip addr add 10.0.1.1/24 dev w1");
        daemon.until("the link has its address again", |daemon, _| {
            daemon.world.links.get(link).is_some_and(|link| link.usable())
        });
        daemon.join(1);
    });
}

#[test]
fn a_join_before_the_server_has_acknowledged_data_is_no_refusal() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(2);
        // The kernel returns ENOTCONN until data has been acknowledged. The connection is opened here as if
        // that had been reported.
        net.in_server(|| output("tc qdisc replace dev w0 root tbf rate 1kbit burst 200 limit 3000"));
        let mut client = TcpStream::from(connect(&net));
        client.write_all(b"!").unwrap();
        daemon.until("a connection is new", |daemon, _| {
            daemon.world.conns.flows.conns().next().is_some()
        });
        let conn = daemon.daemon.world.conns.flows.conns().next().unwrap().id;
        let link = LinkId(1);
        daemon.request(conn, link);
        assert_eq!(daemon.join_failure(), JoinFailure::Untimely);
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_link_without_the_peers_family_is_distinguished_from_one_that_is_gone() {
    let Some(net) = Net::with_links(1) else { return };
    net.in_client(|| {
        let daemon = Manual::start(1);
        let world = &daemon.daemon.world;
        let why = |link| why_not_joined(&ActError::NoWay, LinkId(link), &world.links);
        assert_eq!((why(0), why(9)), (JoinFailure::NoAddress, JoinFailure::Untimely));
    });
}

/// Waits until a connection that fell back is reported with this cause.
fn until_reported(daemon: &Manual, cause: FallbackCause) {
    let controllers = crate::daemon::host::controllers::Controllers::default();
    let mut until = Patience::of(PATIENCE);
    loop {
        let found = daemon.fallbacks(&controllers);
        if found.iter().any(|found| found.cause == cause) {
            return;
        }
        assert!(until.lasts(), "no {cause:?}: {found:?}");
    }
}

#[test]
fn the_cause_of_a_fallback_is_reported_as_far_as_it_is_known() {
    let Some(net) = Net::with_links(1) else { return };
    let _source = Source::plain(&net.server);
    net.in_client(|| {
        let daemon = Manual::start(1);
        let refused = connect(&net);
        until_reported(&daemon, FallbackCause::NotAgreed);
        drop(refused);
        net.drop_mptcp();
        output("sysctl -qw net.mptcp.blackhole_timeout=3600");
        // The first connection detects the blackhole and falls back. For the next the kernel does not ask for
        // MPTCP.
        drop(connect(&net));
        let _unasked = connect(&net);
        until_reported(&daemon, FallbackCause::NotAsked);
    });
}

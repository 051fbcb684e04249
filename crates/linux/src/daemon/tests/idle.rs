//! Links that die while no MPTCP connection is open, and unreachable hosts.

use super::net::{Net, SERVER, nft};
use super::rig::{PATIENCE, Running, Seen, declared};
use crate::daemon::Probing;
use crate::testing::{Patience, Root, output};
use policy::reason::Evidence;
use policy::{Action, HostEvent, Input, LinkEvent, LinkId, Reason, Verb};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An address that nothing replies from.
const NOBODY: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 99);
/// A resolver beyond every link.
const RESOLVER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 53);
const SERVER_V6: &str = "fd00:ff::1";
const HTTP: u16 = 8_080;
/// Time between two attempts of a program.
const ATTEMPT: Duration = Duration::from_millis(700);
const FIRST: LinkId = LinkId(0);
const SECOND: LinkId = LinkId(1);

/// Two links whose next hop lives while everything beyond is cut off, like a router whose uplink is dead.
struct Home {
    net: Net,
    root: Root,
}

impl Home {
    fn new(test: &str) -> Option<Self> {
        let net = Net::with_links(2)?;
        net.in_client(|| {
            for link in 0..2 {
                let metric = 100 + link;
                output(&format!(
                    "ip route add default via 10.0.{link}.2 dev w{link} metric {metric}"
                ));
                output(&format!(
                    "ip -6 route add default via fd00:{link}::2 dev w{link} metric {metric}"
                ));
            }
        });
        net.in_server(|| {
            output("ip addr add 10.255.0.53/32 dev lo");
            nft("add table inet far");
            nft("add chain inet far in { type filter hook prerouting priority -10; }");
            nft("add rule inet far in ip daddr 10.255.0.99 drop");
        });
        let root = Root::new(test);
        Some(Self { net, root })
    }

    fn run(&self) -> Running {
        let probing = Probing {
            root: self.root.path().to_owned(),
            check: None,
        };
        Running::probing(&self.net, declared(2), probing)
    }

    /// Makes everything beyond this link's next hop unreachable. Asserts that it was reachable.
    fn cut(&self, link: u8) {
        self.net.in_server(|| {
            nft(&format!(
                "add rule inet far in iifname w{link} ip daddr 10.255.0.0/16 drop"
            ));
            nft(&format!(
                "add rule inet far in iifname w{link} ip6 daddr fd00:ff::/32 drop"
            ));
        });
    }

    fn repair(&self) {
        self.net.in_server(|| nft("flush chain inet far in"));
    }

    /// Starts a server that accepts every connection and sends a byte now and then.
    fn serve(&self) -> Server {
        let listener = self.net.in_server(|| {
            let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP)).unwrap();
            socket.set_only_v6(false).unwrap();
            socket.bind(&SocketAddr::from(([0u16; 8], HTTP)).into()).unwrap();
            socket.listen(16).unwrap();
            TcpListener::from(socket)
        });
        listener.set_nonblocking(true).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let mut peers: Vec<TcpStream> = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                peers.extend(listener.accept().ok().map(|(peer, _)| peer));
                peers.retain_mut(|peer| peer.write_all(b".").is_ok());
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        Server {
            stop,
            thread: Some(std::thread::spawn(work)),
        }
    }

    /// Starts a resolver that replies to every query.
    fn resolve(&self) -> Server {
        let socket = self.net.in_server(|| UdpSocket::bind((RESOLVER, 53)).unwrap());
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        self.root
            .write("etc/resolv.conf", &format!("nameserver {RESOLVER}\n"));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let mut question = [0; 512];
            while !stopped.load(Ordering::Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut question) {
                    question[2] |= 0x80;
                    let _ = socket.send_to(&question[..length], from);
                }
            }
        };
        Server {
            stop,
            thread: Some(std::thread::spawn(work)),
        }
    }

    /// Connects like a program that retries until it succeeds.
    fn connect(&self, to: impl Into<IpAddr>) {
        let to = SocketAddr::new(to.into(), HTTP);
        let mut until = Patience::of(PATIENCE);
        while let Err(error) = self
            .net
            .in_client(|| TcpStream::connect_timeout(&to, ATTEMPT * 2))
        {
            assert!(until.lasts(), "{to}: {error}");
        }
    }
}

/// A server that ends with the test.
struct Server {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(joined.is_none_or(|joined| joined.is_ok()) || std::thread::panicking());
    }
}

fn verbs(seen: &Seen, wanted: Verb) -> Vec<(Option<LinkId>, Reason)> {
    let note = |action: &Action| match action {
        Action::Note(note) if note.verb == wanted => Some((note.link, note.reason.clone())),
        _ => None,
    };
    seen.done.iter().filter_map(note).collect()
}

/// Asserts that this link was given up and no other. Returns the reason.
fn given_up(daemon: &Running, link: LinkId) -> Reason {
    let removed = verbs(&daemon.seen(), Verb::Remove);
    assert_eq!(removed.len(), 1, "{removed:?}");
    assert_eq!(removed[0].0, Some(link), "{removed:?}");
    removed[0].1.clone()
}

fn answered(seen: &Seen, over: LinkId) -> usize {
    let answered =
        |input: &&Input| matches!(input, Input::Link(link, LinkEvent::ProbeAnswered { .. }) if *link == over);
    seen.told.iter().filter(answered).count()
}

#[test]
fn new_connections_find_a_way_past_an_uplink_that_died_with_nothing_open() {
    let Some(home) = Home::new("idle-tcp") else { return };
    let _server = home.serve();
    let daemon = home.run();
    home.net.until_new_connections_leave_by(0);
    home.cut(0);
    home.connect(SERVER);
    let why = given_up(&daemon, FIRST);
    let Reason::Evidence(Evidence::ReachedElsewhere {
        hosts: 1,
        probes: 4,
        over: SECOND,
        reached: 1,
        ..
    }) = why
    else {
        panic!("{why:?}")
    };
    home.net.until_new_connections_leave_by(1);
    // Probed again without any connection, and promoted.
    home.repair();
    daemon.until("it answers again", |seen| verbs(seen, Verb::Clear).len() == 1);
}

#[test]
fn so_do_those_of_a_host_that_has_ipv6_only() {
    let Some(home) = Home::new("idle-v6") else { return };
    home.net.in_client(|| {
        for link in 0..2 {
            output(&format!("ip addr del 10.0.{link}.1/24 dev w{link}"));
        }
    });
    let _server = home.serve();
    let daemon = home.run();
    home.net.until_new_connections_leave_by(0);
    home.cut(0);
    home.connect(SERVER_V6.parse::<IpAddr>().unwrap());
    given_up(&daemon, FIRST);
}

#[test]
fn datagrams_that_nobody_answers_show_a_dead_uplink_beside_the_noise_of_a_lan() {
    let Some(home) = Home::new("idle-udp") else { return };
    let _resolver = home.resolve();
    let daemon = home.run();
    home.net.until_new_connections_leave_by(0);
    daemon.until("the resolver has answered over both links", |seen| {
        answered(seen, FIRST) > 0 && answered(seen, SECOND) > 0
    });
    home.cut(0);
    let noise = home.net.in_server(|| {
        let socket = UdpSocket::bind("10.0.0.2:0").unwrap();
        socket.set_broadcast(true).unwrap();
        socket
    });
    let program = home.net.in_client(|| UdpSocket::bind("0.0.0.0:0").unwrap());
    let mut until = Patience::of(PATIENCE);
    for beat in 0.. {
        if !verbs(&daemon.seen(), Verb::Remove).is_empty() {
            break;
        }
        assert!(until.lasts(), "it is not given up");
        program.send_to(b"?", (RESOLVER, 5_353)).unwrap();
        if beat % 8 == 0 {
            noise.send_to(b"who has", ("10.0.0.255", 9)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    given_up(&daemon, FIRST);
    home.net.until_new_connections_leave_by(1);
}

#[test]
fn a_plain_connection_that_dies_shows_it_too() {
    let Some(home) = Home::new("idle-open") else {
        return;
    };
    let _server = home.serve();
    let daemon = home.run();
    home.net.until_new_connections_leave_by(0);
    let mut stream = home.net.in_client(|| TcpStream::connect((SERVER, HTTP)).unwrap());
    stream.read_exact(&mut [0]).unwrap();
    daemon.until("its peer was heard", |seen| {
        let heard = |input: &Input| matches!(input, Input::Link(_, LinkEvent::Host(_, HostEvent::Heard)));
        seen.told.iter().any(heard)
    });
    home.cut(0);
    stream.write_all(b"what nobody acknowledges").unwrap();
    daemon.until("it is given up", |seen| !verbs(seen, Verb::Remove).is_empty());
    given_up(&daemon, FIRST);
}

#[test]
fn a_host_that_is_off_and_one_of_the_own_network_condemn_nothing() {
    let Some(home) = Home::new("idle-off") else { return };
    let _resolver = home.resolve();
    let daemon = home.run();
    home.net.until_new_connections_leave_by(0);
    daemon.until("the resolver has answered over the link", |seen| {
        answered(seen, FIRST) > 0
    });
    let before = answered(&daemon.seen(), FIRST);
    let neighbour = SocketAddr::from(([10, 0, 0, 200], HTTP));
    let failed = home.net.in_client(|| {
        [neighbour, (NOBODY, HTTP).into()].map(|host| TcpStream::connect_timeout(&host, 5 * ATTEMPT).is_err())
    });
    assert_eq!(failed, [true, true]);
    daemon.until("the resolver has answered for the link", |seen| {
        answered(seen, FIRST) > before
    });
    let seen = daemon.seen();
    let unanswered =
        |input: &&Input| matches!(input, Input::Link(_, LinkEvent::Host(_, HostEvent::Unanswered)));
    assert!(seen.told.iter().any(|input| unanswered(&input)));
    assert_eq!(verbs(&seen, Verb::Remove), []);
    home.net.until_new_connections_leave_by(0);
}

#[test]
fn a_healthy_host_with_nothing_to_do_sends_next_to_nothing() {
    let Some(home) = Home::new("idle-healthy") else {
        return;
    };
    let _resolver = home.resolve();
    let daemon = home.run();
    daemon.until("the resolver has answered over both links", |seen| {
        answered(seen, FIRST) > 0 && answered(seen, SECOND) > 0
    });
    home.net.in_client(|| {
        nft("add table inet count");
        nft("add chain inet count out { type filter hook output priority 0; }");
        // The kernel's own ICMPv6.
        nft("add rule inet count out icmpv6 type != echo-request accept");
        nft("add rule inet count out counter");
    });
    std::thread::sleep(Duration::from_secs(6));
    let counted = home.net.in_client(|| output("nft list chain inet count out"));
    let sent = counted
        .split("counter packets ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let sent: u64 = sent.unwrap().parse().unwrap();
    // In six seconds no more than is allowed in a minute.
    assert!(sent <= 5, "{counted}");
    let seen = daemon.seen();
    assert_eq!(
        [Verb::Remove, Verb::Suspect, Verb::Refuse].map(|verb| verbs(&seen, verb).len()),
        [0; 3]
    );
}

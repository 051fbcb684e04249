use super::*;
use crate::mptcp_pm::{AddressId, Commands, Event, Events, NewSubflow, Subflow, SubflowChange};
use crate::testing::{Pair, Patience, allocations, output};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;
use units::Bytes;

const LONG: Duration = Duration::from_secs(10);

/// Polls until `ready` returns a value: the kernel updates its counters in a softirq after the application's
/// call.
fn eventually<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let mut deadline = Patience::of(LONG);
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(deadline.lasts(), "the condition never became true");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn plain_tcp(pair: &Pair, address: &str) -> (std::net::TcpStream, std::net::TcpStream) {
    let address: SocketAddr = address.parse().unwrap();
    let listener = pair
        .server
        .run(|| std::net::TcpListener::bind(address).unwrap())
        .unwrap();
    let client = pair
        .client
        .run(|| std::net::TcpStream::connect(address).unwrap())
        .unwrap();
    (client, listener.accept().unwrap().0)
}

fn one_tcp_socket(address: &str) {
    let Some(pair) = Pair::joined(1) else { return };
    let (mut client, mut server) = plain_tcp(&pair, address);
    client.write_all(&[7; 10_000]).unwrap();
    server.read_exact(&mut [0; 10_000]).unwrap();
    let mut diag = pair.client.run(|| Diag::open().unwrap()).unwrap();
    let ends = Ends {
        local: client.local_addr().unwrap(),
        remote: client.peer_addr().unwrap(),
        ifindex: None,
    };
    let found = eventually(|| {
        diag.tcp(&ends)
            .unwrap()
            .filter(|s| s.info.is_some_and(|i| i.bytes_acked == Bytes::new(10_001)))
    });
    let info = found.info.unwrap();
    assert_eq!(
        (found.state, found.local, found.remote),
        (TcpState::Established, ends.local, ends.remote)
    );
    assert_eq!(
        (info.unacked, info.notsent, info.state),
        (0, Bytes::new(0), TcpState::Established)
    );
    assert!(info.segs_in > 0 && info.rtt > Duration::ZERO && info.min_rtt.is_some() && info.snd_cwnd > 0);
    assert_eq!(found.subflow, None);
    let inode = std::fs::read_link(format!("/proc/self/fd/{}", client.as_raw_fd())).unwrap();
    // SAFETY: it reads our own user id.
    assert_eq!(found.uid, unsafe { libc::geteuid() });
    assert_eq!(inode.to_str().unwrap(), format!("socket:[{}]", found.inode));
    let congestion = pair
        .client
        .run(|| output("sysctl -n net.ipv4.tcp_congestion_control"))
        .unwrap();
    assert_eq!(found.congestion.as_str(), congestion.trim());

    let elsewhere = Ends {
        local: SocketAddr::new(ends.local.ip(), 1),
        ..ends
    };
    assert_eq!(diag.tcp(&elsewhere).unwrap(), None);
}

#[test]
fn one_tcp_socket_v4() {
    one_tcp_socket("10.0.0.2:5000");
}

#[test]
fn one_tcp_socket_v6() {
    one_tcp_socket("[fd00:0::2]:5000");
}

#[test]
fn a_listener_is_not_returned_as_a_connection() {
    let Some(pair) = Pair::joined(1) else { return };
    let address: SocketAddr = "10.0.0.2:5000".parse().unwrap();
    let _listener = pair
        .server
        .run(|| std::net::TcpListener::bind(address).unwrap())
        .unwrap();
    let mut diag = pair.server.run(|| Diag::open().unwrap()).unwrap();
    let ends = Ends {
        local: address,
        remote: "10.0.0.1:1234".parse().unwrap(),
        ifindex: None,
    };
    assert_eq!(diag.tcp(&ends).unwrap(), None);
    let mut listeners = Vec::new();
    diag.each_tcp(States::LISTEN, |socket| listeners.push(socket.local))
        .unwrap();
    assert_eq!(listeners, [address]);
    diag.each_tcp(States::CONNECTED, |socket| panic!("{socket:?}"))
        .unwrap();
}

#[test]
fn a_socket_bound_to_a_link_is_found_with_it() {
    let Some(pair) = Pair::joined(1) else { return };
    let address: SocketAddr = "10.0.0.2:5000".parse().unwrap();
    let listener = pair
        .server
        .run(|| std::net::TcpListener::bind(address).unwrap())
        .unwrap();
    let (client, ifindex, mut diag) = pair
        .client
        .run(|| {
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            socket.bind_device(Some(b"w0")).unwrap();
            socket.connect(&address.into()).unwrap();
            let mut rtnl = crate::rtnl::Rtnl::open().unwrap();
            (
                socket,
                crate::testing::index(&mut rtnl, "w0"),
                Diag::open().unwrap(),
            )
        })
        .unwrap();
    let _accepted = listener.accept().unwrap();
    let local = client.local_addr().unwrap().as_socket().unwrap();
    let unbound = Ends {
        local,
        remote: address,
        ifindex: None,
    };
    assert_eq!(diag.tcp(&unbound).unwrap(), None);
    let found = diag
        .tcp(&Ends {
            ifindex: Some(ifindex),
            ..unbound
        })
        .unwrap()
        .unwrap();
    assert_eq!(found.ifindex, Some(ifindex));
}

/// A connection with a second subflow. The user-space path manager joined it as backup with address id 7.
struct Joined {
    pair: Pair,
    connection: crate::testing::Ends,
    token: Token,
    join: SubflowChange,
    diag: Diag,
}

impl Joined {
    fn start(v6: bool) -> Option<Self> {
        let pair = Pair::joined(2)?;
        pair.client
            .run(|| std::fs::write("/proc/sys/net/mptcp/pm_type", "1").unwrap())
            .unwrap();
        let open = || {
            (
                Events::open().unwrap(),
                Commands::open().unwrap(),
                Diag::open().unwrap(),
            )
        };
        let (mut events, mut commands, diag) = pair.client.run(open).unwrap();
        let mut connection = pair.connect(if v6 { "[fd00:0::2]:5000" } else { "10.0.0.2:5000" });
        connection.greet();
        let token = eventually(|| match events.next().unwrap() {
            Some(Event::Established(connection)) => Some(connection.token),
            _ => None,
        });
        let remote = if v6 { "[fd00:1::2]:5000" } else { "10.0.1.2:5000" }
            .parse()
            .unwrap();
        let addr = if v6 { "fd00:1::1" } else { "10.0.1.1" }.parse().unwrap();
        let new = NewSubflow {
            addr,
            id: AddressId(7),
            ifindex: None,
            backup: true,
            remote,
        };
        commands.create_subflow(token, &new).unwrap();
        let join = eventually(|| match events.next().unwrap() {
            Some(Event::SubflowEstablished(change)) => Some(change),
            _ => None,
        });
        Some(Self {
            pair,
            connection,
            token,
            join,
            diag,
        })
    }

    /// The joined subflow, after the peer has acknowledged the join.
    fn subflow(&mut self) -> MptcpSubflow {
        let Subflow { local, remote } = self.join.subflow;
        let ends = Ends {
            local,
            remote,
            ifindex: None,
        };
        eventually(|| {
            let socket = self.diag.tcp(&ends).unwrap()?;
            socket.subflow.filter(|subflow| subflow.flags.fully_established())
        })
    }
}

fn connection_and_subflows(v6: bool) {
    let Some(mut joined) = Joined::start(v6) else {
        return;
    };
    let token = joined.token;
    let subflow = joined.subflow();
    let ids = (subflow.local_id, subflow.remote_id);
    assert_eq!(
        (subflow.token, ids),
        (token, (AddressId(7), joined.join.remote_id))
    );
    assert!(subflow.flags.joined() && subflow.flags.connected() && subflow.flags.backup_by_us());

    let whole = eventually(|| {
        let whole = joined.diag.mptcp(token).unwrap();
        whole.filter(|m| m.info.bytes_acked == Bytes::new(4) && m.info.subflows == 1)
    });
    assert_eq!((whole.info.token, whole.info.fallback), (Some(token), false));
    assert_eq!(whole.info.bytes_received, Bytes::new(4));
    let client = &joined.connection.client;
    assert_eq!(
        (whole.local, whole.remote),
        (client.local_addr().unwrap(), client.peer_addr().unwrap())
    );
    assert_eq!(joined.diag.mptcp(Token(token.0 ^ 1)).unwrap(), None);
}

fn lists_hold_the_same(v6: bool) {
    let Some(mut joined) = Joined::start(v6) else {
        return;
    };
    let subflow = joined.subflow();
    let mut tokens = Vec::new();
    joined
        .diag
        .each_mptcp(States::CONNECTED, |socket| tokens.extend(socket.info.token))
        .unwrap();
    assert_eq!(tokens, [joined.token]);
    let mut ids = Vec::new();
    joined
        .diag
        .each_tcp(States::ESTABLISHED, |socket| {
            ids.extend(socket.subflow.map(|s| s.local_id.0))
        })
        .unwrap();
    ids.sort_unstable();
    assert_eq!(ids, [0, 7]);
    let shown = joined
        .pair
        .client
        .run(|| output("ss -tinH state established"))
        .unwrap();
    let (ours, theirs) = (subflow.token.0, subflow.remote_token.0);
    let tokens = format!("token:{theirs:04x}(id:{})/{ours:04x}(id:7)", subflow.remote_id);
    assert!(shown.contains(&tokens), "{tokens}\n{shown}");
}

#[test]
fn dumps_match_lookups_v4() {
    lists_hold_the_same(false);
}

#[test]
fn dumps_match_lookups_v6() {
    lists_hold_the_same(true);
}

#[test]
fn connection_and_subflows_v4() {
    connection_and_subflows(false);
}

#[test]
fn connection_and_subflows_v6() {
    connection_and_subflows(true);
}

#[test]
fn a_warm_lookup_allocates_nothing() {
    let Some(pair) = Pair::joined(1) else { return };
    let mut ends_of = pair.connect("10.0.0.2:5000");
    ends_of.greet();
    let client = &ends_of.client;
    let ends = Ends {
        local: client.local_addr().unwrap(),
        remote: client.peer_addr().unwrap(),
        ifindex: None,
    };
    let absent = Ends {
        local: "10.0.0.1:1".parse().unwrap(),
        ..ends
    };
    let mut diag = pair.client.run(|| Diag::open().unwrap()).unwrap();
    let token = diag.tcp(&ends).unwrap().unwrap().subflow.unwrap().token;
    diag.mptcp(token).unwrap().unwrap();
    let counted = allocations(|| {
        for _ in 0..10 {
            assert!(diag.tcp(&ends).unwrap().is_some());
            assert!(diag.tcp(&absent).unwrap().is_none());
            assert!(diag.mptcp(token).unwrap().is_some());
        }
        let mut sockets = 0;
        diag.each_tcp(States::ESTABLISHED, |_| sockets += 1).unwrap();
        diag.each_mptcp(States::ESTABLISHED, |_| sockets += 1).unwrap();
        assert_eq!(sockets, 2);
    });
    assert_eq!(counted, 0);
}

proptest! {
    #[test]
    fn no_input_makes_the_parsers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = TcpSocket::parse(&bytes);
        let _ = MptcpSocket::parse(&bytes);
    }
}

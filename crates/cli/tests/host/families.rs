//! A host whose second link has IPv6 only, and a server that announces its IPv6 address.

use crate::connections::{accepted, connection};
use crate::patience::Patience;
use crate::rig::{Host, output, until, words};
use linux::netns::Netns;
use serde_json::Value;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{Read as _, Write as _};
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

const PORT: u16 = 5001;

impl Host {
    /// A host whose link `w1` has an IPv6 address only. Its server announces one, too.
    fn mixed(test: &str) -> Option<Self> {
        let host = Self::new(test)?;
        let set = |netns: &Netns, lines: &[&str]| {
            let run = || lines.iter().for_each(|line| drop(output(line)));
            netns.run(run).unwrap();
        };
        set(
            &host.client,
            &[
                "ip address del 10.0.1.1/24 dev w1",
                "ip address add fd00:1::1/64 dev w1 nodad",
                "ip -6 route add default via fd00:1::2 dev w1 metric 100",
            ],
        );
        set(
            &host.server,
            &[
                "ip address add fd00:1::2/64 dev w1 nodad",
                "ip address add fd00:ff::1/128 dev lo nodad",
                "ip mptcp endpoint add fd00:ff::1 signal",
            ],
        );
        Some(host)
    }

    /// Links of the first connection's subflows.
    fn joined(&self) -> Vec<String> {
        let status = self.json("status");
        let subflows = status["connections"][0]["subflows"].as_array().cloned();
        let link = |subflow: &Value| subflow["link"].as_str().unwrap().to_owned();
        let mut links = Vec::from_iter(subflows.unwrap_or_default().iter().map(link));
        links.sort();
        links
    }
}

/// A connection between IPv6 sockets that begins at the server's IPv4 address, and the listener that takes
/// its joins.
fn mapped_connection(host: &Host) -> [Socket; 3] {
    let mptcp = || {
        let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
        socket.set_only_v6(false).unwrap();
        socket
    };
    let listener = host.server.run(|| {
        let listener = mptcp();
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, PORT));
        listener.set_reuse_address(true).unwrap();
        listener.bind(&SockAddr::from(any)).unwrap();
        // Nobody accepts the daemon's probes. They stay in the queue, and a full queue ignores joins.
        listener.listen(128).unwrap();
        listener
    });
    let listener = listener.unwrap();
    let mut client = host.client.run(mptcp).unwrap();
    let server: SocketAddr = "[::ffff:10.255.0.1]:5001".parse().unwrap();
    client.connect(&SockAddr::from(server)).unwrap();
    let mut server = accepted(&listener, &client);
    pass(&mut client, &mut server);
    pass(&mut server, &mut client);
    [client, server, listener]
}

fn pass(from: &mut Socket, to: &mut Socket) {
    to.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    from.write_all(b"hello").unwrap();
    let mut heard = [0; 5];
    to.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"hello");
}

#[test]
fn a_connection_begun_over_ipv4_continues_over_a_link_that_has_ipv6_only() {
    let Some(host) = Host::mixed("families") else {
        return;
    };
    let before = host.state();
    let mut up = host.up();
    let [mut client, mut server, _listener] = mapped_connection(&host);
    until("both links carry the connection", || {
        host.joined() == ["desk", "w1"]
    });
    assert_eq!(host.json("status")["connections"][0]["remote"], "10.255.0.1:5001");
    host.server.run(|| output("ip link set w0 down")).unwrap();
    until("one link is left", || host.joined() == ["w1"]);
    pass(&mut client, &mut server);
    pass(&mut server, &mut client);
    host.server.run(|| output("ip link set w0 up")).unwrap();
    // A join that meets the link too early fails after 3 s, and is repeated after a pause of up to a minute.
    let mut patience = Patience::of(Duration::from_secs(90));
    while host.joined() != ["desk", "w1"] {
        assert!(patience.lasts(), "{}", host.json("why"));
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
}

#[test]
fn why_says_that_a_programs_ipv4_socket_cannot_use_a_link_that_has_ipv6_only() {
    let Some(host) = Host::mixed("families-v4") else {
        return;
    };
    let _up = host.up();
    let _connection = connection(&host);
    let sentence = "it has no address of the peer's family (IPv4 or IPv6)";
    until("it is said", || {
        let (_, text) = words(&host.ask("why", &["w1"]));
        text.contains(sentence)
    });
    assert_eq!(host.joined(), ["desk"]);
}

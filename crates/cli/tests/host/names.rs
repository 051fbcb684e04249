//! Names that are resolved over the network of each query.

use crate::common::seeing;
use crate::networks::{done, on_client, with_networks};
use crate::rig::{Host, Up, output, until};
use crate::wishes::marked;
use linux::netns::Netns;
use linux::rtnl::{IfName, Rtnl, VethPeer};
use std::io::{ErrorKind, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Where programs ask.
const ASKED: &str = "100.64.0.53:53";
const PATIENCE: Duration = Duration::from_millis(100);

/// A resolver that answers every query, over UDP and TCP, with its own name.
struct Resolver {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Resolver {
    fn on(place: &Netns, address: &str, name: &'static str) -> Self {
        let address: SocketAddr = SocketAddr::new(address.parse().unwrap(), 53);
        let sockets = place.run(|| {
            (
                UdpSocket::bind(address).unwrap(),
                TcpListener::bind(address).unwrap(),
            )
        });
        let (udp, tcp) = sockets.unwrap();
        udp.set_read_timeout(Some(PATIENCE)).unwrap();
        tcp.set_nonblocking(true).unwrap();
        let stop = Arc::<AtomicBool>::default();
        let stops = [Arc::clone(&stop), Arc::clone(&stop)];
        let [of_udp, of_tcp] = stops;
        let over_udp = std::thread::spawn(move || {
            let mut query = [0; 64];
            while !of_udp.load(Ordering::Relaxed) {
                if let Ok((_, from)) = udp.recv_from(&mut query) {
                    // Its link may have gone meanwhile.
                    let _ = udp.send_to(name.as_bytes(), from);
                }
            }
        });
        let over_tcp = std::thread::spawn(move || {
            while !of_tcp.load(Ordering::Relaxed) {
                match tcp.accept() {
                    Ok((mut stream, _)) => drop(std::io::Write::write_all(&mut stream, name.as_bytes())),
                    Err(_) => std::thread::sleep(PATIENCE / 10),
                }
            }
        });
        Self {
            stop,
            threads: vec![over_udp, over_tcp],
        }
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// As a network manager does, says which resolver a link has. `None`: none.
pub(crate) fn say(host: &Host, link: &str, resolver: Option<&str>) {
    let name: IfName = link.parse().unwrap();
    let found = host
        .client
        .run(|| Rtnl::open().unwrap().link_named(name).unwrap());
    let ifindex = found.unwrap().unwrap().ifindex;
    let folder = host.root.join("files/systemd/resolve/netif");
    std::fs::create_dir_all(&folder).unwrap();
    let servers = resolver.map_or_else(String::new, |resolver| format!("SERVERS={resolver}\n"));
    std::fs::write(folder.join(ifindex.to_string()), servers).unwrap();
}

/// Starts the daemon on a host with these files alone. The host as a whole knows the address that programs
/// ask, as its user has set it up.
fn up(host: &Host) -> Up {
    let (etc, run) = (host.root.join("etc"), host.root.join("files"));
    std::fs::create_dir_all(&etc).unwrap();
    std::fs::write(etc.join("resolv.conf"), "nameserver 100.64.0.53\n").unwrap();
    host.up_where(&[], |command| {
        seeing(command, &run, "/run");
        seeing(command, &etc, "/etc");
    })
}

fn socket() -> UdpSocket {
    UdpSocket::bind("0.0.0.0:0").unwrap()
}

/// The answer to a query over UDP.
fn asks(host: &Host, make: impl FnOnce() -> UdpSocket + Send) -> std::io::Result<String> {
    let ask = || {
        let socket = make();
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.connect(ASKED)?;
        again(&socket)
    };
    host.client.run(ask).unwrap()
}

fn again(socket: &UdpSocket) -> std::io::Result<String> {
    socket.send(b"?")?;
    let mut answer = [0; 64];
    let length = socket.recv(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

/// The answer to a query over TCP.
fn asks_over_tcp(host: &Host) -> std::io::Result<String> {
    let ask = || {
        let mut answer = String::new();
        let mut stream = TcpStream::connect(ASKED)?;
        stream.set_read_timeout(Some(PATIENCE * 10))?;
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    host.client.run(ask).unwrap()
}

fn is(answer: std::io::Result<String>, name: &str) -> bool {
    answer.is_ok_and(|answer| answer == name)
}

#[test]
fn a_query_goes_to_the_resolver_of_its_own_network() {
    let Some(host) = Host::new("names-own") else {
        return;
    };
    with_networks(&host, "[[flow]]\nmark = 9\nnetwork = \"w1\"\n");
    say(&host, "w0", Some("10.0.0.2"));
    say(&host, "w1", Some("10.0.1.2"));
    let _resolvers = [
        Resolver::on(&host.server, "10.0.0.2", "of w0"),
        Resolver::on(&host.server, "10.0.1.2", "of w1"),
    ];
    let before = host.state();
    let daemon = up(&host);
    until("UDP reaches the first", || is(asks(&host, socket), "of w0"));
    assert_eq!(asks_over_tcp(&host).unwrap(), "of w0");
    assert_eq!(asks(&host, marked(9)).unwrap(), "of w1");
    let list = done(&host, &["list"]);
    assert_eq!(list["networks"][0]["resolver"], "10.0.0.2", "{list}");
    assert_eq!(
        (&list["flows"]["dns"], &list["flows"]["resolvers"]["w1"]),
        (&"100.64.0.53".into(), &"10.0.1.2".into())
    );
    // A program that keeps its socket, such as a cache, asks the other network's when its own goes.
    let kept = host.client.run(socket).unwrap();
    kept.set_read_timeout(Some(PATIENCE)).unwrap();
    kept.connect(ASKED).unwrap();
    until("it is answered", || is(again(&kept), "of w0"));
    on_client(&host, "ip link set w0 down");
    until("the other one answers", || is(again(&kept), "of w1"));
    until("TCP reaches it, too", || is(asks_over_tcp(&host), "of w1"));
    // Where no resolver is known, a program need not wait.
    say(&host, "w1", None);
    let refused = |answer: std::io::Result<String>| {
        // UDP already hears it from the call that sends.
        let kinds = [ErrorKind::ConnectionRefused, ErrorKind::PermissionDenied];
        answer.is_err_and(|error| kinds.contains(&error.kind()))
    };
    until("queries are refused", || refused(asks(&host, socket)));
    assert!(refused(asks_over_tcp(&host)));
    on_client(&host, "ip link set w0 up");
    on_client(&host, "ip route add default via 10.0.0.2 dev w0 metric 100");
    until("the first one answers", || is(asks(&host, socket), "of w0"));
    assert!(host.ask("down", &[]).status.success());
    drop(daemon);
    let sorted = |text: &str| std::collections::BTreeSet::from_iter(text.lines().map(str::to_owned));
    assert_eq!(sorted(&host.state()), sorted(&before));
    assert_eq!(host.client.run(|| output("nft list ruleset")).unwrap(), "");
}

#[test]
fn two_networks_with_the_same_addresses_have_resolvers_of_their_own() {
    let Some(host) = Host::new("names-double") else {
        return;
    };
    let other = Netns::new().unwrap();
    on_client(&host, "ip link del w1");
    let (name, netns): (IfName, _) = ("w1".parse().unwrap(), Some(&other));
    let add = || {
        Rtnl::open()
            .unwrap()
            .add_veth(name, VethPeer { name, netns })
            .unwrap()
    };
    host.client.run(add).unwrap();
    let far = ["ip address add 10.0.0.2/24 dev w1", "ip link set w1 up"];
    other.run(|| far.map(output)).unwrap();
    for command in [
        "ip address add 10.0.0.9/24 dev w1",
        "ip link set w1 up",
        "ip route add default via 10.0.0.2 dev w1 metric 200",
    ] {
        on_client(&host, command);
    }
    with_networks(&host, "[[flow]]\nmark = 9\nnetwork = \"w1\"\n");
    let _resolvers = [
        Resolver::on(&host.server, "10.0.0.2", "of w0"),
        Resolver::on(&other, "10.0.0.2", "of w1"),
    ];
    for link in ["w0", "w1"] {
        say(&host, link, Some("10.0.0.2"));
    }
    let before = host.state();
    let daemon = up(&host);
    until("the first answers", || is(asks(&host, socket), "of w0"));
    until("the other answers", || is(asks(&host, marked(9)), "of w1"));
    assert!(is(asks(&host, socket), "of w0"), "each of its own flows");
    assert!(host.ask("down", &[]).status.success());
    drop(daemon);
    assert_eq!(host.state(), before);
}

#[test]
fn an_address_for_names_that_a_link_has_is_refused() {
    let Some(host) = Host::new("names-taken") else {
        return;
    };
    with_networks(&host, "");
    on_client(&host, "ip address add 100.64.0.50/28 dev w1");
    let mut command = host.command("up");
    let output = command.arg("--config").arg(host.two_links()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let sentence = "[networks] dns 100.64.0.53 is on the network 100.64.0.48/28 of another interface; \
                    choose another address";
    assert!(said.contains(sentence), "{said}");
}

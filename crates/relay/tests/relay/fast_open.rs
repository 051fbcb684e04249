//! Requests that come with the SYN, on a host that allows it.

use crate::rig::{Rig, listener, request};
use crate::socks::Agent;
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use linux::sockopt;
use linux::sysctl::{self, Key};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use wire::convert::{Code, Reply};
use wire::socks::Wanted;

/// Index of the loopback interface in every namespace.
const LOOPBACK: u32 = 1;

/// Runs `test` in a host of its own, whose kernel accepts data with a SYN from whoever has a cookie.
fn on_a_host(test: impl FnOnce() + Send) {
    let Ok(netns) = Netns::new() else {
        return println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
    };
    let inside = || {
        let mut rtnl = Rtnl::open().unwrap();
        rtnl.set_up(LOOPBACK, true).unwrap();
        sysctl::write(&Key::new("net.ipv4.tcp_fastopen"), "3").unwrap();
        test();
    };
    netns.run(inside).unwrap();
}

/// Connections in this namespace whose SYN had data that was accepted.
fn fast_opens() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut fields = names.split(' ').zip(values.split(' '));
    let (_, count) = fields.find(|(name, _)| *name == "TCPFastOpenPassive").unwrap();
    count.parse().unwrap()
}

#[test]
fn the_agents_second_request_comes_with_the_syn() {
    on_a_host(|| {
        let rig = Rig::new("fast", "");
        let Some(agent) = Agent::new(&rig, "car") else {
            return;
        };
        let (server, address) = listener(Protocol::TCP);
        for opened_with_data in 0..3 {
            let (mut stream, code) = agent.ask(&Wanted::Address(address).write().unwrap());
            assert_eq!((code, fast_opens()), (0, opened_with_data));
            let (mut accepted, _) = server.accept().unwrap();
            stream.write_all(b"ping").unwrap();
            let mut ping = [0; 4];
            accepted.read_exact(&mut ping).unwrap();
            assert_eq!(&ping, b"ping");
        }
    });
}

#[test]
fn a_request_with_the_syn_can_be_refused() {
    on_a_host(|| {
        let rig = Rig::new("fast-refused", "");
        let (_server, address) = listener(Protocol::TCP);
        let now = crate::rig::now_s();
        for opened_with_data in 0..3 {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
            sockopt::connect_fast_open(&socket).unwrap();
            socket.set_read_timeout(Some(crate::rig::PATIENCE)).unwrap();
            socket.connect(&rig.address.into()).unwrap();
            let mut stream = TcpStream::from(socket);
            let old = request(&rig.car, now - 120, crate::rig::nonce(), address);
            stream.write_all(&old).unwrap();
            let reply = crate::rig::reply(&mut stream).unwrap();
            assert_eq!(reply, Reply::Refused(Some(Code::NotAuthorised)));
            assert_eq!(fast_opens(), opened_with_data);
        }
    });
}

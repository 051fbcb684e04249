//! The congestion controllers that sockets really use, whatever the namespace's default.

use super::flow::Source;
use super::net::Net;
use super::rig::Manual;
use crate::daemon::host::controllers::Controllers;
use crate::sysctl::{self, Key};
use policy::ConnId;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

fn connected(net: &Net, controller: &str) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
    socket.set_tcp_congestion(controller.as_bytes()).unwrap();
    socket.connect(&SockAddr::from(net.address())).unwrap();
    socket
}

#[test]
fn a_report_names_the_controllers_that_sockets_really_use() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let key = Key::new("net.ipv4.tcp_congestion_control");
        let others = sysctl::read(&Key::new("net.ipv4.tcp_available_congestion_control")).unwrap();
        let usual = others.split_whitespace().find(|name| *name != "reno");
        let usual = usual.expect("every kernel has another than reno").to_owned();
        let mut daemon = Manual::start(2);
        let socket = connected(&net, "reno");
        daemon.subflow(0);
        daemon.join(1);
        let report = |daemon: &Manual| {
            let report = daemon.daemon.report();
            assert_eq!(report.cc, sysctl::read(&key).unwrap());
            let [conn] = &report.conns[..] else {
                panic!("{:#?}", report.conns)
            };
            let of_subflows: Vec<_> = conn
                .subflows
                .iter()
                .map(|subflow| subflow.controller.clone())
                .collect();
            (conn.controllers.clone(), of_subflows)
        };
        let all = |name: &str| (vec![name.to_owned()], vec![Some(name.to_owned()); 2]);
        assert_eq!(report(&daemon), all("reno"));
        socket.set_tcp_congestion(usual.as_bytes()).unwrap();
        assert_eq!(report(&daemon), all(&usual));
    });
}

#[test]
fn nothing_is_reported_about_unknown_connections() {
    let Some(net) = Net::with_links(1) else { return };
    net.in_client(|| {
        let found = Controllers::read();
        assert_eq!(found.of_conn(ConnId(1)), [""; 0]);
        assert_eq!(found.of_socket(net.address(), net.address()), None);
    });
}

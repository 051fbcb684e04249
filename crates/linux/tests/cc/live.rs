//! Real connections really use the controllers.

use crate::net::{Hosts, eventually};
use crate::tcp::{Direction, MPTCP, Transfer};
use crate::{can_run, choose, load};
use linux::bpf::CountRunTime;
use linux::bpf::cc::{self, Controller, Coupled, SubflowController};
use linux::netns::Netns;
use policy::ConnId;

/// The controllers of a connection's subflows on one host. Each end of a connection has its own token.
pub fn subflows(host: &Netns, conn: ConnId) -> Vec<SubflowController> {
    let looked = host.run(|| cc::subflows(conn)).expect("enter the host");
    looked.expect("list the sockets")
}

/// Two links, with the controller as the default of the sender's sockets.
pub fn two_links(controller: &Controller, direction: Direction) -> Hosts {
    let hosts = Hosts::joined(2, 100);
    let sender = match direction {
        Direction::Upload => &hosts.client,
        Direction::Download => &hosts.server,
    };
    choose(sender, controller.name().as_str());
    hosts
}

pub fn transfer(hosts: &Hosts, direction: Direction) -> Transfer {
    let address = hosts.server_address(7_100);
    Transfer::start(&hosts.client, &hosts.server, address, MPTCP, direction)
}

fn both_subflows_use_it(coupled: Coupled, test: &str) {
    if !can_run() {
        return;
    }
    let controller = load(coupled, test);
    let counting = CountRunTime::start().expect("count");
    let before = controller.run_time().expect("read the count");
    let hosts = two_links(&controller, Direction::Upload);
    let upload = transfer(&hosts, Direction::Upload);
    let used = || subflows(&hosts.client, upload.conn());
    eventually("two subflows", || used().len() == 2, || format!("{:?}", used()));
    for subflow in used() {
        assert_eq!(subflow.name.as_str(), controller.name().as_str());
    }
    let received = || upload.received();
    eventually(
        "carried 20 MB",
        || received() > 20_000_000,
        || received().to_string(),
    );
    let after = controller.run_time().expect("read the count");
    assert!(after.runs > before.runs, "never ran");
    drop(counting);
}

#[test]
fn lia_is_used_by_every_subflow() {
    both_subflows_use_it(Coupled::Lia, "ul");
}

#[test]
fn olia_is_used_by_every_subflow() {
    both_subflows_use_it(Coupled::Olia, "ul");
}

#[test]
fn balia_is_used_by_every_subflow() {
    both_subflows_use_it(Coupled::Balia, "ul");
}

#[test]
fn cla_is_used_by_every_subflow() {
    both_subflows_use_it(Coupled::Cla, "ul");
}

#[test]
fn a_plain_tcp_socket_may_use_it_too() {
    if !can_run() {
        return;
    }
    let controller = load(Coupled::Olia, "pt");
    let hosts = two_links(&controller, Direction::Download);
    let plain = crate::tcp::Ends {
        client: socket2::Protocol::TCP,
        server: socket2::Protocol::TCP,
    };
    let address = hosts.server_address(7_101);
    let download = Transfer::start(&hosts.client, &hosts.server, address, plain, Direction::Download);
    let received = || download.received();
    eventually(
        "carried 10 MB",
        || received() > 10_000_000,
        || received().to_string(),
    );
    let users = hosts.server.run(cc::users).expect("enter").expect("list");
    assert_eq!(users.get(controller.name().as_str()), Some(&1), "{users:?}");
}

#[test]
fn an_unprivileged_user_can_choose_it() {
    if !can_run() {
        return;
    }
    let controller = load(Coupled::Lia, "nr");
    let hosts = Hosts::apart();
    let name = controller.name().to_string();
    let chosen = hosts.client.run(|| {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        // SAFETY: changes the privileges of this thread only, which ends with the closure.
        let code = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
        assert_eq!(code, 0, "become nobody");
        socket.set_tcp_congestion(name.as_bytes())?;
        socket.tcp_congestion()
    });
    let chosen = chosen.expect("enter").expect("choose");
    let chosen = String::from_utf8_lossy(&chosen);
    assert_eq!(chosen.trim_end_matches('\0'), name);
}

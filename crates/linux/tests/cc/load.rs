//! Loading and unloading, also while a controller is in use.

use crate::live::{subflows, transfer, two_links};
use crate::net::{Hosts, eventually, run};
use crate::tcp::Direction;
use crate::{can_run, choose, load, own_name};
use linux::bpf::cc::{self, CcError, Controller, Coupled, LoadedController};

/// Whether a controller of this name is available to new sockets.
fn available(name: &str) -> bool {
    let host = Hosts::apart().client;
    run(&host, "sysctl -n net.ipv4.tcp_available_congestion_control")
        .split_whitespace()
        .any(|known| known == name)
}

fn listed(controller: &str) -> Option<LoadedController> {
    let loaded = cc::loaded().expect("list what is loaded");
    loaded
        .into_iter()
        .find(|loaded| loaded.name.as_str() == controller)
}

#[test]
fn this_kernel_lacks_nothing() {
    assert_eq!(cc::missing(), None);
}

#[test]
fn a_controller_is_unloaded_with_its_value() {
    if !can_run() {
        return;
    }
    let controller = load(Coupled::Lia, "go");
    let name = controller.name().to_string();
    assert!(available(&name));
    let found = listed(&name).expect("it is listed");
    assert_eq!((found.coupled, found.registered), (Coupled::Lia, true));
    drop(controller);
    eventually("gone", || !available(&name), || name.clone());
    eventually("freed", || listed(&name).is_none(), || name.clone());
}

#[test]
fn a_name_can_be_used_only_once() {
    if !can_run() {
        return;
    }
    let controller = load(Coupled::Lia, "on");
    let second = Controller::load(Coupled::Balia, controller.name());
    assert!(
        matches!(&second, Err(CcError::NameTaken(name)) if name == controller.name()),
        "{second:?}"
    );
}

#[test]
fn it_can_be_loaded_and_unloaded_many_times() {
    if !can_run() {
        return;
    }
    for round in 0..40 {
        let coupled = Coupled::ALL[round % 4];
        let name = own_name(coupled, "my");
        // The previous one of this name may take a moment to disappear.
        let mut loaded = None;
        let mut try_again = || {
            loaded = Controller::load(coupled, &name).ok();
            loaded.is_some()
        };
        eventually("loaded", &mut try_again, || name.to_string());
        assert!(available(name.as_str()));
    }
}

#[test]
fn unloading_in_use_does_not_disturb_connections() {
    if !can_run() {
        return;
    }
    let controller = load(Coupled::Olia, "iu");
    let name = controller.name().to_string();
    let hosts = two_links(&controller, Direction::Download);
    let download = transfer(&hosts, Direction::Download);
    let received = || download.received();
    eventually("begun", || received() > 5_000_000, || received().to_string());
    drop(controller);
    eventually("gone", || !available(&name), || name.clone());
    let lingering = listed(&name).expect("the sockets still have it");
    assert!(!lingering.registered);
    let then = received();
    eventually(
        "continued",
        || received() > then + 10_000_000,
        || received().to_string(),
    );
    assert!(
        subflows(&hosts.server, server_token(&download))
            .iter()
            .all(|subflow| subflow.name.as_str() == name)
    );
    drop(download);
    drop(hosts);
    eventually("freed", || listed(&name).is_none(), || name.clone());
}

/// New sockets of a namespace use its default until that changes, even if the controller can no longer be
/// chosen.
#[test]
fn unloading_does_not_change_a_namespaces_default() {
    if !can_run() {
        return;
    }
    let controller = load(Coupled::Balia, "ns");
    let name = controller.name().to_string();
    let host = Hosts::apart().client;
    let begins_with = || {
        let socket =
            || socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?.tcp_congestion();
        let used = host.run(socket).expect("enter").expect("a socket");
        String::from_utf8_lossy(&used).trim_end_matches('\0').to_owned()
    };
    choose(&host, &name);
    drop(controller);
    eventually("gone", || !available(&name), || name.clone());
    assert_eq!(begins_with(), name);
    let chosen = host.run(|| {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        socket.set_tcp_congestion(name.as_bytes())
    });
    let refused = chosen.expect("enter").expect_err("it is not there to be chosen");
    assert_eq!(refused.raw_os_error(), Some(libc::ENOENT));
    choose(&host, "reno");
    assert_eq!(begins_with(), "reno");
    eventually("freed", || listed(&name).is_none(), || name.clone());
}

#[test]
fn connections_survive_switching_controllers() {
    if !can_run() {
        return;
    }
    let controllers = Coupled::ALL.map(|coupled| load(coupled, "sw"));
    let hosts = two_links(&controllers[0], Direction::Upload);
    let upload = transfer(&hosts, Direction::Upload);
    for round in 0..40 {
        let name = match round % 5 {
            4 => "reno",
            other => controllers[other].name().as_str(),
        };
        upload.client.set_tcp_congestion(name.as_bytes()).expect("switch");
        let before = upload.received();
        let received = || upload.received();
        eventually(
            "continued",
            || received() > before + 500_000,
            || format!("{name}: {}", received()),
        );
    }
}

/// The server's own token of the connection.
fn server_token(download: &crate::tcp::Transfer) -> policy::ConnId {
    let info = crate::tcp::Info::of(&download.server).expect("the server uses MPTCP");
    policy::ConnId(info.token)
}

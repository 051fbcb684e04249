//! The coupled congestion controllers: their arithmetic against the golden vectors and `policy::cc`, on the host and in the
//! kernel's BPF machine; and the controllers themselves on real connections.
//!
//! All but the arithmetic on the host needs root, MPTCP and iproute2. Names of controllers are the whole host's, so each test
//! has its own.

#[path = "../../src/testing/abort.rs"]
mod abort;
#[expect(dead_code, reason = "shared with the tests of the other levers")]
#[path = "../bpf/net.rs"]
mod net;
#[expect(dead_code, reason = "shared with the tests of the other levers")]
#[path = "../bpf/tcp.rs"]
mod tcp;

mod advice;
mod credit;
mod golden;
mod handoff;
mod hystart;
mod lacking;
mod live;
mod load;
mod mean;
mod mptcp_sockets;
mod orders;
mod pins;
mod talk;
mod vectors;

use linux::bpf::cc::{Controller, ControllerName, Coupled};
use linux::netns::Netns;

/// Root is all that these tests need and may not have; without it they say so and end.
fn can_run() -> bool {
    // SAFETY: no arguments, no memory.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("skipped: needs root for network namespaces and BPF");
    }
    root
}

/// A name that no other test and no other run at the same time has: two letters of the test, two of the process.
fn own_name(coupled: Coupled, test: &str) -> ControllerName {
    let process = char::from_digit(std::process::id() % 36, 36).unwrap();
    let next = char::from_digit(std::process::id() / 36 % 36, 36).unwrap();
    ControllerName::with_suffix(coupled, &format!("{test}{next}{process}"))
        .expect("the test's letters are two")
}

fn load(coupled: Coupled, test: &str) -> Controller {
    Controller::load(coupled, &own_name(coupled, test)).expect("this kernel takes controllers")
}

/// From now on sockets of this host begin with the controller.
fn choose(host: &Netns, name: &str) {
    net::run(
        host,
        &format!("sysctl -qw net.ipv4.tcp_congestion_control={name}"),
    );
}

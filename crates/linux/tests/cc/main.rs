//! Tests of the coupled congestion controllers. Their arithmetic is compared with the golden vectors and
//! `policy::cc`, on the host and in the kernel's BPF machine. The controllers themselves run on real
//! connections.
//!
//! All except the arithmetic on the host need root, MPTCP and iproute2. Controller names are visible in the
//! whole host, so each test has its own.

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

/// Whether the tests can run. Without root they print that they are skipped.
fn can_run() -> bool {
    // SAFETY: no arguments, no memory.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("skipped: needs root for network namespaces and BPF");
    }
    root
}

/// A name unique to this test and process: two letters of the test, two of the process.
fn own_name(coupled: Coupled, test: &str) -> ControllerName {
    let process = char::from_digit(std::process::id() % 36, 36).unwrap();
    let next = char::from_digit(std::process::id() / 36 % 36, 36).unwrap();
    ControllerName::with_suffix(coupled, &format!("{test}{next}{process}"))
        .expect("the test's letters are two")
}

fn load(coupled: Coupled, test: &str) -> Controller {
    Controller::load(coupled, &own_name(coupled, test)).expect("this kernel accepts controllers")
}

/// Makes the controller the default of this host's new sockets.
fn choose(host: &Netns, name: &str) {
    net::run(
        host,
        &format!("sysctl -qw net.ipv4.tcp_congestion_control={name}"),
    );
}

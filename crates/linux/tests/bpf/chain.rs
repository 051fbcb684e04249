//! Slowhand's programs in one chain with programs of others.

use crate::can_run;
use crate::foreign::{Foreign, Verdict};
use crate::net::Hosts;
use libbpf_sys::{BPF_TCX_EGRESS, BPF_TCX_INGRESS};
use linux::bpf::{Hook, Marker, WindowKind, WindowLever, programs_at};
use std::net::UdpSocket;
use units::Ratio;

/// Packets in each direction.
const PACKETS: u64 = 20;

/// Exchanges packets. Call it on a thread in the client's namespace.
fn exchange(hosts: &Hosts) {
    let open = |at: &str| UdpSocket::bind(at).expect("a socket");
    let server = hosts
        .server
        .run(|| open("10.77.1.2:5006"))
        .expect("enter the server");
    let client = open("10.77.1.1:0");
    client.connect("10.77.1.2:5006").expect("a route");
    for _ in 0..PACKETS {
        client.send(b"ping").expect("send");
        let (_, from) = server.recv_from(&mut [0; 4]).expect("a packet arrives");
        server.send_to(b"pong", from).expect("send");
        client.recv(&mut [0; 4]).expect("its answer arrives");
    }
}

fn names(ifindex: u32, hook: Hook) -> Vec<String> {
    let programs = programs_at(ifindex, hook).expect("the chain is listed");
    programs.into_iter().filter_map(|program| program.name).collect()
}

#[test]
fn ours_run_before_a_program_that_ends_the_chain() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 100);
    let link = hosts.client_interfaces()[0];
    let watch = || {
        let _in = Foreign::attach(link, BPF_TCX_INGRESS, Verdict::Pass);
        let _out = Foreign::attach(link, BPF_TCX_EGRESS, Verdict::Pass);
        let mut marker = Marker::load(Hook::Ingress).expect("load");
        let slot = marker.attach(link).expect("attach");
        marker.set_rate(slot, Ratio::ZERO).expect("set");
        let mut window = WindowLever::load_kind(WindowKind::Egress).expect("load");
        window.attach(link).expect("attach");
        let before = marker.passed(slot).expect("read");
        exchange(&hosts);
        assert!(marker.passed(slot).expect("read") - before >= PACKETS);
        assert!(window.passed(link).expect("read").expect("it is attached") >= PACKETS);
        assert_eq!(names(link, Hook::Ingress), ["marker", "foreign"]);
        assert_eq!(names(link, Hook::Egress), ["window", "foreign"]);
        assert_eq!(window.ahead(link).expect("read"), []);
    };
    hosts.client.run(watch).expect("enter the client");
}

#[test]
fn a_program_put_ahead_later_is_named_and_ours_see_nothing() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 100);
    let link = hosts.client_interfaces()[0];
    let watch = || {
        let mut marker = Marker::load(Hook::Ingress).expect("load");
        let slot = marker.attach(link).expect("attach");
        let mut window = WindowLever::load_kind(WindowKind::Egress).expect("load");
        window.attach(link).expect("attach");
        let _in = Foreign::attach(link, BPF_TCX_INGRESS, Verdict::Pass);
        let _out = Foreign::attach(link, BPF_TCX_EGRESS, Verdict::Pass);
        let before = (
            marker.passed(slot).expect("read"),
            window.passed(link).expect("read"),
        );
        exchange(&hosts);
        let after = (
            marker.passed(slot).expect("read"),
            window.passed(link).expect("read"),
        );
        assert_eq!(after, before);
        for ahead in [marker.ahead(link), window.ahead(link)] {
            let ahead = ahead.expect("the chain is listed");
            assert_eq!(ahead.len(), 1);
            assert_eq!(
                ahead[0].to_string(),
                format!("`foreign` (BPF program {})", ahead[0].id)
            );
        }
    };
    hosts.client.run(watch).expect("enter the client");
}

#[test]
fn a_program_that_passes_packets_on_does_not_interfere() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 100);
    let link = hosts.client_interfaces()[0];
    let watch = || {
        let mut window = WindowLever::load_kind(WindowKind::Egress).expect("load");
        window.attach(link).expect("attach");
        let _out = Foreign::attach(link, BPF_TCX_EGRESS, Verdict::Next);
        exchange(&hosts);
        assert!(window.passed(link).expect("read").expect("it is attached") >= PACKETS);
        window.detach(link);
        assert_eq!(window.passed(link).expect("read"), None);
    };
    hosts.client.run(watch).expect("enter the client");
}

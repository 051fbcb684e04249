//! The marker on real packets: through a TUN with known packets only, and on an Ethernet link with TCP's own.

use crate::can_run;
use crate::net::{Hosts, eventually, run};
use crate::relay::tun;
use crate::tcp::{Direction, MPTCP, Transfer};
use linux::bpf::{Hook, MarkCounters, MarkSlot, Marker};
use linux::netns::Netns;
use socket2::{Domain, Socket, Type};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use units::Ratio;

const PORT: u16 = 5005;
const PROTOCOL_UDP: u8 = 17;
const ECT1: u8 = 1;
const ECT0: u8 = 2;
const CE: u8 = 3;

/// A marker on all of a client's links, and the slot of the last link.
fn marker_on(hosts: &Hosts, hook: Hook, rate: Ratio) -> (Marker, MarkSlot) {
    let load = || {
        let mut marker = Marker::load(hook).expect("this kernel has tcx");
        let attach = |ifindex| marker.attach(ifindex).expect("attach");
        let slot = hosts
            .client_interfaces()
            .into_iter()
            .map(attach)
            .last()
            .expect("a link");
        marker.set_rate(slot, rate).expect("set");
        (marker, slot)
    };
    hosts.client.run(load).expect("enter the client")
}

/// A counter of the host's IP stack, as `nstat` prints it.
fn stack_counter(host: &Netns, name: &str) -> u64 {
    let listing = run(host, "nstat -asz");
    let found = listing
        .lines()
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    found.unwrap_or_else(|| panic!("nstat knows {name}"))
}

fn sum(words: &[u8]) -> u32 {
    words
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum()
}

fn checksum(sum: u32) -> [u8; 2] {
    let once = (sum & 0xffff) + (sum >> 16);
    let twice = u16::try_from((once & 0xffff) + (once >> 16)).expect("two folds leave 16 bits");
    (!twice).to_be_bytes()
}

/// A UDP packet with eight bytes of payload and correct checksums.
fn packet(from: IpAddr, to: IpAddr, ecn: u8) -> Vec<u8> {
    const UDP_BYTES: u8 = 16;
    let mut ip = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut ip = vec![
                0x45,
                ecn,
                0,
                20 + UDP_BYTES,
                0,
                0,
                0x40,
                0,
                64,
                PROTOCOL_UDP,
                0,
                0,
            ];
            ip.extend(from.octets().into_iter().chain(to.octets()));
            let header = checksum(sum(&ip));
            ip[10..12].copy_from_slice(&header);
            ip
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut ip = vec![0x60, ecn << 4, 0, 0, 0, UDP_BYTES, PROTOCOL_UDP, 64];
            ip.extend(from.octets().into_iter().chain(to.octets()));
            ip
        }
        _ => panic!("one version"),
    };
    let addresses = if from.is_ipv4() { 12 } else { 8 };
    let mut udp = vec![0x10, 0x92, 0, 0, 0, UDP_BYTES, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    udp[2..4].copy_from_slice(&PORT.to_be_bytes());
    let pseudo = sum(&ip[addresses..]) + u32::from(PROTOCOL_UDP) + u32::from(UDP_BYTES);
    let whole = checksum(pseudo + sum(&udp));
    udp[6..8].copy_from_slice(&whole);
    ip.extend(udp);
    ip
}

/// A receiver on the device. It makes the kernel pass shared packets to the programs, for which some helpers
/// fail silently.
fn sniffer(host: &Netns) -> Socket {
    let every_protocol = i32::from((libc::ETH_P_ALL as u16).to_be());
    let open =
        || Socket::new(Domain::PACKET, Type::RAW, Some(every_protocol.into())).expect("a packet socket");
    host.run(open).expect("enter the client")
}

fn received(receiver: &UdpSocket, payload: &mut [u8]) -> usize {
    loop {
        match receiver.recv(payload) {
            // With a deadline set, resuming a stopped machine interrupts the wait (signal(7)).
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            received => return received.expect("the packet arrives intact"),
        }
    }
}

/// Sends `rounds` of seven packets, four of them ECN-capable, into the client's TUN and receives them.
fn send_rounds(device: &mut File, receiver: &UdpSocket, [own, peer]: [IpAddr; 2], rounds: usize) {
    for _ in 0..rounds {
        for ecn in [ECT0, 0, ECT0, CE, ECT1, 0, ECT0] {
            device.write_all(&packet(peer, own, ecn)).expect("write");
            let mut payload = [0; 64];
            assert_eq!(received(receiver, &mut payload), 8);
        }
    }
}

fn marks_exactly(addresses: [&str; 2], counters: [&str; 2]) {
    const ROUNDS: usize = 1_000;
    let hosts = Hosts::apart();
    let mut device = tun(&hosts.client, addresses);
    let _sniffer = sniffer(&hosts.client);
    let (marker, slot) = marker_on(&hosts, Hook::Ingress, Ratio::from_ppm(3_333));
    let ips = addresses.map(|address| address.parse::<IpAddr>().expect("an address"));
    let bind = || UdpSocket::bind(SocketAddr::new(ips[0], PORT)).expect("bind");
    let receiver = hosts.client.run(bind).expect("enter the client");
    receiver
        .set_read_timeout(Some(std::time::Duration::from_secs(5)))
        .expect("a deadline");
    send_rounds(&mut device, &receiver, ips, ROUNDS);

    let counted = marker.counters(slot).expect("read");
    // Four of seven are ECN-capable, and ⌊4,000 · 0.003333⌋ = 13.
    let expected = MarkCounters {
        ect: 4_000,
        not_ect: 2_000,
        ce: 1_000,
        asked: 13,
        made: 13,
        segments: 13,
    };
    // The stack itself sends and receives a few packets on a new link, which are not ECN-capable.
    assert!(counted.not_ect >= expected.not_ect);
    assert_eq!(
        MarkCounters {
            not_ect: expected.not_ect,
            ..counted
        },
        expected
    );
    let [ce, ect0] = counters.map(|name| stack_counter(&hosts.client, name));
    assert_eq!(ce, 1_013, "packets that arrived marked, plus those marked here");
    assert!((2_987..=3_000).contains(&ect0), "{ect0}");
}

#[test]
fn a_rate_is_met_exactly_over_ipv4() {
    if !can_run() {
        return;
    }
    marks_exactly(["10.79.0.1", "10.79.0.2"], ["IpExtInCEPkts", "IpExtInECT0Pkts"]);
}

#[test]
fn a_rate_is_met_exactly_over_ipv6() {
    if !can_run() {
        return;
    }
    marks_exactly(["fd79::1", "fd79::2"], ["Ip6InCEPkts", "Ip6InECT0Pkts"]);
}

#[test]
fn a_download_over_ethernet_is_marked_only_where_a_rate_is_set() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 20);
    run(&hosts.client, "sysctl -qw net.ipv4.tcp_ecn=1");
    let (mut marker, slot) = marker_on(&hosts, Hook::Ingress, Ratio::ZERO);
    let address = hosts.server_address(5001);
    let download = Transfer::start(&hosts.client, &hosts.server, address, MPTCP, Direction::Download);
    let read = |marker: &Marker| marker.counters(slot).expect("read");
    eventually(
        "ECN-capable packets",
        || read(&marker).ect > 500,
        || format!("{:?}", read(&marker)),
    );
    assert_eq!(
        (read(&marker).asked, stack_counter(&hosts.client, "IpExtInCEPkts")),
        (0, 0)
    );

    marker.set_rate(slot, Ratio::from_ppm(5_000)).expect("set");
    eventually(
        "some marks",
        || read(&marker).made >= 5,
        || format!("{:?}", read(&marker)),
    );
    marker.set_rate(slot, Ratio::ZERO).expect("set");
    // A packet may be between the program and the stack.
    let told = || {
        (
            stack_counter(&hosts.client, "IpExtInCEPkts"),
            read(&marker).segments,
        )
    };
    eventually(
        "as many marks received as made",
        || told().0 == told().1,
        || format!("{:?}", told()),
    );
    assert_eq!(read(&marker).asked, read(&marker).made);

    assert!(marker.detach(slot).expect("detach"));
    let more = |bytes| {
        let enough = download.received() + bytes;
        eventually(
            "more data",
            || download.received() > enough,
            || download.received().to_string(),
        );
    };
    more(10_000);
    let last = read(&marker);
    more(100_000);
    assert_eq!(read(&marker), last, "a detached link is not counted");
}

#[test]
fn an_upload_is_marked_as_it_leaves() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 20);
    run(&hosts.client, "sysctl -qw net.ipv4.tcp_ecn=1");
    let (marker, slot) = marker_on(&hosts, Hook::Egress, Ratio::from_ppm(5_000));
    let address = hosts.server_address(5001);
    let _upload = Transfer::start(&hosts.client, &hosts.server, address, MPTCP, Direction::Upload);
    let read = || marker.counters(slot).expect("read");
    eventually("some marks", || read().made >= 5, || format!("{:?}", read()));
    let both = read();
    assert_eq!(both.asked, both.made);
    // They arrive intact: the stack would not count packets with a bad checksum.
    eventually(
        "as many marks as that at the server",
        || stack_counter(&hosts.server, "IpExtInCEPkts") >= 5,
        || run(&hosts.server, "nstat -as"),
    );
    assert_eq!(stack_counter(&hosts.server, "IpExtInCsumErrors"), 0);
}

#[test]
fn an_interface_keeps_its_slot_and_a_free_slot_is_reused() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(2, 20);
    let links = hosts.client_interfaces();
    let slots = hosts.client.run(|| {
        let mut marker = Marker::load(Hook::Ingress).expect("load");
        let [first, second] = [links[0], links[1]].map(|link| marker.attach(link).expect("attach"));
        let again = marker.attach(links[1]).expect("attach again");
        assert!(marker.detach(first).expect("detach") && !marker.detach(first).expect("detach twice"));
        let reused = marker.attach(links[0]).expect("attach to the free slot");
        let missing = marker.attach(4711).expect_err("no such interface").to_string();
        assert_eq!(
            missing,
            "no interface 4711 in this network namespace; did it go away?"
        );
        [first, second, again, reused]
    });
    let [first, second, again, reused] = slots.expect("enter the client");
    assert_ne!(first, second);
    assert_eq!((again, reused), (second, first));
}

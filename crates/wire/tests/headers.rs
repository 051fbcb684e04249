//! Tests of headers, checksums and address translation on whole packets.

mod packets;

use packets::{PRIVATE, PUBLIC, SERVER, ipv4, tcp, tcp_v6, udp};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use wire::checksum::{self, Field};
use wire::ip::Header;
use wire::nat::Nat;

const NAT: Nat = Nat {
    private: PRIVATE,
    public: PUBLIC,
};

/// ICMP error "destination unreachable (port)" that quotes `cause`.
fn unreachable(from: Ipv4Addr, to: Ipv4Addr, cause: &[u8]) -> Vec<u8> {
    let mut icmp = vec![3, 3, 0, 0, 0, 0, 0, 0];
    icmp.extend(cause);
    let sum = !checksum::fold(checksum::sum(&icmp));
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    ipv4(1, from, to, 0, &icmp)
}

fn outward(mut packet: Vec<u8>) -> Vec<u8> {
    let ip = Header::parse(&packet).unwrap();
    NAT.outward(&mut packet, ip, Field::Finished);
    packet
}

fn inward(mut packet: Vec<u8>) -> Vec<u8> {
    let ip = Header::parse(&packet).unwrap();
    NAT.inward(&mut packet, ip, Field::Finished);
    packet
}

proptest! {
    #[test]
    fn an_incremental_update_gives_the_full_checksum(mut bytes in prop::collection::vec(any::<u8>(), 24..60), new in any::<[u8; 4]>()) {
        bytes[2..4].fill(0);
        let sum = !checksum::fold(checksum::sum(&bytes));
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        let old: [u8; 4] = bytes[12..16].try_into().unwrap();
        checksum::overwrite(&mut bytes, 12, &new);
        checksum::replace(&mut bytes, 2, Field::Finished, &old, &new);
        // The sum over everything, the checksum included, is all ones.
        prop_assert_eq!(checksum::fold(checksum::sum(&bytes)), 0xffff);
    }

    #[test]
    fn nat_gives_the_packet_that_the_public_host_would_send(payload in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert_eq!(outward(tcp(PRIVATE, SERVER, &payload)), tcp(PUBLIC, SERVER, &payload));
        prop_assert_eq!(outward(udp(PRIVATE, SERVER, &payload)), udp(PUBLIC, SERVER, &payload));
        prop_assert_eq!(inward(tcp(SERVER, PUBLIC, &payload)), tcp(SERVER, PRIVATE, &payload));
        prop_assert_eq!(inward(udp(SERVER, PUBLIC, &payload)), udp(SERVER, PRIVATE, &payload));
    }

    #[test]
    fn nat_rewrites_the_packet_quoted_in_an_icmp_error(payload in prop::collection::vec(any::<u8>(), 0..64)) {
        let received = unreachable(PRIVATE, SERVER, &udp(SERVER, PRIVATE, &payload));
        let translated = unreachable(PUBLIC, SERVER, &udp(SERVER, PUBLIC, &payload));
        prop_assert_eq!(outward(received), translated);
        let received = unreachable(SERVER, PUBLIC, &tcp(PUBLIC, SERVER, &payload)[..28]);
        let translated = inward(received);
        prop_assert_eq!(&translated[28 + 12..28 + 16], &PRIVATE.octets());
        prop_assert_eq!(checksum::fold(checksum::sum(&translated[20..])), 0xffff);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Some(ip) = Header::parse(&bytes) {
            prop_assert!(ip.len <= bytes.len() && ip.len >= 20);
            prop_assert_eq!(ip.addresses(&bytes).len(), if ip.v6 { 32 } else { 8 });
            let _ = (ip.ect(&bytes), ip.is_local_chatter(&bytes), ip.tcp_ports(&bytes));
            let mut marked = bytes.clone();
            ip.set_ce(&mut marked);
            prop_assert!(ip.ect(&marked) && ip.ce(&marked));
        }
    }
}

#[test]
fn only_tcp_segments_have_tcp_ports() {
    let parsed = |packet: &[u8]| Header::parse(packet).unwrap().tcp_ports(packet);
    let whole = tcp(SERVER, PRIVATE, b"x");
    assert_eq!(parsed(&whole), Some((5_001, 1_234)));
    assert_eq!(parsed(&tcp_v6(b"x")), Some((5_001, 1_234)));
    assert_eq!(parsed(&udp(SERVER, PRIVATE, b"x")), None);
    assert_eq!(parsed(&whole[..23]), None, "truncated");
    let mut fragment = whole;
    fragment[6..8].copy_from_slice(&[0x20, 0xb9]);
    assert_eq!(parsed(&fragment), None, "a later fragment");
}

#[test]
fn nat_leaves_packets_from_other_addresses_unchanged() {
    let packet = tcp(SERVER, PRIVATE, b"x");
    assert_eq!(outward(packet.clone()), packet);
}

#[test]
fn nat_keeps_a_partial_checksum_partial() {
    let mut packet = tcp(PRIVATE, SERVER, b"hello");
    let ip = Header::parse(&packet).unwrap();
    let before = checksum::pseudo_header(&packet[12..20], 6, packet.len() - 20);
    packet[36..38].copy_from_slice(&before.to_be_bytes());
    NAT.outward(&mut packet, ip, Field::Partial);
    let after = checksum::pseudo_header(&packet[12..20], 6, packet.len() - 20);
    assert_eq!(packet[36..38], after.to_be_bytes());
}

#[test]
fn nat_rewrites_no_transport_header_in_a_later_fragment() {
    let mut packet = udp(PRIVATE, SERVER, b"the middle of a datagram");
    packet[6..8].copy_from_slice(&[0x20, 0xb9]);
    let translated = outward(packet.clone());
    assert_eq!(translated[12..16], PUBLIC.octets());
    assert_eq!(translated[20..], packet[20..]);
}

#[test]
fn setting_ce_updates_the_checksum() {
    let mut packet = tcp(SERVER, PRIVATE, b"marked");
    let ip = Header::parse(&packet).unwrap();
    assert!(ip.ect(&packet));
    ip.set_ce(&mut packet);
    assert_eq!(packet[1] & 0b11, 0b11);
    assert_eq!(checksum::fold(checksum::sum(&packet[..20])), 0xffff);
    let mut v6 = tcp_v6(b"marked");
    let ip = Header::parse(&v6).unwrap();
    ip.set_ce(&mut v6);
    assert_eq!(v6[1] >> 4 & 0b11, 0b11);
}

#[test]
fn multicast_and_link_local_packets_are_chatter() {
    let v4 = udp(PRIVATE, Ipv4Addr::new(224, 0, 0, 22), b"");
    assert!(Header::parse(&v4).unwrap().is_local_chatter(&v4));
    let mut v6 = tcp_v6(b"");
    assert!(!Header::parse(&v6).unwrap().is_local_chatter(&v6));
    v6[8..10].copy_from_slice(&[0xfe, 0x80]);
    assert!(Header::parse(&v6).unwrap().is_local_chatter(&v6));
}

#[test]
fn non_ip_packets_are_rejected() {
    for bytes in [&[][..], &[0x45; 10], &[0x43; 40], &[0x60; 39], &[0x15; 40]] {
        assert_eq!(Header::parse(bytes), None, "{bytes:?}");
    }
}

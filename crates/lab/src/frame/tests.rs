use super::*;
use proptest::prelude::*;
use std::net::Ipv4Addr;
use wire::checksum::{self, Field};

const PRIVATE: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 2);
const PUBLIC: Ipv4Addr = Ipv4Addr::new(100, 64, 3, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
const NAT: Nat = Nat {
    private: PRIVATE,
    public: PUBLIC,
};

/// An IPv4 packet with a correct header checksum.
fn ipv4(protocol: u8, from: Ipv4Addr, to: Ipv4Addr, tos: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, tos];
    packet.extend(total.to_be_bytes());
    packet.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    let sum = !checksum::fold(checksum::sum(&packet));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

/// Fills in the checksum of a TCP (16) or UDP (6) segment.
fn finish_transport(packet: &mut [u8], protocol: u8, at: usize) {
    packet[20 + at..22 + at].fill(0);
    let pseudo = checksum::pseudo_header(&packet[12..20], protocol, packet.len() - 20);
    let sum = match !checksum::fold(u32::from(pseudo) + checksum::sum(&packet[20..])) {
        // In UDP a zero says that there is no checksum (RFC 768).
        0 if protocol == 17 => 0xffff,
        sum => sum,
    };
    packet[20 + at..22 + at].copy_from_slice(&sum.to_be_bytes());
}

fn tcp(from: Ipv4Addr, to: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![
        0x13, 0x89, 0x04, 0xd2, 0, 0, 1, 0, 0, 0, 2, 0, 0x50, 0x98, 1, 0, 0, 0, 0, 0,
    ];
    segment.extend(payload);
    let mut packet = ipv4(6, from, to, 0b10, &segment);
    finish_transport(&mut packet, 6, 16);
    packet
}

fn udp(from: Ipv4Addr, to: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0x13, 0x89, 0x04, 0xd2];
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    let mut packet = ipv4(17, from, to, 0, &datagram);
    finish_transport(&mut packet, 17, 6);
    packet
}

/// Destination unreachable (port), quoting `cause`.
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
    fn a_difference_gives_the_same_checksum_as_the_whole(mut bytes in prop::collection::vec(any::<u8>(), 24..60), new in any::<[u8; 4]>()) {
        bytes[2..4].fill(0);
        let sum = !checksum::fold(checksum::sum(&bytes));
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        let old: [u8; 4] = bytes[12..16].try_into().unwrap();
        checksum::overwrite(&mut bytes, 12, &new);
        checksum::replace(&mut bytes, 2, Field::Finished, &old, &new);
        // A receiver sums everything, the checksum too, and must get all ones.
        prop_assert_eq!(checksum::fold(checksum::sum(&bytes)), 0xffff);
    }

    #[test]
    fn nat_makes_the_packet_that_the_public_host_would_have_sent(payload in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert_eq!(outward(tcp(PRIVATE, SERVER, &payload)), tcp(PUBLIC, SERVER, &payload));
        prop_assert_eq!(outward(udp(PRIVATE, SERVER, &payload)), udp(PUBLIC, SERVER, &payload));
        prop_assert_eq!(inward(tcp(SERVER, PUBLIC, &payload)), tcp(SERVER, PRIVATE, &payload));
        prop_assert_eq!(inward(udp(SERVER, PUBLIC, &payload)), udp(SERVER, PRIVATE, &payload));
    }

    #[test]
    fn nat_rewrites_what_an_error_quotes(payload in prop::collection::vec(any::<u8>(), 0..64)) {
        let received = unreachable(PRIVATE, SERVER, &udp(SERVER, PRIVATE, &payload));
        let translated = unreachable(PUBLIC, SERVER, &udp(SERVER, PUBLIC, &payload));
        prop_assert_eq!(outward(received), translated);
        let received = unreachable(SERVER, PUBLIC, &tcp(PUBLIC, SERVER, &payload)[..28]);
        let translated = inward(received);
        prop_assert_eq!(&translated[28 + 12..28 + 16], &PRIVATE.octets());
        prop_assert_eq!(checksum::fold(checksum::sum(&translated[20..])), 0xffff);
    }

    #[test]
    fn every_cut_of_a_burst_is_what_its_segments_are(
        payload in prop::collection::vec(any::<u8>(), 400..2_000),
        mss in 100usize..400,
        cut in any::<prop::sample::Index>(),
        v6 in any::<bool>(),
    ) {
        let whole = if v6 { tcp_v6(&payload) } else { tcp(SERVER, PRIVATE, &payload) };
        let ip = Header::parse(&whole).unwrap();
        let vnet = Vnet { segment: mss as u16, partial: true, ..Vnet::default() };
        let burst = Burst::of(vnet, ip, &whole, whole.len()).unwrap();
        prop_assert_eq!(usize::from(burst.segments), payload.len().div_ceil(mss));
        let first = cut.index(usize::from(burst.segments)) as u16;
        let head = burst.head(&whole, first, first, false);
        let (from, to) = burst.payload_of(first, first);
        prop_assert_eq!(burst.packet_len(first), ip.len + 20 + to - from);
        let mut segment = head.bytes()[10..].to_vec();
        segment.extend(&payload[from..to]);
        check_segment(&segment, &whole, ip, from, to == payload.len());
    }
}

/// One segment as the kernel would have cut it; its checksum is left to be finished.
fn check_segment(segment: &[u8], whole: &[u8], ip: Header, from: usize, last: bool) {
    let l4 = &segment[ip.len..];
    let sequence = |packet: &[u8]| u32::from_be_bytes(packet[ip.len + 4..ip.len + 8].try_into().unwrap());
    assert_eq!(sequence(segment) - sequence(whole), from as u32);
    assert_eq!(l4[13] & 0x08 != 0, last, "PSH on the last segment only");
    assert_eq!(l4[13] & 0x80 != 0, from == 0, "CWR on the first segment only");
    let addresses = if ip.v6 { &segment[8..40] } else { &segment[12..20] };
    let pseudo = checksum::pseudo_header(addresses, 6, l4.len());
    assert_eq!(l4[16..18], pseudo.to_be_bytes());
    if ip.v6 {
        assert_eq!(segment[4..6], (l4.len() as u16).to_be_bytes());
    } else {
        assert_eq!(segment[2..4], (segment.len() as u16).to_be_bytes());
        assert_eq!(checksum::fold(checksum::sum(&segment[..20])), 0xffff);
    }
}

fn tcp_v6(payload: &[u8]) -> Vec<u8> {
    let v4 = tcp(SERVER, PRIVATE, payload);
    let mut packet = vec![0x60, 0x20, 0, 0];
    packet.extend(((v4.len() - 20) as u16).to_be_bytes());
    packet.extend([6, 64]);
    packet.extend((0..32).map(|byte| byte ^ 0x5a));
    packet.extend(&v4[20..]);
    packet
}

#[test]
fn nat_leaves_the_packets_of_others_alone() {
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
fn a_fragment_has_no_transport_header_to_rewrite() {
    let mut packet = udp(PRIVATE, SERVER, b"the middle of a datagram");
    packet[6..8].copy_from_slice(&[0x20, 0xb9]);
    let translated = outward(packet.clone());
    assert_eq!(translated[12..16], PUBLIC.octets());
    assert_eq!(translated[20..], packet[20..]);
}

#[test]
fn ce_is_set_and_summed() {
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
fn what_is_not_ip_is_refused() {
    for bytes in [&[][..], &[0x45; 10], &[0x43; 40], &[0x60; 39], &[0x15; 40]] {
        assert_eq!(Header::parse(bytes), None, "{bytes:?}");
    }
}

#[test]
fn the_virtio_header_survives_a_round_trip() {
    let vnet = Vnet {
        partial: true,
        segment: 1_448,
        v6: true,
        header_len: 72,
        transport: 40,
        checksum: 16,
    };
    assert_eq!(Vnet::parse(&vnet.encode()), Some(vnet));
    assert_eq!(Vnet::parse(&[0, 3, 0, 0, 0, 0, 0, 0, 0, 0]), None, "a UDP burst");
}

#[test]
fn slots_are_used_again_and_tails_given_back() {
    let mut slab = Slab::new();
    for round in 0..1_000u32 {
        let slot = slab.vacant();
        let read = if round % 3 == 0 { 40_000 } else { 1_510 };
        slab.buffers(slot)[0][..20].copy_from_slice(&[0x45; 20]);
        slab.filled(slot, read);
        assert_eq!(slab.len(slot), read - 10);
        let whole: usize = slab.whole(slot).iter().map(|piece| piece.len()).sum();
        assert_eq!(whole, read);
        let ip = Header::parse(&[0x45; 20]).unwrap();
        slab.enter(slot, ip, None);
        slab.leave(slot, 1);
    }
    assert_eq!(slab.in_use(), 0);
    assert!(
        slab.footprint() < 1 << 20,
        "one chunk and two tails are enough: {}",
        slab.footprint()
    );
}

#[test]
fn a_burst_lies_in_its_slot_and_goes_on_in_a_tail() {
    let mut slab = Slab::new();
    let slot = slab.vacant();
    let mut counter = 0u8;
    for buffer in &mut slab.buffers(slot) {
        buffer.fill_with(|| {
            counter = counter.wrapping_add(1);
            counter
        });
    }
    slab.filled(slot, 5_010);
    let [near, far] = slab.bytes(slot, 1_000, 3_000);
    let joined: Vec<u8> = [near, far].concat();
    assert_eq!(joined.len(), 2_000);
    assert!(
        joined.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)),
        "no seam"
    );
    let [near, far] = slab.bytes(slot, 4_000, 4_500);
    assert_eq!((near.len(), far.len()), (0, 500));
}

//! Test packets with correct checksums.
#![allow(dead_code, reason = "each test binary uses its own part of it")]

use std::net::Ipv4Addr;
use wire::checksum;

/// Client behind NAT.
pub const PRIVATE: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 2);
/// Address of the client as the server sees it.
pub const PUBLIC: Ipv4Addr = Ipv4Addr::new(100, 64, 3, 2);
/// Address of the server.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);

/// An IPv4 packet with a correct header checksum.
pub fn ipv4(protocol: u8, from: Ipv4Addr, to: Ipv4Addr, tos: u8, payload: &[u8]) -> Vec<u8> {
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

/// Fills in the checksum of a TCP (`at` 16) or UDP (`at` 6) segment.
pub fn finish_transport(packet: &mut [u8], protocol: u8, at: usize) {
    packet[20 + at..22 + at].fill(0);
    let pseudo = checksum::pseudo_header(&packet[12..20], protocol, packet.len() - 20);
    let sum = match !checksum::fold(u32::from(pseudo) + checksum::sum(&packet[20..])) {
        // In UDP a zero means that there is no checksum (RFC 768).
        0 if protocol == 17 => 0xffff,
        sum => sum,
    };
    packet[20 + at..22 + at].copy_from_slice(&sum.to_be_bytes());
}

pub fn tcp(from: Ipv4Addr, to: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![
        0x13, 0x89, 0x04, 0xd2, 0, 0, 1, 0, 0, 0, 2, 0, 0x50, 0x98, 1, 0, 0, 0, 0, 0,
    ];
    segment.extend(payload);
    let mut packet = ipv4(6, from, to, 0b10, &segment);
    finish_transport(&mut packet, 6, 16);
    packet
}

pub fn udp(from: Ipv4Addr, to: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0x13, 0x89, 0x04, 0xd2];
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    let mut packet = ipv4(17, from, to, 0, &datagram);
    finish_transport(&mut packet, 17, 6);
    packet
}

pub fn tcp_v6(payload: &[u8]) -> Vec<u8> {
    let v4 = tcp(SERVER, PRIVATE, payload);
    let mut packet = vec![0x60, 0x20, 0, 0];
    packet.extend(((v4.len() - 20) as u16).to_be_bytes());
    packet.extend([6, 64]);
    packet.extend((0..32).map(|byte| byte ^ 0x5a));
    packet.extend(&v4[20..]);
    packet
}

//! Assigns packets to flows, for queues that keep flows apart.
//!
//! # Sources
//! - RFC 8290 §4.1.1: a hash of addresses, protocol and ports, modulo the number of queues, 1,024.
//! - Fowler, Noll, Vo: FNV-1a with 32 bits, the hash.
//!
//! # Where we differ, and why
//! 1. The hash has no random seed: runs stay reproducible, and nobody attacks a lab.

use wire::ip::{Header, TCP, UDP};

/// Queues of a link's direction.
const QUEUES: u32 = 1_024;

/// The queue of a packet's flow.
pub(super) fn of(ip: Header, packet: &[u8]) -> u32 {
    let ports = match ip.protocol {
        TCP | UDP if !ip.later_fragment => packet.get(ip.len..ip.len + 4).unwrap_or_default(),
        _ => &[],
    };
    let protocol = [ip.protocol];
    let key = ip.addresses(packet).iter().chain(&protocol).chain(ports);
    key.fold(0x811c_9dc5_u32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    }) % QUEUES
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// From 10.0.0.1 to 10.0.0.2.
    fn packet(protocol: u8, ports: [u8; 4], payload: u8) -> Vec<u8> {
        let mut packet = vec![0; 20];
        (packet[0], packet[9]) = (0x45, protocol);
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend(ports);
        packet.push(payload);
        packet
    }

    fn queue(packet: &[u8]) -> u32 {
        of(Header::parse(packet).unwrap(), packet)
    }

    #[test]
    fn a_flow_is_its_addresses_protocol_and_ports() {
        let (first, second) = ([0, 80, 1, 2], [0, 80, 1, 3]);
        assert_eq!(queue(&packet(TCP, first, 1)), queue(&packet(TCP, first, 2)));
        assert_ne!(queue(&packet(TCP, first, 1)), queue(&packet(TCP, second, 1)));
        assert_ne!(queue(&packet(TCP, first, 1)), queue(&packet(UDP, first, 1)));
        // Packets without ports are one flow, and so are packets that are too short.
        assert_eq!(queue(&packet(1, first, 1)), queue(&packet(1, second, 1)));
        assert_eq!(
            queue(&packet(TCP, first, 1)[..22]),
            queue(&packet(TCP, second, 1)[..20])
        );
    }

    #[test]
    fn flows_are_spread_over_the_queues() {
        let all: BTreeSet<u32> = (0..=255)
            .map(|port| queue(&packet(UDP, [9, 9, 9, port], 0)))
            .collect();
        // 256 balls into 1,024 boxes fill 226 boxes on average.
        assert!((200..=256).contains(&all.len()), "{}", all.len());
        assert!(all.iter().all(|&queue| queue < QUEUES));
    }
}

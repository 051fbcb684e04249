//! Network address translation at the far end of a link: one private address to one public address.
//!
//! Two links may give the client addresses in the same private network, even the same address. Towards the
//! server each link has its own address.
//!
//! # Sources
//! - RFC 3022 (basic NAT, §4.1 incremental checksums, §4.3 ICMP errors).
//!
//! # Where we differ, and why
//! 1. Translates addresses only, never ports: each link has one client.
//!
//! # Checked by
//! `lab`, `frame::tests`: every protocol, complete and partial checksums, both directions.
//! `tests/emulator.rs`: with the kernel at both ends.

use crate::checksum::{self, Field};
use crate::ip::{Header, ICMP, TCP, UDP};
use core::net::Ipv4Addr;

const SOURCE: usize = 12;
const DESTINATION: usize = 16;

/// Address pair of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nat {
    /// Address that the client has.
    pub private: Ipv4Addr,
    /// Address that the server sees.
    pub public: Ipv4Addr,
}

impl Nat {
    /// Rewrites a packet sent by the client.
    pub fn outward(self, packet: &mut [u8], ip: Header, field: Field) {
        rewrite(packet, ip, field, Change::new(SOURCE, self.private, self.public));
    }

    /// Rewrites a packet sent to the client.
    pub fn inward(self, packet: &mut [u8], ip: Header, field: Field) {
        rewrite(
            packet,
            ip,
            field,
            Change::new(DESTINATION, self.public, self.private),
        );
    }
}

#[derive(Clone, Copy)]
struct Change {
    at: usize,
    old: [u8; 4],
    new: [u8; 4],
}

impl Change {
    const fn new(at: usize, old: Ipv4Addr, new: Ipv4Addr) -> Self {
        Self {
            at,
            old: old.octets(),
            new: new.octets(),
        }
    }

    /// The same change at the other address field, for the packet quoted in an ICMP error.
    const fn quoted(self) -> Self {
        Self {
            at: SOURCE + DESTINATION - self.at,
            ..self
        }
    }
}

fn rewrite(packet: &mut [u8], ip: Header, field: Field, change: Change) {
    if ip.v6 || packet[change.at..change.at + 4] != change.old {
        return;
    }
    checksum::overwrite(packet, change.at, &change.new);
    checksum::replace(packet, 10, Field::Finished, &change.old, &change.new);
    if ip.later_fragment {
        return;
    }
    match ip.protocol {
        TCP => checksum::replace(packet, ip.len + 16, field, &change.old, &change.new),
        UDP => rewrite_udp(&mut packet[ip.len..], field, change),
        ICMP => rewrite_icmp(&mut packet[ip.len..], change.quoted()),
        _ => {}
    }
}

fn rewrite_udp(udp: &mut [u8], field: Field, change: Change) {
    // A zero UDP checksum means that there is none.
    if udp.get(6..8).is_none_or(|sum| sum == [0, 0]) {
        return;
    }
    checksum::replace(udp, 6, field, &change.old, &change.new);
    if udp[6..8] == [0, 0] {
        udp[6..8].fill(0xff);
    }
}

/// Rewrites the packet that an ICMP error quotes. It travelled the other way, so our address is in its other
/// address field.
fn rewrite_icmp(icmp: &mut [u8], quoted: Change) {
    let is_error = icmp
        .first()
        .is_some_and(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12));
    let Some(inner) = icmp.get_mut(8..).filter(|_| is_error) else {
        return;
    };
    let Some(ip) = Header::parse(inner) else { return };
    rewrite(inner, ip, Field::Finished, quoted);
    icmp[2..4].fill(0);
    let sum = !checksum::fold(checksum::sum(icmp));
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
}

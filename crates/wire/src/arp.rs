//! ARP for IPv4 over Ethernet: finds out whether another host has an address.
//!
//! # Sources
//! - RFC 826 (format); RFC 5227 §1.1 (a probe has no sender's address), §2.1.1 (what a conflict is).
//!
//! # Checked by
//! `tests`; the fuzz target `dhcp`.

use core::net::Ipv4Addr;
use units::MacAddr;

/// Length of a message, in bytes.
pub const LEN: usize = 28;
/// Hardware Ethernet, protocol IPv4, and the lengths of their addresses.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// A reply, not a request.
    pub is_reply: bool,
    /// Hardware address of the sender.
    pub sender: MacAddr,
    /// Address of the sender. All zeros in a probe.
    pub sender_ip: Ipv4Addr,
    /// Hardware address of the target. All zeros in a request.
    pub target: MacAddr,
    /// Address of the target.
    pub target_ip: Ipv4Addr,
}

impl Message {
    /// The probe of `sender` for an address that it wants to use.
    pub const fn probe(sender: MacAddr, address: Ipv4Addr) -> Self {
        Self {
            is_reply: false,
            sender,
            sender_ip: Ipv4Addr::UNSPECIFIED,
            target: MacAddr::new([0; 6]),
            target_ip: address,
        }
    }

    /// Whether another host than `ours` has this address, or wants it at the same time.
    pub fn conflicts(&self, ours: MacAddr, address: Ipv4Addr) -> bool {
        let is_probe = !self.is_reply && self.sender_ip.is_unspecified();
        let names_it = self.sender_ip == address || is_probe && self.target_ip == address;
        self.sender != ours && names_it
    }

    /// Writes the message.
    pub fn write(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..6].copy_from_slice(&KIND);
        bytes[7] = if self.is_reply { 2 } else { 1 };
        bytes[8..14].copy_from_slice(&self.sender.octets());
        bytes[14..18].copy_from_slice(&self.sender_ip.octets());
        bytes[18..24].copy_from_slice(&self.target.octets());
        bytes[24..].copy_from_slice(&self.target_ip.octets());
        bytes
    }

    /// Parses a message. What follows it is padding. `None`: it is none for IPv4 over Ethernet.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<LEN>()?;
        let is_reply = match bytes[6..8] {
            [0, 1] => false,
            [0, 2] => true,
            _ => return None,
        };
        let mac = |at: usize| bytes[at..].first_chunk().map(|octets| MacAddr::new(*octets));
        let ip = |at: usize| {
            bytes[at..]
                .first_chunk()
                .map(|octets: &[u8; 4]| Ipv4Addr::from(*octets))
        };
        (bytes[..6] == KIND).then_some(Self {
            is_reply,
            sender: mac(8)?,
            sender_ip: ip(14)?,
            target: mac(18)?,
            target_ip: ip(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: MacAddr = MacAddr::local(1);
    const OTHER: MacAddr = MacAddr::local(2);
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 42);

    #[test]
    fn a_probe_is_written_as_the_rfc_has_it_and_read_again() {
        let probe = Message::probe(OURS, ADDRESS);
        let bytes = probe.write();
        assert_eq!(bytes[..8], [0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!(bytes[14..24], [0; 10]);
        assert_eq!(bytes[24..], [10, 0, 1, 42]);
        assert_eq!(Message::parse(&bytes), Some(probe));
        let padded = [&bytes[..], &[0; 18]].concat();
        assert_eq!(Message::parse(&padded), Some(probe));
        assert_eq!(Message::parse(&bytes[..27]), None);
        let mut other = bytes;
        other[1] = 6;
        assert_eq!(Message::parse(&other), None, "other hardware");
        other = bytes;
        other[7] = 3;
        assert_eq!(Message::parse(&other), None, "RARP");
    }

    #[test]
    fn another_host_with_the_address_is_a_conflict_and_nothing_else_is() {
        let reply = Message {
            is_reply: true,
            sender: OTHER,
            sender_ip: ADDRESS,
            target: OURS,
            target_ip: Ipv4Addr::UNSPECIFIED,
        };
        let asks_for_it = Message {
            is_reply: false,
            sender_ip: Ipv4Addr::new(10, 0, 1, 1),
            target_ip: ADDRESS,
            ..reply
        };
        assert!(reply.conflicts(OURS, ADDRESS));
        assert!(
            Message {
                is_reply: false,
                ..reply
            }
            .conflicts(OURS, ADDRESS),
            "announced"
        );
        assert!(
            Message::probe(OTHER, ADDRESS).conflicts(OURS, ADDRESS),
            "wanted, too"
        );
        assert!(
            !Message::probe(OURS, ADDRESS).conflicts(OURS, ADDRESS),
            "our own echo"
        );
        assert!(!asks_for_it.conflicts(OURS, ADDRESS), "a host that looks for it");
        assert!(!reply.conflicts(OURS, Ipv4Addr::new(10, 0, 1, 43)));
    }
}

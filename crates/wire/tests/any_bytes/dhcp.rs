//! Packets and messages of DHCP, and messages of ARP, are parsed without a panic. What was parsed can be
//! written and parsed again.

use wire::arp;
use wire::dhcp::{Message, to_client};

/// Fails if they do not.
pub fn read(bytes: &[u8]) {
    let inner = to_client(bytes).unwrap_or(bytes);
    if let Some(message) = Message::parse(inner) {
        assert_eq!(Message::parse(&message.write()), Some(message));
    }
    if let Some(message) = arp::Message::parse(bytes) {
        assert_eq!(arp::Message::parse(&message.write()), Some(message));
    }
}

//! Packets and messages of DHCP, and messages of ARP, are parsed without a panic. What was parsed can be
//! written and parsed again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::arp;
use wire::dhcp::{Message, to_client};

fuzz_target!(|bytes: &[u8]| {
    let inner = to_client(bytes).unwrap_or(bytes);
    if let Some(message) = Message::parse(inner) {
        assert_eq!(Message::parse(&message.write()), Some(message));
    }
    if let Some(message) = arp::Message::parse(bytes) {
        assert_eq!(arp::Message::parse(&message.write()), Some(message));
    }
});

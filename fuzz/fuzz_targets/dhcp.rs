//! Packets and messages of DHCP are parsed without a panic. What was parsed can be written and parsed again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::dhcp::{Message, to_client};

fuzz_target!(|bytes: &[u8]| {
    let inner = to_client(bytes).unwrap_or(bytes);
    if let Some(message) = Message::parse(inner) {
        assert_eq!(Message::parse(&message.write()), Some(message));
    }
});

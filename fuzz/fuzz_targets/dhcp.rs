//! Packets and messages of DHCP, and messages of ARP, are parsed without a panic. What was parsed can be
//! written and parsed again.

#![no_main]

#[path = "../../crates/wire/tests/any_bytes/dhcp.rs"]
mod dhcp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    dhcp::read(bytes);
});

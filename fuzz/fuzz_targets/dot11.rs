//! The 802.11 readers return on any bytes from a monitor interface. What they read can be written and read
//! again, other than rates that no model sends.

#![no_main]

#[path = "../../crates/wire/tests/any_bytes/dot11.rs"]
mod dot11;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    dot11::read(bytes);
});

//! The parsers of SOCKS messages return on any bytes, and never ask for more than a message may have. What
//! they read can be written and read again.

#![no_main]

#[path = "../../crates/wire/tests/any_bytes/socks.rs"]
mod socks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    socks::read(bytes);
});

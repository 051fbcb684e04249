//! The parsers of Convert messages return on any bytes. What they read can be written and read again.

#![no_main]

#[path = "../../crates/wire/tests/any_bytes/convert.rs"]
mod convert;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    convert::read(bytes);
});

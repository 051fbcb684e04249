//! Any sequence of facts: the engine never panics, never spins without time passing, asks only for what exists, and stays small
//! (libFuzzer watches its memory).
#![no_main]

#[path = "../../crates/policy/tests/drive/mod.rs"]
mod drive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(bytes);
});

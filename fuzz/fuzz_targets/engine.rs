//! For any sequence of facts the engine never panics and never spins without time passing. It asks only for
//! what exists, and stays small. Every second sequence is told to two engines, which must ask for the same.
#![no_main]

#[path = "../../crates/policy/tests/counting/mod.rs"]
mod counting;
#[path = "../../crates/policy/tests/drive/mod.rs"]
mod drive;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(bytes, bytes.len() % 2 == 1);
});

//! Recordings of an engine: what it was told, when, and what it asked for; and their replay.
//!
//! A recording has no wall time and no word about the world that made it: an engine that is told the same at the same times must ask for
//! the same. So a change that must not alter decisions is checked by replaying recordings that were made before it.
//!
//! | file | concern |
//! |---|---|
//! | `recorded`, `recorder` | an engine that may be recorded; where its recording goes |
//! | `entry`, `header`, `file` | the format: what a recording holds, and reading it |
//! | `acts` | actions as text that outlives changes of their types, and its digests |
//! | `replay` | telling an engine of today what a recording holds |
//! | `codec`, `values`, `bytes` | values as bytes and back |
//! | `kinds` | the kinds of facts |
//! | `of_test` | recordings of engines in tests |
//!
//! # The format
//! [`MAGIC`], then the header, entries, and an end mark and a checksum (FNV-1a, 64 bits) of all bytes before it.
//! Numbers are LEB128; times are differences from the entry before, in nanoseconds.
//!
//! # Checked by
//! `tests/golden.rs` (the recordings in `golden/record`), `tests` (any fact, any damage).

mod acts;
mod bytes;
mod codec;
mod entry;
mod file;
mod header;
mod kinds;
mod of_test;
mod recorded;
mod recorder;
mod replay;
mod values;

pub use acts::{Digest, act};
pub use bytes::Malformed;
pub use entry::{Entries, Entry, Polled};
pub use file::{File, ReadError};
pub use header::Header;
pub use kinds::{kind, kinds};
pub use recorded::Recorded;
pub use recorder::{Buffer, Recorder, Recording};
pub use replay::{Difference, Replayed, replay, with_new_sentences};

/// How every recording begins.
pub const MAGIC: &[u8; 16] = b"slowhand-record\n";

/// The format that this crate writes and reads.
pub const VERSION: u64 = 1;

#[cfg(test)]
mod tests;

//! Recordings of an engine and their replay: what the engine was told and when, and what it asked for.
//!
//! A recording has no wall-clock time and says nothing about the world that made it. An engine that is told
//! the same at the same times must ask for the same. So replaying older recordings checks that a change does
//! not alter decisions.
//!
//! | file | concern |
//! |---|---|
//! | `recorded`, `recorder` | an engine that may be recorded; where its recording goes |
//! | `entry`, `header`, `file` | the format: what a recording holds, and reading it |
//! | `acts` | actions as text that outlives changes of their types, and its digests |
//! | `replay` | telling an engine of today what a recording holds |
//! | `other_policy` | telling it to an engine with another policy, and comparing what both ask for |
//! | `codec`, `values`, `bytes` | values as bytes and back |
//! | `kinds` | the kinds of facts |
//! | `of_test` | recordings of engines in tests |
//!
//! # The format
//! [`MAGIC`], then the header, the entries, an end mark, and a checksum (FNV-1a, 64 bits) of all bytes before
//! it. Numbers are LEB128. Times are differences from the previous entry, in nanoseconds.
//! `docs/recordings.md` describes all of it.
//!
//! # Checked by
//! `tests/golden.rs` (the recordings in `golden/record`), `tests/page.rs` (the description), `tests` (any
//! fact, any damage).

mod acts;
mod bytes;
mod codec;
mod entry;
mod file;
mod header;
mod kinds;
mod of_test;
mod other_policy;
mod recorded;
mod recorder;
mod replay;
mod values;

pub use acts::{Digest, Polled, act};
pub use bytes::Malformed;
pub use entry::{Entries, Entry};
pub use file::{File, ReadError};
pub use header::Header;
pub use kinds::{kind, kinds};
pub use other_policy::{Compared, links, replay_as};
pub use recorded::Recorded;
pub use recorder::{Buffer, Recorder, Recording};
pub use replay::{Difference, Replayed, replay, with_new_sentences};

/// How every recording begins.
pub const MAGIC: &[u8; 16] = b"slowhand-record\n";

/// The format that this crate writes and reads.
pub const VERSION: u64 = 1;

#[cfg(test)]
mod tests;

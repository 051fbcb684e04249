//! Our own sender and receiver: every byte is checked, every gap is timed.
//!
//! A [`Server`] in the server's namespace serves what clients order: bytes down or up, also in turns with
//! pauses, replies to requests, parts of a file. A client is one call of [`run`] per flow, in its own thread
//! in the client's namespace. Content comes from a seeded generator that can be read at any offset, so both
//! ends know what every byte must be. The SHA-256 of what was received is compared with that of what was to
//! be sent. Parts of a file are compared byte by byte.
//!
//! # Where we differ, and why
//! 1. A plain TCP client reconnects and continues where it was, down or up, when its link is usable and
//!    nothing has arrived for 1 s. A browser or a download manager does so too. Without it, RTO back-off
//!    would make the baseline look weak. A flow in turns and one of requests keep their one connection.
//!
//! # Checked by
//! `tests.rs`, over loopback in a namespace of its own.

mod assigned;
mod client;
mod content;
mod datagrams;
mod download;
mod fetch;
mod on_off;
mod order;
mod received;
mod requests;
mod sending;
mod server;
mod silence;
mod socket;
#[cfg(test)]
mod tests;
mod upload;
mod watch;

pub use assigned::{Answers, Assigned};
pub use client::{Bound, Outcome, Place, Task, Tell, Told, TransferError, Via, run};
pub use content::digest;
pub use server::{ServeError, Server};
pub use socket::{SocketError, Transport};
pub use watch::{ConnectionSample, End, SubflowSample, Watchlist};

/// SHA-256.
pub type Digest = [u8; 32];

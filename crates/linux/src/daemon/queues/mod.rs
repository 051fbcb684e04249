//! Limits on queues: how far ahead a peer may send, unsent bytes, pacing rates, and marks on packets.
//!
//! In: the engine's requests, interfaces, and how many packets they carry. Out: BPF programs and socket
//! limits in force, and the report of both. [`levers`] has the limits of connections, with [`caps`].
//! [`fallbacks`] has those of plain TCP. [`marks`] marks packets. [`passage`] notices that packets do not
//! reach our programs. [`walks`] says when sockets are walked.

pub(crate) mod bounds;
pub(crate) mod caps;
pub(crate) mod fallbacks;
pub(crate) mod levers;
pub(crate) mod marking;
pub(crate) mod marks;
pub(crate) mod passage;
pub(crate) mod walks;

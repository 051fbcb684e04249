//! Limits on queues: how far ahead a peer may send, what waits unsent, how fast a subflow sends, and marks on packets.
//!
//! In: what the engine asks for, interfaces, and how many packets they carry. Out: BPF programs and socket limits in
//! force, and the report of both. [`levers`] has the limits of connections, with [`caps`]; [`fallbacks`] those of
//! plain TCP; [`marks`] marks packets; [`passage`] notices that packets do not reach our programs; [`walks`] says when
//! sockets are walked.

pub(crate) mod bounds;
pub(crate) mod caps;
pub(crate) mod fallbacks;
pub(crate) mod levers;
pub(crate) mod marking;
pub(crate) mod marks;
pub(crate) mod passage;
pub(crate) mod walks;

//! What the kernel says of connections, for the engine.
//!
//! In: events of the path manager and counters of sockets. Out: facts for the engine, in the order in which they were
//! found. [`peers`] takes events, [`stock`] finds what events missed, [`sampling`] reads counters when [`pace`] says so.

pub(crate) mod pace;
pub(crate) mod peers;
pub(crate) mod sampling;
pub(crate) mod stock;

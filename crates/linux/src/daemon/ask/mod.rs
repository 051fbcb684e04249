//! Finds out whether links are alive and lead to the Internet, beyond what connections show.
//!
//! In: probe requests of the engine, sockets of all programs, counters of interfaces, resolvers. Out: facts
//! for the engine. [`probes`] probes peers and hosts and receives the replies. [`idle`] reads evidence that a
//! link is alive while no connection gives any. [`checks`] requests a known page.

pub(crate) mod checks;
pub(crate) mod idle;
pub(crate) mod probes;

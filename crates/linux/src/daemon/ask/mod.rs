//! Whether links live and lead to the Internet, beyond what connections show.
//!
//! In: questions of the engine, sockets of all programs, counters of interfaces, resolvers. Out: facts for the engine.
//! [`probes`] asks peers and hosts and hears the answers, [`idle`] reads what shows that a link lives while no
//! connection does, [`checks`] asks for a known page.

pub(crate) mod checks;
pub(crate) mod idle;
pub(crate) mod probes;

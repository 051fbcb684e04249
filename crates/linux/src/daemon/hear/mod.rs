//! Turns what the kernel says about connections into facts for the engine.
//!
//! In: events of the path manager, and counters of sockets. Out: facts for the engine, in the order in which
//! they were found. [`events`] handles events, [`stock`] finds what events missed, [`sampling`] reads
//! counters when [`pace`] says so.

pub(crate) mod events;
pub(crate) mod pace;
pub(crate) mod sampling;
pub(crate) mod stock;

use crate::daemon::act::conns::Conns;
use crate::daemon::ask::probes::Probes;
use crate::daemon::host::Host;
use crate::daemon::links::book::Links;

/// The parts of the world that an event or a list of sockets may change.
pub(crate) struct Hearing<'w> {
    pub(crate) conns: &'w mut Conns,
    pub(crate) host: &'w mut Host,
    pub(crate) links: &'w Links,
    pub(crate) probes: &'w mut Probes,
}

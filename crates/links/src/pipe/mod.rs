//! Parts of cables and cells: a bottleneck, the wire behind it, a cell's radio.
//!
//! A packet passes a `port`, then a `lane`. The port has a queue and a rate, or a trace of `opportunities`,
//! with coverage `holes`. The lane adds loss, delay and jitter. A cell's radio (`cellular`) delays the first
//! packets and retransmits lost ones. The wired segment behind an access point has the same parts. [`wires`]
//! runs them for all links, [`cables`] for cables alone.

mod build;
pub(crate) mod cables;
mod cellular;
pub(crate) mod holes;
mod lane;
pub(crate) mod opportunities;
mod port;
pub(crate) mod timers;
pub(crate) mod wires;

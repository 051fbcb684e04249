//! What cables and cells are made of: a bottleneck, the wire behind it, a cell's radio.
//!
//! A packet passes a `port` (queue and rate, or a trace of `opportunities`, with `holes` in the coverage), then a `lane`
//! (loss, delay, jitter). The radio of a cell (`cellular`) delays the first packets and repeats lost ones. The wired segment
//! behind an access point is made of the same parts. [`wires`] runs them for all links, [`cables`] for cables alone.

mod build;
pub(crate) mod cables;
mod cellular;
pub(crate) mod holes;
mod lane;
pub(crate) mod opportunities;
mod port;
pub(crate) mod timers;
pub(crate) mod wires;

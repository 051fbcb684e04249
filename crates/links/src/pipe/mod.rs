//! What cables and cells are made of: a bottleneck, the wire behind it, a cell's radio.
//!
//! A packet passes a `port` (queue and rate, or a trace of `opportunities`, with `holes` in the coverage), then a `lane`
//! (loss, delay, jitter). The radio of a cell (`cellular`) delays the first packets and repeats lost ones. The wired segment
//! behind an access point is made of the same parts.

pub(crate) mod cellular;
pub(crate) mod holes;
pub(crate) mod lane;
pub(crate) mod opportunities;
pub(crate) mod port;

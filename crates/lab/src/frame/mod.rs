//! Packets as they pass the emulator: the header fields that it needs, and the few fields that it changes.
//!
//! - `vnet`: the virtio-net header in front of every packet.
//! - `burst`: a TCP burst, one buffer here but several packets to the links.
//! - `slab`: buffers for the packets in flight.

mod burst;
mod slab;
#[cfg(test)]
mod tests;
mod vnet;

pub(crate) use burst::Burst;
pub(crate) use slab::{Slab, SlotId};
pub(crate) use vnet::Vnet;
pub(crate) use wire::ip::Header;
pub use wire::nat::Nat;

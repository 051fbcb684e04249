//! Packets as they pass the emulator: what it must know of their headers, and the few things that it changes in them.
//!
//! - `vnet`: the virtio-net header that leads every packet.
//! - `burst`: a TCP burst that is still one buffer but several packets to the links.
//! - `slab`: where packets lie while they are on their way.

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

//! Packets as they pass the emulator: what it must know of their headers, and the few things that it changes in them.
//!
//! - `header`: where the headers end, whether the sender understands ECN, setting CE.
//! - `vnet`: the virtio-net header that leads every packet.
//! - `burst`: a TCP burst that is still one buffer but several packets to the links.
//! - `nat`: addresses rewritten at the edge of a private network.
//! - `checksum`: the Internet checksum, whole and by difference.
//! - `slab`: where packets lie while they are on their way.

mod burst;
mod checksum;
mod header;
mod nat;
mod slab;
#[cfg(test)]
mod tests;
mod vnet;

pub(crate) use burst::Burst;
pub(crate) use header::Header;
pub use nat::Nat;
pub(crate) use slab::{Slab, SlotId};
pub(crate) use vnet::Vnet;

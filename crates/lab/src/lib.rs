//! `linux` over links made of software: network namespaces, TUN devices, and the models of `links` in real time, all on one machine.

pub mod clock;
pub mod emulator;
mod frame;
pub mod hosts;
mod pace;
pub mod traffic;
pub mod tun;

pub use frame::Nat;

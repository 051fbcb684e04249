//! `linux` over links made of software: network namespaces, TUN devices, and the models of `links` in real time, all on one machine.
//!
//! - [`world`] plays a scenario: [`world::play`].
//! - [`emulator`] carries packets between TUN devices as the models decide, in real time, and says how late it was.
//! - [`hosts`] are the client and the server: namespaces, devices, addresses.
//! - [`prerequisites`] says what is missing here, and how to get it.
//! - [`traffic`] is our own sender and receiver; [`shell`] runs real programs.
//! - [`without_bpf`] is a host on which no program can be loaded.

pub mod clock;
pub mod emulator;
mod frame;
pub mod hosts;
pub mod monitor;
mod pace;
pub mod prerequisites;
pub mod shell;
pub mod stop;
pub mod traffic;
pub mod tun;
pub mod without_bpf;
pub mod world;

pub use frame::Nat;

//! Runs `linux` over software links on one machine: network namespaces, TUN devices, and the models of
//! `links` in real time.
//!
//! - [`world`] runs a scenario: [`world::play`].
//! - [`emulator`] carries packets between TUN devices in real time, as the models decide, and measures how
//!   late they leave.
//! - [`hosts`] are the client, the server, and other walkers: namespaces, devices, addresses.
//! - [`prerequisites`] checks what this machine lacks and says how to get it.
//! - [`relay`] runs a relay as users do.
//! - [`traffic`] is our own sender and receiver; [`shell`] runs real programs.
//! - [`without_bpf`] runs work as on a host that forbids loading BPF programs.

pub mod clock;
pub mod emulator;
mod frame;
pub mod hosts;
pub mod monitor;
mod pace;
pub mod prerequisites;
pub mod relay;
pub mod shell;
pub mod stop;
pub mod traffic;
pub mod tun;
pub mod without_bpf;
pub mod world;

pub use frame::Nat;

//! Hosts in virtual time: connections by number, their applications, and their timers.
//!
//! A [`Host`] has any number of links. It knows a link only by its number, so the world decides what a link
//! is: a station of the air, a cell, a cable. The world does the following:
//!
//! 1. [`Host::open`] at the client and [`Host::expect`] at the server start a connection with an [`App`] at
//!    each end.
//! 2. It hands each packet that leaves a link to the host at its far end ([`Host::on_segment`]). A packet
//!    that a queue has marked is [`Ecn::Ce`](crate::tcp::packet::Ecn). A packet's length is
//!    [`Packet::length`](crate::tcp::packet::Packet::length).
//! 3. At [`Host::next_timer`] it calls [`Host::tick`].
//! 4. After each of these it puts all that [`Host::poll_transmit`] has on the links, and reads
//!    [`Host::poll_event`].
//! 5. It carries out the engine's actions by [`Host::act`], and reads counters from [`Host::connection`].
//!
//! | action of the engine | call |
//! |---|---|
//! | `Join` | [`Connection::join`](crate::mptcp::Connection::join), in any family that both ends have |
//! | `SetBackup`, `Destroy` | `set_backup`, `destroy` |
//! | `Withdraw` | `withdraw`, with the subflow's path |
//! | `Window`, `Unsent` | `cap_window`, `cap_unsent` |
//! | `Mark`, `MarkSent` | [`Host::mark_arriving`], [`Host::mark_leaving`] |
//! | `Probe` | [`Host::probe`], answered by [`Event::ProbeAnswered`](crate::mptcp::Event) |
//! | `CapPacing` | none: no controller here paces |
//!
//! `ConnSample` is [`Connection::sample`](crate::mptcp::Connection::sample), and each `SubflowSample` comes
//! from [`Connection::subflows`](crate::mptcp::Connection::subflows).
//!
//! [`Pair`] is the smallest such world: two hosts and the links between them.
//!
//! ```
//! use links::{CableConfig, LinkConfig};
//! use policy::Family;
//! use sim::hosts::{App, Pair};
//! use sim::mptcp::{Config, Path};
//! use sim::tcp::Control;
//! use units::{Bitrate, Duration, Instant};
//!
//! let cable = CableConfig::symmetric("cable", Bitrate::from_mbps(20), Duration::from_millis(10));
//! let stock = Config::stock(Control::Cubic, false);
//! let mut pair = Pair::new(1, vec![LinkConfig::Cable(cable)], stock, stock)?;
//! let path = Path::over(links::LinkId(0), Family::V4);
//! pair.start(0, path, [App::Sink, App::Bulk]);
//! pair.run_until(Instant::from_secs(5));
//! let mbps = pair.read(0) as f64 * 8.0 / 5e6;
//! assert!((17.5..19.4).contains(&mbps), "{mbps}");
//! # Ok::<(), links::ConfigError>(())
//! ```
//!
//! # Checked by
//! `tests/hosts.rs`, `tests/hosts_protocol.rs`, `tests/hosts_study.rs`.

mod app;
mod host;
mod marks;
mod paced;
mod pair;
mod ranges;

pub use app::{App, Convert, Exchange, OnOff, Transfer};
pub use host::Host;
pub use marks::MarkCounts;
pub use paced::{Limited, Replies, Schedule};
pub use pair::Pair;
pub use ranges::{Fetch, Ranges};

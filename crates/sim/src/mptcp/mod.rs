//! TCP and MPTCP connections in virtual time, segment by segment, without an event queue and without a clock.
//!
//! [`Connection`] is one end of a connection. With `mptcp` off, or after a fallback, it is a TCP connection
//! with one subflow. Its subflows have the senders and receivers of [`crate::tcp`]. The driver
//! ([`crate::hosts::Host`]) does the following:
//!
//! 1. [`Connection::open`] at the client. [`Connection::accept`] at the server, with the first packet.
//! 2. For every packet that arrives, [`Connection::receive`]. At [`Connection::wake_at`],
//!    [`Connection::tick`].
//! 3. The application reads and writes ([`Connection::read`], [`Connection::write`]), the engine acts
//!    ([`Connection::join`], [`Connection::set_backup`] and the others).
//! 4. [`Connection::flush`] after any of these. Then it puts the packets of the [`Outbox`] on their links.
//!
//! # Sources
//! - RFC 8684; Linux 6.18, `net/mptcp/`. Each file names its own.
//!
//! # Where we differ, and why
//! 1. Data has no content: segments carry numbers and lengths.
//! 2. No path manager of its own: whoever drives the host decides on joins.
//! 3. A subflow never falls back alone, and there are no checksums: no middlebox changes segments here.
//!
//! # Checked by
//! `tests` of its files, `tests/hosts.rs`: delivery once and in order under loss, dying subflows, joins and
//! removals. `tests/hosts_protocol.rs`: DATA_FIN, probes, announcements, fallback.
//! `tests/hosts_study.rs`, `examples/hosts.rs`: throughput against loss, shares of bottlenecks, stalls.

mod act;
mod announce;
mod close;
mod config;
mod connection;
mod half;
mod handshake;
mod incoming;
mod outbox;
mod outgoing;
mod persist;
mod push;
mod stamp;
mod subflow;

pub use act::SubflowView;
pub use config::{Cache, Config, Joins, Path, ReceiveBuffer, STOCK_JOINS, SchedulerKind, Shared};
pub use connection::{Connection, Role};
pub use outbox::{Event, Outbox};

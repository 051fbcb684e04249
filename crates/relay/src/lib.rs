//! Lets any application use all links to any server: a relay on a host with a fixed address, and an agent on
//! the mobile host.
//!
//! ```text
//! application ──TCP──► agent ──MPTCP over all links──► relay ──(MP)TCP──► server
//!                        └──────MPTCP, if the server speaks it────────────►
//! ```
//!
//! | module | purpose |
//! |---|---|
//! | [`command`] | the command line of `slowhand-relay`, which is also that of `slowhand relay` |
//! | [`serve`] | the relay: accepts Convert requests, connects to servers, joins clients that meet |
//! | [`agent`] | chooses a way for each connection, redirected or over SOCKS; both sides of a meeting |
//! | [`keys`], [`config`] | who may use a relay, and its limits |
//! | [`egress`] | the destinations that a relay refuses |
//! | [`replay`] | cookies that were used already |
//! | [`metrics`], [`delays`] | counters and delays, and their text for Prometheus |
//! | [`control`] | the Unix socket on which both programs answer |
//! | [`pump`], [`pipe`], [`socket`] | the data plane: `splice` between two sockets |
//!
//! Everything runs on tokio's single-threaded runtime, one for each core in the relay. A connection is then a
//! task that reads top to bottom, with time-outs and cancellation at each step. The data plane does not copy
//! bytes to user space, so the runtime costs a wake-up per 256 KiB at most.
//!
//! # Sources
//! - RFC 8803 (0-RTT TCP Convert Protocol); mobiarch11 §2.2 and §2.3.
//!
//! # Where we differ, and why
//! 1. The relay confirms a connection after the server has accepted it. The kernel sends the SYN+ACK before.
//! 2. A running connection keeps its relay. If the server speaks MPTCP, the next connection goes directly.
//!
//! # Checked by
//! `tests/relay.rs`, and `crates/slowhandd/tests/relay.rs` with the daemon and two links.

pub mod agent;
pub mod command;
pub mod config;
pub mod control;
pub mod delays;
pub mod egress;
pub mod keys;
pub mod metrics;
pub mod pipe;
pub mod pump;
pub mod replay;
pub mod serve;
pub mod socket;

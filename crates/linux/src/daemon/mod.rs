//! The driver of one [`policy::Engine`] over the calling thread's network namespace.
//!
//! One thread, one loop: it sleeps until the kernel, another thread or a deadline has something, tells the engine, and
//! carries out what the engine asks for, in order. The engine decides; nothing here does.
//!
//! | room | what it does | what to change there |
//! |---|---|---|
//! | `drive` | runs the loop, owns all parts and calls them in order | order of work, the report, a new action or event |
//! | `hear` | turns what the kernel says of connections into facts | events, counters and how often they are read |
//! | `act` | joins, demotes, ends and withdraws subflows; opens and closes connections | commands for connections |
//! | `ask` | probes peers and hosts, watches idle links, checks for captive portals | evidence whether a link lives |
//! | `queues` | limits what peers and this host queue; marks packets | windows, unsent bytes, pacing, marks, plain TCP |
//! | `host` | changes the host, on record, and says what happens | sysctls, routes, endpoints, journal, log lines |
//! | `flows` | keeps what is known of connections and subflows | state of connections, joins under way |
//! | `links` | matches interfaces with declared links and plans their routes | carrier, addresses, next hops, names |
//! | `api` | holds what the program around the daemon sees | setup, inlet, observations, report, errors |
//! | `os` | wraps clocks, epoll and eventfd | system calls of the loop |
//!
//! Each room uses only rooms below it in this table. `act` and the rooms below it know nothing of the loop.
//!
//! # Where we differ, and why
//! 1. A subflow is told to the engine when the peer is known to have accepted it, not when the kernel says `established`: see
//!    `flows::book`.
//! 2. Connections of a namespace that other hosts began are not touched: the host that moves is the one that adds paths.
//!
//! # Checked by
//! `tests`, in namespaces of their own with real connections.

mod act;
mod api;
mod ask;
mod drive;
mod flows;
mod hear;
mod host;
mod links;
mod os;
mod queues;
#[cfg(test)]
mod tests;

pub use api::error::{RunError, StartError};
pub use api::inlet::{AskError, Ended, Inlet, InletSender, Stopper, inlet};
pub use api::left_alone::LeftAlone;
pub use api::observe::Observation;
pub use api::report::{
    ConnReport, FallbackBound, FallbackCause, FallbackReport, LeverReport, LinkReport, MarkReport, Report,
    SubflowReport,
};
pub use api::sender::{Sender, SenderError, check_controller};
pub use api::setup::{AssociateFn, Association, DeclaredLink, ObserveFn, Probing, Setup, SignalReports};
pub use drive::driver::Daemon;
pub use host::settings::{RecoverError, recover};
pub use os::clock::monotonic_ns;

//! Runs one [`policy::Engine`] over the calling thread's network namespace.
//!
//! One thread, one loop. It sleeps until the kernel, another thread or a deadline wakes it, tells the engine,
//! and executes the engine's actions in order. Only the engine decides.
//!
//! | room | what it does | what to change there |
//! |---|---|---|
//! | `drive` | runs the loop, owns all parts, calls them in order | order of work, report, new actions |
//! | `hear` | turns the kernel's events and counters into facts | events, counters, sampling rate |
//! | `radio` | reads associations of WiFi links, listens to monitor interfaces | signals, channels, frames |
//! | `act` | joins, demotes, ends, withdraws subflows; opens, closes connections | commands for connections |
//! | `ask` | probes peers and hosts, watches idle links, finds captive portals | evidence of a live link |
//! | `queues` | limits queues of peers and this host, marks packets | windows, unsent bytes, pacing, marks |
//! | `networks` | gives flows that cannot use several links a network each | UDP, the unchanging interface |
//! | `host` | changes the host, on record, and reports events | sysctls, routes, endpoints, journal, log |
//! | `flows` | keeps the state of connections and subflows | state of connections, pending joins |
//! | `links` | matches interfaces with declared links, plans their routes | addresses, next hops, names |
//! | `api` | holds what the program around the daemon sees | setup, inlet, observations, report, errors |
//! | `os` | wraps clocks, epoll and eventfd | system calls of the loop |
//!
//! Each room uses only rooms below it in this table. `act` and the rooms below it do not know the loop.
//!
//! # Where we differ, and why
//! 1. The engine is told about a subflow when the peer is known to have accepted it, not when the kernel says
//!    `established`: see `flows::book`.
//! 2. Connections that other hosts opened are not touched: the host that moves adds the paths.
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
mod networks;
mod os;
mod queues;
mod radio;
#[cfg(test)]
mod tests;

pub use api::error::{RunError, StartError};
pub use api::inlet::{AskError, Ended, Inlet, InletSender, RecordError, Stopper, inlet};
pub use api::left_alone::LeftAlone;
pub use api::networks::{
    ChangeError, FlowReport, FlowRule, MOST_RULES, NamesSetup, NetworksChange, NetworksError, NetworksReport,
    NetworksSetup, NoTarget, Target,
};
pub use api::observe::Observation;
pub use api::report::{
    ConnReport, FallbackBound, FallbackCause, FallbackReport, LeverReport, LinkReport, MarkReport, Report,
    SubflowReport, WifiReport, WifiSource,
};
pub use api::sender::{Sender, SenderError, check_controller};
pub use api::setup::{
    AssignFn, Assignment, AssociateFn, Associates, Association, DeclaredLink, LeadOutFn, ObserveFn, Probing,
    Setup, SignalReports, TurnsFn,
};
pub use drive::driver::Daemon;
pub use host::settings::{RecoverError, recover};
pub use links::marks::{is_ours, wish};
pub(crate) use os::clock::Clock;
pub use os::clock::monotonic_ns;

//! The driver of one [`policy::Engine`] over the calling thread's network namespace.
//!
//! One thread, one loop (`driver`): it sleeps until the kernel, another thread or a deadline has something, tells the engine, and
//! carries out what the engine asks for, in order. The engine decides; nothing here does.
//!
//! | file | concern |
//! |---|---|
//! | `driver`, `world` | the loop, and what it acts on |
//! | `interfaces`, `links`, `managed`, `pattern` | what the kernel says of interfaces; which declared link is which |
//! | `ways`, `paths`, `restore` | next hops and source addresses; routes and rules, also after somebody else removed them |
//! | `flows`, `peers`, `stock` | connections and subflows, and what the kernel says of them |
//! | `sampling`, `pace`, `counters` | reading counters: whose, how often, at what cost |
//! | `acts`, `joins`, `priorities`, `farewell`, `address_ids` | subflows made, marked, ended and withdrawn |
//! | `cla` | where signals go, told to whoever controls a sender's windows |
//! | `probes` | asking whether a link still reaches a peer |
//! | `idle`, `checks` | what shows whether links live while no connection does; whether they lead to the Internet |
//! | `levers`, `passage`, `settings`, `sender` | bounding queues, and whether packets reach what bounds them; what is changed for the whole namespace, on record; congestion control |
//! | `upkeep` | what other programs change under a running daemon |
//! | `fallbacks` | connections that fell back to plain TCP: reported, and bounded where that is asked for |
//! | `inlet`, `observe`, `report`, `controllers` | what other threads may say, see and ask |
//! | `clock`, `poller`, `eventfd` | the kernel's small change |
//!
//! # Where we differ, and why
//! 1. A subflow is told to the engine when the peer is known to have accepted it, not when the kernel says `established`: see
//!    `flows`.
//! 2. Connections of a namespace that other hosts began are not touched: the host that moves is the one that adds paths.
//!
//! # Checked by
//! `tests`, in namespaces of their own with real connections.

mod act;
mod api;
mod ask;
mod bound;
mod drive;
mod flows;
mod hear;
mod host;
mod links;
mod os;
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

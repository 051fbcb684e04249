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

mod acts;
mod address_ids;
mod caps;
mod checks;
mod cla;
mod clock;
mod controllers;
mod counters;
mod driver;
mod error;
mod eventfd;
mod fallbacks;
mod farewell;
mod flows;
mod idle;
mod inlet;
mod interfaces;
mod joins;
mod levers;
mod links;
mod managed;
mod marks;
mod observe;
mod pace;
mod passage;
mod paths;
mod pattern;
mod peers;
mod poller;
mod priorities;
mod probes;
mod report;
mod restore;
mod sampling;
mod sender;
mod settings;
mod stock;
#[cfg(test)]
mod tests;
mod upkeep;
mod walks;
mod ways;
mod world;

pub use clock::monotonic_ns;
pub use driver::Daemon;
pub use error::{RunError, StartError};
pub use flows::LeftAlone;
pub use inlet::{AskError, Ended, Inlet, InletSender, Stopper, inlet};
pub use observe::Observation;
pub use report::{
    ConnReport, FallbackBound, FallbackCause, FallbackReport, LeverReport, LinkReport, MarkReport, Report,
    SubflowReport,
};
pub use sender::{Sender, SenderError, check_controller};
pub use settings::{RecoverError, recover};

use crate::bpf::WindowKind;
use policy::{LinkId, LinkSpec, Tariff};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use units::{Bytes, Instant};

/// What to drive, over what.
pub struct Setup {
    /// The engine.
    pub engine: policy::Config,
    /// Links that the world declares.
    pub links: Vec<DeclaredLink>,
    /// Zero of the engine's time, in nanoseconds of CLOCK_MONOTONIC: see [`monotonic_ns`].
    pub epoch_ns: u64,
    /// Where other threads put further facts and questions: see [`inlet`].
    pub inlet: Inlet,
    /// The congestion controller of new connections while this runs; `None`: as the kernel has it.
    pub sender: Option<Sender>,
    /// Servers that want to hear how this host's signals go; `None`: nobody is told.
    pub reports: Option<SignalReports>,
    /// Carries out what is not the kernel's to carry out. Called on the loop's thread: must not wait.
    pub associate: AssociateFn,
    /// Is shown everything worth recording. Called on the loop's thread: must not wait.
    pub observe: ObserveFn,
    /// How windows are bounded. `None`: the best way that the kernel offers.
    pub window: Option<WindowKind>,
    /// How much the peer of a connection that fell back to plain TCP may have in flight. `None`: as the kernels like.
    pub fallback_window: Option<Bytes>,
    /// How links are watched and asked while no connection shows whether they live; `None`: not at all.
    pub probing: Option<Probing>,
    /// Where the engine's inputs and actions are recorded. `None`: nowhere.
    pub record: Option<record::Recording>,
    /// Where every change is written down before it is made. `None` in a namespace that is thrown away.
    pub journal: Option<PathBuf>,
}

/// See [`Setup::probing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probing {
    /// Below it are the files that say who resolves names: `/` on a host.
    pub root: PathBuf,
    /// How it is found out whether a link leads to the Internet; `None`: it is not.
    pub check: Option<crate::portal::Check>,
}

/// How servers are told of signals: see [`crate::cla::Teller`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalReports {
    /// The secret that this host shares with them.
    pub key: wire::mobility::Key,
    /// The port on which they listen.
    pub port: u16,
}

/// See [`Setup::associate`].
pub type AssociateFn = Box<dyn FnMut(Association) + Send>;
/// See [`Setup::observe`].
pub type ObserveFn = Box<dyn FnMut(Instant, Observation<'_>) + Send>;

/// What the engine asks of whoever associates with access points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Association {
    /// Associate, and get an address.
    Join(LinkId),
    /// Leave.
    Leave(LinkId),
}

/// A link that the world declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLink {
    /// Its number.
    pub id: LinkId,
    /// The name of its interface, which need not exist yet. With `*` or `?` in it: every interface whose name fits and that no
    /// other link declares becomes a link of its own, with a number beyond all declared ones and the interface's name.
    pub interface: String,
    /// What it is.
    pub spec: LinkSpec,
    /// Its next hop. `None`: that of the default route which somebody else (a DHCP client) sets over it in the main table; where
    /// there is none, the link leads nowhere and is left alone.
    pub gateway: Option<IpAddr>,
    /// What its use costs.
    pub tariff: Tariff,
}

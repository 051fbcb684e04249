//! What a daemon is started with.

use crate::bpf::WindowKind;
use crate::daemon::api::inlet::Inlet;
use crate::daemon::api::observe::Observation;
use crate::daemon::api::sender::Sender;
use policy::{LinkId, LinkSpec, Tariff};
use std::net::IpAddr;
use std::path::PathBuf;
use units::{Bytes, Instant};

/// What to drive, over what.
pub struct Setup {
    /// The engine.
    pub engine: policy::Config,
    /// Links that the world declares.
    pub links: Vec<DeclaredLink>,
    /// Zero of the engine's time, in nanoseconds of CLOCK_MONOTONIC: see [`monotonic_ns`](crate::daemon::monotonic_ns).
    pub epoch_ns: u64,
    /// Where other threads put further facts and questions: see [`inlet`](crate::daemon::inlet()).
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

//! The setup with which a daemon is started.

use crate::bpf::WindowKind;
use crate::daemon::api::inlet::Inlet;
use crate::daemon::api::networks::NetworksSetup;
use crate::daemon::api::observe::Observation;
use crate::daemon::api::sender::Sender;
use crate::rtnl::IfName;
use policy::flow::FlowId;
use policy::slot::Slot;
use policy::{LinkId, LinkSpec, Tariff};
use std::net::IpAddr;
use std::path::PathBuf;
use units::{Bytes, Instant, MacAddr};

/// What to drive, and over which links.
pub struct Setup {
    /// The engine.
    pub engine: policy::Config,
    /// Declared links.
    pub links: Vec<DeclaredLink>,
    /// Zero of the engine's time, in nanoseconds of CLOCK_MONOTONIC: see
    /// [`monotonic_ns`](crate::daemon::monotonic_ns).
    pub epoch_ns: u64,
    /// Where other threads send further facts and report requests: see [`inlet`](crate::daemon::inlet()).
    pub inlet: Inlet,
    /// The congestion controller of new connections while the daemon runs. `None`: the kernel's own choice.
    pub sender: Option<Sender>,
    /// Reports of signal trends to servers. `None`: none are sent.
    pub reports: Option<SignalReports>,
    /// Joins and leaves access points. `None`: another program does, such as NetworkManager, and requests of
    /// the engine are refused.
    pub associate: Option<Associates>,
    /// Receives the engine's links for flows that the caller has reported. `None`: only `networks` has such
    /// flows.
    pub assign: Option<AssignFn>,
    /// Called for everything worth recording. Runs on the loop's thread and must not block.
    pub observe: ObserveFn,
    /// How windows are limited. `None`: the best way that the kernel offers.
    pub window: Option<WindowKind>,
    /// The most that the peer of a connection that fell back to plain TCP may have in flight. `None`: no
    /// limit.
    pub fallback_window: Option<Bytes>,
    /// How links are watched and probed while no connection shows whether they are alive. `None`: not at all.
    pub probing: Option<Probing>,
    /// Networks for flows that cannot use several links. `None`: they follow the user's routes.
    pub networks: Option<NetworksSetup>,
    /// Whether to create a monitor interface on each radio that has none. `None`: on radios on which slowhand
    /// joins access points, if the driver makes it in software.
    pub monitor: Option<bool>,
    /// Whether inputs of the engine, and a recording of them, have the addresses of other people's stations.
    /// Otherwise they have random ones.
    pub plain: bool,
    /// Where the engine's inputs and actions are recorded. `None`: nowhere.
    pub record: Option<record::Recording>,
    /// Where every change is recorded before it is made. `None` for a temporary namespace.
    pub journal: Option<PathBuf>,
}

/// See [`Setup::probing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probing {
    /// The root of the files that name the resolvers: `/` on a host.
    pub root: PathBuf,
    /// How to check whether a link leads to the Internet. `None`: not at all.
    pub check: Option<crate::portal::Check>,
}

/// How signal trends are reported to servers: see [`crate::cla::Teller`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalReports {
    /// The secret that this host shares with them.
    pub key: wire::mobility::Key,
    /// The port on which they listen.
    pub port: u16,
}

/// What joins and leaves access points.
pub struct Associates {
    /// Carries out a request. `false`: it does not know the link, and the request is refused. Runs on the
    /// loop's thread and must not block. It is dropped before the daemon undoes what is on record.
    pub carry_out: AssociateFn,
    /// Divides a radio's time among the access points that it serves. `None`: nothing here can. Runs on the
    /// loop's thread and must not block.
    pub take_turns: Option<TurnsFn>,
    /// Takes the links over which names may be resolved ([`policy::Engine::leading_out`]), each time when
    /// they have changed. `None`: nobody wants them. Runs on the loop's thread and must not block.
    pub lead_out: Option<LeadOutFn>,
    /// Takes the address of an access point that begins to send beacons, as a monitor interface hears it.
    /// `None`: nobody wants them. Runs on the loop's thread and must not block.
    pub newcomer: Option<NewcomerFn>,
    /// Interfaces that it may create, put on record at the start.
    pub interfaces: Vec<IfName>,
}

/// See [`Associates::carry_out`].
pub type AssociateFn = Box<dyn FnMut(Association) -> bool + Send>;
/// See [`Associates::lead_out`].
pub type LeadOutFn = Box<dyn FnMut(&[LinkId]) + Send>;
/// See [`Associates::newcomer`].
pub type NewcomerFn = Box<dyn FnMut(MacAddr) + Send>;
/// See [`Associates::take_turns`].
pub type TurnsFn = Box<dyn FnMut(&[Slot]) + Send>;
/// See [`Setup::assign`]. `false`: the flow is not the caller's, but may be one of `networks`. The two must
/// not use the same numbers. Runs on the loop's thread and must not block.
pub type AssignFn = Box<dyn FnMut(FlowId, Assignment) -> bool + Send>;
/// See [`Setup::observe`].
pub type ObserveFn = Box<dyn FnMut(Instant, Observation<'_>) + Send>;

/// A request to the program that associates with access points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Association {
    /// Associate, and get an address.
    Join(LinkId),
    /// Leave.
    Leave(LinkId),
}

/// What the engine answers about a flow that cannot use several links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assignment {
    /// It belongs on this link.
    To(LinkId),
    /// It waits for a link.
    Held,
    /// Its connection must end.
    Ended,
}

/// A declared link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLink {
    /// Its number.
    pub id: LinkId,
    /// The name of its interface, which need not exist yet. With `*` or `?` in it, every matching interface
    /// that no other link declares becomes a link. Its number is above all declared ones, and its name is the
    /// interface's.
    pub interface: String,
    /// What it is.
    pub spec: LinkSpec,
    /// Its next hop. `None`: that of the default route which another program (a DHCP client) sets over it in
    /// the main table. If there is none, the link leads nowhere and is left alone.
    pub gateway: Option<IpAddr>,
    /// What its use costs.
    pub tariff: Tariff,
}

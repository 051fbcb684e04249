//! The plan: what a scenario file says, with a unit on every number and every name resolved.

mod air;
mod expect;
mod families;
mod fault;
mod group;
mod link;
mod place;
mod radio;
mod relay;
mod tcp;
mod traffic;
mod walk;
mod wifi;

pub use air::{Rules, Thresholds};
pub use expect::{Condition, Expectation, Times};
pub use families::{Families, ServerFamilies};
pub use fault::{Change, Fault, Repeat, Target, Window};
pub use group::{Members, Nearest, Scatter};
pub use link::{
    Aqm, Bottleneck, Cable, Cell, Hole, Holes, LaneRate, Link, LinkKind, Queue, QueueLimit, RadioStates,
    Repeats, Subnet, Wire,
};
pub use place::{Label, Noise, Place, Point, Wall};
pub use radio::{Division, SingleRadio};
pub use relay::Relay;
pub use tcp::{Growth, Rto, Scheduler, Syns, Tcp};
pub use traffic::{Flow, OnOff, Pace, Skip, Transport, Video, Way, Work};
pub use units::wifi::Standard;
pub use walk::{Walker, WalkerRate, Waypoint};
pub use wifi::{
    AccessPoint, Backhaul, ErrorModel, Fading, Ht, Join, Loss, Propagation, RateControl, Shadowing, Turn,
};

use crate::mahimahi::RateTrace;
use crate::spot::Spots;
use trace::{PolicyName, Shown};
use units::Duration;

/// What should happen: everything a world needs to play a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The scenario's name: the file's, unless it gives another.
    pub name: String,
    /// What it shows, in a sentence.
    pub sentence: String,
    /// How long it lasts.
    pub duration: Duration,
    /// How much of that, at the start, counts in no figure.
    pub warmup: Duration,
    /// The seed, unless the user gives another.
    pub seed: u64,
    /// The sender's congestion controller, as `net.ipv4.tcp_congestion_control` names it.
    pub cc: String,
    /// TCP and MPTCP of all hosts.
    pub tcp: Tcp,
    /// What runs on the server.
    pub server: Server,
    /// The relay in front of the server, if there is one.
    pub relay: Option<Relay>,
    /// How many additional subflows the server, or the relay, takes (`ip mptcp limits`).
    pub server_subflows: u8,
    /// The versions of IP in which clients reach it.
    pub server_families: ServerFamilies,
    /// How finely the air is modelled.
    pub medium: Medium,
    /// What holds for everybody on the air.
    pub rules: Rules,
    /// Walls and words on the floor plan, and what disturbs there.
    pub place: Place,
    /// The links in the order of the file; every index of a link is one in this list.
    pub links: Vec<Link>,
    /// Frames that get lost on the air whatever the signal.
    pub losses: Vec<Loss>,
    /// Queues that several cables share.
    pub bottlenecks: Vec<Bottleneck>,
    /// Who walks; the first one is the client.
    pub walkers: Vec<Walker>,
    /// What the applications move.
    pub flows: Vec<Flow>,
    /// What breaks, in the order of the file. [`Plan::timeline`] has it in the order of time.
    pub faults: Vec<Fault>,
    /// The policies that a comparison runs; empty: all of them.
    pub policies: Vec<PolicyName>,
    /// What must hold.
    pub expectations: Vec<Expectation>,
    /// Members of groups that the seed places.
    pub scatters: Vec<Scatter>,
    /// Flows over the nearest access point of a group.
    pub nearest: Vec<Nearest>,
    /// Where the file says so.
    pub spots: Spots,
}

/// What runs on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Server {
    /// The stock kernel with its default settings.
    #[default]
    Stock,
    /// slowhand, at that end too.
    Slowhand,
    /// A kernel without MPTCP: every connection to it is plain TCP.
    Legacy,
}

/// How finely the air is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    /// By the rules of 802.11: in virtual time every frame, in the lab one exchange after the other.
    #[default]
    Dcf,
    /// Every frame, in the lab too.
    Exact,
    /// One weighted fair queue (nsdi15 §6.2.1).
    Wfq,
}

impl Server {
    /// The word that files and results use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Slowhand => "slowhand",
            Self::Legacy => "legacy",
        }
    }
}

impl Plan {
    /// Whether anything in it uses IPv6.
    pub fn uses_v6(&self) -> bool {
        self.server_families.all().has_v6() || self.links.iter().any(|link| link.families.has_v6())
    }

    /// The index of the link with that name.
    pub fn link_index(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// The link with that name.
    pub fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The client.
    pub fn client(&self) -> &Walker {
        &self.walkers[0]
    }

    /// Whether any flow has a congestion controller.
    pub fn sends_by_tcp(&self) -> bool {
        let is_tcp = |flow: &Flow| !matches!(flow.transport, Transport::Udp { .. });
        self.flows.iter().any(is_tcp)
    }

    /// The rate traces of its cells, each with the link's name.
    pub fn rate_traces(&self) -> impl Iterator<Item = (&str, &RateTrace)> {
        let lanes = self.links.iter().filter_map(|link| match &link.kind {
            LinkKind::Cell(cell) => Some([&cell.up, &cell.down].map(|lane| (link.name.as_str(), lane))),
            LinkKind::Wifi(_) | LinkKind::Cable(_) => None,
        });
        lanes.flatten().filter_map(|(link, lane)| match lane {
            LaneRate::Trace(trace) => Some((link, trace)),
            LaneRate::Constant(_) => None,
        })
    }

    /// What is most likely not meant, a sentence each.
    pub fn doubts(&self) -> impl Iterator<Item = String> {
        self.rate_traces().filter_map(|(link, trace)| {
            let path = Shown(trace.path());
            Some(format!("{link}: {path}: {}", trace.doubt()?))
        })
    }

    /// The access points, each with its index among the links.
    pub fn access_points(&self) -> impl Iterator<Item = (usize, &AccessPoint)> {
        self.links
            .iter()
            .enumerate()
            .filter_map(|(index, link)| match &link.kind {
                LinkKind::Wifi(ap) => Some((index, ap)),
                LinkKind::Cell(_) | LinkKind::Cable(_) => None,
            })
    }
}

//! Networks for flows that cannot use several links: setup, report, errors.

use super::inlet::AskError;
use crate::conntrack::{EventError, ForgetError};
use crate::journal::SetSysctlError;
use crate::netlink::OpenError;
use crate::nft::TableError;
use crate::rtnl::{AddAddressError, IfName, LinkError, ListError, Prefix};
use crate::tun::CreateError;
use policy::LinkId;
use policy::flow::FlowId;
use policy::reason::Assigned;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;
use units::Instant;

/// The most rules that the mark of a flow can tell apart.
pub const MOST_RULES: usize = 255;

/// The largest share of a link.
pub const MOST_SHARE: u16 = 100;

const ACTIVE: &str = "active";
const SPREAD: &str = "spread";

/// Which interface programs see, and which flows have a network of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworksSetup {
    /// The name of the interface that programs see.
    pub interface: IfName,
    /// Its address, which no network of a link may contain.
    pub address: Ipv4Addr,
    /// The networks of certain flows. The first rule that matches applies.
    pub rules: Vec<FlowRule>,
    /// Where names are resolved over the network of each query. `None`: nowhere.
    pub names: Option<NamesSetup>,
}

/// One address for the resolvers of all links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamesSetup {
    /// The address, which no network of a link may contain.
    pub address: Ipv4Addr,
    /// The root of the files that name the resolvers: `/` on a host.
    pub root: PathBuf,
}

/// The network of certain flows. All selectors that are set must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRule {
    /// Flows of this user.
    pub user: Option<u32>,
    /// Flows to these addresses.
    pub to: Option<Prefix>,
    /// Flows to this port.
    pub port: Option<u16>,
    /// Flows of sockets with this mark (`SO_MARK`).
    pub mark: Option<u32>,
    /// Flows of sockets that were made in this cgroup or below it. Its path from the root of cgroup v2,
    /// without a slash at either end.
    pub cgroup: Option<String>,
    /// What carries them.
    pub network: Target,
    /// Whether they wait while their link cannot carry them. If not, they begin as all others then. Only for
    /// [`Target::Link`].
    pub holds: bool,
}

/// What carries the flows of a rule. A link is named by its own name or by its interface's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This link while it can.
    Link(String),
    /// The link on which new connections begin.
    Active,
    /// All links that can. Flows to one server use the same link.
    Spread,
    /// These links while they can, in proportion to their shares.
    Shares(Vec<(String, u16)>),
}

impl Target {
    /// The links that it names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let shares: &[_] = match self {
            Self::Shares(shares) => shares,
            Self::Link(_) | Self::Active | Self::Spread => &[],
        };
        let shared = shares.iter().map(|(name, _)| name.as_str());
        self.link().into_iter().chain(shared)
    }

    /// The link, if there is only one.
    pub fn link(&self) -> Option<&str> {
        match self {
            Self::Link(name) => Some(name),
            Self::Active | Self::Spread | Self::Shares(_) => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(name) => f.write_str(name),
            Self::Active => f.write_str(ACTIVE),
            Self::Spread => f.write_str(SPREAD),
            Self::Shares(shares) => {
                let shares = shares.iter().map(|(name, share)| format!("{name}={share}"));
                f.write_str(&Vec::from_iter(shares).join(","))
            }
        }
    }
}

/// Why a text names nothing that could carry flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "name a link, such as phone, or give `active`, `spread`, or a share from 0 to {MOST_SHARE} for each of some links, \
     such as wlan0=9,phone=1, with one above 0"
)]
pub struct NoTarget;

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        match text {
            "" => Err(NoTarget),
            ACTIVE => Ok(Self::Active),
            SPREAD => Ok(Self::Spread),
            name if !name.contains('=') => Ok(Self::Link(name.to_owned())),
            shares => Self::shares(shares.split(',').map(|part| {
                let (name, share) = part.rsplit_once('=')?;
                Some((name.trim().to_owned(), share.trim().parse().ok()?))
            })),
        }
    }
}

impl Target {
    /// Shares of links. Each is named once, and one share is above 0.
    ///
    /// # Errors
    /// If a share is none, or they cannot be in force together.
    pub fn shares(of: impl IntoIterator<Item = Option<(String, u16)>>) -> Result<Self, NoTarget> {
        let shares = Option::<Vec<_>>::from_iter(of).ok_or(NoTarget)?;
        let names = BTreeSet::from_iter(shares.iter().map(|(name, _)| name));
        let are_right = shares
            .iter()
            .all(|(name, share)| !name.is_empty() && *share <= MOST_SHARE)
            && names.len() == shares.len()
            && shares.iter().any(|(_, share)| *share > 0);
        are_right.then_some(Self::Shares(shares)).ok_or(NoTarget)
    }
}

impl FlowRule {
    /// Whether it selects the same flows as another rule.
    pub(crate) fn matches_as(&self, other: &Self) -> bool {
        let of = |rule: &Self| (rule.user, rule.to, rule.port, rule.mark, rule.cgroup.clone());
        of(self) == of(other)
    }
}

/// A change that the user makes while the daemon runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworksChange {
    /// Adds a rule after all others.
    Add(FlowRule),
    /// Lets the sockets with the mark of a wish ([`wish`](crate::daemon::wish)) use this network.
    Wish(String),
    /// Removes the rule with this number.
    Remove(u8),
    /// Shares new flows that match no rule among these links, in proportion. Empty: they begin where new
    /// connections do.
    Weights(Vec<(String, u16)>),
    /// Moves a flow to this link.
    Move {
        /// The flow.
        flow: FlowId,
        /// The link.
        to: String,
    },
    /// Moves all flows of a link.
    MoveAll {
        /// The link that they leave.
        from: String,
        /// The link that they use from then on.
        to: String,
    },
}

/// Networks of flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworksReport {
    /// The interface that programs see.
    pub interface: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The links on which new flows begin that no rule names. Without one they wait.
    pub begins: Vec<LinkId>,
    /// The rules with their numbers, and the links on which new flows of each begin. Without one they wait.
    pub rules: Vec<(u8, FlowRule, Vec<LinkId>)>,
    /// The shares of links in new flows that match no rule. Empty: they begin on one link.
    pub weights: Vec<(String, u16)>,
    /// The address at which programs reach the resolvers of all links.
    pub dns: Option<Ipv4Addr>,
    /// The resolvers of links, as far as they are known.
    pub resolvers: Vec<(LinkId, Ipv4Addr)>,
    /// The open flows.
    pub flows: Vec<FlowReport>,
}

/// A flow that one link carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowReport {
    /// Its number, which it keeps when it moves.
    pub id: FlowId,
    /// Its link. `None`: it waits for one.
    pub link: Option<LinkId>,
    /// Since when it has this link.
    pub since: Instant,
    /// Why it has this link. `None` until the engine has said.
    pub why: Option<Assigned>,
    /// Where it comes from.
    pub local: Option<SocketAddr>,
    /// Where it goes.
    pub remote: Option<SocketAddr>,
    /// The number of the rule that it follows, if any.
    pub rule: Option<u8>,
}

/// Why networks for flows could not be set up.
#[derive(Debug, Error)]
pub enum NetworksError {
    /// The interface could not be made.
    #[error(transparent)]
    Device(#[from] CreateError),
    /// It has no place in the kernel.
    #[error("interface {0} vanished while it was set up")]
    Gone(IfName),
    /// Interfaces could not be listed.
    #[error(transparent)]
    List(#[from] ListError),
    /// It could not be set up.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It could not get its address.
    #[error(transparent)]
    Address(#[from] AddAddressError),
    /// Another interface is on that network.
    #[error(
        "[networks] {key} {address} is on the network {network} of another interface; choose another address"
    )]
    Taken {
        /// The key of the address.
        key: &'static str,
        /// The address.
        address: Ipv4Addr,
        /// The network.
        network: Prefix,
    },
    /// nftables refused.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Connection tracking could not be opened.
    #[error(transparent)]
    Conntrack(#[from] OpenError),
    /// Its events could not be heard.
    #[error(transparent)]
    Events(#[from] EventError),
    /// The kernel does not count packets of flows.
    #[error(transparent)]
    Counting(#[from] SetSysctlError),
    /// Marks of an earlier run are left.
    #[error(transparent)]
    Forget(#[from] ForgetError),
}

/// Why an action for a flow was not carried out.
#[derive(Debug, Error)]
pub enum FlowError {
    /// The kernel did not forget it.
    #[error(transparent)]
    Forget(#[from] ForgetError),
    /// The choice for new flows was not changed.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Why a change of the user was not made.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// There are no networks for flows.
    #[error(
        "the daemon runs without [networks]; add that table to its configuration and run `slowhand reload`"
    )]
    Off,
    /// No link has this name.
    #[error("there is no link `{name}`; the links are: {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// The link cannot carry flows at the moment.
    #[error(
        "link `{0}` cannot carry flows now: it has no way over IPv4, or nothing gets through; see `slowhand why`"
    )]
    Gone(String),
    /// No flow has this number.
    #[error("there is no flow {0}; `slowhand networks list` shows the open ones")]
    NoFlow(u64),
    /// No rule has this number.
    #[error("there is no rule {0}; `slowhand networks list` shows them")]
    NoRule(u8),
    /// There is no such cgroup.
    #[error(
        "there is no cgroup `{0}`; `systemd-cgls` shows those that exist, such as system.slice/NAME.service"
    )]
    NoCgroup(String),
    /// Another rule selects the same flows.
    #[error(
        "rule {number} gives the same flows to {network}; remove it first with `slowhand networks remove {number}`"
    )]
    Contradicts {
        /// The number of that rule.
        number: u8,
        /// Its network.
        network: Target,
    },
    /// There are too many rules.
    #[error("rules and open flows have all {0} numbers; remove rules that are not needed")]
    TooMany(usize),
    /// A link is named by its own name and by that of its interface.
    #[error("`{0}` has two shares; give each link once")]
    Twice(String),
    /// All shares are zero.
    #[error("all shares are 0; give one link more, or remove them with --none")]
    NoWeight,
    /// The daemon did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
}

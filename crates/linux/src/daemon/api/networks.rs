//! Networks for flows that cannot use several links: setup, report, errors.

use crate::conntrack::{EventError, ForgetError};
use crate::journal::SetSysctlError;
use crate::netlink::OpenError;
use crate::nft::TableError;
use crate::rtnl::{AddAddressError, IfName, LinkError, ListError, Prefix};
use crate::tun::CreateError;
use policy::LinkId;
use policy::flow::FlowId;
use policy::reason::Assigned;
use std::net::{Ipv4Addr, SocketAddr};
use thiserror::Error;
use units::Instant;

/// The most rules that the mark of a flow can tell apart.
pub const MOST_RULES: usize = 255;

/// Which interface programs see, and which flows have a network of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworksSetup {
    /// The name of the interface that programs see.
    pub interface: IfName,
    /// Its address, which no network of a link may contain.
    pub address: Ipv4Addr,
    /// The networks of certain flows. The first rule that matches applies.
    pub rules: Vec<FlowRule>,
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
    /// The link that carries them while it can: its name, or its interface's.
    pub network: String,
}

/// Networks of flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworksReport {
    /// The interface that programs see.
    pub interface: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The link on which new flows begin that no rule names. `None`: they wait.
    pub begins: Option<LinkId>,
    /// The rules, and the link on which new flows of each begin.
    pub rules: Vec<(FlowRule, Option<LinkId>)>,
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
    /// The position of the rule that it follows, if any.
    pub rule: Option<usize>,
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
        "[networks] address {address} is on the network {network} of another interface; choose another address"
    )]
    Taken {
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

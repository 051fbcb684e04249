//! rtnetlink errors, one enum per operation.

use super::{Address, IfName, Prefix, Route, Rule, Table};
use crate::netlink::{OpenError, ReceiveError, RequestError};
use thiserror::Error;

/// Why a list could not be read.
#[derive(Debug, Error)]
#[error("reading links, addresses, routes or rules")]
pub struct ListError(#[source] pub RequestError);

/// Why a link could not be changed.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The link no longer exists.
    #[error("link {ifindex} is gone; wait until it appears again")]
    Gone {
        /// The link.
        ifindex: u32,
    },
    /// Permission denied.
    #[error("changing link {ifindex} needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The link.
        ifindex: u32,
    },
    /// Anything else.
    #[error("changing link {ifindex}: {source}")]
    Kernel {
        /// The link.
        ifindex: u32,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl LinkError {
    pub(super) fn new(ifindex: u32, source: RequestError) -> Self {
        match source.errno() {
            Some(libc::ENODEV) => Self::Gone { ifindex },
            Some(libc::EPERM) => Self::NotPermitted { ifindex },
            _ => Self::Kernel { ifindex, source },
        }
    }
}

/// Why a virtual link could not be created.
#[derive(Debug, Error)]
pub enum NewLinkError {
    /// A link of this name exists.
    #[error("there is a link `{name}` already; choose another name")]
    Exists {
        /// The requested name.
        name: IfName,
    },
    /// Permission denied.
    #[error("creating link `{name}` needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The name.
        name: IfName,
    },
    /// The kernel does not support this link type.
    #[error("this kernel cannot make link `{name}`: the driver of its kind is missing")]
    Unsupported {
        /// The name.
        name: IfName,
    },
    /// Anything else.
    #[error("creating link `{name}`: {source}")]
    Kernel {
        /// The name.
        name: IfName,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl NewLinkError {
    pub(super) fn new(name: IfName, source: RequestError) -> Self {
        match source.errno() {
            Some(libc::EEXIST) => Self::Exists { name },
            Some(libc::EPERM) => Self::NotPermitted { name },
            Some(libc::EOPNOTSUPP) => Self::Unsupported { name },
            _ => Self::Kernel { name, source },
        }
    }
}

/// Why an address could not be added.
#[derive(Debug, Error)]
pub enum AddAddressError {
    /// The link already has this address.
    #[error("link {ifindex} has {prefix} already")]
    Exists {
        /// The link.
        ifindex: u32,
        /// The address.
        prefix: Prefix,
    },
    /// The link no longer exists.
    #[error("link {ifindex} is gone; wait until it appears again")]
    LinkGone {
        /// The link.
        ifindex: u32,
    },
    /// Permission denied.
    #[error("adding {prefix} needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The address.
        prefix: Prefix,
    },
    /// Anything else.
    #[error("adding {prefix} to link {ifindex}: {source}")]
    Kernel {
        /// The link.
        ifindex: u32,
        /// The address.
        prefix: Prefix,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl AddAddressError {
    pub(super) fn new(address: &Address, source: RequestError) -> Self {
        let &Address { ifindex, prefix, .. } = address;
        match source.errno() {
            Some(libc::EEXIST) => Self::Exists { ifindex, prefix },
            Some(libc::ENODEV) => Self::LinkGone { ifindex },
            Some(libc::EPERM) => Self::NotPermitted { prefix },
            _ => Self::Kernel {
                ifindex,
                prefix,
                source,
            },
        }
    }
}

/// Why an address could not be removed.
#[derive(Debug, Error)]
pub enum DelAddressError {
    /// The link does not have the address, or no longer exists.
    #[error("link {ifindex} has no {prefix}; nothing to remove")]
    Absent {
        /// The link.
        ifindex: u32,
        /// The address.
        prefix: Prefix,
    },
    /// Permission denied.
    #[error("removing {prefix} needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The address.
        prefix: Prefix,
    },
    /// Anything else.
    #[error("removing {prefix} from link {ifindex}: {source}")]
    Kernel {
        /// The link.
        ifindex: u32,
        /// The address.
        prefix: Prefix,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl DelAddressError {
    pub(super) fn new(address: &Address, source: RequestError) -> Self {
        let &Address { ifindex, prefix, .. } = address;
        match source.errno() {
            Some(libc::EADDRNOTAVAIL | libc::ENODEV) => Self::Absent { ifindex, prefix },
            Some(libc::EPERM) => Self::NotPermitted { prefix },
            _ => Self::Kernel {
                ifindex,
                prefix,
                source,
            },
        }
    }
}

/// Why a route could not be added.
#[derive(Debug, Error)]
pub enum AddRouteError {
    /// A route with the same destination and metric exists.
    #[error(
        "table {table} has a route to {dst} with this metric already; choose another metric or replace it"
    )]
    Exists {
        /// The table.
        table: Table,
        /// The destination.
        dst: Prefix,
    },
    /// The gateway is not a neighbour on the link.
    #[error("the gateway to {dst} is not reachable over the link; add the connected route first")]
    GatewayUnreachable {
        /// The destination.
        dst: Prefix,
    },
    /// The link is down.
    #[error("the link to {dst} is down; take it up first")]
    LinkDown {
        /// The destination.
        dst: Prefix,
    },
    /// The link no longer exists.
    #[error("the link to {dst} is gone; wait until it appears again")]
    LinkGone {
        /// The destination.
        dst: Prefix,
    },
    /// Permission denied.
    #[error("adding a route to {dst} needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The destination.
        dst: Prefix,
    },
    /// Anything else.
    #[error("adding a route to {dst} in table {table}: {source}")]
    Kernel {
        /// The table.
        table: Table,
        /// The destination.
        dst: Prefix,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl AddRouteError {
    pub(super) fn new(route: &Route, source: RequestError) -> Self {
        let &Route { table, dst, .. } = route;
        match source.errno() {
            Some(libc::EEXIST) => Self::Exists { table, dst },
            // IPv4 returns ENETUNREACH, IPv6 EHOSTUNREACH or EINVAL with a text.
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => Self::GatewayUnreachable { dst },
            Some(libc::ENETDOWN) => Self::LinkDown { dst },
            Some(libc::ENODEV) => Self::LinkGone { dst },
            Some(libc::EPERM) => Self::NotPermitted { dst },
            _ => Self::Kernel { table, dst, source },
        }
    }
}

/// Why a route could not be removed.
#[derive(Debug, Error)]
pub enum DelRouteError {
    /// No such route exists.
    #[error("table {table} has no such route to {dst}; nothing to remove")]
    Absent {
        /// The table.
        table: Table,
        /// The destination.
        dst: Prefix,
    },
    /// Permission denied.
    #[error("removing a route to {dst} needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The destination.
        dst: Prefix,
    },
    /// Anything else.
    #[error("removing a route to {dst} from table {table}: {source}")]
    Kernel {
        /// The table.
        table: Table,
        /// The destination.
        dst: Prefix,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl DelRouteError {
    pub(super) fn new(route: &Route, source: RequestError) -> Self {
        let &Route { table, dst, .. } = route;
        match source.errno() {
            // ENOENT: the kernel removed the table with its last route.
            Some(libc::ESRCH | libc::ENOENT | libc::ENODEV) => Self::Absent { table, dst },
            Some(libc::EPERM) => Self::NotPermitted { dst },
            _ => Self::Kernel { table, dst, source },
        }
    }
}

/// Why a rule could not be added.
#[derive(Debug, Error)]
pub enum AddRuleError {
    /// The rule already exists.
    #[error("the rule `{rule}` is there already")]
    Exists {
        /// The rule.
        rule: Box<Rule>,
    },
    /// Permission denied.
    #[error("adding the rule `{rule}` needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The rule.
        rule: Box<Rule>,
    },
    /// The kernel has no policy routing.
    #[error(
        "this kernel has no policy routing; it needs CONFIG_IP_MULTIPLE_TABLES and CONFIG_IPV6_MULTIPLE_TABLES"
    )]
    Unsupported,
    /// Anything else.
    #[error("adding the rule `{rule}`: {source}")]
    Kernel {
        /// The rule.
        rule: Box<Rule>,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl AddRuleError {
    pub(super) fn new(rule: &Rule, source: RequestError) -> Self {
        let rule = Box::new(*rule);
        match source.errno() {
            Some(libc::EEXIST) => Self::Exists { rule },
            Some(libc::EPERM) => Self::NotPermitted { rule },
            Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP) => Self::Unsupported,
            _ => Self::Kernel { rule, source },
        }
    }
}

/// Why a rule could not be removed.
#[derive(Debug, Error)]
pub enum DelRuleError {
    /// No such rule exists.
    #[error("there is no rule `{rule}`; nothing to remove")]
    Absent {
        /// The rule.
        rule: Box<Rule>,
    },
    /// Permission denied.
    #[error("removing the rule `{rule}` needs CAP_NET_ADMIN: run as root")]
    NotPermitted {
        /// The rule.
        rule: Box<Rule>,
    },
    /// Anything else.
    #[error("removing the rule `{rule}`: {source}")]
    Kernel {
        /// The rule.
        rule: Box<Rule>,
        /// The kernel's answer.
        source: RequestError,
    },
}

impl DelRuleError {
    pub(super) fn new(rule: &Rule, source: RequestError) -> Self {
        let rule = Box::new(*rule);
        match source.errno() {
            Some(libc::ENOENT) => Self::Absent { rule },
            Some(libc::EPERM) => Self::NotPermitted { rule },
            _ => Self::Kernel { rule, source },
        }
    }
}

/// Why watching failed.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The socket could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The kernel refused a multicast group.
    #[error("subscribing to link, address and route events")]
    Subscribe(#[source] std::io::Error),
    /// The state could not be read.
    #[error(transparent)]
    List(#[from] ListError),
    /// The event socket failed.
    #[error(transparent)]
    Receive(ReceiveError),
}

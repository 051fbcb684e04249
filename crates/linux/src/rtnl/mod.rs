//! rtnetlink: lists, changes and monitors links, addresses, routes and rules.
//!
//! - [`Rtnl`] sends single requests.
//! - [`Watch`] keeps a [`View`] of the namespace up to date and reports changes. It also reports IPv4 routes
//!   that vanish with their link, which the kernel does not announce, and changes whose events overran the
//!   socket.
//!
//! # Sources
//! - `rtnetlink(7)`; `include/uapi/linux/{rtnetlink,if_link,if_addr,fib_rules}.h` (Linux 6.18).
//!
//! # Checked by
//! `tests`: encoders against their own parsers and against the output of `ip`, IPv4 and IPv6. Monitoring is
//! checked against changes made by `ip`.

mod address;
mod error;
mod link;
mod metrics;
mod name;
mod prefix;
mod route;
mod rule;
#[cfg(test)]
mod tests;
mod watch;

pub use address::{Address, AddressFlags};
pub use error::{
    AddAddressError, AddRouteError, AddRuleError, DelAddressError, DelRouteError, DelRuleError, LinkError,
    ListError, NewLinkError, WatchError,
};
pub use link::{Link, OperState, VethPeer};
pub use metrics::Metrics;
pub use name::{IfName, IfNameError};
pub use prefix::{Prefix, PrefixError};
pub use route::{Protocol, Route, RouteKind, Table};
pub use rule::{Mark, Rule, RuleAction};
pub use watch::{Event, View, Watch};

use crate::netlink::{self, Builder, Socket};

/// A handle to the rtnetlink of the namespace in which it was opened.
#[derive(Debug)]
pub struct Rtnl {
    socket: Socket,
    request: Builder,
}

impl Rtnl {
    /// Opens a handle for the calling thread's namespace.
    pub fn open() -> Result<Self, netlink::OpenError> {
        Ok(Self {
            socket: Socket::open(netlink::Protocol::Route)?,
            request: Builder::new(),
        })
    }
}

const NLM_F_REPLACE: u16 = 0x100;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;

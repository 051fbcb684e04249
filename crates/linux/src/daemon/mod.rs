//! The driver of one [`policy::Engine`] over the calling thread's network namespace.

mod address_ids;
mod clock;
mod eventfd;
mod flows;
mod inlet;
mod links;
mod observe;
mod pace;
mod pattern;
mod poller;
mod report;

pub use clock::monotonic_ns;
pub use flows::LeftAlone;
pub use inlet::{AskError, Ended, Inlet, InletSender, Stopper, inlet};
pub use observe::Observation;
pub use report::{ConnReport, LeverReport, LinkReport, Report, SubflowReport};

use policy::{LinkId, LinkSpec};
use std::net::IpAddr;
use std::time::Duration;

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
    /// Its next hop. `None`: that of the default route which somebody else (a DHCP client) sets over it in the main table; where there is
    /// none, peers are on the link itself.
    pub gateway: Option<IpAddr>,
}

//! Why hosts could not be built.

use crate::tun;
use linux::netns::{self, Netns};
use linux::sysctl::SysctlError;
use linux::{mptcp_pm, netlink, rtnl};
use std::io;
use thiserror::Error;

/// Why the hosts of a lab could not be built. Everything that was built has been removed.
#[derive(Debug, Error)]
pub enum BuildError {
    /// No namespace.
    #[error(transparent)]
    Namespace(#[from] netns::CreateError),
    /// No thread in it.
    #[error(transparent)]
    Enter(#[from] netns::EnterError),
    /// No device.
    #[error(transparent)]
    Device(#[from] tun::CreateError),
    /// The kernel created a device and then could not find it.
    #[error(
        "the interface {0} vanished while it was being set up; is something else managing new interfaces?"
    )]
    Vanished(String),
    /// Not a name that an interface may have.
    #[error(transparent)]
    Name(#[from] rtnl::IfNameError),
    /// The carrier could not be cleared.
    #[error("this kernel's TUN devices lack TUNSETCARRIER; the lab needs Linux 5.0 or later")]
    Carrier(#[source] io::Error),
    /// A setting.
    #[error(transparent)]
    Setting(#[from] SysctlError),
    /// No rtnetlink or generic netlink.
    #[error(transparent)]
    Netlink(#[from] netlink::OpenError),
    /// A device could not be looked up.
    #[error(transparent)]
    Look(#[from] rtnl::ListError),
    /// A device could not be changed.
    #[error(transparent)]
    Link(#[from] rtnl::LinkError),
    /// An address.
    #[error(transparent)]
    Address(#[from] rtnl::AddAddressError),
    /// A route.
    #[error(transparent)]
    Route(#[from] rtnl::AddRouteError),
    /// No MPTCP.
    #[error(transparent)]
    PathManager(#[from] mptcp_pm::OpenError),
    /// The address that the server announces.
    #[error(transparent)]
    Announced(#[from] mptcp_pm::AddEndpointError),
    /// The server's limit.
    #[error(transparent)]
    Limits(#[from] mptcp_pm::LimitsError),
}

/// Runs `work` inside a namespace.
pub(super) fn in_netns<T: Send>(
    netns: &Netns,
    work: impl FnOnce() -> Result<T, BuildError> + Send,
) -> Result<T, BuildError> {
    netns.run(work)?
}

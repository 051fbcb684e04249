//! Errors of `nl80211`.

use crate::netlink::{self, ReceiveError, RequestError, ResolveError};
use crate::rtnl::IfName;
use thiserror::Error;

/// Why the family could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The netlink socket could not be opened.
    #[error(transparent)]
    Socket(#[from] netlink::OpenError),
    /// The kernel has no WiFi stack.
    #[error("{0}; it needs CONFIG_CFG80211, and the module cfg80211 must be loaded")]
    Family(#[from] ResolveError),
}

/// Why events cannot be read.
#[derive(Debug, Error)]
pub enum SubscribeError {
    /// The family could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The kernel refuses to send events.
    #[error("the kernel refuses to send WiFi events")]
    Subscribe(#[source] std::io::Error),
    /// Events were lost, or the socket failed.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
}

/// Why a list could not be read.
#[derive(Debug, Error)]
#[error("reading the WiFi {what}")]
pub struct ReadError {
    /// What was read.
    pub what: &'static str,
    /// The cause.
    pub source: RequestError,
}

/// Why a monitor interface could not be created.
#[derive(Debug, Error)]
#[error("the driver refuses the monitor interface {name}")]
pub struct MonitorError {
    /// Its name.
    pub name: IfName,
    /// The kernel's answer.
    pub source: RequestError,
}

/// Why a station interface could not be created.
#[derive(Debug, Error)]
#[error("the driver refuses the station interface {name}; `iw phy` lists which interfaces it allows at once")]
pub struct StationError {
    /// Its name.
    pub name: IfName,
    /// The kernel's answer.
    pub source: RequestError,
}

/// Why a station cannot look at another channel.
#[derive(Debug, Error)]
#[error("the driver refuses a visit to {mhz} MHz")]
pub struct VisitError {
    /// The centre frequency of the channel.
    pub mhz: u32,
    /// The kernel's answer.
    pub source: RequestError,
}

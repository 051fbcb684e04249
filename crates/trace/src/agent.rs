//! What an agent reports: each application's connection, and the way that it takes.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// State of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The relay; `None` without one.
    pub relay: Option<String>,
    /// Why the relay is not used at present; `None` if it is.
    pub relay_trouble: Option<String>,
    /// Counters since the agent started.
    #[serde(default)]
    pub totals: Totals,
    /// Why the kernel may make no MPTCP connections at present; absent if nothing prevents it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blackhole: Option<String>,
    /// Connections of applications, oldest first.
    pub connections: Vec<Application>,
}

impl Agent {
    /// Reads the line with which an agent answers [`ASK`]; `None` if it is something else.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// Counters of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Connections over the relay.
    pub relay: u64,
    /// Connections to servers over MPTCP.
    pub direct: u64,
    /// Connections to servers over plain TCP.
    pub plain: u64,
    /// Connections whose server could not be reached.
    pub failed: u64,
    /// Bytes from applications to servers.
    pub up_bytes: u64,
    /// Bytes from servers to applications.
    pub down_bytes: u64,
}

/// One connection of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// The application's address.
    pub client: SocketAddr,
    /// The server that it wants.
    pub server: SocketAddr,
    /// The agent's SOCKS address if the application asked there; absent if it was redirected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socks: Option<SocketAddr>,
    /// `relay`, `direct` (MPTCP to the server) or `plain` (TCP to the server); `opening` before.
    pub way: String,
    /// Why it takes this way.
    pub why: String,
    /// Our address on the first subflow of the connection that carries it; `None` until there is one.
    #[serde(default)]
    pub carried_from: Option<SocketAddr>,
    /// Bytes from the application to the server.
    pub up_bytes: u64,
    /// Bytes from the server to the application.
    pub down_bytes: u64,
    /// User of the application; `None` if the agent's host did not find it.
    #[serde(default)]
    pub uid: Option<u32>,
    /// Service, or other unit, of the application; absent if the agent's host did not find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Inode of the application's socket, as in `/proc/PID/fd`.
    #[serde(default)]
    pub inode: Option<u32>,
}

/// The first line that an agent prints: the ports at which it takes redirected connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// On 127.0.0.1.
    pub v4: u16,
    /// On ::1; `None` on a host without IPv6.
    pub v6: Option<u16>,
}

impl Ports {
    /// Reads this line; `None` if it is something else.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// Mark of an agent's own connections: the kernel must not redirect them to the agent.
pub const MARK: u32 = 0x534c_0a01;
/// Line that asks an agent for its state.
pub const ASK: &str = "status";

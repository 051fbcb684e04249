//! The kernel's MPTCP path managers over generic netlink, family `mptcp_pm`: all commands and events, IPv4
//! and IPv6.
//!
//! The kernel has two path managers per network namespace, chosen by `net.mptcp.path_manager` (older:
//! `net.mptcp.pm_type`):
//!
//! - The **in-kernel** one applies a list of *endpoints* within *limits*: [`Commands::add_endpoint`],
//!   [`Commands::endpoints`], [`Commands::set_limits`], ….
//! - The **user-space** one does nothing by itself. Commands name each connection by its *token*:
//!   [`Commands::announce`], [`Commands::remove`], [`Commands::create_subflow`],
//!   [`Commands::destroy_subflow`], [`Commands::set_backup`].
//!
//! [`Events`] reports connections, subflows and the peer's addresses under both.
//!
//! # Facts to know
//! - To remove a subflow for good, call `remove` (sends RM_ADDR to the peer), *then* `destroy_subflow`. In
//!   the other order the kernel forgets the id and `remove` fails. For id 0 both orders work.
//! - A refused join returns `Ok` here. [`Event::SubflowClosed`] follows [`Event::SubflowEstablished`] after
//!   one more RTT.
//! - The server side also sends a connection's `Created` event. [`Connection::server_side`] distinguishes the
//!   two.
//!
//! # Sources
//! - `include/uapi/linux/mptcp_pm.h`, `include/uapi/linux/mptcp.h`,
//!   `net/mptcp/pm_{netlink,kernel,userspace}.c` (Linux 6.18); `Documentation/netlink/specs/mptcp_pm.yaml`.
//! - [RFC 8684] §3.4 (address advertisement), §3.3.8 (priority), §3.6 (reset reasons).
//!
//! # Where we differ, and why
//! 1. The YAML says that the address port is big-endian. The kernel reads and writes it in host order
//!    (`mptcp_pm_parse_addr`, `mptcp_nl_fill_addr`), and so does this module.
//!
//! # Checked by
//! `tests`: every encoder against its decoder (property tests), and endpoints and limits against the output
//! of `ip mptcp`. Events are compared with `ip mptcp monitor`, and every user-space command runs on live
//! connections, IPv4 and IPv6.
//!
//! [RFC 8684]: https://www.rfc-editor.org/rfc/rfc8684

mod address;
mod endpoint;
mod error;
mod event;
mod subflow;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_monitor;
#[cfg(test)]
mod tests_wire;

pub use address::{AddressId, EndpointFlags, Remote, Subflow, Token};
pub use endpoint::{Endpoint, Limits};
pub use error::{
    AddEndpointError, AnnounceError, CreateSubflowError, DelEndpointError, DestroySubflowError, EventError,
    LimitsError, ListEndpointsError, OpenError, RemoveError, SetBackupError, SetFlagsError,
};
pub use event::{Announced, Connection, Event, Events, Listener, Reset, ResetReason, SubflowChange};
pub use subflow::{LocalAddress, NewSubflow};

use crate::netlink::{Builder, Family, Protocol, Socket};

const FAMILY: &str = "mptcp_pm";
const EVENT_GROUP: &str = "mptcp_pm_events";
const GENL_HEADER_LEN: usize = 4;

/// `MPTCP_PM_CMD_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Command {
    AddAddr = 1,
    DelAddr = 2,
    GetAddr = 3,
    FlushAddrs = 4,
    SetLimits = 5,
    GetLimits = 6,
    SetFlags = 7,
    Announce = 8,
    Remove = 9,
    SubflowCreate = 10,
    SubflowDestroy = 11,
}

/// `MPTCP_PM_ATTR_*`.
mod attr {
    pub const ADDR: u16 = 1;
    pub const RCV_ADD_ADDRS: u16 = 2;
    pub const SUBFLOWS: u16 = 3;
    pub const TOKEN: u16 = 4;
    pub const LOC_ID: u16 = 5;
    pub const ADDR_REMOTE: u16 = 6;
}

/// Sends commands to the path managers of one namespace.
#[derive(Debug)]
pub struct Commands {
    socket: Socket,
    family: Family,
    request: Builder,
}

impl Commands {
    /// Opens the family for the calling thread's namespace.
    pub fn open() -> Result<Self, OpenError> {
        let mut socket = Socket::open(Protocol::Generic)?;
        let family = Family::resolve(&mut socket, FAMILY)?;
        Ok(Self {
            socket,
            family,
            request: Builder::new(),
        })
    }

    fn start(&mut self, command: Command) -> &mut Builder {
        start(&mut self.request, self.family.id, command)
    }
}

fn start(request: &mut Builder, family: u16, command: Command) -> &mut Builder {
    const VERSION: u8 = 1;
    request.start(family, 0).header(&[command as u8, VERSION, 0, 0])
}

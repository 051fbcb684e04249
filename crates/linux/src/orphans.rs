//! Releases connections that no program holds, at an address whose endpoint is about to be removed.
//!
//! When an endpoint is removed, the kernel's path manager closes the subflows from its address. One of them
//! may be the last of a connection that its program has closed and whose first subflow has ended. The kernel
//! then considers that connection closed and never frees it. The socket, its queued data, its congestion
//! controller and its network namespace stay until a reboot. If a subflow is *reset*, the connection's own
//! worker closes it and frees the connection. So these subflows are reset before the endpoint is removed.
//!
//! A connection that is closed between the two steps is missed. The worker needs a processor: usually it
//! finishes within two polls. On a machine with more urgent work it may take much longer, and removing the
//! endpoint meanwhile leaves the connection behind. So this waits up to 1 s and reports what is not freed by
//! then.
//!
//! # Sources
//! - net/mptcp/protocol.c, Linux 6.18: `__mptcp_close_ssk` sets `TCP_CLOSE` whoever calls it. `mptcp_worker`,
//!   which alone could free an orphan then, ignores a socket in that state.
//!
//! # Checked by
//! `tests`: the sequence that would leave a socket; `tests/soak`.

use crate::diag::{Diag, DiagError, EndError, States, TcpSocket};
use crate::info::TcpState;
use crate::mptcp_pm::Token;
use crate::netlink;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use thiserror::Error;

/// Interval between polls while waiting for the workers, 1 s in all. It blocks the calling thread.
const PAUSE: Duration = Duration::from_millis(2);
const LOOKS: u32 = 500;

/// Why closed connections may be left.
#[derive(Debug, Error)]
pub enum OrphansError {
    /// The netlink socket could not be opened.
    #[error(transparent)]
    Open(#[from] netlink::OpenError),
    /// Sockets could not be listed.
    #[error(transparent)]
    Look(#[from] DiagError),
    /// Subflows could not be reset.
    #[error(transparent)]
    End(#[from] EndError),
    /// The workers have not run in time.
    #[error(
        "the kernel has not freed {left} closed connections within a second, and may keep them until a reboot if {address} is removed now; is this machine very busy?"
    )]
    Left {
        /// Number of connections left.
        left: usize,
        /// The endpoint's address.
        address: IpAddr,
    },
}

/// Resets the subflows from `address` whose connections are closed by their programs, in the calling thread's
/// namespace. Waits up to 1 s until the kernel has freed the connections. Call it before removing an endpoint
/// of this address, and again if it is worth waiting longer.
pub fn release(address: IpAddr) -> Result<(), OrphansError> {
    release_within(address, LOOKS)
}

fn release_within(address: IpAddr, looks: u32) -> Result<(), OrphansError> {
    let mut diag = Diag::open()?;
    let mut left = reset(&mut diag, address)?;
    for _ in 1..looks {
        if left == 0 {
            break;
        }
        std::thread::sleep(PAUSE);
        left = reset(&mut diag, address)?;
    }
    match left {
        0 => Ok(()),
        left => Err(OrphansError::Left { left, address }),
    }
}

/// Resets subflows and returns the number of connections with a reset subflow, or not yet freed by their
/// workers.
fn reset(diag: &mut Diag, address: IpAddr) -> Result<usize, OrphansError> {
    let mut orphans = orphans(diag)?;
    let mut here: Vec<TcpSocket> = Vec::new();
    diag.each_tcp(States::ALL, |tcp| {
        let token = tcp.subflow.map(|subflow| subflow.token);
        let Some(orphan) = token.and_then(|token| orphans.get_mut(&token)) else {
            return;
        };
        if tcp.local.ip().to_canonical() == address {
            orphan.is_here = true;
            here.push(*tcp);
        } else {
            orphan.is_elsewhere = true;
        }
    })?;
    for tcp in &here {
        diag.end(tcp)?;
    }
    let is_busy = |orphan: &&Orphan| orphan.is_here || !orphan.is_elsewhere;
    Ok(orphans.values().filter(is_busy).count())
}

/// Location of a connection's subflows.
#[derive(Debug, Default)]
struct Orphan {
    is_here: bool,
    is_elsewhere: bool,
}

/// Connections that their programs have closed and that have not ended. A connection that is not yet accepted
/// has no program either.
fn orphans(diag: &mut Diag) -> Result<BTreeMap<Token, Orphan>, DiagError> {
    let mut found = BTreeMap::new();
    diag.each_mptcp(States::CLOSING, |connection| {
        let closed = connection.inode == 0 && connection.state != TcpState::Close;
        found.extend(
            connection
                .info
                .token
                .filter(|_| closed)
                .map(|token| (token, Orphan::default())),
        );
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mptcp_pm::{AddressId, Commands, Endpoint, EndpointFlags, Limits};
    use crate::testing::{Pair, Patience};
    use std::io::Write as _;

    const FIRST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const SECOND: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 1));
    const ID: AddressId = AddressId(7);

    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let mut patience = Patience::of(Duration::from_secs(10));
        while !holds() {
            assert!(patience.lasts(), "never {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn subflows() -> usize {
        let mut count = 0;
        let mut diag = Diag::open().unwrap();
        let listed = diag.each_tcp(States::ESTABLISHED, |tcp| {
            count += usize::from(tcp.subflow.is_some())
        });
        listed.unwrap();
        count
    }

    /// Number of MPTCP sockets not yet freed, counted by the kernel.
    fn sockets() -> u32 {
        let text = std::fs::read_to_string("/proc/thread-self/net/protocols").unwrap();
        let line = text.lines().find(|line| line.starts_with("MPTCP ")).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    }

    fn two_subflows(pair: &Pair) {
        let limits = Limits {
            add_addr_accepted: 2,
            subflows: 2,
        };
        for netns in [&pair.client, &pair.server] {
            netns
                .run(|| Commands::open().unwrap().set_limits(limits).unwrap())
                .unwrap();
        }
        let endpoint = Endpoint {
            id: ID,
            ..Endpoint::new(SECOND, EndpointFlags::SUBFLOW)
        };
        pair.client
            .run(|| Commands::open().unwrap().add_endpoint(&endpoint).unwrap())
            .unwrap();
    }

    /// Calls `release` between closing the connection and removing the endpoint.
    fn nothing_is_left(release: impl FnOnce() + Send) {
        let Some(pair) = Pair::joined(2) else { return };
        two_subflows(&pair);
        let mut ends = pair.connect("10.0.0.2:7000");
        ends.greet();
        let commands = || Commands::open().unwrap();
        pair.client
            .run(|| {
                until("two subflows", || subflows() == 2);
                ends.client.set_nonblocking(true).unwrap();
                while ends.client.write(&[0; 65_536]).is_ok() {}
                commands().del_endpoint(AddressId::INITIAL, Some(FIRST)).unwrap();
                until("the first gone", || subflows() == 1);
                drop(ends.client);
                release();
                commands().del_endpoint(ID, None).unwrap();
                until("freed", || sockets() == 0);
            })
            .unwrap();
    }

    #[test]
    fn a_removed_endpoint_leaves_no_closed_connection() {
        nothing_is_left(|| release(SECOND).unwrap());
    }

    #[test]
    fn connections_not_yet_freed_are_reported_until_they_are() {
        nothing_is_left(|| {
            // With a single poll, the worker has had no time to run.
            let left = release_within(SECOND, 1).unwrap_err();
            assert!(matches!(left, OrphansError::Left { left: 1, .. }), "{left:?}");
            until("released", || release_within(SECOND, 1).is_ok());
        });
    }
}

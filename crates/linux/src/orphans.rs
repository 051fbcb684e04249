//! Connections that no program holds any more, at an address whose endpoint is about to be removed.
//!
//! With an endpoint the kernel's path manager closes the subflows from its address. Where that is the last one of a connection that its program has
//! closed already, and the first one has ended before, the kernel takes the connection for closed and never frees it: the socket, what waits
//! in it, its congestion controller and its network namespace stay until the machine starts anew. A subflow that is *reset* is closed by the
//! connection's own worker, which frees the connection with it. So such subflows are reset before the endpoint goes.
//!
//! A connection that is closed in the moment between the two is not seen. A worker needs a processor: usually it is done within two looks; on a
//! machine whose processors have something more urgent to do it may take many times as long, and who removes the endpoint meanwhile
//! leaves what this is there to prevent. So a second is waited, and what is not done by then is told.
//!
//! # Sources
//! - net/mptcp/protocol.c, Linux 6.18: `__mptcp_close_ssk` sets `TCP_CLOSE` whoever calls it; `mptcp_worker`, which alone would free an orphan then,
//!   looks no further at a socket in that state.
//!
//! # Checked by
//! `tests`: the sequence that leaves a socket without this; `tests/soak`.

use crate::diag::{Diag, DiagError, EndError, States, TcpSocket};
use crate::info::TcpState;
use crate::mptcp_pm::Token;
use crate::netlink;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use thiserror::Error;

/// How long the worker of a connection may take, look by look: a second in all. Whoever waits does nothing else.
const PAUSE: Duration = Duration::from_millis(2);
const LOOKS: u32 = 500;

/// Why closed connections may be left.
#[derive(Debug, Error)]
pub enum OrphansError {
    /// No netlink socket.
    #[error(transparent)]
    Open(#[from] netlink::OpenError),
    /// No list of sockets.
    #[error(transparent)]
    Look(#[from] DiagError),
    /// They cannot be reset.
    #[error(transparent)]
    End(#[from] EndError),
    /// Their workers have not had their turn.
    #[error(
        "the kernel has not freed {left} closed connections within a second, and may keep them until the next start when {address} goes now; is this machine very busy?"
    )]
    Left {
        /// How many.
        left: usize,
        /// Whose endpoint is to go.
        address: IpAddr,
    },
}

/// Resets the subflows from `address` that belong to connections which their programs have closed, in the calling thread's namespace, and waits
/// until the kernel has dealt with them, a second at most. To be called before an endpoint of this address is removed, and again where that is
/// worth waiting for.
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

/// How many connections there were to reset something of, or are still to be freed by their workers.
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

/// Where a connection has subflows.
#[derive(Debug, Default)]
struct Orphan {
    is_here: bool,
    is_elsewhere: bool,
}

/// Every connection that its program has closed and that is not over yet; a connection that nobody has accepted yet has no program either.
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

    /// MPTCP sockets that are not freed, as the kernel counts them.
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

    /// With `release` between the connection's end and the endpoint's.
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
    fn an_endpoint_that_goes_leaves_no_closed_connection_behind() {
        nothing_is_left(|| release(SECOND).unwrap());
    }

    #[test]
    fn what_the_kernel_has_not_dealt_with_is_told_until_it_has() {
        nothing_is_left(|| {
            // Nobody has had the time to do anything about what was just found.
            let left = release_within(SECOND, 1).unwrap_err();
            assert!(matches!(left, OrphansError::Left { left: 1, .. }), "{left:?}");
            until("released", || release_within(SECOND, 1).is_ok());
        });
    }
}

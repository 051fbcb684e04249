//! Connections that no program holds any more, at an address whose endpoint is about to be removed.
//!
//! With an endpoint the kernel's path manager closes the subflows from its address. Where that is the last one of a connection that its program has
//! closed already, and the first one has ended before, the kernel takes the connection for closed and never frees it: the socket, what waits
//! in it, its congestion controller and its network namespace stay until the machine starts anew. A subflow that is *reset* is closed by the
//! connection's own worker, which frees the connection with it. So such subflows are reset before the endpoint goes.
//!
//! A connection that is closed in the moment between the two is not seen.
//!
//! # Sources
//! - net/mptcp/protocol.c, Linux 6.18: `__mptcp_close_ssk` sets `TCP_CLOSE` whoever calls it; `mptcp_worker`, which alone would free an orphan then,
//!   looks no further at a socket in that state.
//!
//! # Checked by
//! `tests`: the sequence that leaves a socket without this; `tests/soak`.

use crate::diag::{Diag, DiagError, States, TcpSocket};
use crate::info::TcpState;
use crate::mptcp_pm::Token;
use crate::netlink;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use thiserror::Error;

/// How long the worker of a connection may take, look by look.
const PAUSE: Duration = Duration::from_millis(2);
const LOOKS: u32 = 25;

/// Why nobody could look.
#[derive(Debug, Error)]
pub enum OrphansError {
    /// No netlink socket.
    #[error(transparent)]
    Open(#[from] netlink::OpenError),
    /// No list of sockets.
    #[error(transparent)]
    Look(#[from] DiagError),
}

/// Resets the subflows from `address` that belong to connections which their programs have closed, in the calling thread's namespace, and waits
/// until the kernel has dealt with them, 50 ms at most. To be called before an endpoint of this address is removed.
pub fn release(address: IpAddr) -> Result<(), OrphansError> {
    let mut diag = Diag::open()?;
    for _ in 0..LOOKS {
        if !is_busy(&mut diag, address)? {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Whether there was something to reset, or a worker has still to free what was.
fn is_busy(diag: &mut Diag, address: IpAddr) -> Result<bool, DiagError> {
    let mut has_another = orphans(diag)?;
    let mut here: Vec<TcpSocket> = Vec::new();
    diag.each_tcp(States::ALL, |tcp| {
        let token = tcp.subflow.map(|subflow| subflow.token);
        let Some(another) = token.and_then(|token| has_another.get_mut(&token)) else {
            return;
        };
        if tcp.local.ip().to_canonical() == address {
            here.push(*tcp);
        } else {
            *another = true;
        }
    })?;
    for tcp in &here {
        // It may have ended by itself; a kernel that ends no sockets closes it with the endpoint.
        let _ = diag.end(tcp);
    }
    Ok(!here.is_empty() || has_another.values().any(|another| !another))
}

/// Every connection that its program has closed and that is not over yet; a connection that nobody has accepted yet has no program either.
fn orphans(diag: &mut Diag) -> Result<BTreeMap<Token, bool>, DiagError> {
    let mut found = BTreeMap::new();
    diag.each_mptcp(States::CLOSING, |connection| {
        let closed = connection.inode == 0 && connection.state != TcpState::Close;
        found.extend(
            connection
                .info
                .token
                .filter(|_| closed)
                .map(|token| (token, false)),
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

    #[test]
    fn an_endpoint_that_goes_leaves_no_closed_connection_behind() {
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
                release(SECOND).unwrap();
                commands().del_endpoint(ID, None).unwrap();
                until("freed", || sockets() == 0);
            })
            .unwrap();
    }
}

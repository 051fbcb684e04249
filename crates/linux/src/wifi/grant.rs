//! What the message of a DHCP server gives: an address with what belongs to it, a captive portal, a relay.
//!
//! # Sources
//! - RFC 2131 §4.4.5 (times of a lease), RFC 8910 §2.1 (captive portals).
//!
//! # Checked by
//! The tests of `dhcp`.

use crate::portal::is_page;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use wire::dhcp::Message;

/// Most name servers of a lease. Resolvers use no more.
const RESOLVERS: usize = 3;
/// Validity of an address whose server gives none.
const USUAL_LEASE: u32 = 3_600;
/// Least validity, in seconds. A server that gives less would only cause traffic.
const LEAST_LEASE: u32 = 60;

/// An address, and what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) address: Ipv4Addr,
    pub(super) prefix_len: u8,
    /// `None`: nothing lies behind this network.
    pub(super) router: Option<Ipv4Addr>,
    resolvers: [Option<Ipv4Addr>; RESOLVERS],
    pub(super) renew: Instant,
    pub(super) until: Instant,
}

impl Lease {
    #[cfg(test)]
    pub(super) fn of_test(address: Ipv4Addr, prefix_len: u8) -> Self {
        let now = Instant::now();
        Self {
            address,
            prefix_len,
            router: None,
            resolvers: [None; RESOLVERS],
            renew: now,
            until: now,
        }
    }

    /// Whether address and router are the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let of = |lease: &Self| (lease.address, lease.prefix_len, lease.router);
        of(self) == of(other)
    }

    /// Its name servers.
    pub(super) fn resolvers(&self) -> Vec<Ipv4Addr> {
        self.resolvers.into_iter().flatten().collect()
    }
}

/// The URL of a portal that a server gives. `None`: none, or no text that can be shown.
pub(super) fn portal(message: &Message) -> Option<String> {
    let text = std::str::from_utf8(&message.options.portal).ok()?;
    is_page(text).then(|| text.to_owned())
}

/// The relay that a server announces. `None`: none, or no address or name with a port.
pub(super) fn relay(message: &Message) -> Option<String> {
    let text = std::str::from_utf8(&message.options.relay).ok()?;
    let (host, port) = text.rsplit_once(':')?;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let is_host = !host.is_empty() && host.bytes().all(is_part);
    let has_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    (is_host && has_port).then(|| text.to_owned())
}

/// The shortest prefix of a network. With a shorter one, an access point would draw packets to a large part
/// of the Internet.
const SHORTEST: u32 = 8;

/// The address that a message gives. `None`: no host can use it.
pub(super) fn lease(now: Instant, message: &Message) -> Option<Lease> {
    let options = &message.options;
    let mask = u32::from(options.mask.unwrap_or(Ipv4Addr::new(255, 255, 255, 0)));
    let prefix_len = mask.leading_ones();
    let is_mask = mask.checked_shl(prefix_len).unwrap_or(0) == 0 && prefix_len >= SHORTEST;
    let address = message.yours;
    let host = u32::from(address) & !mask;
    let has_own = prefix_len >= 31 || (host != 0 && host != !mask);
    if !is_mask || !has_own || !is_host(address) {
        return None;
    }
    let router = options
        .router
        .filter(|router| is_host(*router) && *router != address);
    let valid = options.lease_s.unwrap_or(USUAL_LEASE).max(LEAST_LEASE);
    let renew = options
        .renew_s
        .filter(|renew| *renew < valid)
        .unwrap_or(valid / 2);
    let after = |seconds: u32| now + Duration::from_secs(seconds.into());
    let mut resolvers = options.resolvers.iter().copied().filter(|one| is_host(*one));
    Some(Lease {
        address,
        prefix_len: prefix_len as u8,
        router,
        resolvers: std::array::from_fn(|_| resolvers.next()),
        renew: after(renew.max(LEAST_LEASE / 2)),
        until: after(valid),
    })
}

/// Whether a host on a network can have this address.
fn is_host(address: Ipv4Addr) -> bool {
    !(address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || address.octets()[0] == 0
        || address.octets()[0] >= 240)
}

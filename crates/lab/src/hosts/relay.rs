//! The host of a relay, between the links and the server.
//!
//! It forwards what is not addressed to it, so that clients reach the server without the relay, too.

use super::{
    BuildError, HostsConfig, Port, Sources, accept_subflows, common_settings, device, in_netns,
    own_addresses, set_sysctl,
};
use crate::tun::Tun;
use linux::netns::Netns;
use linux::rtnl::{Prefix, Route, Rtnl, Table};
use std::net::Ipv4Addr;

/// Interface of the wire at the relay, which no link has: it is longer than a link's name.
const AT_RELAY: &str = "to-the-server";
/// Interface of the wire at the server.
const AT_SERVER: &str = "to-the-relay";

/// The namespace of a relay.
#[derive(Debug)]
pub struct RelayNetns {
    /// The namespace: all links end there, and the wire to the server begins.
    pub netns: Netns,
    /// Its address.
    pub address: Ipv4Addr,
    /// Both ends of the wire to the server, until an emulator has them. The relay's is the client's.
    pub wire: Option<Port>,
}

impl RelayNetns {
    /// Builds the relay's host, and the wire between it and the server.
    pub(super) fn build(config: &HostsConfig, address: Ipv4Addr, server: &Netns) -> Result<Self, BuildError> {
        let netns = Netns::new()?;
        let at_relay = in_netns(&netns, || {
            common_settings(&config.server_cc)?;
            set_sysctl("net.ipv4.ip_forward", "1")?;
            // As docs/relay.md tells the user of a relay: requests may come with the SYN.
            set_sysctl("net.ipv4.tcp_fastopen", "3")?;
            accept_subflows(config.server_subflows)?;
            own_addresses(Sources::of_v4(address))?;
            lead(AT_RELAY, Prefix::host(config.server.into()), address)
        })?;
        let at_server = in_netns(server, || lead(AT_SERVER, Prefix::ANY_V4, config.server))?;
        let wire = Port {
            client: at_relay,
            server: at_server,
            nat: None,
        };
        Ok(Self {
            netns,
            address,
            wire: Some(wire),
        })
    }
}

/// A device, and over it a route from our address.
fn lead(interface: &str, to: Prefix, from: Ipv4Addr) -> Result<Tun, BuildError> {
    let mut rtnl = Rtnl::open()?;
    let (tun, ifindex) = device(&mut rtnl, Tun::create(interface)?)?;
    let mut route = Route::new(Table::MAIN, to);
    route.oif = Some(ifindex);
    route.src = Some(from.into());
    rtnl.add_route(&route)?;
    Ok(tun)
}

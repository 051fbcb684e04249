//! Carrier and address of a host's links: what a WiFi driver and a DHCP client do on a real host.

use super::{Hosts, LinkAddresses, OtherNetns, Port};
use crate::tun::Tun;
use linux::netlink;
use linux::netns::{EnterError, Netns};
use linux::rtnl::{
    AddAddressError, AddRouteError, Address, AddressFlags, DelAddressError, DelRouteError, Prefix, Route,
    Rtnl, Table,
};
use std::io;
use std::net::IpAddr;
use thiserror::Error;

/// The kernel's metric of a default route that a router advertises (`IP6_RT_PRIO_ADDRCONF`).
const ADVERTISED_METRIC: u32 = 1_024;

/// Why a link could not be plugged in or out.
#[derive(Debug, Error)]
pub enum PlugError {
    /// The carrier.
    #[error("cannot change the carrier of {link}")]
    Carrier {
        /// Of which interface.
        link: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An address could not be added.
    #[error(transparent)]
    Give(#[from] AddAddressError),
    /// An address could not be removed.
    #[error(transparent)]
    Take(#[from] DelAddressError),
    /// A default route could not be added.
    #[error(transparent)]
    Lead(#[from] AddRouteError),
    /// A default route could not be removed.
    #[error(transparent)]
    Unlead(#[from] DelRouteError),
}

/// Why the links of a host cannot be plugged at all.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The host's namespace cannot be entered.
    #[error(transparent)]
    Enter(#[from] EnterError),
    /// No rtnetlink.
    #[error(transparent)]
    Netlink(#[from] netlink::OpenError),
    /// No second handle to a device.
    #[error("cannot duplicate the descriptor of a device; check the limit `ulimit -n`")]
    Share(#[source] io::Error),
}

#[derive(Debug)]
struct Plug {
    tun: Tun,
    ifindex: u32,
    addresses: LinkAddresses,
    /// How many addresses it has had earlier.
    lease: u32,
    now: Vec<Address>,
}

impl Plug {
    /// The default route that a router advertises for IPv6. Each link's has a metric of its own. Otherwise
    /// the kernel would make one route with several next hops.
    fn route_v6(&self) -> Option<Route> {
        let router = self.addresses.router_v6()?;
        let mut route = Route::new(Table::MAIN, Prefix::ANY_V6);
        route.gateway = Some(router.into());
        route.oif = Some(self.ifindex);
        route.metric = ADVERTISED_METRIC + self.ifindex;
        Some(route)
    }
}

/// All links of one host.
#[derive(Debug)]
pub struct Plugs {
    rtnl: Rtnl,
    links: Vec<Plug>,
}

impl Plugs {
    /// The links of `hosts`, whose devices are in `ports`: no carrier, no address.
    pub fn open(hosts: &Hosts, ports: &[Port], links: &[LinkAddresses]) -> Result<Self, OpenError> {
        Self::open_in(&hosts.client, &hosts.client_ifindex, ports, links)
    }

    /// As [`Plugs::open`], for the links of another host.
    pub fn of_other(
        hosts: &Hosts,
        host: usize,
        ports: &[Port],
        links: &[LinkAddresses],
    ) -> Result<Self, OpenError> {
        let OtherNetns { netns, ifindex } = &hosts.others[host];
        Self::open_in(netns, ifindex, ports, links)
    }

    fn open_in(
        netns: &Netns,
        ifindex: &[u32],
        ports: &[Port],
        links: &[LinkAddresses],
    ) -> Result<Self, OpenError> {
        let rtnl = netns.run(Rtnl::open)??;
        let plugs = ports
            .iter()
            .zip(ifindex)
            .zip(links)
            .map(|((port, ifindex), addresses)| {
                Ok(Plug {
                    tun: port.client.try_clone().map_err(OpenError::Share)?,
                    ifindex: *ifindex,
                    addresses: *addresses,
                    lease: 0,
                    now: Vec::new(),
                })
            });
        let links = plugs.collect::<Result<_, OpenError>>()?;
        Ok(Self { rtnl, links })
    }

    /// Sets or clears a link's carrier.
    pub fn carrier(&self, link: usize, carrier: bool) -> Result<(), PlugError> {
        let tun = &self.links[link].tun;
        tun.set_carrier(carrier).map_err(|source| PlugError::Carrier {
            link: tun.name().to_owned(),
            source,
        })
    }

    /// Gives a link its addresses, one of each family, if it has none.
    pub fn give_address(&mut self, link: usize) -> Result<(), PlugError> {
        let plug = &mut self.links[link];
        if !plug.now.is_empty() {
            return Ok(());
        }
        for prefix in plug.addresses.all(plug.lease) {
            let mut address = Address::new(plug.ifindex, prefix);
            address.flags = AddressFlags::NO_DAD;
            self.rtnl.add_address(&address)?;
            plug.now.push(address);
        }
        if let Some(route) = plug.route_v6() {
            self.rtnl.add_route(&route)?;
        }
        Ok(())
    }

    /// Removes a link's addresses, if it has any.
    pub fn take_address(&mut self, link: usize) -> Result<(), PlugError> {
        let plug = &mut self.links[link];
        if let Some(route) = plug.route_v6().filter(|_| !plug.now.is_empty()) {
            self.rtnl.del_route(&route)?;
        }
        for address in plug.now.drain(..) {
            self.rtnl.del_address(&address)?;
        }
        Ok(())
    }

    /// Gives the link a different address next time. Returns how the link translates it, if it does.
    pub fn renew(&mut self, link: usize) -> Option<crate::frame::Nat> {
        let plug = &mut self.links[link];
        plug.lease += 1;
        plug.addresses.nat(plug.lease)
    }

    /// The first address that a link has: its IPv4 address, if it has one.
    pub fn address(&self, link: usize) -> Option<IpAddr> {
        self.links[link].now.first().map(Address::addr)
    }

    /// The link that the server knows by this address, now or before.
    pub fn link_of(&self, seen: IpAddr) -> Option<usize> {
        self.links.iter().position(|plug| plug.addresses.is_seen_as(seen))
    }

    /// The link on which the client has, or had, this address; the first of several.
    pub fn link_with(&self, address: IpAddr) -> Option<usize> {
        let has = |plug: &Plug, lease| plug.addresses.all(lease).any(|prefix| prefix.addr() == address);
        let given = |plug: &Plug| (0..=plug.lease).any(|lease| has(plug, lease));
        self.links.iter().position(given)
    }
}

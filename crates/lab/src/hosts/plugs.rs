//! Carrier and address of a host's links: what a WiFi driver and a DHCP client do on a real host.

use super::{Hosts, LinkAddresses, OtherNetns, Port};
use crate::tun::Tun;
use linux::netlink;
use linux::netns::{EnterError, Netns};
use linux::rtnl::{AddAddressError, Address, DelAddressError, Rtnl};
use std::io;
use std::net::IpAddr;
use thiserror::Error;

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
    now: Option<Address>,
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
                    now: None,
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

    /// Gives a link its address, if it has none.
    pub fn give_address(&mut self, link: usize) -> Result<(), PlugError> {
        let plug = &mut self.links[link];
        if plug.now.is_none() {
            let address = Address::new(plug.ifindex, plug.addresses.client(plug.lease));
            self.rtnl.add_address(&address)?;
            plug.now = Some(address);
        }
        Ok(())
    }

    /// Removes a link's address, if it has one.
    pub fn take_address(&mut self, link: usize) -> Result<(), PlugError> {
        if let Some(address) = self.links[link].now.take() {
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

    /// The address that a link has.
    pub fn address(&self, link: usize) -> Option<IpAddr> {
        self.links[link].now.map(|address| address.addr())
    }

    /// The link that the server knows by this address, now or before.
    pub fn link_of(&self, seen: IpAddr) -> Option<usize> {
        self.links
            .iter()
            .position(|plug| plug.addresses.behind().contains(seen))
    }

    /// The link on which the client has, or had, this address; the first of several.
    pub fn link_with(&self, address: IpAddr) -> Option<usize> {
        let given =
            |plug: &Plug| (0..=plug.lease).any(|lease| plug.addresses.client(lease).addr() == address);
        self.links.iter().position(given)
    }
}

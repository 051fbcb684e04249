//! The hosts of a lab: a client, a server, and other hosts that share the client's links. Each is in its own
//! unnamed network namespace, so nothing of them outlives the process.
//!
//! Links end at the server, or at a relay in front of it.

mod addressing;
mod error;
mod plugs;
mod relay;
mod sweep;

pub use addressing::{Addressing, LinkAddresses, SERVER_V6};
pub use error::BuildError;
pub use plugs::{OpenError, PlugError, Plugs};
pub use relay::RelayNetns;

use crate::frame::Nat;
use crate::tun::Tun;
use error::in_netns;
use linux::mptcp_pm::{self, Endpoint, EndpointFlags, Limits};
use linux::netns::Netns;
use linux::rtnl::{Address, AddressFlags, IfName, Prefix, Route, Rtnl, Table};
use linux::sysctl::{self, Key, SysctlError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an unconfigured kernel allows (`net/mptcp/pm.h: MPTCP_SUBFLOWS_MAX` is 8, the initial limit is 2).
pub const STOCK_SUBFLOWS: u8 = 2;
const MTU: u32 = 1_500;

/// Configuration of the hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostsConfig {
    /// Names and addresses of the links.
    pub links: Vec<HostLink>,
    /// The server's IPv4 address. Its IPv6 address is [`SERVER_V6`].
    pub server: Ipv4Addr,
    /// Names and addresses of the links of each other host.
    pub others: Vec<Vec<HostLink>>,
    /// Whether the server's kernel speaks MPTCP.
    pub server_mptcp: bool,
    /// The address of the relay in front of the server, if there is one.
    pub relay: Option<Ipv4Addr>,
    /// The address that the server announces besides the one at which connections begin.
    pub announced: Option<IpAddr>,
    /// Default congestion controller of the sockets of the client, and of the other hosts.
    pub client_cc: String,
    /// Default congestion controller of the server's sockets.
    pub server_cc: String,
    /// Limit of additional subflows that the server and the relay accept.
    pub server_subflows: u8,
}

/// One link, as the hosts see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLink {
    /// Name of its interface at both ends: 1 to 15 characters.
    pub interface: String,
    /// Its addresses.
    pub addresses: LinkAddresses,
}

/// The namespaces.
#[derive(Debug)]
pub struct Hosts {
    /// The client's namespace: an interface per link, up, without an address.
    pub client: Netns,
    /// The server's namespace.
    pub server: Netns,
    /// The relay's host, if there is one.
    pub relay: Option<RelayNetns>,
    /// Interface numbers of the links at the client.
    pub client_ifindex: Vec<u32>,
    /// The other hosts.
    pub others: Vec<OtherNetns>,
}

/// The namespace of a host that is neither the client nor the server.
#[derive(Debug)]
pub struct OtherNetns {
    /// The namespace, like the client's.
    pub netns: Netns,
    /// Interface numbers of its links.
    pub ifindex: Vec<u32>,
}

/// The two devices of one link.
#[derive(Debug)]
pub struct Port {
    /// The device in the namespace of the client, or of another host.
    pub client: Tun,
    /// The device in the namespace of the server, or of the relay in front of it.
    pub server: Tun,
    /// Address translation between the two.
    pub nat: Option<Nat>,
}

impl Hosts {
    /// Builds the namespaces, and the devices of every link for the emulator: the client's links, then those
    /// of the other hosts.
    pub fn build(config: &HostsConfig) -> Result<(Self, Vec<Port>), BuildError> {
        let (client, server) = (Netns::new()?, Netns::new()?);
        let at_client = in_netns(&client, || build_client(&config.client_cc, &config.links))?;
        let (mut near, client_ifindex) = apart(at_client);
        let mut others = Vec::with_capacity(config.others.len());
        for links in &config.others {
            let netns = Netns::new()?;
            let at_other = in_netns(&netns, || build_client(&config.client_cc, links))?;
            let (tuns, ifindex) = apart(at_other);
            near.extend(tuns);
            others.push(OtherNetns { netns, ifindex });
        }
        in_netns(&server, || build_server(config))?;
        let relay = match config.relay {
            Some(address) => Some(RelayNetns::build(config, address, &server)?),
            None => None,
        };
        let (edge, sources) = match &relay {
            Some(relay) => (&relay.netns, Sources::of_v4(relay.address)),
            None => (&server, config.sources()),
        };
        let at_server = in_netns(edge, || far_ends(config, sources))?;
        let ports = near.into_iter().zip(at_server).zip(config.all_links());
        let ports = ports.map(|((client, server), link)| Port {
            client,
            server,
            nat: link.addresses.nat(0),
        });
        let ports = ports.collect();
        let hosts = Self {
            client,
            server,
            relay,
            client_ifindex,
            others,
        };
        Ok((hosts, ports))
    }
}

impl HostsConfig {
    /// The links of all hosts, the client's first.
    fn all_links(&self) -> impl Iterator<Item = &HostLink> {
        self.links.iter().chain(self.others.iter().flatten())
    }

    /// The server's addresses.
    fn sources(&self) -> Sources {
        Sources {
            v4: self.server,
            v6: Some(SERVER_V6),
        }
    }
}

/// Addresses of the host at which the links end.
#[derive(Debug, Clone, Copy)]
struct Sources {
    v4: Ipv4Addr,
    v6: Option<Ipv6Addr>,
}

impl Sources {
    const fn of_v4(v4: Ipv4Addr) -> Self {
        Self { v4, v6: None }
    }

    fn all(self) -> impl Iterator<Item = IpAddr> {
        let v6 = self.v6.map(IpAddr::from);
        std::iter::once(self.v4.into()).chain(v6)
    }

    /// The address of this family.
    fn towards(self, address: IpAddr) -> Option<IpAddr> {
        self.all().find(|own| own.is_ipv4() == address.is_ipv4())
    }
}

/// Separates devices from their interface numbers.
fn apart(made: Vec<(Tun, u32)>) -> (Vec<Tun>, Vec<u32>) {
    made.into_iter().unzip()
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let others = self.others.iter().map(|other| &other.netns);
        let relay = self.relay.iter().map(|relay| &relay.netns);
        [&self.client, &self.server]
            .into_iter()
            .chain(relay)
            .chain(others)
            .for_each(sweep::sweep);
    }
}

/// Builds the client, or another host.
fn build_client(cc: &str, links: &[HostLink]) -> Result<Vec<(Tun, u32)>, BuildError> {
    common_settings(cc)?;
    // A connection that failed on a dead link must not disable MPTCP for the next ones.
    set_sysctl("net.mptcp.blackhole_timeout", "0").or_else(ignore_missing)?;
    let mut rtnl = Rtnl::open()?;
    let made = links.iter().map(|link| {
        let (tun, ifindex) = device(&mut rtnl, Tun::unplugged(&link.interface)?)?;
        // Older kernels create the device with a carrier.
        tun.set_carrier(false).map_err(BuildError::Carrier)?;
        Ok((tun, ifindex))
    });
    made.collect()
}

fn build_server(config: &HostsConfig) -> Result<(), BuildError> {
    common_settings(&config.server_cc)?;
    if !config.server_mptcp {
        set_sysctl("net.mptcp.enabled", "0")?;
    }
    accept_subflows(config.server_subflows)?;
    if let Some(announced) = config.announced {
        let endpoint = Endpoint::new(announced, EndpointFlags::SIGNAL);
        mptcp_pm::Commands::open()?.add_endpoint(&endpoint)?;
    }
    own_addresses(config.sources())
}

/// Sets the limit of additional subflows, unless it is the kernel's own.
fn accept_subflows(most: u8) -> Result<(), BuildError> {
    if most != STOCK_SUBFLOWS {
        let limits = Limits {
            subflows: most.into(),
            add_addr_accepted: 0,
        };
        mptcp_pm::Commands::open()?.set_limits(limits)?;
    }
    Ok(())
}

/// Gives a host addresses that belong to no link.
fn own_addresses(sources: Sources) -> Result<(), BuildError> {
    let mut rtnl = Rtnl::open()?;
    for addr in sources.all() {
        let mut address = Address::new(LOOPBACK, Prefix::host(addr));
        address.flags = AddressFlags::NO_DAD;
        rtnl.add_address(&address)?;
    }
    Ok(())
}

/// The far end of every link, in the namespace of the host at which links end.
fn far_ends(config: &HostsConfig, sources: Sources) -> Result<Vec<Tun>, BuildError> {
    let mut rtnl = Rtnl::open()?;
    let made = config.all_links().map(|link| {
        let (tun, ifindex) = device(&mut rtnl, Tun::create(&link.interface)?)?;
        for behind in link.addresses.all_behind() {
            let mut route = Route::new(Table::MAIN, behind.network());
            route.oif = Some(ifindex);
            route.src = sources.towards(behind.addr());
            rtnl.add_route(&route)?;
        }
        Ok(tun)
    });
    made.collect()
}

/// Interface number of the loopback: the first link in every network namespace.
const LOOPBACK: u32 = 1;

fn common_settings(cc: &str) -> Result<(), BuildError> {
    // Without link-local addresses, the kernel looks for no neighbours on the links.
    set_sysctl("net.ipv6.conf.default.addr_gen_mode", "1").or_else(ignore_missing)?;
    set_sysctl("net.ipv6.conf.default.accept_ra", "0").or_else(ignore_missing)?;
    set_sysctl("net.ipv4.conf.all.rp_filter", "0")?;
    set_sysctl("net.ipv4.conf.default.rp_filter", "0")?;
    set_sysctl("net.ipv4.tcp_congestion_control", cc)?;
    Ok(())
}

fn set_sysctl(name: &str, value: &str) -> Result<(), SysctlError> {
    sysctl::write(&Key::new(name), value)
}

/// A kernel that lacks the feature needs no setting for it.
fn ignore_missing(error: SysctlError) -> Result<(), SysctlError> {
    if matches!(error, SysctlError::Missing(_)) {
        Ok(())
    } else {
        Err(error)
    }
}

/// Sets the MTU of a device and sets it up. Returns it with its interface number.
fn device(rtnl: &mut Rtnl, tun: Tun) -> Result<(Tun, u32), BuildError> {
    let name = tun.name().to_owned();
    let interface: IfName = name.parse()?;
    let link = rtnl.link_named(interface)?.ok_or(BuildError::Vanished(name))?;
    rtnl.set_mtu(link.ifindex, MTU)?;
    rtnl.set_up(link.ifindex, true)?;
    Ok((tun, link.ifindex))
}

/// A name for the interface of the `index`th link: the link's own name, as far as an interface may have it.
pub fn interface_name(index: usize, link: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain = !link.is_empty()
        && link.chars().all(allowed)
        && !matches!(link, "." | ".." | "lo" | "all" | "default");
    if plain && link.len() <= 15 {
        return link.to_owned();
    }
    let kept: String = link
        .chars()
        .filter(|c| allowed(*c) && *c != '.')
        .take(10)
        .collect();
    format!("{kept}{index:05}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_named_after_its_link_if_valid() {
        assert_eq!(interface_name(0, "lte"), "lte");
        assert_eq!(interface_name(3, "a name with spaces"), "anamewiths00003");
        for link in ["", "lo", "..", "all", "sixteen-letters!", "a/b"] {
            let name = interface_name(7, link);
            assert!(
                name.len() <= 15 && name.parse::<IfName>().is_ok() && name != link,
                "{link}: {name}"
            );
        }
    }

    #[test]
    fn both_hosts_have_their_devices_and_settings() {
        let addressing = Addressing::new(&[None, None]);
        let links = ["one", "two"].iter().zip(&addressing.links);
        let config = HostsConfig {
            links: links
                .map(|(name, addresses)| HostLink {
                    interface: (*name).to_owned(),
                    addresses: *addresses,
                })
                .collect(),
            others: Vec::new(),
            server: addressing.server,
            server_mptcp: true,
            relay: None,
            announced: Some(SERVER_V6.into()),
            client_cc: "reno".to_owned(),
            server_cc: "reno".to_owned(),
            server_subflows: 5,
        };
        let (hosts, ports) = Hosts::build(&config).unwrap();
        assert_eq!((ports.len(), hosts.client_ifindex.len()), (2, 2));
        let limits = hosts
            .server
            .run(|| mptcp_pm::Commands::open().unwrap().limits().unwrap())
            .unwrap();
        assert_eq!(limits.subflows, 5);
        let endpoints = || mptcp_pm::Commands::open().unwrap().endpoints().unwrap();
        let announced = hosts.server.run(endpoints).unwrap();
        assert_eq!(announced.len(), 1);
        assert_eq!(
            (announced[0].addr, announced[0].flags),
            (SERVER_V6.into(), EndpointFlags::SIGNAL)
        );
        let cc = || sysctl::read(&Key::new("net.ipv4.tcp_congestion_control")).unwrap();
        assert_eq!(
            (hosts.client.run(cc).unwrap(), hosts.server.run(cc).unwrap()),
            ("reno".into(), "reno".into())
        );
        let blackhole = hosts
            .client
            .run(|| sysctl::read(&sysctl::blackhole_timeout()))
            .unwrap();
        assert!(blackhole.is_err() || blackhole.unwrap() == "0");
    }

    #[test]
    fn a_server_is_stock_by_default() {
        let config = HostsConfig {
            links: Vec::new(),
            others: Vec::new(),
            server: Addressing::new(&[]).server,
            server_mptcp: true,
            relay: None,
            announced: None,
            client_cc: "reno".to_owned(),
            server_cc: "reno".to_owned(),
            server_subflows: STOCK_SUBFLOWS,
        };
        let (hosts, _) = Hosts::build(&config).unwrap();
        let fresh = Netns::new().unwrap();
        let limits = |netns: &Netns| {
            netns
                .run(|| mptcp_pm::Commands::open().unwrap().limits().unwrap())
                .unwrap()
        };
        assert_eq!(limits(&hosts.server), limits(&fresh));
        assert_eq!(limits(&fresh).subflows, u32::from(STOCK_SUBFLOWS));
    }
}

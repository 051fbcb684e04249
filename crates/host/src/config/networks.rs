//! The tables `[networks]` and `[[flow]]`: networks for flows that cannot use several links.

use super::ConfigError;
use super::keys;
use super::section::Section;
use linux::daemon::{MOST_RULES, Target, is_ours};
use linux::rtnl::{IfName, Prefix};
use std::net::Ipv4Addr;
use std::str::FromStr;
use thiserror::Error;
use toml::Spanned;

const INTERFACE: &str = "slow0";
/// In the range that carriers use between their customers and their translators (RFC 6598): no server is
/// there.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
const DNS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 53);

/// Networks for flows that cannot use several links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworksConfig {
    /// The interface that programs see.
    pub interface: IfName,
    /// Its address.
    pub address: Ipv4Addr,
    /// The address at which programs reach the resolver of the link that carries their query.
    pub dns: Ipv4Addr,
    /// Networks of certain flows. The first rule that matches applies.
    pub flows: Vec<FlowConfig>,
}

/// The network of certain flows. All selectors that are set must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowConfig {
    /// Flows of this user.
    pub user: Option<u32>,
    /// Flows to these addresses.
    pub to: Option<Prefix>,
    /// Flows to this port.
    pub port: Option<u16>,
    /// Flows of sockets with this mark.
    pub mark: Option<u32>,
    /// Flows of sockets of this cgroup: its path from the root, without a slash at either end.
    pub cgroup: Option<String>,
    /// What carries them.
    pub network: Target,
    /// Whether they wait while their link cannot.
    pub holds: bool,
}

/// What flows do while the link of their rule cannot carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Else {
    /// Begin where new connections do.
    Active,
    /// Wait.
    Hold,
}

impl Else {
    const WORDS: [&str; 2] = ["active", "hold"];
}

impl FromStr for Else {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "active" => Ok(Self::Active),
            "hold" => Ok(Self::Hold),
            _ => Err(()),
        }
    }
}

/// Reads both tables of a file. A later file adds rules after those of earlier ones.
pub(super) fn take(file: &Section<'_>, networks: &mut Option<NetworksConfig>) -> Result<(), ConfigError> {
    if let Some(table) = file.table(&keys::NETWORKS, "table", &keys::OF_NETWORKS)? {
        let interface = table.text::<IfName>(&keys::STEADY_INTERFACE)?;
        let address = table.text::<Ipv4Addr>(&keys::STEADY_ADDRESS)?;
        let dns = table.text::<Ipv4Addr>(&keys::STEADY_DNS)?;
        let address = address.map_or(ADDRESS, Spanned::into_inner);
        if let Some(dns) = dns.as_ref().filter(|dns| *dns.get_ref() == address) {
            let what = "`dns` is the interface's own address";
            return Err(table.wrong(dns, what, "choose another one, or remove this line"));
        }
        let flows = networks.take().map(|earlier| earlier.flows);
        *networks = Some(NetworksConfig {
            interface: interface
                .map_or_else(|| INTERFACE.parse().expect("a short name"), Spanned::into_inner),
            address,
            dns: dns.map_or(DNS, Spanned::into_inner),
            flows: flows.unwrap_or_default(),
        });
    }
    for table in file.tables(&keys::FLOW, "flow", &keys::OF_FLOW)? {
        let rule = rule(&table)?;
        let Some(networks) = networks else {
            let what = "a [[flow]] needs the table [networks]";
            return Err(table.wrong_itself(what, "add [networks] before it, or remove it"));
        };
        if networks.flows.len() == MOST_RULES {
            let what = format!("more than {MOST_RULES} [[flow]]s");
            return Err(table.wrong_itself(what, "join some of them"));
        }
        let selects = |flow: &FlowConfig| (flow.user, flow.to, flow.port, flow.mark, flow.cgroup.clone());
        let same = networks
            .flows
            .iter()
            .position(|other| selects(other) == selects(&rule));
        if let Some(at) = same {
            let network = &networks.flows[at].network;
            let what = format!(
                "this flow selects the same as [[flow]] {}, which has network \"{network}\"",
                at + 1
            );
            return Err(table.wrong_itself(what, "remove one of the two"));
        }
        networks.flows.push(rule);
    }
    Ok(())
}

/// A path of cgroup v2 from its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupPath(pub String);

/// Why a text is no such path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("it is no path of a cgroup below the root; give one such as system.slice/openvpn.service")]
pub struct NoCgroupPath;

impl FromStr for CgroupPath {
    type Err = NoCgroupPath;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.trim_matches('/');
        let is_name = |part: &str| !["", ".", ".."].contains(&part);
        // It is quoted in a command of nftables, where a backslash is as any other letter.
        let is_fine = path.split('/').all(is_name) && !path.contains(['"', '\n', ';', '*', '\0']);
        is_fine.then(|| Self(path.to_owned())).ok_or(NoCgroupPath)
    }
}

fn rule(table: &Section<'_>) -> Result<FlowConfig, ConfigError> {
    let user = table.number::<u32>(&keys::USER, 0..=u32::MAX.into())?;
    let to = table.text::<Prefix>(&keys::TO)?;
    if let Some(to) = to.as_ref().filter(|to| to.get_ref().addr().is_ipv6()) {
        let what = format!("`to` is {}, and only flows over IPv4 have networks", to.get_ref());
        return Err(table.wrong(to, what, format!("give {}", keys::TO.right)));
    }
    let port = table.number::<u16>(&keys::PORT, 1..=u16::MAX.into())?;
    let mark = table.number::<u32>(&keys::MARK, 1..=u32::MAX.into())?;
    if let Some(mark) = mark.as_ref().filter(|mark| is_ours(*mark.get_ref())) {
        let what = format!(
            "`mark` is {:#x}, and marks with 4e or 4f in front are slowhand's own",
            mark.get_ref()
        );
        return Err(table.wrong(mark, what, "choose another one"));
    }
    let cgroup = table.text::<CgroupPath>(&keys::CGROUP)?;
    if user.is_none() && to.is_none() && port.is_none() && mark.is_none() && cgroup.is_none() {
        let what = "this flow has no `user`, `to`, `port`, `mark` or `cgroup`, so it would match every flow";
        return Err(table.wrong_itself(what, "add one of them"));
    }
    let network = table.network(&keys::FLOW_NETWORK)?;
    let network = table.need(&keys::FLOW_NETWORK, network)?.into_inner();
    let otherwise = table.word::<Else>(&keys::FLOW_ELSE, Else::WORDS)?;
    let holds = |otherwise: &&Spanned<Else>| *otherwise.get_ref() == Else::Hold;
    if let Some(otherwise) = otherwise.as_ref().filter(holds)
        && network.link().is_none()
    {
        let what = format!("`else` is \"hold\", and `network` is {network}, which is not one link");
        return Err(table.wrong(otherwise, what, "remove this line, or name one link in `network`"));
    }
    Ok(FlowConfig {
        user: user.map(Spanned::into_inner),
        to: to.map(Spanned::into_inner),
        port: port.map(Spanned::into_inner),
        mark: mark.map(Spanned::into_inner),
        cgroup: cgroup.map(|cgroup| cgroup.into_inner().0),
        network,
        holds: otherwise.is_some_and(|otherwise| otherwise.into_inner() == Else::Hold),
    })
}

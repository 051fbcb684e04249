//! The tables `[networks]` and `[[flow]]`: networks for flows that cannot use several links.

use super::ConfigError;
use super::keys;
use super::section::Section;
use linux::daemon::MOST_RULES;
use linux::rtnl::{IfName, Prefix};
use std::net::Ipv4Addr;
use toml::Spanned;

const INTERFACE: &str = "slow0";
/// In the range that carriers use between their customers and their translators (RFC 6598): no server is
/// there.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);

/// Networks for flows that cannot use several links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworksConfig {
    /// The interface that programs see.
    pub interface: IfName,
    /// Its address.
    pub address: Ipv4Addr,
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
    /// The link that carries them.
    pub network: String,
}

/// Reads both tables of a file. A later file adds rules after those of earlier ones.
pub(super) fn take(file: &Section<'_>, networks: &mut Option<NetworksConfig>) -> Result<(), ConfigError> {
    if let Some(table) = file.table(&keys::NETWORKS, "table", &keys::OF_NETWORKS)? {
        let interface = table.text::<IfName>(&keys::STEADY_INTERFACE)?;
        let address = table.text::<Ipv4Addr>(&keys::STEADY_ADDRESS)?;
        let flows = networks.take().map(|earlier| earlier.flows);
        *networks = Some(NetworksConfig {
            interface: interface
                .map_or_else(|| INTERFACE.parse().expect("a short name"), Spanned::into_inner),
            address: address.map_or(ADDRESS, Spanned::into_inner),
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
        networks.flows.push(rule);
    }
    Ok(())
}

fn rule(table: &Section<'_>) -> Result<FlowConfig, ConfigError> {
    let user = table.number::<u32>(&keys::USER, 0..=u32::MAX.into())?;
    let to = table.text::<Prefix>(&keys::TO)?;
    if let Some(to) = to.as_ref().filter(|to| to.get_ref().addr().is_ipv6()) {
        let what = format!("`to` is {}, and only flows over IPv4 have networks", to.get_ref());
        return Err(table.wrong(to, what, format!("give {}", keys::TO.right)));
    }
    let port = table.number::<u16>(&keys::PORT, 1..=u16::MAX.into())?;
    if user.is_none() && to.is_none() && port.is_none() {
        let what = "this flow has neither `user` nor `to` nor `port`, so it would match every flow";
        return Err(table.wrong_itself(what, "add one of them"));
    }
    let network = table.text::<String>(&keys::FLOW_NETWORK)?;
    Ok(FlowConfig {
        user: user.map(Spanned::into_inner),
        to: to.map(Spanned::into_inner),
        port: port.map(Spanned::into_inner),
        network: table.need(&keys::FLOW_NETWORK, network)?.into_inner(),
    })
}

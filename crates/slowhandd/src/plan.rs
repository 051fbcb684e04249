//! What the configuration asks of the daemon. Everything here can be checked before the host is touched.

use crate::agent;
use host::config::{Asked, Config, ConfigError, DEFAULT, LinkConfig, WifiConfig, WifiNetwork};
use host::report_key;
use linux::bpf::cc::Coupled;
use linux::daemon::{self, DeclaredLink, SignalReports};
use linux::portal::{Check, from_network_manager};
use linux::wifi::Network;
use policy::{LinkId, LinkKind, LinkSpec, Policy, Tariff};
use std::path::Path;
use trace::PolicyName;

/// What a configuration asks for, checked.
pub struct Planned {
    /// What the files say.
    pub config: Config,
    /// The declared links.
    pub links: Vec<DeclaredLink>,
    /// Who decides.
    pub policy: Policy,
    /// Where to send signal reports.
    pub reports: Option<SignalReports>,
    /// Networks to join, with their keys.
    pub networks: Vec<Network>,
    /// The congestion controller of new connections, if it is not the kernel's own.
    pub cc: Option<String>,
}

/// Reads the configuration, and checks all that does not depend on the host's state. Changes nothing.
pub fn plan(path: Option<&Path>, cc: Option<&str>) -> Result<Planned, String> {
    let config = configuration(path).map_err(|error| error.to_string())?;
    let links = declared(&config.links);
    let joined = config
        .wifi
        .iter()
        .flat_map(|wifi| &wifi.networks)
        .map(spec_of_network);
    let policy = policy(&config.policy, &links, &Vec::from_iter(joined))?;
    let reports = reports(&config)?;
    let networks = config
        .wifi
        .as_ref()
        .map_or(Ok(Vec::new()), WifiConfig::networks)?;
    let cc = cc.map(str::to_owned).or_else(|| config.cc.clone());
    if let Some(name) = &cc {
        check_controller(name).map_err(|error| error.to_string())?;
    }
    let planned = Planned {
        config,
        links,
        policy,
        reports,
        networks,
        cc,
    };
    if let Some(relay) = &planned.config.relay {
        agent::check(relay, &planned.interfaces()).map_err(|error| error.to_string())?;
    }
    Ok(planned)
}

impl Planned {
    /// How to check whether a link leads to the Internet.
    pub fn check(&self) -> Option<Check> {
        // `slowhand doctor` reports a check of NetworkManager that cannot be made here.
        let check = self.config.portal.clone();
        check.or_else(|| from_network_manager(Path::new("/")).ok().flatten())
    }

    /// The interfaces of the links, as patterns of their names.
    pub fn interfaces(&self) -> Vec<String> {
        let links = self.config.links.iter();
        let joined = self.config.wifi.as_ref().map(|_| "slow-w*".to_owned());
        links.map(|link| link.interface.clone()).chain(joined).collect()
    }
}

fn configuration(path: Option<&Path>) -> Result<Config, ConfigError> {
    match path {
        Some(path) => Config::read(path, Asked::ByName),
        None => Config::read(Path::new(DEFAULT), Asked::ByDefault),
    }
}

/// Our controllers are not in the kernel yet.
fn check_controller(name: &str) -> Result<(), daemon::SenderError> {
    match Coupled::from_id(name) {
        Some(_) => Ok(()),
        None => daemon::check_controller(name),
    }
}

/// Where to send signal reports.
fn reports(config: &Config) -> Result<Option<SignalReports>, String> {
    let Some(path) = &config.report_key_file else {
        return Ok(None);
    };
    let key = report_key::read(path)?;
    let port = config.report_port;
    Ok(Some(SignalReports { key, port }))
}

fn declared(links: &[LinkConfig]) -> Vec<DeclaredLink> {
    let numbered = (0..).map(LinkId).zip(links);
    numbered
        .map(|(id, link)| DeclaredLink {
            id,
            interface: link.interface.clone(),
            spec: spec(link),
            gateway: link.gateway,
            tariff: tariff(link),
        })
        .collect()
}

const fn tariff(link: &LinkConfig) -> Tariff {
    if link.metered {
        Tariff::Metered { cap: None }
    } else {
        Tariff::Flat
    }
}

fn spec(link: &LinkConfig) -> LinkSpec {
    LinkSpec {
        name: link.name.clone(),
        kind: link.kind.into(),
        role: link.role.into(),
        channel: link.channel,
    }
}

/// An access point of this network, as a link.
fn spec_of_network(network: &WifiNetwork) -> LinkSpec {
    LinkSpec {
        name: network.ssid.clone(),
        kind: LinkKind::Wifi,
        role: network.role.into(),
        channel: None,
    }
}

/// `joined` are the links to access points that are still to be joined.
fn policy(name: &PolicyName, links: &[DeclaredLink], joined: &[LinkSpec]) -> Result<Policy, String> {
    if matches!(name, PolicyName::TcpBest | PolicyName::Ecn) {
        return Err(format!(
            "policy `{name}` cannot run on a live host; use `slowhand`"
        ));
    }
    if let Some(unmet) = crate::needs::unmet(name, links.iter().map(|link| &link.spec).chain(joined)) {
        return Err(unmet);
    }
    let links = links.iter().map(|link| (link.id, link.spec.name.as_str()));
    name.in_engine(links)
        .map_err(|error| format!("{error}; add a [[link]] or change the policy"))
}

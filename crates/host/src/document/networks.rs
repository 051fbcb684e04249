//! Networks of flows that cannot use several links, in the document of `status`.

use super::{Link, Status, link_name};
use linux::daemon::{FlowReport, FlowRule, NetworksReport, Report, wish};
use policy::flow::FlowId;
use policy::reason::Assigned;
use policy::{LinkId, Reason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use units::Instant;

/// Schema of the document of `networks`.
pub const NETWORKS: &str = "slowhand.networks/1";

/// Networks of flows that cannot use several links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Networks {
    /// The interface that programs see.
    pub interface: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The links on which new flows begin that no rule names; empty: they wait for one.
    pub begins: Vec<String>,
    /// The user's rules, in order.
    pub rules: Vec<Rule>,
    /// The shares of links in new flows that match no rule; absent: they begin on one link.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u16>,
    /// The address at which programs reach the resolver of the link that carries their query.
    pub dns: Option<Ipv4Addr>,
    /// The resolvers of links, as far as they are known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resolvers: BTreeMap<String, Ipv4Addr>,
    /// Open flows.
    pub flows: Vec<Flow>,
}

/// The network of certain flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Its number, which it keeps as long as it exists.
    pub number: u8,
    /// Which flows: the selectors as in the configuration.
    pub of: String,
    /// What the user wants for them: a link, `active`, `spread`, or shares such as `wlan0=9,phone=1`.
    pub network: String,
    /// Whether they wait while it cannot carry them.
    #[serde(default)]
    pub holds: bool,
    /// The links on which new ones begin; empty: they wait for one.
    pub begins: Vec<String>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its number, which it keeps when it moves.
    pub id: u64,
    /// Where it comes from; absent if its protocol has no ports.
    pub local: Option<SocketAddr>,
    /// For how long it has had its link, in seconds.
    pub since_s: f64,
    /// Why it has its link; absent until the daemon has decided.
    pub why: Option<String>,
    /// Where it goes; absent if its protocol has no ports.
    pub remote: Option<SocketAddr>,
    /// Its link; absent: it waits for one.
    pub link: Option<String>,
    /// The number of its rule, from 1; absent if it follows none.
    pub rule: Option<u8>,
}

/// The document of `networks`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworksList {
    /// Name and version of this format.
    pub schema: String,
    /// The links as networks of flows.
    pub networks: Vec<Network>,
    /// Rules and open flows.
    pub flows: Networks,
}

/// A link as a network of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The link.
    pub name: String,
    /// Its interface; absent if there is none.
    pub interface: Option<String>,
    /// Whether new flows begin on it that match no rule.
    pub begins: bool,
    /// Its share in these; absent if there are no shares.
    pub weight: Option<u16>,
    /// The address of its DNS resolver, if one is known.
    pub resolver: Option<Ipv4Addr>,
    /// Open flows on it.
    pub flows: usize,
}

impl NetworksList {
    /// Makes the document from that of `status`. `None` without `[networks]`.
    pub fn of(status: &Status) -> Option<Self> {
        let flows = status.networks.clone()?;
        let shares = !flows.weights.is_empty();
        let network = |link: &Link| {
            let weight = flows.weights.get(&link.name).copied();
            Network {
                name: link.name.clone(),
                interface: link.interface.clone(),
                begins: flows.begins.contains(&link.name),
                weight: weight.or(shares.then_some(0)),
                resolver: flows.resolvers.get(&link.name).copied(),
                flows: flows
                    .flows
                    .iter()
                    .filter(|flow| flow.link.as_ref() == Some(&link.name))
                    .count(),
            }
        };
        Some(Self {
            schema: NETWORKS.to_owned(),
            networks: status.links.iter().map(network).collect(),
            flows: flows.clone(),
        })
    }
}

impl Networks {
    /// Makes the document from the daemon's report. `None` without `[networks]`.
    pub(super) fn of(report: &Report) -> Option<Self> {
        let networks = report.networks.as_ref()?;
        Some(Self::new(report.at, networks, |link| link_name(report, link)))
    }

    /// Makes the document. `name` gives the name of a link.
    fn new(now: Instant, report: &NetworksReport, name: impl Fn(LinkId) -> String) -> Self {
        let rule = |(number, rule, begins): &(u8, FlowRule, Vec<LinkId>)| Rule {
            number: *number,
            of: selectors(rule),
            network: rule.network.to_string(),
            holds: rule.holds,
            begins: begins.iter().copied().map(&name).collect(),
        };
        let flow = |flow: &FlowReport| Flow {
            id: flow.id.0,
            local: flow.local,
            since_s: (now - flow.since).as_secs_f64(),
            why: flow.why.map(|why| said(flow.id, why)),
            remote: flow.remote,
            link: flow.link.map(&name),
            rule: flow.rule,
        };
        Self {
            interface: report.interface.clone(),
            address: report.address,
            begins: report.begins.iter().copied().map(&name).collect(),
            rules: report.rules.iter().map(rule).collect(),
            weights: report.weights.iter().cloned().collect(),
            dns: report.dns,
            resolvers: report
                .resolvers
                .iter()
                .map(|&(link, address)| (name(link), address))
                .collect(),
            flows: report.flows.iter().map(flow).collect(),
        }
    }
}

/// The reason without the number of the flow, which stands before it.
fn said(flow: FlowId, why: Assigned) -> String {
    let sentence = Reason::Flow(flow, why).sentence(&BTreeMap::<LinkId, String>::new());
    let number = format!("flow {} ", flow.0);
    sentence.strip_prefix(&number).unwrap_or(&sentence).to_owned()
}

fn selectors(rule: &FlowRule) -> String {
    let user = rule.user.map(|user| format!("user {user}"));
    let to = rule.to.map(|to| format!("to {to}"));
    let port = rule.port.map(|port| format!("port {port}"));
    let mark = rule
        .mark
        .map(|mark| match rule.network.link().map(wish) == Some(mark) {
            true => "programs of `slowhand exec --network`".to_owned(),
            false => format!("mark {mark:#x}"),
        });
    let cgroup = rule.cgroup.as_ref().map(|path| format!("cgroup {path}"));
    Vec::from_iter([user, to, port, mark, cgroup].into_iter().flatten()).join(", ")
}

//! Networks of flows that cannot use several links, in the document of `status`.

use linux::daemon::{FlowReport, FlowRule, NetworksReport};
use policy::LinkId;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

/// Networks of flows that cannot use several links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Networks {
    /// The interface that programs see.
    pub interface: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The link on which new flows begin that no rule names; absent: they wait for one.
    pub begins: Option<String>,
    /// The user's rules, in order.
    pub rules: Vec<Rule>,
    /// Open flows.
    pub flows: Vec<Flow>,
}

/// The network of certain flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Which flows: the selectors as in the configuration.
    pub of: String,
    /// The link that the user wants for them.
    pub network: String,
    /// The link on which new ones begin; absent: they wait for one.
    pub begins: Option<String>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Where it goes; absent if its protocol has no ports.
    pub remote: Option<SocketAddr>,
    /// Its link; absent: it waits for one.
    pub link: Option<String>,
    /// The number of its rule, from 1; absent if it follows none.
    pub rule: Option<usize>,
}

impl Networks {
    /// Makes the document. `name` gives the name of a link.
    pub(super) fn new(report: &NetworksReport, name: impl Fn(LinkId) -> String) -> Self {
        let rule = |(rule, begins): &(FlowRule, Option<LinkId>)| Rule {
            of: selectors(rule),
            network: rule.network.clone(),
            begins: begins.map(&name),
        };
        let flow = |flow: &FlowReport| Flow {
            remote: flow.remote,
            link: flow.link.map(&name),
            rule: flow.rule.map(|at| at + 1),
        };
        Self {
            interface: report.interface.clone(),
            address: report.address,
            begins: report.begins.map(&name),
            rules: report.rules.iter().map(rule).collect(),
            flows: report.flows.iter().map(flow).collect(),
        }
    }
}

fn selectors(rule: &FlowRule) -> String {
    let user = rule.user.map(|user| format!("user {user}"));
    let to = rule.to.map(|to| format!("to {to}"));
    let port = rule.port.map(|port| format!("port {port}"));
    Vec::from_iter([user, to, port].into_iter().flatten()).join(", ")
}

//! Walkers other than the client that need a host of their own, because they have flows of TCP or MPTCP.
//!
//! # Where we differ, and why
//! 1. A walker with nothing but datagrams over access points needs no host: the models of the air carry
//!    these.
//! 2. A walker with MPTCP uses every link of the scenario.

use super::{position, thresholds};
use crate::plan::{Flow, LinkKind, Plan, Transport};
use links::wifi::Radio;
use links::{LinkId, OtherHost};
use units::Duration;

/// A walker that has a host: its index in the plan, and the links that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resident {
    /// Index in [`Plan::walkers`].
    pub by: usize,
    /// Indices in [`Plan::links`].
    pub links: Vec<usize>,
}

impl Resident {
    /// Whether it uses an access point.
    pub fn has_radio(&self, plan: &Plan) -> bool {
        self.links.iter().any(|&link| is_wifi(plan, link))
    }
}

/// The walkers that have a host, in the order of the plan. The client is not among them.
pub fn residents(plan: &Plan) -> impl Iterator<Item = Resident> {
    let others = (1..plan.walkers.len()).filter(|&by| has_host(plan, by));
    others.map(|by| Resident {
        by,
        links: links_of(plan, by),
    })
}

/// Whether this walker is not the client and has a host.
pub fn has_host(plan: &Plan, by: usize) -> bool {
    by != 0 && flows_of(plan, by).any(|flow| needs_host(plan, flow))
}

fn flows_of(plan: &Plan, by: usize) -> impl Iterator<Item = &Flow> {
    plan.flows.iter().filter(move |flow| flow.by == by)
}

fn needs_host(plan: &Plan, flow: &Flow) -> bool {
    match flow.transport {
        Transport::Udp { over } => !is_wifi(plan, over),
        Transport::Tcp { .. } | Transport::Mptcp | Transport::EachLink | Transport::EachPeer { .. } => true,
    }
}

fn is_wifi(plan: &Plan, link: usize) -> bool {
    matches!(plan.links[link].kind, LinkKind::Wifi(_))
}

/// All links if one of its flows is MPTCP, otherwise those that its flows name.
fn links_of(plan: &Plan, by: usize) -> Vec<usize> {
    let uses = |link: &usize| {
        flows_of(plan, by).any(|flow| match flow.transport {
            Transport::Mptcp | Transport::EachLink | Transport::EachPeer { .. } => true,
            Transport::Tcp { over } | Transport::Udp { over } => over == *link,
        })
    };
    (0..plan.links.len()).filter(uses).collect()
}

/// A walker's host in the form of the links' models. Its radio is where the walker begins.
pub fn other_host(plan: &Plan, resident: &Resident) -> OtherHost {
    let walker = &plan.walkers[resident.by];
    OtherHost {
        name: walker.name.clone(),
        radio: Radio {
            position: position(walker.position(Duration::ZERO)),
            power: walker.tx_power,
        },
        thresholds: thresholds(walker.thresholds),
        links: resident.links.iter().map(|&link| LinkId(link as u16)).collect(),
    }
}

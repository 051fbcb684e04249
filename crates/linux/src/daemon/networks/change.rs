//! What the user changes while the daemon runs: rules, weights, and the links of open flows.
//!
//! A rule keeps its number as long as it exists, since the marks of its flows carry that number.

use super::Networks;
use crate::daemon::api::networks::{ChangeError, FlowRule, MOST_RULES, NetworksChange};
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use policy::flow::FlowId;
use policy::{FlowEvent, Input, LinkId};

impl Networks {
    /// Makes a change. It is in force for flows that begin from now on. Open flows move only if that is the
    /// change.
    pub(crate) fn change(
        &mut self,
        change: NetworksChange,
        links: &Links,
        outlet: &mut Outlet,
    ) -> Result<(), ChangeError> {
        match change {
            NetworksChange::Add(rule) => self.add(rule, links, outlet),
            NetworksChange::Remove(number) => self.remove(number, links, outlet),
            NetworksChange::Weights(weights) => self.weigh(weights, links, outlet),
            NetworksChange::Move { flow, to } => {
                let to = carrying(links, &to)?;
                self.flows.get(flow).ok_or(ChangeError::NoFlow(flow.0))?;
                outlet.tell(Input::Flow(flow, FlowEvent::Wanted(to)));
                Ok(())
            }
            NetworksChange::MoveAll { from, to } => {
                let (from, to) = (known(links, &from)?, carrying(links, &to)?);
                for flow in self.on(from) {
                    outlet.tell(Input::Flow(flow, FlowEvent::Wanted(to)));
                }
                Ok(())
            }
        }
    }

    fn on(&self, link: LinkId) -> Vec<FlowId> {
        let on = self.flows.iter().filter(|(_, known)| known.link() == Some(link));
        on.map(|(id, _)| id).collect()
    }

    fn add(&mut self, rule: FlowRule, links: &Links, outlet: &mut Outlet) -> Result<(), ChangeError> {
        known(links, &rule.network)?;
        if let Some((number, other)) = self.rules.iter().find(|(_, other)| rule.matches_as(other)) {
            return Err(ChangeError::Contradicts {
                number: *number,
                network: other.network.clone(),
            });
        }
        let last = self.rules.last().map_or(0, |(number, _)| usize::from(*number));
        let number = u8::try_from(last + 1).map_err(|_| ChangeError::TooMany(MOST_RULES))?;
        self.rules.push((number, rule));
        self.follow(links, outlet);
        Ok(())
    }

    fn remove(&mut self, number: u8, links: &Links, outlet: &mut Outlet) -> Result<(), ChangeError> {
        let at = self.rules.iter().position(|(other, _)| *other == number);
        let at = at.ok_or(ChangeError::NoRule(number))?;
        self.rules.remove(at);
        self.follow(links, outlet);
        Ok(())
    }

    fn weigh(
        &mut self,
        weights: Vec<(String, u16)>,
        links: &Links,
        outlet: &mut Outlet,
    ) -> Result<(), ChangeError> {
        let mut weighed = Vec::new();
        for (name, weight) in weights {
            let link = known(links, &name)?;
            if weighed.iter().any(|(other, _)| *other == link) {
                return Err(ChangeError::Twice(name));
            }
            weighed.push((link, weight));
        }
        if !weighed.is_empty() && weighed.iter().all(|(_, weight)| *weight == 0) {
            return Err(ChangeError::NoWeight);
        }
        self.weights = weighed;
        self.follow(links, outlet);
        Ok(())
    }

    /// Changes the table to what is wanted now.
    fn follow(&mut self, links: &Links, outlet: &mut Outlet) {
        self.basis = None;
        self.settle(links, outlet);
    }
}

fn known(links: &Links, name: &str) -> Result<LinkId, ChangeError> {
    links.named(name).ok_or_else(|| ChangeError::Unknown {
        name: name.to_owned(),
        known: links.iter().map(|link| link.spec.name.clone()).collect(),
    })
}

fn carrying(links: &Links, name: &str) -> Result<LinkId, ChangeError> {
    let link = known(links, name)?;
    let carries = links.carrying_flows().any(|other| other == link);
    carries
        .then_some(link)
        .ok_or_else(|| ChangeError::Gone(name.to_owned()))
}

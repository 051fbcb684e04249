//! What the user changes while the daemon runs: rules, weights, and the links of open flows.
//!
//! A rule keeps its number as long as it exists, since the marks of its flows carry that number.

use super::Networks;
use super::cgroup::Cgroup;
use crate::daemon::api::networks::{ChangeError, FlowRule, MOST_RULES, NetworksChange, Target};
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::links::marks;
use policy::flow::FlowId;
use policy::{FlowEvent, Input, LinkId};
use units::Instant;

impl Networks {
    /// Makes a change. It is in force for flows that begin from now on. Open flows move only if that is the
    /// change.
    pub(crate) fn change(
        &mut self,
        now: Instant,
        change: NetworksChange,
        links: &Links,
        outlet: &mut Outlet,
    ) -> Result<(), ChangeError> {
        match change {
            NetworksChange::Add(rule) => self.add(rule, links)?,
            NetworksChange::Wish(network) => self.wish(network, links)?,
            NetworksChange::Remove(number) => self.remove(number)?,
            NetworksChange::Weights(weights) => self.weigh(&weights, links)?,
            NetworksChange::Move { flow, to } => {
                let to = self.carrying(links, &to)?;
                let known = self.flows.get(flow).ok_or(ChangeError::NoFlow(flow.0))?;
                if known.why.is_some() {
                    outlet.tell(Input::Flow(flow, FlowEvent::Wanted(to)));
                } else if let Err(error) = self.move_to(now, flow, to) {
                    // The engine does not know it: it waits for a link that is not there.
                    outlet.trouble("moving a flow", &error);
                }
                return Ok(());
            }
            NetworksChange::MoveAll { from, to } => {
                let (from, to) = (known(links, &from)?, self.carrying(links, &to)?);
                for flow in self.on(from) {
                    outlet.tell(Input::Flow(flow, FlowEvent::Wanted(to)));
                }
                return Ok(());
            }
        }
        self.follow(now, links, outlet);
        Ok(())
    }

    fn on(&self, link: LinkId) -> Vec<FlowId> {
        let on = self.flows.iter().filter(|(_, known)| known.link() == Some(link));
        on.map(|(id, _)| id).collect()
    }

    fn add(&mut self, rule: FlowRule, links: &Links) -> Result<(), ChangeError> {
        match &rule.network {
            Target::Link(name) => drop(known(links, name)?),
            Target::Shares(shares) => drop(weighed(shares, links)?),
            Target::Active | Target::Spread => {}
        }
        let cgroup = rule.cgroup.as_deref();
        if let Some(path) = cgroup.filter(|path| Cgroup::find(path).is_none()) {
            return Err(ChangeError::NoCgroup(path.to_owned()));
        }
        if let Some((number, other)) = self.rules.iter().find(|(_, other)| rule.matches_as(other)) {
            return Err(ChangeError::Contradicts {
                number: *number,
                network: other.network.clone(),
            });
        }
        // Numbers are given in turn, so that none soon means another rule than before.
        let mut numbers = (self.last_number..u8::MAX).chain(0..self.last_number);
        let number = numbers.find_map(|last| Some(last + 1).filter(|number| self.is_free(*number)));
        let number = number.ok_or(ChangeError::TooMany(MOST_RULES))?;
        self.last_number = number;
        self.rules.push((number, rule));
        Ok(())
    }

    /// Adds a rule before all others, which stays for the next program with this wish. Such rules have the
    /// highest numbers.
    fn wish(&mut self, network: String, links: &Links) -> Result<(), ChangeError> {
        known(links, &network)?;
        let rule = FlowRule {
            user: None,
            to: None,
            port: None,
            mark: Some(marks::wish(&network)),
            cgroup: None,
            network: Target::Link(network),
            holds: false,
        };
        if self.rules.iter().any(|(_, other)| *other == rule) {
            return Ok(());
        }
        let number = (1..=u8::MAX).rev().find(|number| self.is_free(*number));
        let number = number.ok_or(ChangeError::TooMany(MOST_RULES))?;
        self.rules.insert(0, (number, rule));
        Ok(())
    }

    /// Whether neither a rule has this number, nor an open flow that followed one.
    fn is_free(&self, number: u8) -> bool {
        self.rules.iter().all(|(other, _)| *other != number) && !self.flows.follows(number)
    }

    fn remove(&mut self, number: u8) -> Result<(), ChangeError> {
        let at = self.rules.iter().position(|(other, _)| *other == number);
        let at = at.ok_or(ChangeError::NoRule(number))?;
        self.rules.remove(at);
        Ok(())
    }

    fn weigh(&mut self, weights: &[(String, u16)], links: &Links) -> Result<(), ChangeError> {
        let weighed = weighed(weights, links)?;
        if !weighed.is_empty() && weighed.iter().all(|(_, weight)| *weight == 0) {
            return Err(ChangeError::NoWeight);
        }
        // A link that comes back may have another number, and has the same name.
        let name = |(link, weight)| Some((links.get(link)?.spec.name.clone(), weight));
        self.weights = weighed.into_iter().filter_map(name).collect();
        Ok(())
    }

    /// The link with this name, if flows may move there.
    fn carrying(&self, links: &Links, name: &str) -> Result<LinkId, ChangeError> {
        let link = known(links, name)?;
        let carries = self.usable(links).contains(&link);
        carries
            .then_some(link)
            .ok_or_else(|| ChangeError::Gone(name.to_owned()))
    }

    /// Changes the table to what is wanted now.
    fn follow(&mut self, now: Instant, links: &Links, outlet: &mut Outlet) {
        self.cgroups_looked_at = None;
        self.look_for_cgroups(now, links, outlet);
        self.cgroups
            .retain(|number, _| self.rules.iter().any(|(other, _)| other == number));
        self.basis = None;
        self.settle(links, outlet);
    }
}

/// The links of these shares. Each has one.
fn weighed(shares: &[(String, u16)], links: &Links) -> Result<Vec<(LinkId, u16)>, ChangeError> {
    let mut weighed = Vec::new();
    for (name, share) in shares {
        let link = known(links, name)?;
        if weighed.iter().any(|(other, _)| *other == link) {
            return Err(ChangeError::Twice(name.clone()));
        }
        weighed.push((link, *share));
    }
    Ok(weighed)
}

fn known(links: &Links, name: &str) -> Result<LinkId, ChangeError> {
    links.named(name).ok_or_else(|| ChangeError::Unknown {
        name: name.to_owned(),
        known: links.iter().map(|link| link.spec.name.clone()).collect(),
    })
}

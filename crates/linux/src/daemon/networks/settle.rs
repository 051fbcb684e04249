//! Where new flows begin: what the user's rules and shares say, as far as their links can carry flows.
//!
//! # Checked by
//! `crates/cli/tests/host/targets.rs`, `crates/cli/tests/host/networks.rs`.

use super::Networks;
use super::book::Known;
use super::chains::{Choice, Pick};
use super::names::Names;
use crate::daemon::api::networks::{FlowRule, Target};
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::links::marks;
use crate::rtnl::Rtnl;
use policy::{Family, LinkId};

/// What decides where new flows begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Basis {
    /// The link on which new connections begin.
    begins: Option<LinkId>,
    /// All links that may carry flows.
    usable: Vec<LinkId>,
    /// The links that have the names in rules and shares, in order.
    named: Vec<Option<LinkId>>,
}

impl Networks {
    /// The engine lets these links carry flows. Those that are dead or held out are not among them.
    pub(crate) fn trust(
        &mut self,
        trusted: impl Iterator<Item = LinkId> + Clone,
        links: &Links,
        outlet: &mut Outlet,
    ) {
        if !trusted.clone().eq(self.trusted.iter().copied()) {
            self.trusted = trusted.collect();
            self.settle(links, outlet);
        }
    }

    /// The links that may carry flows. While the engine trusts none, they are all that have a way.
    pub(super) fn usable(&self, links: &Links) -> Vec<LinkId> {
        let with_way = Vec::from_iter(links.carrying_flows());
        let trusted = with_way.iter().filter(|link| self.trusted.contains(link));
        match Vec::from_iter(trusted.copied()) {
            none if none.is_empty() => with_way,
            trusted => trusted,
        }
    }

    /// Follows the links: where new flows begin, and the largest packet that all of them carry.
    pub(crate) fn settle(&mut self, links: &Links, outlet: &mut Outlet) {
        let names = self.rules.iter().flat_map(|(_, rule)| rule.network.names());
        let names = names.chain(self.weights.iter().map(|(name, _)| name.as_str()));
        let basis = Basis {
            begins: links.begins_on(Family::V4),
            usable: self.usable(links),
            named: names.map(|name| links.named(name)).collect(),
        };
        if self.basis.as_ref() == Some(&basis) {
            return;
        }
        if let Err(error) = self.choose(self.choice(&basis, links)) {
            return outlet.trouble("choosing the network of new flows", &error);
        }
        self.release(outlet);
        self.fit(links.least_mtu(&basis.usable), outlet);
        self.health.names(&self.rules, links, outlet);
        let own = [Some(self.address), self.names.as_ref().map(Names::address)];
        self.health.addresses(&own, self.ifindex, outlet);
        self.basis = Some(basis);
    }

    fn choice(&self, basis: &Basis, links: &Links) -> Choice {
        let Basis { begins, usable, .. } = basis;
        let is_usable = |link: &LinkId| usable.contains(link);
        let active = begins.filter(is_usable).or_else(|| usable.first().copied());
        let shared = |shares: &[(String, u16)]| shared(shares, links, usable);
        let of_rule = |(number, rule): &(u8, FlowRule)| {
            let pick = match &rule.network {
                Target::Link(name) => {
                    let link = links.named(name).filter(is_usable);
                    link.map(|link| Pick::One(Some(link)))
                }
                Target::Active => Some(Pick::One(active)),
                Target::Spread => (usable.len() > 1).then(|| Pick::ByServer(usable.clone())),
                Target::Shares(shares) => shared(shares),
            };
            let otherwise = Pick::One(active.filter(|_| !rule.holds));
            (*number, pick.unwrap_or(otherwise))
        };
        Choice {
            common: shared(&self.weights).unwrap_or(Pick::One(active)),
            of_rules: self.rules.iter().map(of_rule).collect(),
            cgroups: self.cgroups.clone(),
        }
    }

    /// Flows that waited for the link of their rule begin anew, now that it is there.
    fn release(&mut self, outlet: &mut Outlet) {
        let waits = |known: &Known| {
            let number = marks::rule_of(known.flow.mark);
            number > 0 && known.link().is_none() && !self.chosen.of(number).links().is_empty()
        };
        for (_, known) in self.flows.iter().filter(|(_, known)| waits(known)) {
            if let Err(error) = self.kernel.forget(&known.flow) {
                outlet.trouble("releasing a flow", &error);
            }
        }
    }

    fn fit(&mut self, mtu: Option<u32>, outlet: &mut Outlet) {
        let Some(mtu) = mtu.filter(|mtu| *mtu != self.mtu) else {
            return;
        };
        let set = Rtnl::open().map(|mut rtnl| rtnl.set_mtu(self.ifindex, mtu));
        match set {
            Ok(Ok(())) => self.mtu = mtu,
            Ok(Err(error)) => outlet.trouble("setting the largest packet of flows", &error),
            Err(error) => outlet.trouble("setting the largest packet of flows", &error),
        }
    }
}

/// Where flows begin that these links share, as far as they can carry flows. `None` if none of them can.
fn shared(shares: &[(String, u16)], links: &Links, usable: &[LinkId]) -> Option<Pick> {
    let present = |(name, share): &(String, u16)| {
        let link = links.named(name).filter(|link| usable.contains(link))?;
        (*share > 0).then_some((link, *share))
    };
    let present = Vec::from_iter(shares.iter().filter_map(present));
    (!present.is_empty()).then_some(Pick::Shares(present))
}

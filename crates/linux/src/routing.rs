//! Which packets of this host leave over which link: a table for every uplink, and rules that lead to it.
//!
//! Nothing in the user's tables is changed. Each uplink has a table of its own with one default route, a copy of the user's. These rules
//! stand directly before the one that asks `main`, behind every rule of somebody else:
//!
//! | rule | why |
//! |---|---|
//! | `lookup main suppress_prefixlength 0` | routes that are more specific than a default are the user's, for every packet |
//! | `from ADDRESS oif LINK lookup TABLE` | two networks on one card: source and gateway go together |
//! | `oif LINK lookup TABLE` | sockets that are bound to a link: added subflows, probes |
//! | `from ADDRESS lookup TABLE` | a connection stays on the link whose address it has, wherever new ones begin |
//! | `lookup TABLE` | only while new connections are kept away from the user's first default route |
//!
//! All but the first are for this host's own packets (`iif lo`): forwarded packets go where they would go without slowhand, and so does what the
//! kernel looks up when somebody adds a route. The first changes nothing for them, as `main` comes next.
//!
//! # Sources
//! - `ip-rule(8)`, `ip-route(8)`; `net/core/fib_rules.c`, `net/ipv4/fib_semantics.c` (Linux 6.18).
//!
//! # Where we differ, and why
//! 1. The default route is overruled by a rule, not by a route with a lower metric: a default of metric 0 cannot be beaten in `main`, and
//!    what others read and write in `main` stays what they wrote.
//! 2. Rules are exchanged by adding the new ones behind the old ones first, so that no packet meets half of them.
//! 3. Everything carries slowhand's protocol number, so that it can be swept away whatever happened.
//!
//! # Checked by
//! `tests`: sockets leave by the link they are bound to, also with the same subnet and address on two links; rules of others stay ahead;
//! nothing stays. The matrix of hosts in `crates/cli/tests/hosts`.

mod tables;

use crate::journal::{Change, Journal, JournalError};
use crate::rtnl::{
    AddRouteError, AddRuleError, DelRouteError, DelRuleError, IfName, ListError, Metrics, Prefix, Protocol,
    Route, Rtnl, Rule, RuleAction, Table,
};
use std::net::IpAddr;
use tables::{Owner, Tables};
use thiserror::Error;

/// Where the rule for `main` is on a host that has none any more.
const USUAL_MAIN: u32 = 32_766;
/// The kernel gives an IPv6 route without a metric this one.
const IPV6_METRIC: u32 = 1_024;

/// A default route over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uplink {
    /// The interface.
    pub ifindex: u32,
    /// Its name.
    pub name: IfName,
    /// IPv6 instead of IPv4.
    pub v6: bool,
    /// The next hop; `None` where everything can be reached directly.
    pub gateway: Option<IpAddr>,
    /// The source address that the user's route prefers, if it does.
    pub src: Option<IpAddr>,
    /// What the user's route says of connections.
    pub metrics: Metrics,
}

/// Packets from this address leave over this uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// One of the host's own addresses.
    pub address: IpAddr,
    /// Its position in [`Plan::uplinks`].
    pub uplink: usize,
}

/// Everything that there should be.
///
/// ```text
/// uplinks    eth0 via 192.0.2.1    wlan0 via 198.51.100.1
/// sources    192.0.2.2 → 0         198.51.100.2 → 1
/// overrides  IPv4: 1               new connections begin on wlan0, whatever the user's metrics
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The first of a link and family is the one for sockets that are bound to the link.
    pub uplinks: Vec<Uplink>,
    /// For each address of an uplink.
    pub sources: Vec<Source>,
    /// The uplinks over which new connections begin, in IPv4 and IPv6; `None`: as the user's routes say.
    pub overrides: [Option<usize>; 2],
}

impl Plan {
    fn overriding(&self) -> impl Iterator<Item = Owner> + '_ {
        let families = [false, true].into_iter().zip(self.overrides);
        families.filter_map(|(v6, uplink)| uplink.map(|_| Owner::Override(v6)))
    }

    /// The uplinks of [`Plan::overriding`].
    fn preferred(&self) -> impl Iterator<Item = &Uplink> {
        self.overrides
            .iter()
            .flatten()
            .filter_map(|&at| self.uplinks.get(at))
    }
}

/// Why the host could not be brought to a plan. What was done stays, and applying again goes on from there.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The record.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What there is could not be listed.
    #[error(transparent)]
    List(#[from] ListError),
    /// A route could not be made.
    #[error(transparent)]
    Route(#[from] AddRouteError),
    /// A rule could not be made.
    #[error(transparent)]
    Rule(#[from] AddRuleError),
    /// A route could not be removed.
    #[error(transparent)]
    DelRoute(#[from] DelRouteError),
    /// A rule could not be removed.
    #[error(transparent)]
    DelRule(#[from] DelRuleError),
}

/// What applying a plan has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Applied {
    /// How many of our rules somebody else had removed or overtaken. They are back.
    pub restored_rules: usize,
    /// The same of routes.
    pub restored_routes: usize,
}

/// The routes and rules of one daemon.
#[derive(Debug, Default)]
pub struct Routing {
    tables: Tables,
    /// What was there after the last time.
    rules: Vec<Rule>,
    routes: Vec<Route>,
}

impl Routing {
    /// Brings routes and rules to `plan`. Doing so again restores what somebody else has removed.
    ///
    /// # Errors
    /// When the kernel refuses something.
    pub fn apply(
        &mut self,
        rtnl: &mut Rtnl,
        journal: &mut Journal,
        plan: &Plan,
    ) -> Result<Applied, ApplyError> {
        if !plan.uplinks.is_empty() {
            journal.will(Change::Routing)?;
        }
        let all_rules = rtnl.rules()?;
        let owners = Vec::from_iter(plan.uplinks.iter().map(Owner::from).chain(plan.overriding()));
        self.tables.keep(&owners);
        let mut applied = Applied::default();
        let mut routes = Vec::new();
        for (owner, uplink) in owners.iter().zip(plan.uplinks.iter().chain(plan.preferred())) {
            let table = self.tables.of(*owner, rtnl, &all_rules)?;
            let route = uplink.default_in(table);
            applied.restored_routes += self.lay(rtnl, &route)?;
            routes.push(route);
        }
        let tables = Vec::from_iter(routes.iter().map(|route| route.table));
        let mut rules = Vec::new();
        for v6 in [false, true] {
            let priority = priority_before_main(&all_rules, v6);
            let wanted = rules_of(plan, &tables, v6, priority);
            let present = Vec::from_iter(all_rules.iter().filter(|rule| rule.v6 == v6).copied());
            let in_place = in_place(&present, priority);
            applied.restored_rules += self.swept(&in_place, &wanted);
            exchange_rules(rtnl, &present, &in_place, &wanted)?;
            rules.extend(wanted);
        }
        for route in self.routes.iter().filter(|route| !routes.contains(route)) {
            // Another gateway over the same link may have the same table.
            if !routes.iter().any(|other| other.table == route.table) {
                remove_route(rtnl, route)?;
            }
        }
        (self.rules, self.routes) = (rules, routes);
        Ok(applied)
    }

    /// Whether a route is in one of our tables.
    pub fn owns(&self, table: Table) -> bool {
        self.routes.iter().any(|route| route.table == table)
    }

    /// Has the table hold this route and no other of ours. Answers how many had been removed by somebody else.
    fn lay(&self, rtnl: &mut Rtnl, wanted: &Route) -> Result<usize, ApplyError> {
        let is_ours = |route: &Route| route.protocol == Protocol::SLOWHAND && route.is_default();
        let mut present = rtnl.routes_in(wanted.table)?;
        present.retain(|route| is_ours(route) && route.dst == wanted.dst);
        if present == [*wanted] {
            return Ok(0);
        }
        rtnl.replace_route(wanted)?;
        for other in present.iter().filter(|route| route.hop() != wanted.hop()) {
            remove_route(rtnl, other)?;
        }
        Ok(usize::from(present.is_empty() && self.routes.contains(wanted)))
    }

    /// How many rules that are wanted still had been made by us and are not in their place any more.
    fn swept(&self, in_place: &[Rule], wanted: &[Rule]) -> usize {
        let known = wanted.iter().filter(|rule| self.rules.contains(rule));
        known.filter(|rule| !in_place.contains(rule)).count()
    }
}

impl Uplink {
    fn default_in(&self, table: Table) -> Route {
        let any = if self.v6 { Prefix::ANY_V6 } else { Prefix::ANY_V4 };
        Route {
            oif: Some(self.ifindex),
            gateway: self.gateway,
            // The table has no route to the gateway itself.
            onlink: self.gateway.is_some(),
            src: self.src,
            metric: if self.v6 { IPV6_METRIC } else { 0 },
            metrics: self.metrics,
            ..Route::new(table, any)
        }
    }
}

/// Our rules of one family, in order. `tables` are those of the uplinks, then those of the overrides.
fn rules_of(plan: &Plan, tables: &[Table], v6: bool, priority: u32) -> Vec<Rule> {
    let uplinks = Vec::from_iter(
        plan.uplinks
            .iter()
            .zip(tables)
            .filter(|(uplink, _)| uplink.v6 == v6),
    );
    if uplinks.is_empty() {
        return Vec::new();
    }
    let local = "lo".parse().ok();
    let all = Rule::all(v6, priority, Table::MAIN);
    let of_host = |rule| Rule { iif: local, ..rule };
    let mut rules = vec![Rule {
        suppress: Some(0),
        ..all
    }];
    let sources = plan
        .sources
        .iter()
        .filter_map(|source| {
            Some((
                source,
                plan.uplinks.get(source.uplink)?,
                *tables.get(source.uplink)?,
            ))
        })
        .filter(|(_, uplink, _)| uplink.v6 == v6);
    let first_of = |ifindex| uplinks.iter().find(|(uplink, _)| uplink.ifindex == ifindex);
    for (source, uplink, table) in sources.clone() {
        if first_of(uplink.ifindex).is_some_and(|(_, first)| **first != table) {
            rules.push(of_host(Rule {
                oif: Some(uplink.name),
                ..Rule::from(Prefix::host(source.address), priority, table)
            }));
        }
    }
    let mut seen = Vec::new();
    for (uplink, table) in &uplinks {
        if !seen.contains(&uplink.ifindex) {
            seen.push(uplink.ifindex);
            rules.push(of_host(Rule::oif(v6, uplink.name, priority, **table)));
        }
    }
    let by_address = |(source, _, table): (&Source, &Uplink, Table)| {
        of_host(Rule::from(Prefix::host(source.address), priority, table))
    };
    rules.extend(sources.map(by_address));
    // A table of its own: the kernel removes the first rule that has what is asked for, and a rule without selectors asks for little.
    let overriding = plan.overriding().position(|owner| owner == Owner::Override(v6));
    let table = overriding.and_then(|at| tables.get(plan.uplinks.len() + at));
    rules.extend(table.map(|&table| of_host(Rule { table, ..all })));
    rules
}

/// The priority of our rules: directly before the rule that asks all of `main`.
fn priority_before_main(rules: &[Rule], v6: bool) -> u32 {
    let main = rules
        .iter()
        .find(|rule| rule.v6 == v6 && rule.is_for_all_of(Table::MAIN));
    main.map_or(USUAL_MAIN, |rule| rule.priority).saturating_sub(1)
}

/// Our rules behind every rule of somebody else that is tried before `main`.
fn in_place(present: &[Rule], priority: u32) -> Vec<Rule> {
    let mut ours = Vec::new();
    for rule in present.iter().take_while(|rule| rule.priority <= priority) {
        match rule.protocol {
            Protocol::SLOWHAND if rule.priority == priority => ours.push(*rule),
            Protocol::SLOWHAND => {}
            _ => ours.clear(),
        }
    }
    ours
}

/// Brings our rules of one family to what is `wanted`, so that no packet meets fewer than both have.
fn exchange_rules(
    rtnl: &mut Rtnl,
    present: &[Rule],
    in_place: &[Rule],
    wanted: &[Rule],
) -> Result<(), ApplyError> {
    let ours = Vec::from_iter(
        present
            .iter()
            .filter(|rule| rule.protocol == Protocol::SLOWHAND)
            .copied(),
    );
    let kept = match in_place == ours {
        true => ours.iter().zip(wanted).take_while(|(a, b)| a == b).count(),
        false => 0,
    };
    for rule in &wanted[kept..] {
        rtnl.append_rule(rule)?;
    }
    // Of two that are the same the kernel removes the first: the old one.
    for rule in &ours[kept..] {
        rtnl.del_rule(rule)?;
    }
    Ok(())
}

/// Removes a route of ours. The kernel removes it by itself when its link goes down, perhaps in this moment.
fn remove_route(rtnl: &mut Rtnl, route: &Route) -> Result<(), ApplyError> {
    match rtnl.del_route(route) {
        Err(error) if rtnl.routes_in(route.table)?.contains(route) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether a rule sends packets of somebody else to `table`.
fn is_of_others(rule: &Rule, table: Table) -> bool {
    rule.protocol != Protocol::SLOWHAND && rule.action == RuleAction::Lookup && rule.table == table
}

#[cfg(test)]
mod tests;

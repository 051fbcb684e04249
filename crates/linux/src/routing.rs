//! Determines which packets of this host leave over which link: one table per uplink, and rules that select
//! it.
//!
//! The user's tables are not changed. Each uplink has its own table with one default route, a copy of the
//! user's. These rules are placed directly before the one for `main` and after all rules of others:
//!
//! | rule | why |
//! |---|---|
//! | `to NETWORK fwmark MARK lookup TABLE` | several links have this network: a flow stays on its own link |
//! | `lookup main suppress_prefixlength 0` | routes more specific than a default are the user's |
//! | `from ADDRESS oif LINK lookup TABLE` | two networks on one link: source and gateway belong together |
//! | `oif LINK lookup TABLE` | sockets bound to a link: added subflows, probes |
//! | `from ADDRESS lookup TABLE` | a connection stays on the link of its address, wherever new ones begin |
//! | `fwmark MARK lookup TABLE` | flows that [`Pinned`] gives a network |
//! | `fwmark 0 ipproto 17 lookup TABLE` | flows begin on the interface that never changes |
//! | `lookup TABLE` | only while new connections avoid the user's first default route |
//!
//! All but the second apply to this host's own packets only (`iif lo`). Forwarded packets, and lookups by the
//! kernel when a route is added, are routed as without slowhand. The second rule changes nothing for them,
//! because `main` follows.
//!
//! # Sources
//! - `ip-rule(8)`, `ip-route(8)`; `net/core/fib_rules.c`, `net/ipv4/fib_semantics.c` (Linux 6.18).
//!
//! # Where we differ, and why
//! 1. A rule overrides the default route, instead of a route with a lower metric. A default with metric 0
//!    cannot be overridden in `main`, and `main` stays as other programs wrote it.
//! 2. Rules are exchanged by first adding the new ones after the old ones, so that no packet is routed by an
//!    incomplete set.
//! 3. Everything carries slowhand's protocol number, so that it can always be removed.
//!
//! # Checked by
//! `tests`: sockets leave over the link to which they are bound, also with the same subnet and address on two
//! links. Rules of others stay first, and nothing is left behind. The matrix of hosts is in
//! `crates/cli/tests/hosts`.

mod tables;

use crate::journal::{Change, Journal, JournalError};
use crate::rtnl::{
    AddRouteError, AddRuleError, DelRouteError, DelRuleError, IfName, ListError, Mark, Metrics, Prefix,
    Protocol, Route, RouteKind, Rtnl, Rule, RuleAction, Table,
};
use std::net::{IpAddr, Ipv4Addr};
use tables::{Owner, Tables};
use thiserror::Error;

/// Priority of the rule for `main`, for a host without one.
const USUAL_MAIN: u32 = 32_766;
/// `IPPROTO_UDP`.
const UDP: u8 = 17;
/// Metric that the kernel gives to an IPv6 route without one.
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
    /// The next hop, or `None` if all destinations are on the link.
    pub gateway: Option<IpAddr>,
    /// The preferred source address of the user's route, if any.
    pub src: Option<IpAddr>,
    /// Metrics of the user's route.
    pub metrics: Metrics,
}

/// An address whose packets leave over an uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// An address of this host.
    pub address: IpAddr,
    /// Its position in [`Plan::uplinks`].
    pub uplink: usize,
}

/// The interface on which flows begin that cannot use several links, and the marks by which they leave over
/// a link. IPv4 only.
///
/// Its table has a default route over the interface. Multicast and broadcasts are not taken: they belong to
/// the user's own links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The interface.
    pub ifindex: u32,
    /// Its only address.
    pub address: Ipv4Addr,
    /// Marks of packets that leave over an uplink, and its position in [`Plan::uplinks`].
    pub marks: Vec<(Mark, usize)>,
    /// The same marks where they alone tell two networks with the same addresses apart: the mark of a link,
    /// the network that another link has, too, and the uplink. The user's routes lead to one of the two.
    pub doubles: Vec<(Mark, Prefix, usize)>,
    /// Marks of packets that begin on it. A program that marks its packets otherwise has rules of its own for
    /// them, so they are left alone. Empty: none begin on it.
    pub begin: Vec<Mark>,
    /// The mark of flows that wait there, as no link may carry them. nftables routes a packet again without
    /// saying its protocol (`ip_route_me_harder`), so the rule for it names none.
    pub held: Option<Mark>,
}

/// The complete set of routes and rules.
///
/// ```text
/// uplinks    eth0 via 192.0.2.1    wlan0 via 198.51.100.1
/// sources    192.0.2.2 → 0         198.51.100.2 → 1
/// overrides  IPv4: 1               new connections begin on wlan0, whatever the user's metrics
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// All uplinks. The first of a link and family serves sockets bound to the link.
    pub uplinks: Vec<Uplink>,
    /// One entry for each address of an uplink.
    pub sources: Vec<Source>,
    /// The uplinks for new connections, in IPv4 and IPv6. `None` follows the user's routes.
    pub overrides: [Option<usize>; 2],
    /// Where flows begin that cannot use several links. `None`: as without slowhand.
    pub pinned: Option<Pinned>,
}

impl Pinned {
    fn routes_in(&self, table: Table) -> [Route; 2] {
        let multicast_and_broadcast = Prefix::new(Ipv4Addr::new(224, 0, 0, 0).into(), 3);
        let not_taken = Route {
            kind: RouteKind::Throw,
            ..Route::new(table, multicast_and_broadcast.expect("3 bits of 32"))
        };
        let all = Route {
            oif: Some(self.ifindex),
            src: Some(self.address.into()),
            ..Route::new(table, Prefix::ANY_V4)
        };
        [not_taken, all]
    }

    /// Rules by which flows stay on their own link, where several have the same network.
    fn by_network(&self, tables: &[Table], all: Rule) -> impl Iterator<Item = Rule> {
        self.doubles.iter().filter_map(move |&(mark, network, uplink)| {
            let (to, mark) = (Some(network), Some(mark));
            let table = *tables.get(uplink)?;
            Some(of_host(Rule {
                to,
                mark,
                table,
                ..all
            }))
        })
    }

    /// Rules by which flows leave over their link.
    fn by_mark(&self, tables: &[Table], all: Rule) -> impl Iterator<Item = Rule> {
        self.marks.iter().filter_map(move |&(mark, uplink)| {
            let mark = Some(mark);
            let table = *tables.get(uplink)?;
            Some(of_host(Rule { mark, table, ..all }))
        })
    }

    /// Rules by which flows begin or wait on the interface, whose table is the last one.
    fn begins(&self, tables: &[Table], all: Rule) -> impl Iterator<Item = Rule> {
        let last = tables.last().copied();
        let begin = self.begin.iter().map(|mark| (mark, Some(UDP)));
        let held = self.held.iter().map(|mark| (mark, None));
        begin.chain(held).filter_map(move |(&mark, ip_protocol)| {
            let (mark, table) = (Some(mark), last?);
            Some(of_host(Rule {
                ip_protocol,
                mark,
                table,
                ..all
            }))
        })
    }
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

/// Why a plan could not be applied. Steps already done stay, and applying again continues from there.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// Writing the record failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Routes or rules could not be listed.
    #[error(transparent)]
    List(#[from] ListError),
    /// A route could not be added.
    #[error(transparent)]
    Route(#[from] AddRouteError),
    /// A rule could not be added.
    #[error(transparent)]
    Rule(#[from] AddRuleError),
    /// A route could not be removed.
    #[error(transparent)]
    DelRoute(#[from] DelRouteError),
    /// A rule could not be removed.
    #[error(transparent)]
    DelRule(#[from] DelRuleError),
}

/// Result of applying a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Applied {
    /// Number of rules restored, because another program had removed them or put its own in front.
    pub restored_rules: usize,
    /// Number of routes restored.
    pub restored_routes: usize,
}

/// The routes and rules of one daemon.
#[derive(Debug, Default)]
pub struct Routing {
    tables: Tables,
    /// The rules after the previous call.
    rules: Vec<Rule>,
    routes: Vec<Route>,
}

impl Routing {
    /// Changes routes and rules to `plan`. Calling it again restores what another program has removed.
    ///
    /// # Errors
    /// If the kernel refuses a change.
    pub fn apply(
        &mut self,
        rtnl: &mut Rtnl,
        journal: &mut Journal,
        plan: &Plan,
    ) -> Result<Applied, ApplyError> {
        if !plan.uplinks.is_empty() || plan.pinned.is_some() {
            journal.will(Change::Routing)?;
        }
        let all_rules = rtnl.rules()?;
        let owners = Vec::from_iter(plan.uplinks.iter().map(Owner::from).chain(plan.overriding()));
        let pinned = plan.pinned.as_ref().map(|_| Owner::Pinned);
        let all_owners = Vec::from_iter(owners.iter().copied().chain(pinned));
        self.tables.keep(&all_owners);
        let mut applied = Applied::default();
        let mut routes = Vec::new();
        for (owner, uplink) in owners.iter().zip(plan.uplinks.iter().chain(plan.preferred())) {
            let table = self.tables.of(*owner, rtnl, &all_rules)?;
            let route = uplink.default_in(table);
            applied.restored_routes += self.lay(rtnl, &route)?;
            routes.push(route);
        }
        let mut tables = Vec::from_iter(routes.iter().map(|route| route.table));
        if let Some(pinned) = &plan.pinned {
            let table = self.tables.of(Owner::Pinned, rtnl, &all_rules)?;
            for route in pinned.routes_in(table) {
                rtnl.replace_route(&route)?;
                routes.push(route);
            }
            tables.push(table);
        }
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
            // Another gateway over the same link may use the same table.
            if !routes.iter().any(|other| other.table == route.table) {
                remove_route(rtnl, route)?;
            }
        }
        if let Some(pinned) = routes
            .last()
            .filter(|_| plan.pinned.is_some() && self.rules != rules)
        {
            announce(rtnl, pinned.table)?;
        }
        (self.rules, self.routes) = (rules, routes);
        Ok(applied)
    }

    /// Whether a table is one of this daemon's.
    pub fn owns(&self, table: Table) -> bool {
        self.routes.iter().any(|route| route.table == table)
    }

    /// Makes this the only route of slowhand in its table. Returns how many another program had removed.
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

    /// Number of rules that were added before, are still wanted and are not in place.
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

/// Slowhand's rules of one family, in order. `tables` lists those of the uplinks, then those of the
/// overrides, then that of [`Pinned`].
fn rules_of(plan: &Plan, tables: &[Table], v6: bool, priority: u32) -> Vec<Rule> {
    let uplinks = Vec::from_iter(
        plan.uplinks
            .iter()
            .zip(tables)
            .filter(|(uplink, _)| uplink.v6 == v6),
    );
    let pinned = plan.pinned.as_ref().filter(|_| !v6);
    if uplinks.is_empty() && pinned.is_none() {
        return Vec::new();
    }
    let all = Rule::all(v6, priority, Table::MAIN);
    let mut rules = Vec::from_iter(pinned.iter().flat_map(|pinned| pinned.by_network(tables, all)));
    rules.push(Rule {
        suppress: Some(0),
        ..all
    });
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
    rules.extend(pinned.iter().flat_map(|pinned| pinned.by_mark(tables, all)));
    rules.extend(pinned.iter().flat_map(|pinned| pinned.begins(tables, all)));
    // The override needs its own table. The kernel removes the first rule that matches the given selectors,
    // and a rule without selectors matches too many.
    let overriding = plan.overriding().position(|owner| owner == Owner::Override(v6));
    let table = overriding.and_then(|at| tables.get(plan.uplinks.len() + at));
    rules.extend(table.map(|&table| of_host(Rule { table, ..all })));
    rules
}

/// The same rule for this host's own packets only.
fn of_host(rule: Rule) -> Rule {
    let iif = "lo".parse().ok();
    Rule { iif, ..rule }
}

/// Priority of slowhand's rules: directly before the rule that looks up all of `main`.
fn priority_before_main(rules: &[Rule], v6: bool) -> u32 {
    let main = rules
        .iter()
        .find(|rule| rule.v6 == v6 && rule.is_for_all_of(Table::MAIN));
    main.map_or(USUAL_MAIN, |rule| rule.priority).saturating_sub(1)
}

/// Slowhand's rules after every other rule that is tried before `main`.
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

/// Changes the rules of one family to `wanted`, such that the rules common to the old and new set always
/// exist.
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
    // Of two identical rules the kernel removes the first, which is the old one.
    for rule in &ours[kept..] {
        rtnl.del_rule(rule)?;
    }
    Ok(())
}

/// Lets programs hear of a change of routes. Some, such as `wireguard-go`, send over the interface of the
/// last reply until they do. The kernel does not report IPv4 routes that go with their interface. The
/// announced route changes nothing, since this table leads no such packet anywhere.
fn announce(rtnl: &mut Rtnl, table: Table) -> Result<(), ApplyError> {
    let unused = Prefix::new(Ipv4Addr::new(240, 0, 0, 0).into(), 4);
    let route = Route {
        kind: RouteKind::Throw,
        ..Route::new(table, unused.expect("4 bits of 32"))
    };
    rtnl.replace_route(&route)?;
    remove_route(rtnl, &route)
}

/// Removes a route of slowhand. The kernel removes it too when its link goes down, possibly at the same time.
fn remove_route(rtnl: &mut Rtnl, route: &Route) -> Result<(), ApplyError> {
    match rtnl.del_route(route) {
        Err(error) if rtnl.routes_in(route.table)?.contains(route) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether a rule of another program selects `table`.
fn is_of_others(rule: &Rule, table: Table) -> bool {
    rule.protocol != Protocol::SLOWHAND && rule.action == RuleAction::Lookup && rule.table == table
}

#[cfg(test)]
mod tests;

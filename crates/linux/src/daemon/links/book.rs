//! Which interface each declared link is, and by which ways packets leave over it.
//!
//! Pure bookkeeping. It takes rtnetlink events one at a time, and returns the [`Step`]s for the driver, in
//! order, and the [`Plan`] of routes and rules. It does not wait for the end of a batch: a carrier that went
//! and came back within one batch has taken every route with it, so the engine must be told of both.
//!
//! # Where we differ, and why
//! 1. A link is an uplink in a family if the user has a default route over it in that family. A gateway in
//!    the configuration has the same effect. We send nothing where the user sends nothing: over a camera's
//!    cable, this host's own access point, or a network without IPv6.
//! 2. A default route may vanish while carrier and address stay, and come back, for example when a DHCP
//!    client renews its lease. The way stays for
//!    [`ROUTE_PATIENCE`](crate::daemon::links::managed::ROUTE_PATIENCE).
//! 3. An interface that goes and comes back under a declared name keeps its [`LinkId`]: a modem that
//!    re-enumerates is the same modem. Interfaces that a pattern found get a new number each time.
//! 4. A renamed interface keeps its number and its connections. From then on the declaration for its new name
//!    applies. Names are checked [`NAMES_SETTLE`] after the last rename, because programs swap names in
//!    several steps.
//!
//! # Checked by
//! `links::book::tests` (plans from events); `daemon::tests` (the kernel's own events);
//! `crates/cli/tests/hosts`.

use crate::daemon::api::setup::DeclaredLink;
use crate::daemon::links::interfaces::{Interface, Interfaces};
use crate::daemon::links::managed::{Leg, Managed};
use crate::daemon::links::marks;
use crate::daemon::links::pattern::Pattern;
use crate::daemon::links::restore::Restore;
use crate::diag::Ends;
use crate::routing::{Pinned, Plan, Source};
use crate::rtnl::{Event, IfName, Link, Mark, Prefix, Protocol};
use policy::{Family, LinkEvent, LinkId, LinkSpec, Role};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use units::Instant;

/// Pause before a plan that failed is tried again.
const APPLY_AGAIN: Duration = Duration::from_secs(1);
/// `ARPHRD_IEEE80211_RADIOTAP`: a monitor interface carries no packets.
const MONITOR: u16 = 803;
/// Wait after a rename before interfaces are matched with links.
const NAMES_SETTLE: Duration = Duration::from_millis(200);

/// A step for the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Tell the engine.
    Tell(LinkId, LinkEvent),
    /// Change routes and rules to match [`Links::plan`], then call [`Links::applied`].
    Apply,
    /// Apply the plan again, although it has not changed: another program has removed something.
    Restore,
    /// This address is gone, but the link stays usable in the other family. Subflows from the address are
    /// lost.
    Lost(LinkId, IpAddr),
    /// The interface has appeared: attach levers to it.
    Attach(LinkId, u32),
    /// The link's interface has another name from now on: the second one.
    Renamed(IfName, IfName),
    /// The interface is gone or no longer managed: detach them.
    Detach(u32),
}

/// All declared links, and the links that patterns have found.
#[derive(Debug)]
pub(crate) struct Links {
    interfaces: Interfaces,
    managed: Vec<Managed>,
    patterns: Vec<DeclaredLink>,
    next_id: u16,
    ecn: bool,
    /// The interface on which flows begin that cannot use several links, and its address.
    pinned: Option<(u32, Ipv4Addr)>,
    /// Marks of sockets whose flows begin there, beside those without a mark.
    wanted: Vec<Mark>,
    /// Where new connections should begin, in IPv4 and IPv6. `None`: where the user's routes lead.
    preferred: [Option<LinkId>; 2],
    /// The plan requested last.
    planned: Plan,
    /// When a failed plan is tried again.
    again: Option<Instant>,
    /// When renamed interfaces are matched with links.
    names_at: Option<Instant>,
    pub(crate) restore: Restore,
}

impl Links {
    pub(crate) fn new(declared: Vec<DeclaredLink>) -> Self {
        let next_id = declared
            .iter()
            .map(|link| link.id.0)
            .max()
            .map_or(0, |id| id.saturating_add(1));
        let (patterns, fixed) = declared
            .into_iter()
            .partition(|link| Pattern::new(&link.interface).is_wild());
        Self {
            interfaces: Interfaces::default(),
            managed: Vec::from_iter(Vec::into_iter(fixed).map(Managed::new)),
            patterns,
            next_id,
            ecn: false,
            pinned: None,
            wanted: Vec::new(),
            preferred: [None; 2],
            planned: Plan::default(),
            again: None,
            names_at: None,
            restore: Restore::default(),
        }
    }

    /// Sets whether connections over all links ask for ECN, whatever the host's setting.
    pub(crate) fn asking_for_ecn(mut self, ecn: bool) -> Self {
        self.ecn = ecn;
        self
    }

    /// Lets flows that cannot use several links begin on this interface, which is none of the links.
    pub(crate) fn with_flows_on(mut self, interface: Option<(u32, Ipv4Addr)>, marks: Vec<u32>) -> Self {
        self.pinned = interface;
        self.take_flows_with(marks, &mut Vec::new());
        self
    }

    /// The interface for flows is gone: they are routed as without it.
    pub(crate) fn without_flows(&mut self, steps: &mut Vec<Step>) {
        self.pinned = None;
        self.replan(steps);
    }

    /// Whether connections over the links ask for ECN.
    pub(crate) const fn ask_for_ecn(&self) -> bool {
        self.ecn
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Managed> {
        self.managed.iter()
    }

    pub(crate) fn get(&self, id: LinkId) -> Option<&Managed> {
        self.managed.iter().find(|link| link.id == id)
    }

    /// A link's usual name.
    pub(crate) fn name_of(&self, id: LinkId) -> String {
        let name = self.get(id).map(|managed| &managed.spec.name);
        name.map_or_else(|| format!("link {}", id.0), Clone::clone)
    }

    /// The link with this name, or with an interface of this name.
    pub(crate) fn named(&self, name: &str) -> Option<LinkId> {
        let is = |link: &&Managed| {
            link.spec.name == name || link.interface.as_ref().is_some_and(|it| it.as_str() == name)
        };
        self.managed.iter().find(is).map(|link| link.id)
    }

    /// The link with this interface, unless it must never be used.
    pub(crate) fn by_index(&self, ifindex: u32) -> Option<&Managed> {
        let is = |link: &&Managed| link.ifindex == Some(ifindex) && link.spec.role != Role::Never;
        self.managed.iter().find(is)
    }

    /// The link that has this address. If two links have it, `ifindex` decides. Without `ifindex`, it is the
    /// one on which new connections begin.
    pub(crate) fn owner(&self, local: IpAddr, ifindex: Option<u32>) -> Option<LinkId> {
        if ifindex.is_some() {
            let bound = self.managed.iter().find(|link| link.ifindex == ifindex);
            return bound.map(|link| link.id);
        }
        let has = |link: &&Managed| {
            let interface = link.ifindex.and_then(|ifindex| self.interfaces.get(ifindex));
            interface.is_some_and(|it| it.addresses.iter().any(|address| address.addr() == local))
        };
        let owners = Vec::from_iter(self.managed.iter().filter(has).map(|link| link.id));
        let preferred = self.preferred[usize::from(local.is_ipv6())];
        let first = self.interfaces.first_choices(local.is_ipv6());
        let by_route = first.iter().find_map(|&ifindex| Some(self.by_index(ifindex)?.id));
        let likely = [preferred, by_route].into_iter().flatten();
        let likely = likely.into_iter().find(|link| owners.contains(link));
        likely.or(owners.first().copied())
    }

    /// The link that has this host's end of a subflow.
    pub(crate) fn owner_of(&self, ends: &Ends) -> Option<LinkId> {
        self.owner(ends.local.ip().to_canonical(), ends.ifindex)
    }

    /// Whether this is one of our next hops, or on a network of one of this host's interfaces.
    pub(crate) fn is_near(&self, address: IpAddr) -> bool {
        let addresses = self.interfaces.iter().flat_map(|interface| &interface.addresses);
        let mut ways = self.managed.iter().flat_map(Managed::ways);
        addresses.into_iter().any(|own| own.prefix.contains(address))
            || ways.any(|way| way.gateway == Some(address))
    }

    /// Whether this address is on the network of another interface, and not on that of this one.
    pub(crate) fn is_elsewhere(&self, address: IpAddr, ifindex: u32) -> bool {
        let interfaces = self.interfaces.iter();
        let mut near =
            interfaces.filter(|interface| interface.networks().any(|network| network.contains(address)));
        let first = near.next().map(|interface| interface.link.ifindex);
        first.is_some_and(|first| first != ifindex && near.all(|interface| interface.link.ifindex != ifindex))
    }

    /// Adds a link that can be seen from now on. If there is an interface for it already, it gets that.
    pub(crate) fn declare(&mut self, declared: DeclaredLink, steps: &mut Vec<Step>) {
        let mut link = Managed::new(declared);
        link.show(steps);
        self.managed.push(link);
        self.bind_free(steps);
        self.replan(steps);
    }

    /// Removes a link for good, with whatever interface it has.
    pub(crate) fn retire(&mut self, id: LinkId, steps: &mut Vec<Step>) {
        let Some(at) = self.managed.iter().position(|link| link.id == id) else {
            return;
        };
        let mut link = self.managed.remove(at);
        let ifindex = link.ifindex;
        link.lose_everything(steps);
        steps.extend(ifindex.map(Step::Detach));
        steps.push(Step::Tell(id, LinkEvent::Gone));
        self.replan(steps);
    }

    /// Another source has reported that the link can be seen.
    pub(crate) fn appeared(&mut self, id: LinkId) {
        if let Some(link) = self.find(id) {
            link.appeared = true;
        }
    }

    /// Sets the channel of a WiFi link, as its radio reports it.
    pub(crate) fn tuned(&mut self, id: LinkId, channel: u16, steps: &mut Vec<Step>) {
        if let Some(link) = self.find(id) {
            link.tuned(channel, steps);
        }
    }

    /// Sets the link on which new connections of this family should begin. `None`: where the user's routes
    /// lead.
    pub(crate) fn prefer(&mut self, family: Family, link: Option<LinkId>, steps: &mut Vec<Step>) {
        self.preferred[usize::from(family == Family::V6)] = link;
        self.replan(steps);
    }

    /// Sets which marked sockets have flows that begin on the interface for flows.
    pub(crate) fn take_flows_with(&mut self, marks: Vec<u32>, steps: &mut Vec<Step>) {
        let exactly = |value| Mark { value, mask: !0 };
        self.wanted = Vec::from_iter(marks.into_iter().map(exactly));
        self.replan(steps);
    }

    /// The link on which new connections of this family begin, if it is one of ours.
    pub(crate) fn begins_on(&self, family: Family) -> Option<LinkId> {
        let v6 = family == Family::V6;
        let by_route = || {
            let first = self.interfaces.first_choices(v6);
            first.iter().find_map(|&ifindex| Some(self.by_index(ifindex)?.id))
        };
        self.preferred[usize::from(v6)].or_else(by_route)
    }

    /// The links over which flows can leave that cannot use several.
    pub(crate) fn carrying_flows(&self) -> impl Iterator<Item = LinkId> + '_ {
        let carries = |link: &&Managed| {
            link.spec.role != Role::Never && link.way(false).is_some() && marks::of_link(link.id).is_some()
        };
        self.managed.iter().filter(carries).map(|link| link.id)
    }

    /// The largest packet that all of these links carry.
    pub(crate) fn least_mtu(&self, of: &[LinkId]) -> Option<u32> {
        let links = of.iter().filter_map(|&link| self.get(link)?.ifindex);
        links
            .filter_map(|ifindex| Some(self.interfaces.get(ifindex)?.link.mtu))
            .min()
    }

    /// Applies one event. Appends the resulting steps to `steps`.
    pub(crate) fn apply(&mut self, now: Instant, event: &Event, steps: &mut Vec<Step>) {
        if let Event::LinkGone(link) = event {
            self.link_gone(link.ifindex, steps);
        }
        self.interfaces.apply(event);
        match event {
            Event::Link(link) => self.link(now, link, steps),
            Event::Rules if !self.planned.uplinks.is_empty() => self.restore.look_soon(now),
            Event::RouteGone(route) if route.protocol == Protocol::SLOWHAND => self.restore.look_soon(now),
            _ => {}
        }
        self.settle(now, steps);
    }

    /// Handles the deadlines that have passed.
    pub(crate) fn tick(&mut self, now: Instant, steps: &mut Vec<Step>) {
        let is_due = |at: &mut Option<Instant>| at.take_if(|at| *at <= now).is_some();
        if is_due(&mut self.names_at) {
            self.match_names(steps);
        }
        let again = is_due(&mut self.again);
        let restore = self.restore.is_due(now);
        self.settle(now, steps);
        match (again, restore) {
            _ if steps.contains(&Step::Apply) => {}
            (true, _) => steps.push(Step::Apply),
            (false, true) => steps.push(Step::Restore),
            (false, false) => {}
        }
    }

    /// When [`Links::tick`] next has work.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let own = [self.again, self.names_at, self.restore.wake_at()];
        let legs = self.managed.iter().flat_map(|link| link.legs);
        let legs = legs.filter_map(|leg| match leg {
            Leg::Ready { until, .. } => until,
            Leg::None | Leg::Wanted(_) => None,
        });
        own.into_iter().flatten().chain(legs).min()
    }

    /// The routes and rules that should exist.
    pub(crate) const fn plan(&self) -> &Plan {
        &self.planned
    }

    /// Reports whether the plan was executed. If not, it is tried again.
    pub(crate) fn applied(&mut self, now: Instant, done: bool, steps: &mut Vec<Step>) {
        if !done {
            self.again = Some(now + APPLY_AGAIN);
            return;
        }
        for link in &mut self.managed {
            link.routed(steps);
        }
    }

    fn find(&mut self, id: LinkId) -> Option<&mut Managed> {
        self.managed.iter_mut().find(|link| link.id == id)
    }

    fn link(&mut self, now: Instant, event: &Link, steps: &mut Vec<Step>) {
        let known = self
            .managed
            .iter_mut()
            .find(|link| link.ifindex == Some(event.ifindex));
        match known {
            Some(link) => {
                let before = link.interface.replace(event.name);
                if before != Some(event.name) {
                    self.names_at = Some(now + NAMES_SETTLE);
                    steps.extend(before.map(|before| Step::Renamed(before, event.name)));
                }
                link.seen(event, steps);
            }
            // Names are being swapped: a new one may not stay.
            None if self.names_at.is_some() => self.names_at = Some(now + NAMES_SETTLE),
            None => self.bind(event, steps),
        }
    }

    /// Binds an interface to the link that is declared for it, if that link has no other interface.
    fn bind(&mut self, event: &Link, steps: &mut Vec<Step>) {
        let is_pinned = self.pinned.is_some_and(|(ifindex, _)| ifindex == event.ifindex);
        if event.loopback || event.arphrd == MONITOR || is_pinned {
            return;
        }
        let declared = self.managed.iter().position(|link| link.is_declared_for(event));
        let at = match declared {
            Some(at) => at,
            None => {
                let Some(found) = self.found(event) else { return };
                self.managed.push(found);
                self.managed.len() - 1
            }
        };
        let link = &mut self.managed[at];
        if link.ifindex.is_none() {
            link.bind(event, steps);
        }
    }

    /// Creates a link for an interface that a pattern matches.
    fn found(&mut self, event: &Link) -> Option<Managed> {
        let declared = self.pattern_for(event)?;
        let id = LinkId(self.next_id);
        self.next_id = self.next_id.saturating_add(1);
        Some(Managed::found(DeclaredLink { id, ..declared }))
    }

    /// The declaration whose pattern matches this interface.
    fn pattern_for(&self, event: &Link) -> Option<DeclaredLink> {
        let fits = |declared: &&DeclaredLink| {
            let pattern = Pattern::new(&declared.interface);
            event.names().any(|name| pattern.matches(name))
        };
        let declared = self.patterns.iter().find(fits)?;
        let name = event.name.as_str();
        Some(DeclaredLink {
            interface: name.to_owned(),
            spec: LinkSpec {
                name: name.to_owned(),
                ..declared.spec.clone()
            },
            ..declared.clone()
        })
    }

    /// Gives renamed interfaces the declarations for their new names. Releases those without one.
    fn match_names(&mut self, steps: &mut Vec<Step>) {
        self.exchange_declarations(steps);
        for at in (0..self.managed.len()).rev() {
            let Some(interface) = self.managed[at]
                .ifindex
                .and_then(|index| self.interfaces.get(index))
            else {
                continue;
            };
            let event = interface.link.clone();
            if self.managed[at].is_declared_for(&event) {
                continue;
            }
            match self
                .pattern_for(&event)
                .filter(|_| self.managed[at].found_by_pattern)
            {
                Some(declared) => self.managed[at].redeclare(declared, steps),
                None => self.link_gone(event.ifindex, steps),
            }
        }
        self.bind_free(steps);
    }

    /// Binds the interfaces that belong to no link yet.
    fn bind_free(&mut self, steps: &mut Vec<Step>) {
        let bound = |ifindex| self.managed.iter().any(|link| link.ifindex == Some(ifindex));
        let free = self.interfaces.iter().map(|interface| interface.link.clone());
        for event in Vec::from_iter(free.filter(|link| !bound(link.ifindex))) {
            self.bind(&event, steps);
        }
    }

    /// Swaps the declarations of links whose interfaces have swapped names. Each keeps its number, interface
    /// and connections.
    fn exchange_declarations(&mut self, steps: &mut Vec<Step>) {
        for at in 0..self.managed.len() {
            let interface = self.managed[at]
                .ifindex
                .and_then(|index| self.interfaces.get(index));
            let Some(event) = interface.map(|interface| interface.link.clone()) else {
                continue;
            };
            let of_name = self.managed.iter().position(|link| link.is_declared_for(&event));
            if let Some(other) =
                of_name.filter(|&other| other != at && !self.managed[at].is_declared_for(&event))
            {
                let (mine, theirs) = (self.managed[at].declared(), self.managed[other].declared());
                self.managed[at].redeclare(theirs, steps);
                self.managed[other].redeclare(mine, steps);
            }
        }
    }

    fn link_gone(&mut self, ifindex: u32, steps: &mut Vec<Step>) {
        let Some(at) = self.managed.iter().position(|link| link.ifindex == Some(ifindex)) else {
            return;
        };
        let link = &mut self.managed[at];
        link.lose_everything(steps);
        steps.push(Step::Detach(ifindex));
        if link.found_by_pattern {
            steps.push(Step::Tell(link.id, LinkEvent::Gone));
            self.managed.remove(at);
        }
    }

    fn settle(&mut self, now: Instant, steps: &mut Vec<Step>) {
        for link in &mut self.managed {
            link.settle(now, &self.interfaces, self.ecn, steps);
        }
        self.replan(steps);
    }

    fn replan(&mut self, steps: &mut Vec<Step>) {
        let plan = self.make_plan();
        if plan != self.planned {
            self.planned = plan;
            steps.push(Step::Apply);
        }
    }

    fn make_plan(&self) -> Plan {
        let mut plan = Plan::default();
        let mut primaries = Vec::new();
        for link in &self.managed {
            for v6 in [false, true] {
                let first = plan.uplinks.len();
                let out = &link.outs[usize::from(v6)];
                if out.uplinks.is_empty() {
                    continue;
                }
                primaries.push((link.id, v6, first));
                plan.uplinks.extend(&out.uplinks);
                plan.sources.extend(out.sources.iter().map(|source| Source {
                    uplink: first + source.uplink,
                    ..*source
                }));
            }
        }
        plan.overrides = [false, true].map(|v6| {
            let link = self.preferred[usize::from(v6)].filter(|&link| self.overrides(v6, link))?;
            let primary = primaries
                .iter()
                .find(|(id, family, _)| (*id, *family) == (link, v6))?;
            Some(primary.2)
        });
        plan.pinned = self.pinned.map(|pinned| self.pinned_to(pinned, &primaries));
        plan
    }

    /// Where flows begin and leave. `primaries` has the position of each link's first uplink in the plan. If
    /// the user sends new connections over an interface that is none of our links, flows go there, too. On a
    /// network with IPv6 alone, IPv4 must look unreachable, so that programs do not wait for it.
    fn pinned_to(&self, (ifindex, address): (u32, Ipv4Addr), primaries: &[(LinkId, bool, usize)]) -> Pinned {
        let of_v4 = primaries.iter().filter(|(_, v6, _)| !v6);
        let only_v6 = of_v4.clone().next().is_none() && !primaries.is_empty();
        let first = self.interfaces.first_choices(false);
        let is_ours = first.iter().all(|&ifindex| self.by_index(ifindex).is_some());
        let usual = [marks::NONE, marks::WISHES].into_iter();
        let begin = usual
            .chain(self.wanted.iter().copied())
            .filter(|_| is_ours && !only_v6);
        Pinned {
            ifindex,
            address,
            marks: of_v4
                .clone()
                .filter_map(|&(link, _, uplink)| Some((marks::of_link(link)?, uplink)))
                .collect(),
            doubles: self.doubles(of_v4),
            begin: begin.collect(),
            held: (is_ours && !only_v6).then_some(marks::HELD),
        }
    }

    /// The networks of these links that another interface has, too.
    fn doubles<'p>(
        &self,
        links: impl Iterator<Item = &'p (LinkId, bool, usize)>,
    ) -> Vec<(Mark, Prefix, usize)> {
        let mut doubles = Vec::new();
        for &(link, _, uplink) in links {
            let own = self.interfaces.iter().find(|interface| {
                let managed = self.by_index(interface.link.ifindex);
                managed.is_some_and(|managed| managed.id == link)
            });
            let (Some(mark), Some(own)) = (marks::of_link(link), own) else {
                continue;
            };
            for network in own.networks().filter(|network| network.addr().is_ipv4()) {
                let is_other = |other: &&Interface| other.link.ifindex != own.link.ifindex;
                let others = self.interfaces.iter().filter(is_other);
                let overlaps =
                    |other: Prefix| other.contains(network.addr()) || network.contains(other.addr());
                if others.flat_map(Interface::networks).any(overlaps) {
                    doubles.push((mark, network, uplink));
                }
            }
        }
        doubles
    }

    /// Whether a rule of ours is needed to make new connections begin on this link. If the user sends them
    /// over an interface that is none of our links, such as a tunnel, they stay there.
    fn overrides(&self, v6: bool, link: LinkId) -> bool {
        let first = self.interfaces.first_choices(v6);
        let is_theirs = |&ifindex: &u32| self.by_index(ifindex).is_none();
        let is_it = |&ifindex: &u32| self.by_index(ifindex).is_some_and(|other| other.id == link);
        first.is_empty() || !(first.iter().any(is_theirs) || first.iter().all(is_it))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

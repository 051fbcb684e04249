//! Which declared link is which interface, and what it has: carrier, addresses, gateways.
//!
//! Pure bookkeeping: fed with rtnetlink events one at a time, it answers with the [`Step`]s that the driver takes, in order. It
//! does not look at the whole at the end of a batch, because a carrier that went and came back within one batch has taken
//! every route with it: the engine must hear both.
//!
//! # Where we differ, and why
//! 1. An interface that goes and comes back under a name that was declared keeps its [`LinkId`]: names are what users declare,
//!    and a modem that re-enumerates is the same modem. Interfaces that a pattern found get a new number each time.
//! 2. An Ethernet-like link without a default route of its own is not usable for [`GATEWAY_PATIENCE`]: DHCP clients set the
//!    address first, and joins sent before the route are lost. After that the peer is taken to be on the link itself.
//!
//! # Checked by
//! `links::tests` (plans of events); `daemon::tests` (the kernel's own events).

use super::pattern::Pattern;
use super::{DeclaredLink, Duration};
use crate::routing::Way;
use crate::rtnl::{Address, Event, IfName, Link, Prefix, Route, Table};
use policy::{LinkEvent, LinkId, LinkKind, LinkSpec, Role, Tariff};
use std::net::IpAddr;
use units::Instant;

/// How long after the address a link's default route may come.
const GATEWAY_PATIENCE: Duration = Duration::from_secs(1);
/// How long after a failure routes are tried again.
const INSTALL_AGAIN: Duration = Duration::from_secs(1);
const ARPHRD_ETHER: u16 = 1;

/// What the driver has to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Tell the engine.
    Tell(LinkId, LinkEvent),
    /// Set up the routes of a link and family, then call [`Links::installed`].
    Install(LinkId, Way),
    /// Take them out again.
    Uninstall(LinkId, Way),
    /// This address is gone, though the link stays usable by the other family: subflows from it are lost.
    Lost(LinkId, IpAddr),
    /// An interface is there: levers may be attached to it.
    Attach(LinkId, u32),
    /// It is gone, or not ours any more.
    Detach(u32),
}

/// One family's way out of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leg {
    /// No address.
    None,
    /// An address, but no default route yet.
    Waiting { address: Prefix, until: Instant },
    /// The driver was asked to install it, or failed to and will be asked again.
    Wanted { way: Way, again: Option<Instant> },
    /// Installed.
    Ready(Way),
}

/// One declared link.
#[derive(Debug)]
pub(super) struct Managed {
    pub(super) id: LinkId,
    pub(super) spec: LinkSpec,
    pub(super) interface: Option<IfName>,
    pub(super) ifindex: Option<u32>,
    pub(super) carrier: bool,
    /// Whether TCP over it asks for ECN.
    ecn: bool,
    gateway: Option<IpAddr>,
    tariff: Tariff,
    pattern: Pattern,
    found_by_pattern: bool,
    point_to_point: bool,
    appeared: bool,
    addresses: Vec<Address>,
    routes: Vec<Route>,
    legs: [Leg; 2],
}

impl Managed {
    fn new(declared: DeclaredLink) -> Self {
        let pattern = Pattern::new(&declared.interface);
        Self {
            id: declared.id,
            spec: declared.spec,
            interface: None,
            ifindex: None,
            carrier: false,
            ecn: false,
            gateway: declared.gateway,
            tariff: declared.tariff,
            found_by_pattern: pattern.is_wild(),
            pattern,
            point_to_point: false,
            appeared: false,
            addresses: Vec::new(),
            routes: Vec::new(),
            legs: [Leg::None; 2],
        }
    }

    /// The way out for peers of this family, once its routes are there.
    pub(super) fn way(&self, v6: bool) -> Option<Way> {
        match self.legs[usize::from(v6)] {
            Leg::Ready(way) => Some(way),
            _ => None,
        }
    }

    /// Every way that is installed.
    pub(super) fn ways(&self) -> impl Iterator<Item = Way> + '_ {
        [false, true].into_iter().filter_map(|v6| self.way(v6))
    }

    pub(super) fn usable(&self) -> bool {
        self.ways().next().is_some()
    }

    fn address(&self, v6: bool) -> Option<Prefix> {
        let fits = |address: &&Address| address.usable() && address.addr().is_ipv6() == v6;
        let mut candidates = self.addresses.iter().filter(fits);
        let fresh = candidates.clone().find(|address| !address.flags.deprecated());
        fresh.or_else(|| candidates.next()).map(|address| address.prefix)
    }

    /// `Some(None)`: reached without a next hop. `None`: not known yet.
    fn next_hop(&self, v6: bool) -> Option<Option<IpAddr>> {
        if let Some(declared) = self.gateway.filter(|gateway| gateway.is_ipv6() == v6) {
            return Some(Some(declared));
        }
        let best = self
            .routes
            .iter()
            .filter(|route| route.dst.addr().is_ipv6() == v6)
            .min_by_key(|r| r.metric);
        match best {
            Some(route) => Some(route.gateway),
            None => self.point_to_point.then_some(None),
        }
    }
}

/// All declared links, and the links that patterns have found.
#[derive(Debug)]
pub(super) struct Links {
    managed: Vec<Managed>,
    patterns: Vec<DeclaredLink>,
    next_id: u16,
    ecn: bool,
}

impl Links {
    pub(super) fn new(declared: Vec<DeclaredLink>) -> Self {
        let next_id = declared
            .iter()
            .map(|link| link.id.0)
            .max()
            .map_or(0, |id| id.saturating_add(1));
        let (patterns, fixed) = declared
            .into_iter()
            .partition(|link| Pattern::new(&link.interface).is_wild());
        Self {
            managed: Vec::from_iter(Vec::into_iter(fixed).map(Managed::new)),
            patterns,
            next_id,
            ecn: false,
        }
    }

    /// Connections over every link ask for ECN, or not, whatever the host's setting.
    pub(super) fn asking_for_ecn(mut self, ecn: bool) -> Self {
        self.ecn = ecn;
        self.managed.iter_mut().for_each(|link| link.ecn = ecn);
        self
    }

    /// Whether connections over them ask for ECN.
    pub(super) const fn ask_for_ecn(&self) -> bool {
        self.ecn
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Managed> {
        self.managed.iter()
    }

    pub(super) fn get(&self, id: LinkId) -> Option<&Managed> {
        self.managed.iter().find(|link| link.id == id)
    }

    /// Whose address this is; `ifindex` decides where two links have the same, and `preferred` where nothing else does.
    pub(super) fn owner(
        &self,
        local: IpAddr,
        ifindex: Option<u32>,
        preferred: Option<LinkId>,
    ) -> Option<LinkId> {
        let bound = |link: &&Managed| link.ifindex == ifindex;
        if ifindex.is_some() {
            return self.managed.iter().find(bound).map(|link| link.id);
        }
        let has = |link: &&Managed| link.addresses.iter().any(|address| address.addr() == local);
        let mut owners = self.managed.iter().filter(has).map(|link| link.id);
        let first = owners.clone().next();
        preferred
            .filter(|preferred| owners.any(|owner| owner == *preferred))
            .or(first)
    }

    /// The world has said by itself that the link can be seen.
    pub(super) fn appeared(&mut self, id: LinkId) {
        if let Some(link) = self.find(id) {
            link.appeared = true;
        }
    }

    /// Takes in one event; the steps that follow from it are added to `steps`.
    pub(super) fn apply(&mut self, now: Instant, event: &Event, steps: &mut Vec<Step>) {
        match event {
            Event::Link(link) => self.link(link, steps),
            Event::LinkGone(link) => self.link_gone(link.ifindex, steps),
            Event::Address(address) => self.on(address.ifindex, |link| link.set_address(*address)),
            Event::AddressGone(address) => self.on(address.ifindex, |link| {
                link.addresses.retain(|other| other.prefix != address.prefix);
            }),
            Event::Route(route) => self.route(route, true),
            Event::RouteGone(route) => self.route(route, false),
        }
        self.settle(now, steps);
    }

    /// Patience that ends now.
    pub(super) fn tick(&mut self, now: Instant, steps: &mut Vec<Step>) {
        self.settle(now, steps);
    }

    /// When [`Links::tick`] has something to do.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let legs = self.managed.iter().flat_map(|link| link.legs);
        legs.filter_map(|leg| match leg {
            Leg::Waiting { until, .. } => Some(until),
            Leg::Wanted { again, .. } => again,
            Leg::None | Leg::Ready(_) => None,
        })
        .min()
    }

    /// The routes of a way are in place (`true`), or could not be made and are to be tried again.
    pub(super) fn installed(
        &mut self,
        now: Instant,
        id: LinkId,
        way: Way,
        done: bool,
        steps: &mut Vec<Step>,
    ) {
        let Some(link) = self.find(id) else { return };
        let was_usable = link.usable();
        let leg = &mut link.legs[usize::from(way.address.addr().is_ipv6())];
        if !matches!(*leg, Leg::Wanted { way: wanted, .. } if wanted == way) {
            return;
        }
        if done {
            *leg = Leg::Ready(way);
        } else {
            *leg = Leg::Wanted {
                way,
                again: Some(now + INSTALL_AGAIN),
            };
        }
        if done && !was_usable {
            steps.push(Step::Tell(id, LinkEvent::Usable(true)));
        }
    }

    fn find(&mut self, id: LinkId) -> Option<&mut Managed> {
        self.managed.iter_mut().find(|link| link.id == id)
    }

    fn on(&mut self, ifindex: u32, change: impl FnOnce(&mut Managed)) {
        if let Some(link) = self.managed.iter_mut().find(|link| link.ifindex == Some(ifindex)) {
            change(link);
        }
    }

    fn link(&mut self, event: &Link, steps: &mut Vec<Step>) {
        let renamed =
            |link: &&Managed| link.ifindex == Some(event.ifindex) && link.interface != Some(event.name);
        if self.managed.iter().any(|link| renamed(&link)) {
            self.link_gone(event.ifindex, steps);
        }
        self.adopt(event);
        let Some(link) = self
            .managed
            .iter_mut()
            .find(|link| link.pattern.matches(event.name.as_str()))
        else {
            return;
        };
        link.seen(event, steps);
    }

    /// A pattern's new find becomes a link of its own.
    fn adopt(&mut self, event: &Link) {
        let name = event.name.as_str();
        if event.loopback || self.managed.iter().any(|link| link.pattern.matches(name)) {
            return;
        }
        let Some(found) = self
            .patterns
            .iter()
            .find(|link| Pattern::new(&link.interface).matches(name))
        else {
            return;
        };
        let spec = LinkSpec {
            name: name.to_owned(),
            ..found.spec.clone()
        };
        let declared = DeclaredLink {
            id: LinkId(self.next_id),
            interface: name.to_owned(),
            spec,
            gateway: found.gateway,
            tariff: found.tariff,
        };
        self.next_id = self.next_id.saturating_add(1);
        self.managed.push(Managed {
            found_by_pattern: true,
            ecn: self.ecn,
            ..Managed::new(declared)
        });
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

    fn route(&mut self, route: &Route, there: bool) {
        let foreign = route.table == Table::MAIN && route.protocol != crate::rtnl::Protocol::SLOWHAND;
        let Some(oif) = route.oif.filter(|_| foreign && route.is_default()) else {
            return;
        };
        self.on(oif, |link| {
            link.routes.retain(|other| other != route);
            if there {
                link.routes.push(*route);
            }
        });
    }

    fn settle(&mut self, now: Instant, steps: &mut Vec<Step>) {
        for link in &mut self.managed {
            for v6 in [false, true] {
                link.settle(now, v6, steps);
            }
        }
    }
}

impl Managed {
    fn set_address(&mut self, address: Address) {
        match self
            .addresses
            .iter_mut()
            .find(|other| other.prefix == address.prefix)
        {
            Some(known) => *known = address,
            None => self.addresses.push(address),
        }
    }

    fn seen(&mut self, event: &Link, steps: &mut Vec<Step>) {
        if self.ifindex != Some(event.ifindex) {
            self.ifindex = Some(event.ifindex);
            self.interface = Some(event.name);
            steps.push(Step::Attach(self.id, event.ifindex));
        }
        self.point_to_point = event.arphrd != ARPHRD_ETHER;
        // An access point can be seen before it has a carrier, but only the world that hears its beacons knows that.
        if !self.appeared && (event.running() || self.spec.kind != LinkKind::Wifi) {
            self.appeared = true;
            steps.push(Step::Tell(self.id, LinkEvent::Appeared(self.spec.clone())));
            if self.tariff != Tariff::default() {
                steps.push(Step::Tell(self.id, LinkEvent::Tariff(self.tariff)));
            }
        }
        self.set_carrier(event.running(), steps);
    }

    fn set_carrier(&mut self, carrier: bool, steps: &mut Vec<Step>) {
        if std::mem::replace(&mut self.carrier, carrier) != carrier {
            if !carrier {
                self.drop_legs(steps);
            }
            steps.push(Step::Tell(self.id, LinkEvent::Carrier(carrier)));
        }
    }

    fn lose_everything(&mut self, steps: &mut Vec<Step>) {
        self.drop_legs(steps);
        self.set_carrier(false, steps);
        self.addresses.clear();
        self.routes.clear();
        (self.ifindex, self.interface) = (None, None);
    }

    fn drop_legs(&mut self, steps: &mut Vec<Step>) {
        for v6 in [false, true] {
            self.drop_leg(v6, steps);
        }
    }

    /// The engine hears that the link is gone before the routes are.
    fn drop_leg(&mut self, v6: bool, steps: &mut Vec<Step>) {
        let leg = std::mem::replace(&mut self.legs[usize::from(v6)], Leg::None);
        let (Leg::Ready(way) | Leg::Wanted { way, .. }) = leg else {
            return;
        };
        match leg {
            Leg::Ready(_) if self.usable() => steps.push(Step::Lost(self.id, way.address.addr())),
            Leg::Ready(_) => steps.push(Step::Tell(self.id, LinkEvent::Usable(false))),
            _ => {}
        }
        steps.push(Step::Uninstall(self.id, way));
    }

    fn settle(&mut self, now: Instant, v6: bool, steps: &mut Vec<Step>) {
        let wanted = self.wanted(now, v6);
        let current = self.legs[usize::from(v6)];
        match (current, wanted) {
            (Leg::Ready(way), Leg::Wanted { way: same, .. }) if way == same => return,
            (Leg::Wanted { way, again }, Leg::Wanted { way: same, .. })
                if way == same && again.is_none_or(|at| at > now) =>
            {
                return;
            }
            (Leg::Waiting { address, .. }, Leg::Waiting { address: same, .. }) if address == same => return,
            (Leg::None, Leg::None) => return,
            _ => {}
        }
        if !matches!((current, wanted), (Leg::Wanted { way, .. }, Leg::Wanted { way: same, .. }) if way == same)
        {
            self.drop_leg(v6, steps);
        }
        self.legs[usize::from(v6)] = wanted;
        if let Leg::Wanted { way, .. } = wanted {
            steps.push(Step::Install(self.id, way));
        }
    }

    /// What the leg of this family should be, from what the link has.
    fn wanted(&self, now: Instant, v6: bool) -> Leg {
        // A link that is never to be used is not touched either.
        let used = self.carrier && self.spec.role != Role::Never;
        let Some(address) = self.address(v6).filter(|_| used) else {
            return Leg::None;
        };
        let (Some(ifindex), Some(name)) = (self.ifindex, self.interface) else {
            return Leg::None;
        };
        let way = |gateway| Way {
            number: self.id.0,
            ifindex,
            name,
            address,
            gateway,
            ecn: self.ecn,
        };
        let wanted = |gateway| Leg::Wanted {
            way: way(gateway),
            again: None,
        };
        if let Some(gateway) = self.next_hop(v6) {
            return wanted(gateway);
        }
        match self.legs[usize::from(v6)] {
            Leg::Waiting { address: same, until } if same == address && until > now => {
                Leg::Waiting { address, until }
            }
            Leg::Waiting { address: same, .. } if same == address => wanted(None),
            Leg::Ready(way) | Leg::Wanted { way, .. } if way.address == address && way.gateway.is_none() => {
                wanted(None)
            }
            _ => Leg::Waiting {
                address,
                until: now + GATEWAY_PATIENCE,
            },
        }
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;

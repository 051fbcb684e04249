//! A declared link: its interface, and its ways out in both families.

use crate::daemon::api::setup::DeclaredLink;
use crate::daemon::links::book::Step;
use crate::daemon::links::interfaces::{Interface, Interfaces};
use crate::daemon::links::pattern::Pattern;
use crate::daemon::links::ways::{self, Way};
use crate::routing::{Source, Uplink};
use crate::rtnl::{IfName, Link};
use policy::{Family, LinkEvent, LinkId, LinkKind, LinkSpec, Role, Tariff};
use std::net::IpAddr;
use std::time::Duration;
use units::Instant;

/// How long a way stays after its default route has vanished, while carrier and address stay.
pub(crate) const ROUTE_PATIENCE: Duration = Duration::from_secs(1);

/// The way out of a link in one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leg {
    /// No address, or no default route.
    None,
    /// Its routes are not in place yet.
    Wanted(Way),
    /// Usable.
    Ready {
        /// The way.
        way: Way,
        /// If its default route has vanished: deadline for its return.
        until: Option<Instant>,
    },
}

/// Contribution of one family to the plan of routes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Out {
    pub(crate) uplinks: Vec<Uplink>,
    /// Positions in them refer to `uplinks`.
    pub(crate) sources: Vec<Source>,
}

/// One declared link.
#[derive(Debug)]
pub(crate) struct Managed {
    pub(crate) id: LinkId,
    pub(crate) spec: LinkSpec,
    pub(crate) interface: Option<IfName>,
    pub(crate) ifindex: Option<u32>,
    pub(crate) carrier: bool,
    pub(crate) found_by_pattern: bool,
    pub(crate) appeared: bool,
    pub(crate) legs: [Leg; 2],
    pub(crate) outs: [Out; 2],
    pattern: Pattern,
    gateway: Option<IpAddr>,
    tariff: Tariff,
    /// The rank of its routes among the user's, as last reported to the engine.
    told: [policy::Uplink; 2],
}

impl Managed {
    pub(crate) fn new(declared: DeclaredLink) -> Self {
        Self {
            id: declared.id,
            spec: declared.spec,
            interface: None,
            ifindex: None,
            carrier: false,
            found_by_pattern: false,
            appeared: false,
            legs: [Leg::None; 2],
            outs: Default::default(),
            pattern: Pattern::new(&declared.interface),
            gateway: declared.gateway,
            tariff: declared.tariff,
            told: [policy::Uplink::default(); 2],
        }
    }

    /// A link that a pattern has found.
    pub(crate) fn found(declared: DeclaredLink) -> Self {
        Self {
            found_by_pattern: true,
            ..Self::new(declared)
        }
    }

    pub(crate) fn is_declared_for(&self, link: &Link) -> bool {
        link.names().any(|name| self.pattern.matches(name))
    }

    /// Declaration of the link.
    pub(crate) fn declared(&self) -> DeclaredLink {
        DeclaredLink {
            id: self.id,
            interface: self.pattern.to_string(),
            spec: self.spec.clone(),
            gateway: self.gateway,
            tariff: self.tariff,
        }
    }

    /// Changes its declaration. Its number and its interface stay.
    pub(crate) fn redeclare(&mut self, declared: DeclaredLink, steps: &mut Vec<Step>) {
        self.pattern = Pattern::new(&declared.interface);
        self.gateway = declared.gateway;
        if self.appeared && self.spec != declared.spec {
            steps.push(Step::Tell(self.id, LinkEvent::Appeared(declared.spec.clone())));
        }
        if self.appeared && self.tariff != declared.tariff {
            steps.push(Step::Tell(self.id, LinkEvent::Tariff(declared.tariff)));
        }
        (self.spec, self.tariff) = (declared.spec, declared.tariff);
    }

    /// The way out for peers of this family, once its routes are in place.
    pub(crate) fn way(&self, v6: bool) -> Option<Way> {
        match self.legs[usize::from(v6)] {
            Leg::Ready { way, .. } => Some(way),
            Leg::None | Leg::Wanted(_) => None,
        }
    }

    /// All usable ways.
    pub(crate) fn ways(&self) -> impl Iterator<Item = Way> + '_ {
        [false, true].into_iter().filter_map(|v6| self.way(v6))
    }

    pub(crate) fn usable(&self) -> bool {
        self.ways().next().is_some()
    }

    /// Makes this interface the link's interface.
    pub(crate) fn bind(&mut self, event: &Link, steps: &mut Vec<Step>) {
        self.ifindex = Some(event.ifindex);
        self.interface = Some(event.name);
        steps.push(Step::Attach(self.id, event.ifindex));
        self.seen(event, steps);
    }

    pub(crate) fn seen(&mut self, event: &Link, steps: &mut Vec<Step>) {
        // An access point can be seen before it has a carrier. Only the program that hears its beacons knows
        // that.
        if !self.appeared && (event.running() || self.spec.kind != LinkKind::Wifi) {
            self.show(steps);
        }
        self.set_carrier(event.running(), steps);
    }

    /// It can be seen from now on.
    pub(crate) fn show(&mut self, steps: &mut Vec<Step>) {
        self.appeared = true;
        steps.push(Step::Tell(self.id, LinkEvent::Appeared(self.spec.clone())));
        if self.tariff != Tariff::default() {
            steps.push(Step::Tell(self.id, LinkEvent::Tariff(self.tariff)));
        }
    }

    /// Its radio reports this channel, whatever its declaration says.
    pub(crate) fn tuned(&mut self, channel: u16, steps: &mut Vec<Step>) {
        if self.spec.channel.replace(channel) != Some(channel) && self.appeared {
            steps.push(Step::Tell(self.id, LinkEvent::Appeared(self.spec.clone())));
        }
    }

    fn set_carrier(&mut self, carrier: bool, steps: &mut Vec<Step>) {
        if std::mem::replace(&mut self.carrier, carrier) != carrier {
            if !carrier {
                self.drop_legs(steps);
            }
            steps.push(Step::Tell(self.id, LinkEvent::Carrier(carrier)));
        }
    }

    pub(crate) fn lose_everything(&mut self, steps: &mut Vec<Step>) {
        self.drop_legs(steps);
        self.set_carrier(false, steps);
        (self.ifindex, self.interface) = (None, None);
    }

    fn drop_legs(&mut self, steps: &mut Vec<Step>) {
        for v6 in [false, true] {
            self.drop_leg(v6, steps);
        }
    }

    /// Removes a way. The engine is told that the link is unusable before its routes are removed.
    fn drop_leg(&mut self, v6: bool, steps: &mut Vec<Step>) {
        self.outs[usize::from(v6)] = Out::default();
        let leg = std::mem::replace(&mut self.legs[usize::from(v6)], Leg::None);
        if let Leg::Ready { way, .. } = leg {
            if self.usable() {
                steps.push(Step::Lost(self.id, way.address.addr()));
                steps.push(Step::Tell(self.id, LinkEvent::Address(family(v6), false)));
            } else {
                steps.push(Step::Tell(self.id, LinkEvent::Usable(false)));
            }
        }
    }

    /// Updates its ways from the state of its interface.
    pub(crate) fn settle(&mut self, now: Instant, all: &Interfaces, ecn: bool, steps: &mut Vec<Step>) {
        let interface = self.ifindex.and_then(|ifindex| all.get(ifindex));
        // A link that must never be used is not changed either.
        let used = self.carrier && self.spec.role != Role::Never;
        for v6 in [false, true] {
            match interface.filter(|_| used) {
                Some(interface) => {
                    let uplinks = ways::uplinks(all, interface, v6, self.gateway, ecn);
                    self.settle_leg(now, interface, v6, &uplinks, steps);
                }
                None => self.drop_leg(v6, steps),
            }
            self.rank(all, interface, v6, steps);
        }
    }

    fn settle_leg(
        &mut self,
        now: Instant,
        interface: &Interface,
        v6: bool,
        uplinks: &[Uplink],
        steps: &mut Vec<Step>,
    ) {
        let has = |way: Way| ways::sources(interface, v6).any(|address| address.prefix == way.address);
        let wanted = ways::way(interface, v6, uplinks);
        let at = usize::from(v6);
        match (self.legs[at], wanted) {
            (Leg::Ready { way, .. }, _) if !has(way) => {
                self.drop_leg(v6, steps);
                return self.settle_leg(now, interface, v6, uplinks, steps);
            }
            // Connections over the former way stay: its address still exists.
            (Leg::Ready { .. }, Some(way)) => self.legs[at] = Leg::Ready { way, until: None },
            (Leg::Ready { way, until }, None) => {
                let until = until.unwrap_or(now + ROUTE_PATIENCE);
                if until <= now {
                    return self.drop_leg(v6, steps);
                }
                self.legs[at] = Leg::Ready {
                    way,
                    until: Some(until),
                };
                return;
            }
            (Leg::None | Leg::Wanted(_), Some(way)) => self.legs[at] = Leg::Wanted(way),
            (Leg::None | Leg::Wanted(_), None) => return self.drop_leg(v6, steps),
        }
        self.outs[at] = Out {
            uplinks: uplinks.to_vec(),
            sources: ways::sources(interface, v6)
                .filter_map(|address| {
                    Some(Source {
                        address: address.addr(),
                        uplink: ways::uplink_of(address, uplinks)?,
                    })
                })
                .collect(),
        };
    }

    /// Tells the engine how the user's routes rank the link. A link without a carrier may still have the
    /// route that the kernel uses.
    fn rank(&mut self, all: &Interfaces, interface: Option<&Interface>, v6: bool, steps: &mut Vec<Step>) {
        let rank = interface.map_or(policy::Uplink::None, |interface| {
            ways::rank(all, interface, v6, self.gateway)
        });
        let told = &mut self.told[usize::from(v6)];
        if self.appeared && std::mem::replace(told, rank) != rank {
            steps.push(Step::Tell(self.id, LinkEvent::Uplink(family(v6), rank)));
        }
    }

    /// Records that the link's routes are in place.
    pub(crate) fn routed(&mut self, steps: &mut Vec<Step>) {
        let mut has_another = false;
        for (leg, family) in self.legs.iter_mut().zip(Family::ALL) {
            if let Leg::Wanted(way) = *leg {
                *leg = Leg::Ready { way, until: None };
                has_another = true;
                steps.push(Step::Tell(self.id, LinkEvent::Address(family, true)));
            }
        }
        if has_another {
            steps.push(Step::Tell(self.id, LinkEvent::Usable(true)));
        }
    }
}

const fn family(v6: bool) -> Family {
    if v6 { Family::V6 } else { Family::V4 }
}

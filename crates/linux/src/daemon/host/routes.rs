//! The daemon's routes and rules, and where the user's routes lead.

use crate::daemon::links::book::Links;
use crate::journal::Journal;
use crate::netlink::OpenError;
use crate::routing::{Applied, ApplyError, Plan, Routing};
use crate::rtnl::{RouteKind, Rtnl};
use std::net::IpAddr;

/// The handle for reading and changing routes and rules, and those that the daemon has set.
#[derive(Debug)]
pub(crate) struct Routes {
    rtnl: Rtnl,
    routing: Routing,
}

impl Routes {
    pub(crate) fn open() -> Result<Self, OpenError> {
        Ok(Self {
            rtnl: Rtnl::open()?,
            routing: Routing::default(),
        })
    }

    /// Changes routes and rules to match the plan.
    pub(crate) fn apply(&mut self, journal: &mut Journal, plan: &Plan) -> Result<Applied, ApplyError> {
        self.routing.apply(&mut self.rtnl, journal, plan)
    }

    /// Whether the user's routes lead to `peer` over a network of its own: a tunnel, this host itself, or an
    /// inner network behind one link only. Such a connection gets no subflows, and its packets must not reach
    /// other links.
    pub(crate) fn is_led_elsewhere(&mut self, links: &Links, peer: IpAddr) -> bool {
        match self.road_to(links, peer) {
            Road::Out => false,
            Road::Theirs => true,
            Road::Inner(by) => {
                let others = links.iter().filter_map(|link| link.ifindex);
                let others = Vec::from_iter(others.filter(|&ifindex| ifindex != by));
                others
                    .into_iter()
                    .all(|ifindex| !self.leads_inside(peer, ifindex))
            }
        }
    }

    /// Whether the user's routes lead to `peer` elsewhere than over this link, over which a subflow is to be
    /// added.
    pub(crate) fn leads_elsewhere(&mut self, links: &Links, peer: IpAddr, over: u32) -> bool {
        match self.road_to(links, peer) {
            Road::Out => false,
            Road::Theirs => true,
            Road::Inner(_) => !self.leads_inside(peer, over),
        }
    }

    /// Whether a default route leads to `peer`, out of this host.
    pub(crate) fn goes_out(&mut self, links: &Links, peer: IpAddr) -> bool {
        matches!(self.road_to(links, peer), Road::Out)
    }

    fn road_to(&mut self, links: &Links, peer: IpAddr) -> Road {
        let Some(route) = self.rtnl.lookup(peer, None) else {
            return Road::Out;
        };
        if self.routing.owns(route.table) {
            return Road::Out;
        }
        match route.oif.filter(|&oif| links.by_index(oif).is_some()) {
            Some(oif) if route.kind == RouteKind::Unicast => match route.is_default() {
                true => Road::Out,
                false => Road::Inner(oif),
            },
            _ => Road::Theirs,
        }
    }

    /// Whether a more specific route than a default leads to `peer` over this link.
    fn leads_inside(&mut self, peer: IpAddr, over: u32) -> bool {
        let route = self.rtnl.lookup(peer, Some(over));
        route.is_some_and(|route| !route.is_default())
    }
}

/// Where the user's routes lead to a peer.
enum Road {
    /// Out of the host, by a default route over one of our links.
    Out,
    /// By a more specific route over one of our links, with this interface index.
    Inner(u32),
    /// Over an interface that is none of our links, or nowhere.
    Theirs,
}

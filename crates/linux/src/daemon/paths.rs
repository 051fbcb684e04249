//! Links in the kernel: their routes and rules, where new connections begin, and where levers are attached.

use super::flows::Subflow;
use super::links::Step;
use super::observe::Observation;
use super::settings::Settings;
use super::world::World;
use crate::routing::Applied;
use crate::rtnl::{Event, RouteKind};
use policy::{Family, Input, LinkId, SubflowEvent, SubflowId};
use std::net::IpAddr;
use units::Instant;

impl World {
    pub(super) fn link_event(&mut self, now: Instant, event: &Event) {
        let mut steps = std::mem::take(&mut self.steps);
        self.links.apply(now, event, &mut steps);
        if matches!(event, Event::Rules | Event::Route(_) | Event::RouteGone(_)) {
            self.upkeep.routes_changed(now);
        }
        self.take_steps(now, steps);
    }

    /// Takes the steps in order, and those that follow from them right behind.
    pub(super) fn take_steps(&mut self, now: Instant, mut steps: Vec<Step>) {
        let mut next = Vec::new();
        for step in steps.drain(..) {
            self.take_step(now, step, &mut next);
            for step in next.drain(..) {
                // What follows from an installation is only told.
                self.take_step(now, step, &mut Vec::new());
            }
        }
        self.steps = steps;
    }

    fn take_step(&mut self, now: Instant, step: Step, next: &mut Vec<Step>) {
        match step {
            Step::Tell(link, event) => self.tell(Input::Link(link, event)),
            Step::Apply => {
                let done = self.apply_plan(now);
                self.links.applied(now, done, next);
            }
            Step::Lost(link, address) => self.address_lost(link, address),
            Step::Attach(link, ifindex) => self.attach(link, ifindex),
            Step::Detach(ifindex) => {
                self.levers.detach(ifindex);
                let marks = [&mut self.marks, &mut self.sent_marks];
                let detached = marks.map(|marks| marks.detach(ifindex));
                for error in detached.into_iter().filter_map(Result::err) {
                    self.trouble("taking marks off a link", &error);
                }
            }
        }
    }

    fn attach(&mut self, link: LinkId, ifindex: u32) {
        if let Err(error) = self.levers.attach(ifindex) {
            self.trouble_on(link, "bounding windows", &error);
        }
        if !self.links.ask_for_ecn() {
            return;
        }
        let marks = [&mut self.marks, &mut self.sent_marks];
        let prepared = marks.map(|marks| marks.prepare(link, ifindex));
        // A kernel that refuses one refuses the other.
        if let Some(error) = prepared.into_iter().find_map(Result::err) {
            self.trouble_on(link, "making ready to mark", &error);
        }
    }

    /// Brings routes and rules to what the links need. Says so if that restored what somebody else had removed.
    fn apply_plan(&mut self, now: Instant) -> bool {
        let Settings { rtnl, journal, .. } = &mut self.settings;
        match self.routing.apply(rtnl, journal, self.links.plan()) {
            Ok(Applied { restored: 0 }) => true,
            Ok(Applied { restored }) => {
                if self.links.restore.restored(now) {
                    let why = format!("another program removed {restored} of them; they are restored");
                    self.observe(Observation::Trouble {
                        what: "routes and rules",
                        why: &why,
                    });
                }
                true
            }
            Err(error) => {
                self.trouble(
                    "setting up routes and rules, to be tried again in a second",
                    &error,
                );
                false
            }
        }
    }

    /// Ends the subflows of an address that is gone. The link as a whole is not lost, so the engine cannot know.
    fn address_lost(&mut self, link: LinkId, address: IpAddr) {
        let of_it =
            |subflow: &&Subflow| subflow.link == link && subflow.ends.local.ip().to_canonical() == address;
        let lost: Vec<SubflowId> = self
            .flows
            .living()
            .filter(of_it)
            .map(|subflow| subflow.id)
            .collect();
        for &id in &lost {
            self.tell(Input::Subflow(id, SubflowEvent::Closed));
            self.destroy_quietly(id);
        }
        for id in lost {
            if let Err(error) = self.withdraw(self.now, id) {
                self.trouble_on(link, "withdrawing an address that is gone", &error);
            }
        }
    }

    /// New connections begin on this link, or where the user's routes lead.
    pub(super) fn begin_connections_on(&mut self, now: Instant, family: Family, link: Option<LinkId>) {
        let mut steps = std::mem::take(&mut self.steps);
        self.links.prefer(family, link, &mut steps);
        self.take_steps(now, steps);
    }

    /// Whether the user's routes lead to `peer` by a network of its own, such as a tunnel, an inner network or this host, and not by `over`.
    pub(super) fn leads_elsewhere(&mut self, peer: IpAddr, over: u32) -> bool {
        let rtnl = &mut self.settings.rtnl;
        let Some(route) = rtnl.lookup(peer, None) else {
            return false;
        };
        if self.routing.owns(route.table) {
            return false;
        }
        match route.oif.and_then(|oif| self.links.by_index(oif)) {
            _ if route.kind != RouteKind::Unicast => true,
            None => true,
            Some(_) if route.is_default() => false,
            // An inner network: only over links by which the user's routes lead there too.
            Some(_) => rtnl
                .lookup(peer, Some(over))
                .is_none_or(|route| route.is_default()),
        }
    }
}

//! Links in the kernel: their routes and rules, the default route, and where levers are attached.

use super::acts::ActError;
use super::flows::Subflow;
use super::links::Step;
use super::world::World;
use crate::routing::{self, Way};
use crate::rtnl::Event;
use policy::{Input, LinkEvent, LinkId, SubflowEvent, SubflowId};
use std::net::IpAddr;
use units::Instant;

impl World {
    pub(super) fn link_event(&mut self, now: Instant, event: &Event) {
        let mut steps = std::mem::take(&mut self.steps);
        self.links.apply(now, event, &mut steps);
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
            Step::Tell(link, event) => {
                let is_usable = event == LinkEvent::Usable(true);
                self.tell(Input::Link(link, event));
                if is_usable {
                    self.usable(link);
                }
            }
            Step::Install(link, way) => {
                let done = self.install(&way);
                self.links.installed(now, link, way, done, next);
            }
            Step::Uninstall(_, way) => self.uninstall(&way),
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
            self.trouble("bounding windows on a link", &error);
        }
        if !self.links.ask_for_ecn() {
            return;
        }
        let marks = [&mut self.marks, &mut self.sent_marks];
        let prepared = marks.map(|marks| marks.prepare(link, ifindex));
        // A kernel that refuses one refuses the other.
        if let Some(error) = prepared.into_iter().find_map(Result::err) {
            self.trouble("making ready to mark on a link", &error);
        }
    }

    fn install(&mut self, way: &Way) -> bool {
        let installed = routing::install(&mut self.settings.rtnl, &mut self.settings.journal, way);
        if let Err(error) = &installed {
            self.trouble("setting up a link's routes, to be tried again in a second", error);
        }
        installed.is_ok()
    }

    fn uninstall(&mut self, way: &Way) {
        if let Err(error) = routing::uninstall(&mut self.settings.rtnl, way) {
            self.trouble("taking a link's routes out", &error);
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
                self.trouble("withdrawing an address that is gone", &error);
            }
        }
    }

    pub(super) fn move_default_route(&mut self, link: LinkId) -> Result<(), ActError> {
        let managed = self.links.get(link).ok_or(ActError::NoWay)?;
        let ways = Vec::from_iter(managed.ways());
        if ways.is_empty() {
            return Err(ActError::NoWay);
        }
        for way in ways {
            routing::set_default(&mut self.settings.rtnl, &mut self.settings.journal, &way)?;
        }
        self.default_route = Some(link);
        Ok(())
    }
}

//! Executes the consequences of link events: facts for the engine, routes and rules, programs attached to
//! interfaces.

use crate::daemon::api::observe::Observation;
use crate::daemon::drive::world::World;
use crate::daemon::links::book::{Links, Step};
use crate::daemon::links::restore::Kind;
use crate::routing::Applied;
use crate::rtnl::{Event, IfName};
use crate::sysctl::Key;
use policy::{Family, Input, LinkEvent, LinkId};
use units::Instant;

impl World {
    pub(crate) fn link_event(&mut self, now: Instant, event: &Event) {
        if let Event::LinkGone(link) = event {
            self.interface_gone(now, link.ifindex);
        }
        self.look_at_flows(now, event);
        let mut steps = std::mem::take(&mut self.steps);
        self.links.apply(now, event, &mut steps);
        if matches!(event, Event::Rules | Event::Route(_) | Event::RouteGone(_)) {
            self.upkeep.routes_changed(now);
        }
        self.take_steps(now, steps);
    }

    /// The interface of flows may have been set down, or lost its address. Then no route could be set up.
    fn look_at_flows(&mut self, now: Instant, event: &Event) {
        let ifindex = match event {
            Event::Link(link) if !link.up => link.ifindex,
            Event::AddressGone(address) => address.ifindex,
            _ => return,
        };
        let networks = self.networks.as_mut();
        if let Some(networks) = networks.filter(|networks| networks.interface().0 == ifindex) {
            networks.hurt(now);
        }
    }

    /// Executes the steps in order. Steps that result from one follow it at once.
    pub(crate) fn take_steps(&mut self, now: Instant, mut steps: Vec<Step>) {
        let mut next = Vec::new();
        for step in steps.drain(..) {
            self.take_step(now, step, &mut next);
            for step in next.drain(..) {
                // Steps that result from an installation only tell the engine.
                self.take_step(now, step, &mut Vec::new());
            }
        }
        self.steps = steps;
        self.settle_networks();
    }

    fn take_step(&mut self, now: Instant, step: Step, next: &mut Vec<Step>) {
        match step {
            Step::Tell(link, event) => {
                if event == LinkEvent::Usable(true) {
                    self.usable(link);
                }
                self.host.outlet.tell(Input::Link(link, event));
            }
            Step::Apply | Step::Restore => {
                let applied = self.apply_plan();
                self.links.applied(now, applied.is_some(), next);
                if let (Step::Restore, Some(applied)) = (step, applied) {
                    self.report_restored(now, applied);
                }
            }
            Step::Lost(link, address) => {
                let (host, links) = (&mut self.host, &self.links);
                self.conns.address_lost(link, address, host, links);
            }
            Step::Attach(link, ifindex) => {
                self.radio.look_soon(now);
                self.accept_marks(link);
                let (links, outlet) = (&self.links, &mut self.host.outlet);
                self.conns.bounds.attach(link, ifindex, links, outlet);
            }
            Step::Renamed(from, to) => {
                let [from, to] = [from, to].map(accepts_marks);
                if let Err(error) = self.host.settings.journal.renamed(&from, &to) {
                    let what = "recording the parameter of a renamed interface";
                    self.host.outlet.trouble(what, &error);
                }
            }
            Step::Detach(ifindex) => self.conns.bounds.detach(ifindex, &mut self.host.outlet),
        }
    }

    /// Lets the kernel check the reverse path of arriving packets by their marks. Where it checks strictly,
    /// it would drop replies to flows that left over this link.
    fn accept_marks(&mut self, link: LinkId) {
        let interface = self.links.get(link).and_then(|managed| managed.interface);
        let Some(interface) = interface.filter(|_| self.networks.is_some()) else {
            return;
        };
        let key = accepts_marks(interface);
        if let Err(error) = self.host.settings.journal.set_sysctl(&key, "1") {
            self.host
                .outlet
                .trouble("letting replies to flows arrive", &error);
        }
    }

    fn apply_plan(&mut self) -> Option<Applied> {
        let plan = self.links.plan();
        match self.host.routes.apply(&mut self.host.settings.journal, plan) {
            Ok(applied) => Some(applied),
            Err(error) => {
                let doing = "setting up routes and rules, to be tried again in a second";
                self.host.outlet.trouble(doing, &error);
                None
            }
        }
    }

    fn report_restored(&mut self, now: Instant, applied: Applied) {
        let kinds = [
            (Kind::Rules, "routing rules", applied.restored_rules),
            (Kind::Routes, "routes", applied.restored_routes),
        ];
        for (kind, what, count) in kinds.into_iter().filter(|(.., count)| *count > 0) {
            if self.links.restore.restored(now, kind) {
                let why = format!("another program removed {count} of them; restored");
                self.host.outlet.observe(Observation::Trouble { what, why: &why });
            }
        }
    }

    /// Changes the links, and executes the steps that result.
    pub(crate) fn change_links(&mut self, now: Instant, change: impl FnOnce(&mut Links, &mut Vec<Step>)) {
        let mut steps = std::mem::take(&mut self.steps);
        change(&mut self.links, &mut steps);
        self.take_steps(now, steps);
    }

    /// Makes new connections begin on this link, or, if `None`, where the user's routes lead.
    pub(crate) fn begin_connections_on(&mut self, now: Instant, family: Family, link: Option<LinkId>) {
        self.change_links(now, |links, steps| links.prefer(family, link, steps));
    }
}

/// The parameter by which the kernel checks the reverse path of packets of this interface by their marks.
fn accepts_marks(interface: IfName) -> Key {
    // In a parameter's name, a dot of the interface's is a slash.
    let interface = interface.as_str().replace('.', "/");
    Key::new(format!("net.ipv4.conf.{interface}.src_valid_mark"))
}

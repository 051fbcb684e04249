//! Everything the loop acts on: the kernel's interfaces, the books, and what waits for the engine.

use crate::daemon::act::cla::Cla;
use crate::daemon::act::farewell::Farewells;
use crate::daemon::api::error::RunError;
use crate::daemon::api::error::StartError;
use crate::daemon::api::inlet::Inlet;
use crate::daemon::api::observe::Observation;
use crate::daemon::api::setup::AssociateFn;
use crate::daemon::api::setup::Setup;
use crate::daemon::ask::checks::Checks;
use crate::daemon::ask::idle::{Idle, Owners};
use crate::daemon::ask::probes::{Answered, Probes};
use crate::daemon::bound::bounds::Bounds;
use crate::daemon::flows::address_ids::AddressIds;
use crate::daemon::flows::book::Flows;
use crate::daemon::flows::joins::Joins;
use crate::daemon::flows::priorities::Priorities;
use crate::daemon::hear::sampling::Sampler;
use crate::daemon::host::Host;
use crate::daemon::host::endpoints::Endpoints;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::host::upkeep::Upkeep;
use crate::daemon::links::book::{Links, Step};
use crate::sysctl::PathManager;
use policy::{Engine, Input, LinkEvent, LinkId, Policy};
use units::Instant;

/// See the module.
pub(crate) struct World {
    pub(crate) links: Links,
    pub(crate) flows: Flows,
    pub(crate) ids: AddressIds,
    pub(crate) joins: Joins,
    pub(crate) priorities: Priorities,
    pub(crate) farewells: Farewells,
    pub(crate) probes: Probes,
    pub(crate) idle: Idle,
    pub(crate) checks: Checks,
    pub(crate) bounds: Bounds,
    pub(crate) sampler: Sampler,
    pub(crate) cla: Cla,
    pub(crate) endpoints: Endpoints,
    pub(crate) upkeep: Upkeep,
    pub(crate) associate: AssociateFn,
    pub(crate) host: Host,
    /// Steps that links want taken; empty between events.
    pub(crate) steps: Vec<Step>,
}

impl World {
    /// Opens everything, and takes the namespace over.
    pub(crate) fn start(setup: Setup, engine: &Engine, now: Instant) -> Result<(Self, Inlet), StartError> {
        let kernel_managed = engine.uses_kernel_path_manager();
        // No other strategy makes anything of it.
        let heeds = matches!(setup.engine.policy, Policy::Slowhand | Policy::SlowhandNoWindow);
        let probing = setup.probing.filter(|_| heeds);
        let check = probing.as_ref().and_then(|probing| probing.check.clone());
        let mut world = Self {
            links: Links::new(setup.links).asking_for_ecn(engine.asks_for_ecn()),
            flows: Flows::default(),
            ids: AddressIds::default(),
            joins: Joins::default(),
            priorities: Priorities::default(),
            farewells: Farewells::new(),
            probes: Probes::open(!kernel_managed).map_err(StartError::Probes)?,
            idle: Idle::new(probing)?,
            checks: Checks::new(check).map_err(StartError::Loop)?,
            bounds: Bounds::new(setup.window, setup.fallback_window)?,
            sampler: Sampler::new(),
            host: Host::open(setup.journal.as_deref(), Outlet::new(setup.observe, now))?,
            cla: Cla::start(setup.sender.as_ref(), setup.reports)?,
            endpoints: Endpoints::default(),
            upkeep: Upkeep::default(),
            associate: setup.associate,
            steps: Vec::new(),
        };
        world.tell_leftovers();
        if matches!(setup.engine.policy, Policy::Slowhand) {
            world.bounds.load(&mut world.host.outlet);
        }
        let manager = if kernel_managed {
            PathManager::Kernel
        } else {
            PathManager::Userspace
        };
        let taken = world.host.settings.take_over(&mut world.host.commands, manager);
        let taken = taken.and_then(|()| world.host.settings.send_with(setup.sender));
        if let Err(error) = taken {
            // The first reason is the one to tell; what cannot be put back either is on record for the next start.
            let _ = world.leave();
            return Err(error);
        }
        Ok((world, setup.inlet))
    }

    fn tell_leftovers(&mut self) {
        for left in std::mem::take(&mut self.host.settings.left) {
            self.host.outlet.observe(Observation::Trouble {
                what: "putting back what a crash left",
                why: &left,
            });
        }
    }

    /// Puts everything back.
    pub(crate) fn leave(&mut self) -> Result<(), RunError> {
        if let Err(error) = self.bounds.levers.release_all() {
            self.host.outlet.trouble("taking limits off sockets", &error);
        }
        let undone = self.host.settings.journal.undo()?;
        if undone.left.is_empty() {
            return Ok(());
        }
        Err(RunError::Left(
            undone.left.iter().map(ToString::to_string).collect(),
        ))
    }

    /// When something is to be done although nothing happens.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let times = [
            self.links.wake_at(),
            self.flows.wake_at(),
            self.joins.wake_at(),
            self.priorities.wake_at(),
            self.farewells.wake_at(),
            self.probes.wake_at(),
            self.idle.wake_at(),
            self.bounds.wake_at(),
            self.sampler.wake_at(),
            self.upkeep.wake_at(),
        ];
        times.into_iter().flatten().min()
    }

    pub(crate) fn read_probes(&mut self, now: Instant) {
        while let Some(Answered { link, probe, rtt }) = self.probes.answered(now) {
            self.idle.replied(link);
            if let Some(probe) = probe {
                let event = LinkEvent::ProbeAnswered { probe, rtt };
                self.host.outlet.tell(Input::Link(link, event));
            }
        }
    }

    pub(crate) fn read_checks(&mut self) {
        self.checks.read(&mut self.host.outlet);
    }

    fn watch_idle(&mut self, now: Instant) {
        let owners = Owners {
            links: &self.links,
            flows: &self.flows,
            probes: &self.probes,
        };
        self.idle.watch(now, &owners, &mut self.host);
    }

    /// The link can be used from now on: it is another one than it was, as far as what lies behind it is concerned.
    pub(crate) fn usable(&mut self, link: LinkId) {
        self.idle.begin_anew(link);
        if self.checks.can_check() {
            self.host.outlet.tell(Input::Link(link, LinkEvent::Checkable));
        }
    }

    fn keep_up(&mut self, now: Instant) {
        if self.upkeep.peers_are_due(now) {
            self.leave_what_leads_elsewhere(now);
        }
        let names = (&self.links, &mut self.ids);
        self.upkeep
            .keep_up(now, &mut self.host, &mut self.endpoints, names);
    }

    /// Does what is due. These links are in doubt.
    pub(crate) fn tick(&mut self, now: Instant, doubted: &[LinkId]) {
        let mut steps = std::mem::take(&mut self.steps);
        self.links.tick(now, &mut steps);
        self.take_steps(now, steps);
        self.keep_up(now);
        self.give_up_waiting(now);
        self.set_priorities(now, doubted);
        self.say_farewells(now);
        self.probes.expire(now);
        self.watch_idle(now);
        self.bounds.tick(now, &self.flows, &self.links, &mut self.host);
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("links", &self.links)
            .field("flows", &self.flows)
            .finish_non_exhaustive()
    }
}

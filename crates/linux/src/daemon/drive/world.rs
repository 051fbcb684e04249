//! Everything that the loop acts on: its parts, the order in which they are called, and their next deadline.

use crate::daemon::act::cla::Cla;
use crate::daemon::act::conns::Conns;
use crate::daemon::api::error::{RunError, StartError};
use crate::daemon::api::inlet::Inlet;
use crate::daemon::api::networks::{ChangeError, NetworksChange};
use crate::daemon::api::observe::Observation;
use crate::daemon::api::setup::{AssignFn, Associates, Setup};
use crate::daemon::ask::checks::Checks;
use crate::daemon::ask::idle::{Idle, Owners};
use crate::daemon::ask::probes::{Answered, Probes};
use crate::daemon::hear::Hearing;
use crate::daemon::hear::sampling::{Sampler, look_at};
use crate::daemon::host::Host;
use crate::daemon::host::endpoints::Endpoints;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::host::upkeep::Upkeep;
use crate::daemon::links::book::{Links, Step};
use crate::daemon::links::managed::Managed;
use crate::daemon::networks::Networks;
use crate::daemon::queues::bounds::Bounds;
use crate::daemon::radio::Radio;
use crate::journal::{Change, JournalError, TakenOver};
use crate::mptcp_pm::Event;
use crate::portal::Api;
use crate::sysctl::PathManager;
use policy::{Checked, Engine, Input, LinkEvent, LinkId, Policy};
use units::{Instant, MacAddr};

/// All parts of the daemon.
pub(crate) struct World {
    pub(crate) links: Links,
    pub(crate) conns: Conns,
    pub(crate) probes: Probes,
    pub(crate) idle: Idle,
    pub(crate) checks: Checks,
    pub(crate) sampler: Sampler,
    pub(crate) endpoints: Endpoints,
    pub(crate) upkeep: Upkeep,
    pub(crate) associate: Option<Associates>,
    /// What [`Associates::lead_out`] was last given.
    leading_out: Vec<LinkId>,
    pub(crate) assign: Option<AssignFn>,
    pub(crate) radio: Radio,
    pub(crate) networks: Option<Networks>,
    pub(crate) host: Host,
    /// Steps that links request. Empty between events.
    pub(crate) steps: Vec<Step>,
}

impl World {
    /// Opens all handles and takes the namespace over.
    pub(crate) fn start(setup: Setup, engine: &Engine, now: Instant) -> Result<(Self, Inlet), StartError> {
        let kernel_managed = engine.uses_kernel_path_manager();
        let probing = setup.probing.filter(|_| setup.engine.policy.probes_links());
        let checks = Checks::new(probing.as_ref()).map_err(StartError::Loop)?;
        let probes = Probes::open(!kernel_managed).map_err(StartError::Probes)?;
        let names = setup
            .networks
            .as_ref()
            .and_then(|networks| networks.names.as_ref());
        let idle = Idle::new(probing, names.map(|names| names.address.into()))?;
        let bounds = Bounds::new(setup.window, setup.fallback_window)?;
        let mut host = Host::open(setup.journal.as_deref(), Outlet::new(setup.observe, now))?;
        let cla = Cla::start(setup.sender.as_ref(), setup.reports)?;
        // From here on the host is changed.
        let opened = setup
            .networks
            .map(|networks| Networks::open(networks, &mut host.settings.journal));
        let networks = match opened.transpose() {
            Ok(networks) => networks,
            Err(error) => {
                // Report the first error. What cannot be restored either is on record for the next start.
                let _ = host.settings.journal.undo();
                return Err(Box::new(error).into());
            }
        };
        let links = Links::new(setup.links)
            .asking_for_ecn(engine.asks_for_ecn())
            .with_flows_on(
                networks.as_ref().map(Networks::interface),
                networks.as_ref().map(Networks::marks).unwrap_or_default(),
            );
        let mut world = Self {
            links,
            conns: Conns::new(bounds, cla),
            probes,
            idle,
            checks,
            sampler: Sampler::new(),
            endpoints: Endpoints::default(),
            upkeep: Upkeep::default(),
            radio: Radio::open(
                setup.inlet.sender(),
                (setup.monitor, setup.plain),
                setup.associate.as_ref(),
            ),
            associate: setup.associate,
            leading_out: Vec::new(),
            assign: setup.assign,
            networks,
            host,
            steps: Vec::new(),
        };
        world.tell_leftovers();
        if matches!(setup.engine.policy, Policy::Slowhand) {
            world.conns.bounds.load(&mut world.host.outlet);
        }
        let manager = if kernel_managed {
            PathManager::Kernel
        } else {
            PathManager::Userspace
        };
        let taken = world.host.settings.take_over(&mut world.host.commands, manager);
        let taken = taken.and_then(|()| world.host.settings.send_with(setup.sender));
        let taken = taken.and_then(|()| Ok(world.record_interfaces()?));
        if let Err(error) = taken {
            // Report the first error. What cannot be restored either is on record for the next start.
            let _ = world.leave();
            return Err(error);
        }
        Ok((world, setup.inlet))
    }

    /// Puts the interfaces on record that the program which joins access points may create.
    fn record_interfaces(&mut self) -> Result<(), JournalError> {
        let mut names = self.associate.iter().flat_map(|program| &program.interfaces);
        names.try_for_each(|&name| self.host.settings.journal.will(Change::Station(name)))
    }

    /// Puts an interface of NetworkManager on record that is about to be taken over.
    pub(crate) fn record_taken_over(&mut self, what: TakenOver) -> Result<(), JournalError> {
        self.host.settings.journal.will(Change::TakenOver(what))
    }

    /// Takes it off the record.
    pub(crate) fn record_given_back(&mut self, what: TakenOver) {
        if let Err(error) = self.host.settings.journal.undone(&Change::TakenOver(what)) {
            self.host.outlet.trouble("writing the journal", &error);
        }
    }

    fn tell_leftovers(&mut self) {
        for left in std::mem::take(&mut self.host.settings.left) {
            self.host.outlet.observe(Observation::Trouble {
                what: "restoring what a crash left",
                why: &left,
            });
        }
    }

    /// Restores everything.
    pub(crate) fn leave(&mut self) -> Result<(), RunError> {
        self.networks = None;
        if let Err(error) = self.conns.bounds.levers.release_all() {
            self.host.outlet.trouble("removing limits from sockets", &error);
        }
        // Its interfaces are on record, and must not come back after the undo.
        drop(self.associate.take());
        let undone = self.host.settings.journal.undo()?;
        if undone.left.is_empty() {
            return Ok(());
        }
        Err(RunError::Left(
            undone.left.iter().map(ToString::to_string).collect(),
        ))
    }

    /// Next deadline of any part, if no event comes before it.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let times = [
            self.links.wake_at(),
            self.conns.wake_at(),
            self.probes.wake_at(),
            self.idle.wake_at(),
            self.sampler.wake_at(),
            self.upkeep.wake_at(),
            self.radio.wake_at(),
            self.networks.as_ref().and_then(Networks::wake_at),
        ];
        times.into_iter().flatten().min()
    }

    fn hearing(&mut self) -> Hearing<'_> {
        Hearing {
            conns: &mut self.conns,
            host: &mut self.host,
            links: &self.links,
            probes: &mut self.probes,
        }
    }

    pub(crate) fn peer_event(&mut self, now: Instant, event: &Event) {
        self.hearing().event(now, event);
    }

    pub(crate) fn take_stock(&mut self, now: Instant) {
        self.hearing().take_stock(now);
    }

    /// Samples the counters that are due.
    pub(crate) fn sample(&mut self, now: Instant, in_doubt: bool) {
        let (conns, host) = (&mut self.conns, &mut self.host);
        self.sampler.sample(now, in_doubt, conns, host, &self.links);
    }

    /// Reschedules the next sample: an event may have made it more urgent.
    pub(crate) fn stir(&mut self, now: Instant, in_doubt: bool) {
        self.sampler.stir(now, in_doubt, &self.conns.flows);
    }

    /// Reads the packets received over one link, of any protocol.
    pub(crate) fn look_at(&mut self, link: LinkId) {
        look_at(link, &mut self.host, &self.links);
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
        self.checks.read(&self.links, &self.idle, &mut self.host.outlet);
    }

    pub(crate) fn read_flows(&mut self, now: Instant) {
        if let Some(networks) = &mut self.networks {
            networks.read(now, &self.links, &mut self.host.outlet);
        }
    }

    /// Counts the packets of flows, if it is time, and keeps their table.
    fn watch_flows(&mut self, now: Instant) {
        if let Some(networks) = &mut self.networks {
            networks.restore(now, &self.links, &mut self.host.outlet);
            networks.look_for_cgroups(now, &self.links, &mut self.host.outlet);
            networks.look_for_names(now, &self.links, &mut self.host.outlet);
            networks.look_for_room(now, &mut self.host.outlet);
            let seen = networks.count(now, &mut self.host.outlet);
            self.idle.hear_flows(now, seen, &self.links, &mut self.host);
            if networks.fix(now, &mut self.host.outlet) {
                self.change_links(now, |_, steps| steps.push(Step::Restore));
            }
        }
    }

    /// Makes a change of the user.
    pub(crate) fn change_networks(
        &mut self,
        now: Instant,
        change: NetworksChange,
    ) -> Result<(), ChangeError> {
        let networks = self.networks.as_mut().ok_or(ChangeError::Off)?;
        networks.change(now, change, &self.links, &mut self.host.outlet)?;
        let marks = networks.marks();
        self.change_links(now, |links, steps| links.take_flows_with(marks, steps));
        Ok(())
    }

    /// The interface with this number is gone. If it was that of flows, they are routed as without it.
    pub(crate) fn interface_gone(&mut self, now: Instant, ifindex: u32) {
        let gone = |networks: &mut Networks| networks.interface().0 == ifindex;
        if let Some(mut networks) = self.networks.take_if(gone) {
            networks.end_all(&mut self.host.outlet);
            self.change_links(now, Links::without_flows);
        }
    }

    /// The engine lets these links carry flows.
    pub(crate) fn trust_links(&mut self, trusted: impl Iterator<Item = LinkId> + Clone) {
        if let Some(networks) = &mut self.networks {
            networks.trust(trusted, &self.links, &mut self.host.outlet);
        }
    }

    /// Reports over which links names may be resolved, if anybody wants to know.
    pub(crate) fn lead_out(&mut self, engine: &Engine) {
        let Some(tell) = self
            .associate
            .as_mut()
            .and_then(|program| program.lead_out.as_mut())
        else {
            return;
        };
        let links = engine.leading_out();
        if !links.clone().eq(self.leading_out.iter().copied()) {
            self.leading_out = links.collect();
            tell(&self.leading_out);
        }
    }

    /// A monitor interface has heard an access point that begins to send beacons.
    pub(crate) fn newcomer(&mut self, bssid: MacAddr) {
        let program = self.associate.as_mut();
        if let Some(tell) = program.and_then(|program| program.newcomer.as_mut()) {
            tell(bssid);
        }
    }

    /// Lets new flows follow the links.
    pub(crate) fn settle_networks(&mut self) {
        if let Some(networks) = &mut self.networks {
            networks.settle(&self.links, &mut self.host.outlet);
        }
    }

    fn watch_idle(&mut self, now: Instant) {
        let owners = Owners {
            links: &self.links,
            flows: &self.conns.flows,
            probes: &self.probes,
        };
        self.idle.watch(now, &owners, &mut self.host);
    }

    /// The link is about to be usable. What is known about hosts behind it no longer holds. The engine learns
    /// first that it can be checked, so that it may wait for the result before it uses the link.
    pub(crate) fn usable(&mut self, link: LinkId) {
        self.idle.begin_anew(link);
        if self.checks.can_check(link) {
            self.host.outlet.tell(Input::Link(link, LinkEvent::Checkable));
        }
    }

    /// The network behind a link announces the API of its captive portal, or none any more.
    pub(crate) fn announced(&mut self, link: LinkId, api: Option<Api>) {
        let is_usable = self.links.get(link).is_some_and(Managed::usable);
        if self.checks.announced(link, api) && is_usable {
            let event = match self.checks.can_check(link) {
                true => LinkEvent::Checkable,
                false => LinkEvent::Checked(Checked::Unknown),
            };
            self.host.outlet.tell(Input::Link(link, event));
        }
    }

    fn keep_up(&mut self, now: Instant) {
        if self.upkeep.peers_are_due(now) {
            let (host, links) = (&mut self.host, &self.links);
            self.conns.leave_what_leads_elsewhere(now, host, links);
        }
        let names = (&self.links, &mut self.conns.ids);
        self.upkeep
            .keep_up(now, &mut self.host, &mut self.endpoints, names);
    }

    /// Does what is due. `doubted` are the suspect links.
    pub(crate) fn tick(&mut self, now: Instant, doubted: &[LinkId]) {
        let mut steps = std::mem::take(&mut self.steps);
        self.links.tick(now, &mut steps);
        self.radio.tick(now, &mut self.links, &mut self.host, &mut steps);
        self.take_steps(now, steps);
        self.keep_up(now);
        let (host, links) = (&mut self.host, &self.links);
        self.conns.give_up_waiting(now, host, links);
        self.conns.set_priorities(now, doubted, host);
        self.conns.say_farewells(now, host);
        self.probes.expire(now);
        self.watch_flows(now);
        self.watch_idle(now);
        let Conns { bounds, flows, .. } = &mut self.conns;
        bounds.tick(now, flows, &self.links, &mut self.host);
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("links", &self.links)
            .field("conns", &self.conns)
            .finish_non_exhaustive()
    }
}

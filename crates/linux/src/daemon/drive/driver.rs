//! The main loop: sleep, read events, tell the engine, execute its actions.
//!
//! One thread and one epoll. Between events the loop sleeps until the engine's deadline or that of the
//! daemon's parts ([`World::wake_at`]), whichever is earlier.

use crate::daemon::api::error::{RunError, StartError};
use crate::daemon::api::inlet::{Inlet, Stopper, Word};
use crate::daemon::api::observe::Observation;
use crate::daemon::api::setup::Setup;
use crate::daemon::drive::world::World;
use crate::daemon::os::clock::{Clock, thread_cpu};
use crate::daemon::os::poller::{Poller, Ready};
use crate::mptcp_pm::{self, Events};
use crate::netlink::ReceiveError;
use crate::rtnl::{Protocol, Route, Table, Watch};
use policy::{Explanation, Input, LinkEvent};
use record::Recorded;
use std::os::fd::AsRawFd;
use std::time::Duration;
use units::Instant;

const INLET: u8 = 0;
const LINKS: u8 = 1;
const PEERS: u8 = 2;
pub(crate) const PROBES: u8 = 3;
const CHECKS: u8 = 4;
const RADIO: u8 = 5;
const FLOWS: u8 = 6;

/// Shortest sleep. Keeps a deadline that does not advance from causing a busy loop.
const LEAST_SLEEP: Duration = Duration::from_micros(200);

/// Runs one engine over the calling thread's network namespace. See the module `daemon`.
#[derive(Debug)]
pub struct Daemon {
    engine: Recorded,
    pub(crate) world: World,
    clock: Clock,
    poller: Poller,
    inlet: Inlet,
    watch: Watch,
    events: Events,
    since: Instant,
    cpu_before: Duration,
}

impl Daemon {
    /// Takes over the namespace of the calling thread. Call [`run`](Self::run) on the same thread.
    ///
    /// First undoes what a crashed run left behind.
    ///
    /// # Errors
    /// If the kernel lacks a feature. Nothing is changed then.
    pub fn start(mut setup: Setup) -> Result<Self, StartError> {
        let engine = Recorded::new(setup.engine, setup.record.take());
        let clock = Clock::new(setup.epoch_ns);
        // Subscribe first: otherwise a connection that opens while settings change would be missed.
        let events = Events::open()?;
        let watch = Watch::with_routes(is_of_interest)?;
        let poller = Poller::new().map_err(StartError::Loop)?;
        let (mut world, inlet) = World::start(setup, &engine, clock.now())?;
        let heard = [
            (inlet.as_raw_fd(), INLET),
            (watch.as_raw_fd(), LINKS),
            (events.as_raw_fd(), PEERS),
            (world.probes.as_raw_fd(), PROBES),
            (world.checks.as_raw_fd(), CHECKS),
        ];
        let radio = world.radio.fd().map(|fd| (fd, RADIO));
        let flows = world.networks.as_ref().map(|networks| (networks.fd(), FLOWS));
        let mut heard = heard.into_iter().chain(radio).chain(flows);
        if let Err(error) = heard.try_for_each(|(fd, tag)| poller.add(fd, tag)) {
            // As in `World::start`: report the first error.
            let _ = world.leave();
            return Err(StartError::Loop(error));
        }
        let since = clock.now();
        Ok(Self {
            engine,
            world,
            clock,
            poller,
            inlet,
            watch,
            events,
            since,
            cpu_before: Duration::ZERO,
        })
    }

    /// Returns a handle that ends [`run`](Self::run) from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.inlet.stopper()
    }

    /// Says for every link what it is used for and why.
    pub fn explain(&self) -> Vec<Explanation> {
        self.engine.explain()
    }

    /// Runs until [`Stopper::stop`], then restores everything.
    ///
    /// # Errors
    /// If communication with the kernel fails. Everything is restored then too.
    pub fn run(&mut self) -> Result<(), RunError> {
        self.cpu_before = thread_cpu();
        // A starved daemon reads replies late. It uses too little CPU to starve other processes.
        let _ = crate::realtime::request(crate::realtime::PROMPT);
        let worked = self.begin().and_then(|()| self.work());
        match (worked, self.world.leave()) {
            (Err(error), Err(RunError::Left(left))) => {
                self.world.host.outlet.trouble("ended early", &error);
                Err(RunError::Left(left))
            }
            (worked, restored) => worked.and(restored),
        }
    }

    /// Reads the links and connections that exist already.
    pub(crate) fn begin(&mut self) -> Result<(), RunError> {
        self.read_links()?;
        let now = self.now();
        self.world.take_stock(now);
        self.world.stir(now, false);
        self.think(now);
        Ok(())
    }

    fn work(&mut self) -> Result<(), RunError> {
        while !self.inlet.stopped() {
            self.turn(None)?;
        }
        Ok(())
    }

    /// Sleeps until there is work, for at most `patience`, and does it.
    pub(crate) fn turn(&mut self, patience: Option<Duration>) -> Result<(), RunError> {
        let sleep = [patience, self.patience()].into_iter().flatten().min();
        let ready = self.poller.wait(sleep).map_err(RunError::Loop)?;
        self.read(ready)?;
        let now = self.now();
        let doubted = Vec::from_iter(self.engine.doubted());
        self.world.tick(now, &doubted);
        self.world.sample(now, !doubted.is_empty());
        self.look_at_doubted(now);
        self.think(now);
        Ok(())
    }

    /// Reads the counters of suspect links before the engine's deadline: subflows may be sampled less often.
    fn look_at_doubted(&mut self, now: Instant) {
        if self.engine.wake_at().is_some_and(|(at, _)| at <= now) {
            let doubted = self.engine.doubted();
            doubted.for_each(|link| self.world.look_at(link));
        }
    }

    fn now(&mut self) -> Instant {
        self.world.host.outlet.now = self.clock.now();
        self.world.host.outlet.now
    }

    /// Time until the next deadline, if no event comes before it.
    fn patience(&self) -> Option<Duration> {
        let engine = self.engine.wake_at().map(|(at, _)| at);
        let next = [engine, self.world.wake_at()].into_iter().flatten().min()?;
        Some((next - self.clock.now()).max(LEAST_SLEEP))
    }

    fn read(&mut self, ready: Ready) -> Result<(), RunError> {
        if let Some(slept) = self.clock.slept() {
            self.world.host.outlet.observe(Observation::Resumed(slept));
            self.world.host.outlet.tell(Input::Resumed);
        }
        if ready.has(LINKS) {
            self.read_links()?;
        }
        if ready.has(PEERS) {
            self.read_peers()?;
        }
        if ready.has(PROBES) {
            let now = self.now();
            self.world.read_probes(now);
        }
        if ready.has(CHECKS) {
            self.world.read_checks();
        }
        if ready.has(RADIO) {
            let now = self.now();
            self.world.radio.read(now);
        }
        if ready.has(FLOWS) {
            let now = self.now();
            self.world.read_flows(now);
        }
        if ready.has(INLET) {
            self.read_inlet();
        }
        Ok(())
    }

    fn read_links(&mut self) -> Result<(), RunError> {
        while let Some(event) = self.watch.next()? {
            let now = self.now();
            self.world.link_event(now, &event);
        }
        Ok(())
    }

    fn read_peers(&mut self) -> Result<(), RunError> {
        loop {
            match self.events.next() {
                Ok(Some(event)) => {
                    let now = self.now();
                    self.world.peer_event(now, &event);
                }
                Ok(None) => break,
                Err(mptcp_pm::EventError::Receive(ReceiveError::Overrun)) => {
                    let now = self.now();
                    self.world.take_stock(now);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let now = self.now();
        self.world.stir(now, self.engine.is_in_doubt());
        Ok(())
    }

    fn read_inlet(&mut self) {
        self.inlet.clear();
        while let Some(word) = self.inlet.next() {
            match word {
                Word::Input(input) => {
                    if let Input::Link(link, LinkEvent::Appeared(_)) = input {
                        self.world.links.appeared(link);
                    }
                    self.world.host.outlet.tell(input);
                }
                Word::Declare(link) => {
                    let now = self.now();
                    self.world
                        .change_links(now, |links, steps| links.declare(*link, steps));
                }
                Word::Resolvers(link, resolvers) => self.world.idle.take_resolvers(link, resolvers),
                Word::Portal(link, api) => self.world.announced(link, api),
                Word::Newcomer(bssid) => self.world.newcomer(bssid),
                Word::Retire(link) => {
                    self.world.idle.take_resolvers(link, Vec::new());
                    let now = self.now();
                    self.world
                        .change_links(now, |links, steps| links.retire(link, steps));
                    self.world.announced(link, None);
                }
                Word::TakenOver(what, answer) => {
                    // The asker may have timed out. It then changes nothing.
                    let _ = answer.try_send(self.world.record_taken_over(what));
                }
                Word::GivenBack(what) => self.world.record_given_back(what),
                Word::Networks(change, answer) => {
                    // The asker may have timed out.
                    let now = self.now();
                    let _ = answer.try_send(self.world.change_networks(now, change));
                }
                Word::Report(answer) => {
                    // The asker may have timed out.
                    let _ = answer.try_send(self.report());
                }
            }
        }
    }

    /// Passes all pending facts to the engine and executes all its actions, until both queues are empty.
    ///
    /// A pending sample is as old as `reading`, the time at which it was taken, not as the time at which it
    /// is processed. With many subflows, the deadline of one of the first may pass while their samples are
    /// processed.
    fn think(&mut self, mut reading: Instant) {
        loop {
            while let Some(input) = self.world.host.outlet.facts.pop_front() {
                let now = self.now();
                self.world.host.outlet.observe(Observation::Told(&input));
                self.engine.handle(reading, input);
                self.act(now);
            }
            let now = self.now();
            if self.engine.wake_at().is_none_or(|(at, _)| at > now) {
                return;
            }
            reading = now;
            self.engine.tick(now);
            self.act(now);
            if self.world.host.outlet.facts.is_empty() {
                return;
            }
        }
    }

    fn act(&mut self, now: Instant) {
        // First where flows begin: one that ends may begin anew at once.
        self.world.trust_links(self.engine.carrying_flows());
        self.world.lead_out(&self.engine);
        while let Some(action) = self.engine.poll() {
            match self.world.carry_out(now, &action) {
                Ok(()) => self.world.host.outlet.observe(Observation::Done(&action)),
                Err(error) => self.world.host.outlet.failed(&action, &error),
            }
        }
    }

    pub(crate) fn report(&self) -> crate::daemon::api::report::Report {
        let cpu = thread_cpu() - self.cpu_before;
        self.world.report(self.clock.now(), self.since, cpu, &self.engine)
    }
}

/// Selects default routes, which name a link's next hop, and the daemon's own routes.
fn is_of_interest(route: &Route) -> bool {
    route.is_default() && (route.table == Table::MAIN || route.protocol == Protocol::SLOWHAND)
}

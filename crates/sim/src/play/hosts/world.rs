//! The loop of a run: whatever is due first happens next.
//!
//! At one moment, this order holds: faults and walks, what the links deliver, timers of the client, timers of
//! the server, applications, samples, and the engine last.
//!
//! # Checked by
//! `tests/host_plays.rs`.

use super::accounts::Accounts;
use super::act::ActError;
use super::addresses::Addresses;
use super::book::Book;
use super::carrier::{Carrier, Happened};
use super::datagrams::Datagrams;
use super::endpoints::Endpoints;
use super::families::Versions;
use super::flows::Flows;
use super::others::{Openers, Others};
use super::paths::Paths;
use super::plugs::Plugs;
use super::relay::{self, Behind};
use super::sampler::Sampler;
use super::script::{Due, Script};
use super::stage;
use super::warmup::Warm;
use crate::hosts::Host;
use crate::mptcp::{Config, Event as Heard};
use crate::play::ears::Ears;
use crate::play::error::CastError;
use crate::play::frames::Capture;
use crate::play::run::{Play, Played, trace_state};
use crate::tcp::packet::{Kind, Packet};
use crate::tcp::{Control, earlier};
use links::{Direction, Input as Order, NetworkConfig};
use policy::cc::Controller;
use policy::estimate::energy::Radios;
use policy::{Input, LinkEvent, LinkId};
use radio::SingleRadio;
use record::Recorded;
use std::collections::VecDeque;
use trace::{Event, LevelMeter, Observer, RunStart, SERIES_BIN, What, World as Where};
use units::{Bytes, Instant};

/// Headers of IPv4 and UDP, in bytes.
const UDP_HEADERS: u64 = 28;

/// All hosts, the links between them, and the engine of the client.
pub(super) struct World<'p> {
    pub(super) what: &'p Play<'p>,
    pub(super) now: Instant,
    pub(super) config: NetworkConfig,
    pub(super) carrier: Carrier,
    pub(super) client: Host,
    /// The host at which the links end: the server, or the relay in front of it.
    pub(super) server: Host,
    /// What is behind a relay.
    pub(super) behind: Option<Behind>,
    /// Hosts of other walkers.
    pub(super) others: Others,
    pub(super) plugs: Plugs,
    pub(super) addresses: Addresses,
    pub(super) flows: Flows,
    pub(super) datagrams: Datagrams,
    pub(super) accounts: Accounts,
    pub(super) book: Book,
    pub(super) endpoints: Endpoints,
    pub(super) sampler: Sampler,
    pub(super) engine: Recorded,
    /// Inputs that the engine has not received yet.
    pub(super) facts: VecDeque<Input>,
    /// Per family: the link on which new connections start.
    pub(super) routes: [Option<LinkId>; 2],
    pub(super) versions: Versions,
    pub(super) script: Script,
    pub(super) ears: Ears,
    pub(super) capture: Option<Capture>,
    pub(super) paths: Paths,
    pub(super) radios: Radios,
    /// The client's radio, if it has one for all access points.
    pub(super) single: Option<SingleRadio>,
    pub(super) observer: Observer,
    pub(super) events: Vec<Event>,
    pub(super) levels: LevelMeter,
    /// What does not count. `None` during the warm-up.
    pub(super) warm: Option<Warm>,
    /// Flows whose applications may have read something.
    pub(super) touched: Vec<usize>,
    next_sample: Instant,
}

/// Plays a scenario with TCP flows to its end.
pub(in crate::play) fn play(what: &Play<'_>) -> Result<Played, CastError> {
    let mut world = World::build(what)?;
    if what.round_trips {
        world.flows.keep_round_trips();
    }
    world.begin()?;
    let end = Instant::ZERO + what.plan.duration;
    while world.now < end && world.carrier.sent() < what.most && !what.is_interrupted() {
        let planned = world.next().map_or(end, |next| next.min(end));
        // Until then only the links act, and most of what they do reaches no host.
        let next = world.carrier.advance(planned);
        world.step(next)?;
    }
    Ok(world.finish(end))
}

impl<'p> World<'p> {
    fn build(what: &'p Play<'p>) -> Result<Self, CastError> {
        let plan = what.plan;
        stage::check(plan)?;
        let names: Vec<String> = plan.links.iter().map(|link| link.name.clone()).collect();
        let policy = what
            .policy
            .in_engine((0..).map(LinkId).zip(names.iter().map(String::as_str)))?;
        let config = stage::network(plan, what.seed, what.capture || policy.uses_frames());
        let engine = policy::Config {
            policy,
            peer_subflows: plan.server_subflows.into(),
        };
        let engine = Recorded::new(engine, what.recording());
        let (ears, capture) = monitors(what, &config)?;
        // Each flow configures its own connections.
        let unused = Config::stock(Control::Coupled(Controller::Reno), true);
        let others = Others::new(plan, unused);
        Ok(Self {
            what,
            now: Instant::ZERO,
            carrier: Carrier::new(what.seed, config.clone(), plan.tcp.acks_take_air)?,
            config,
            client: Host::new(unused),
            server: Host::new(unused),
            behind: Behind::of(plan, what.seed, unused)?,
            plugs: Plugs::new(plan),
            addresses: Addresses::new(plan.links.len()),
            datagrams: Datagrams::new(plan, &others),
            accounts: Accounts::new(plan),
            flows: Flows::new(plan, &what.policy, engine.asks_for_ecn(), &others)?,
            book: Book::default(),
            endpoints: Endpoints::default(),
            sampler: Sampler::new(),
            engine,
            facts: VecDeque::new(),
            routes: [None; 2],
            versions: Versions::new(plan),
            script: Script::new(plan, what.seed),
            ears,
            capture,
            paths: Paths::new(names.clone(), others.through()),
            others,
            radios: radio::powered(plan),
            single: SingleRadio::new(plan),
            observer: Observer::new(names),
            events: Vec::new(),
            touched: Vec::new(),
            levels: LevelMeter::default(),
            warm: None,
            next_sample: Instant::ZERO,
        })
    }

    fn begin(&mut self) -> Result<(), CastError> {
        let plan = self.what.plan;
        self.record(What::RunStart(Box::new(RunStart {
            scenario: plan.name.clone(),
            world: Where::Sim,
            policy: self.what.policy.clone(),
            cc: plan.sends_by_tcp().then(|| plan.cc.clone()),
            server: plan.server.as_str().to_owned(),
            seed: self.what.seed,
            plan: plan.to_trace(),
        })));
        self.plugs.begin(&mut self.facts);
        self.begin_turns();
        for link in 0..plan.links.len() {
            self.link_state(link, self.carrier.state(link));
        }
        self.others.begin(|link| self.carrier.state(usize::from(link.0)));
        self.warm_up();
        self.settle()
    }

    /// When something happens next, apart from the links.
    fn next(&self) -> Option<Instant> {
        let times = [
            self.script.wake_at(),
            self.client.next_timer(),
            self.server.next_timer(),
            self.behind.as_ref().and_then(Behind::wake_at),
            self.others.next_timer(),
            self.datagrams.wake_at(),
            self.flows.wake_at(self.now, self.openers()),
            self.hears_at(),
            self.engine.wake_at().map(|(at, _)| at),
            Some(self.next_sample),
            self.warms_at(),
        ];
        let next = times.into_iter().fold(None, earlier);
        next.map(|at| at.max(self.now))
    }

    /// Runs what is due at `next`.
    fn step(&mut self, next: Instant) -> Result<(), CastError> {
        self.now = next;
        while let Some(due) = self.script.next(next, || delivered(&self.carrier)) {
            match due {
                Due::Links(order) => self.order(order),
                Due::Renew(link) => self.renew(LinkId(link.0)),
            }
        }
        self.carrier.tick(next);
        self.deliver();
        let others = self.others.all.iter_mut().map(|other| &mut other.host);
        for host in [&mut self.client, &mut self.server].into_iter().chain(others) {
            if host.next_timer().is_some_and(|at| at <= next) {
                host.tick(next);
            }
        }
        self.tick_behind();
        self.settle()?;
        self.warm_up();
        Ok(())
    }

    /// A step of the script.
    fn order(&mut self, order: Order) {
        match order {
            Order::Moved(position) => {
                let (x_m, y_m) = (position.x_mm as f64 / 1e3, position.y_mm as f64 / 1e3);
                self.record(What::Position { x_m, y_m });
            }
            Order::Fault(link, fault) => {
                let link = self.what.plan.links[usize::from(link.0)].name.clone();
                let fault = fault.to_string();
                self.record(What::Fault {
                    link,
                    fault,
                    applied: true,
                });
            }
            Order::Packet(_)
            | Order::WithoutAir(_)
            | Order::MovedOther(..)
            | Order::Carried(..)
            | Order::Associate(_)
            | Order::Leave(_) => {}
        }
        self.carrier.handle(self.now, order);
    }

    /// Takes all that the links report.
    fn deliver(&mut self) {
        while let Some((_, happened)) = self.carrier.poll() {
            match happened {
                Happened::Lost { flow } => self.datagram_lost(flow),
                Happened::Background { flow, bytes, delay } => {
                    let payload = u64::from(bytes).saturating_sub(UDP_HEADERS);
                    let flow = self.accounts.heard(flow, delay);
                    self.read_datagram(flow, payload);
                }
                Happened::Arrived(link, direction, token) => self.arrived(link, direction, token),
                Happened::Beacon(link, _) if self.others.seat(link).host > 0 => {
                    let other = &self.others.all[self.others.seat(link).host - 1];
                    if let Some(order) = other.beacon(link) {
                        self.carrier.handle(self.now, order);
                    }
                }
                Happened::State(link, state) if self.others.seat(link).host > 0 => {
                    let host = self.others.seat(link).host;
                    self.others.all[host - 1].state(self.now, link, state);
                }
                Happened::Beacon(link, signal) => {
                    let link = usize::from(link.0);
                    self.plugs.beacon(link, signal, &mut self.facts);
                    let (link, dbm) = (self.what.plan.links[link].name.clone(), signal.as_dbm_f64());
                    self.record(What::Signal { link, dbm });
                }
                Happened::State(link, state) => self.link_state(usize::from(link.0), state),
                Happened::Radio(report) => self.radio_reports(report),
                Happened::Frame(link, frame) => {
                    self.tell(Input::Link(LinkId(link.0), LinkEvent::Frame(frame)));
                }
            }
        }
    }

    fn arrived(&mut self, link: links::LinkId, direction: Direction, token: u32) {
        let packet = self.carrier.segment(token);
        let (conn, is_datagram) = (packet.conn, packet.kind == Kind::Datagram);
        if is_datagram && (direction == Direction::Down || self.behind.is_none()) {
            let packet = *packet;
            return self.datagram_arrived(packet);
        }
        if !is_datagram {
            self.touch(conn);
        }
        let host = match (direction, self.others.seat(link).host) {
            (Direction::Up, _) => return self.at_the_end(link, token),
            (Direction::Down, 0) => &mut self.client,
            (Direction::Down, other) => &mut self.others.all[other - 1].host,
        };
        host.take(self.now, link, self.carrier.segment(token));
    }

    /// The application of this connection may have read something.
    pub(super) fn touch(&mut self, conn: u32) {
        self.touched.extend(self.flows.owner(conn));
    }

    pub(super) fn datagram_arrived(&mut self, packet: Packet) {
        self.datagrams.arrived(self.now, packet.conn);
        self.accounts.arrived(self.now, packet.conn, packet.sent);
        self.read_datagram(packet.conn as usize, packet.bytes.into());
    }

    pub(super) fn datagram_lost(&mut self, flow: u32) {
        self.accounts.lost(flow);
        self.datagrams.lost(self.now, flow);
    }

    fn read_datagram(&mut self, flow: usize, bytes: u64) {
        let stall = self.flows.all[flow].meter.read(self.now, bytes);
        stall.into_iter().for_each(|stall| self.stalled(flow, stall));
    }

    fn link_state(&mut self, link: usize, state: links::LinkState) {
        self.plugs.state(link, state, &self.versions, &mut self.facts);
        self.served_is(LinkId(link as u16), state);
        let link = self.what.plan.links[link].name.clone();
        let state = trace_state(state);
        self.record(What::LinkState { link, state });
    }

    /// Runs applications, hosts and the engine until nothing more happens at this moment.
    fn settle(&mut self) -> Result<(), CastError> {
        self.listen();
        self.dispatch();
        self.run_applications();
        let ended = self.give_up_waiting();
        self.sample();
        if self.next_sample <= self.now {
            self.look();
        }
        let doubted = self.engine.wake_at().is_some_and(|(at, _)| at <= self.now);
        if doubted {
            let links: Vec<LinkId> = self.engine.doubted().collect();
            links.into_iter().for_each(|link| self.look_at(link));
        }
        // Only actions, joins that have ended and arrivals give applications more to do at this moment.
        if self.think()? || ended || !self.touched.is_empty() {
            self.run_applications();
            self.think()?;
        }
        Ok(())
    }

    /// Puts everything on the links that the hosts send, and hears what their connections report.
    pub(super) fn dispatch(&mut self) {
        loop {
            self.carrier.take(self.now, Direction::Up, &mut self.client);
            self.carrier.take(self.now, Direction::Down, &mut self.server);
            self.dispatch_others();
            self.exchange_behind();
            self.deliver();
            let mut heard = false;
            while let Some(event) = self.client.poll_event() {
                heard = true;
                self.hear(event);
            }
            // What else the server sees tells the client's engine nothing.
            while let Some(event) = self.server.poll_event() {
                if let Heard::Opened { conn, mptcp: true } = event {
                    self.announce(conn);
                }
            }
            if heard {
                let watched = self.watched();
                self.sampler.stir(self.now, watched);
            }
            let others = self.others.all.iter().any(|other| other.host.has_packets());
            let behind = self.behind.as_ref().is_some_and(Behind::has_packets);
            if !(self.client.has_packets() || self.server.has_packets() || others || behind) {
                return;
            }
        }
    }

    /// Puts what other hosts send on the links, and lets them act on what their connections report.
    fn dispatch_others(&mut self) {
        for other in &mut self.others.all {
            while let Some(event) = other.host.poll_event() {
                other.hear(self.now, event);
            }
            self.carrier.take(self.now, Direction::Up, &mut other.host);
        }
    }

    /// Tells the engine all facts and carries out all its actions, until nothing is left. Returns whether
    /// there were actions, or a timer of the engine was due.
    fn think(&mut self) -> Result<bool, CastError> {
        let mut acted = false;
        loop {
            while let Some(input) = self.facts.pop_front() {
                if let Some(what) = self.observer.told(&input) {
                    self.record(what);
                }
                self.engine.handle(self.now, input);
                acted |= self.act()?;
            }
            if self.engine.wake_at().is_none_or(|(at, _)| at > self.now) {
                return Ok(acted);
            }
            acted = true;
            self.engine.tick(self.now);
            self.act()?;
            if self.facts.is_empty() {
                return Ok(acted);
            }
        }
    }

    /// Carries out the engine's actions. Returns whether there were any.
    fn act(&mut self) -> Result<bool, CastError> {
        let mut acted = false;
        while let Some(action) = self.engine.poll() {
            acted = true;
            let what = match self.carry_out(&action) {
                Ok(()) => self.observer.done(&action),
                Err(error @ ActError::Unable(_)) => {
                    return Err(CastError::Unable {
                        policy: self.what.policy.to_string(),
                        why: error.to_string(),
                    });
                }
                Err(error) => Some(self.observer.failed(&action, &error.to_string())),
            };
            what.into_iter().for_each(|what| self.record(what));
            self.dispatch();
        }
        Ok(acted)
    }

    /// What is due every 100 ms: surveys, energy, and what the trace has of flows.
    fn look(&mut self) {
        self.next_sample = self.now + SERIES_BIN;
        self.survey();
        self.radios.carried(self.now, self.carrier.carried());
        self.script.remember(self.now, delivered(&self.carrier));
        for index in 0..self.flows.all.len() {
            self.look_at_flow(index);
        }
    }

    pub(super) fn look_at_flow(&mut self, index: usize) {
        let openers = Openers::new(&self.client, &self.plugs, self.first_route(), &self.others);
        let flow = &mut self.flows.all[index];
        let (name, bytes) = (flow.name.clone(), flow.news());
        let (up, bound) = (flow.goes_up(), !flow.is_mptcp || flow.host > 0);
        let (conn, latest) = (
            flow.lanes[0].conn(),
            flow.lanes.iter().filter_map(|lane| lane.latest),
        );
        let opener = openers.host(flow.host);
        for conn in latest {
            let far = relay::far_end(&self.behind, &self.server, conn);
            let ends = if up { [opener, far] } else { [far, opener] };
            self.paths.look(self.now, index, conn, ends);
        }
        let mut events = Vec::new();
        events.extend(bytes.map(|bytes| What::AppBytes {
            flow: name.clone(),
            bytes,
        }));
        let levels = conn.filter(|_| !up && !bound).and_then(|conn| {
            let held = self.client.connection(conn)?.sample().held.get();
            let far = relay::far_end(&self.behind, &self.server, conn);
            let queued = far.connection(conn)?.subflows(self.now);
            let queued: Bytes = queued.map(|view| view.queued).sum();
            Some([
                What::ServerQueue {
                    conn,
                    bytes: queued.get(),
                },
                What::OutOfOrder { conn, bytes: held },
            ])
        });
        events.extend(levels.into_iter().flatten());
        events.extend(self.paths.news(index, &name));
        events.extend(self.accounts.news(index, &name, bytes));
        events.into_iter().for_each(|what| self.record(what));
    }

    pub(super) fn stalled(&mut self, flow: usize, stall: trace::Stall) {
        self.record(What::Stall {
            flow: self.flows.all[flow].name.clone(),
            from_ns: stall.from.as_nanos(),
            to_ns: stall.to.as_nanos(),
        });
    }

    pub(super) fn record(&mut self, what: What) {
        self.levels.observe(self.now, &what);
        if self.what.events {
            self.events.push(Event::new(self.now, what));
        }
    }
}

fn delivered(carrier: &Carrier) -> Vec<Bytes> {
    let carried = carrier.carried().iter();
    carried.map(|carried| carried.up + carried.down).collect()
}

/// The client's monitors, and a capture of what they hear if one is wanted.
fn monitors(what: &Play<'_>, config: &NetworkConfig) -> Result<(Ears, Option<Capture>), CastError> {
    let plan = what.plan;
    let Some(stations) = config.stations()?.filter(|_| config.monitor) else {
        return Ok((Ears::default(), None));
    };
    let mut links = Vec::new();
    for &(link, station) in &stations.access_points {
        let at = station.0 as usize;
        links.resize(links.len().max(at + 1), None);
        links[at] = Some(usize::from(link.0));
    }
    let radio = |link: &scenario::Link| {
        let channel = link.kind.channel()?;
        let mut radios = stations.radios.iter();
        let found = radios.find(|(own, _)| u16::from(*own) == channel)?;
        Some(found.1)
    };
    let radios: Vec<_> = plan.links.iter().map(radio).collect();
    let capture = what
        .capture
        .then(|| Capture::new(stations.addresses.clone(), Vec::new(), "client"));
    Ok((Ears::new(links, &radios), capture))
}

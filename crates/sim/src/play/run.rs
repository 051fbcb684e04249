//! One run of a scenario: air and wires, traffic, the engine, and a record of it all.
//!
//! A record depends only on the plan and the seed: one seed gives one record, byte for byte.
//!
//! # Where we differ, and why
//! 1. Applications are polled every millisecond of virtual time, so stalls have a resolution of one
//!    millisecond.
//! 2. Plans with TCP flows, with faults or with a client of one radio are played by hosts (`hosts`), other
//!    ones of datagrams here: nothing that the engine asks for would change them.
//! 3. The record contains the client's associations. Those of the others are in the notes.
//! 4. `optimal_mbps` and `energy_j` come from the same functions as in the lab. With access points on the
//!    coarse medium `optimal_mbps` is 0, and a note says why: its packets have a time, not a rate.
//! 5. `collisions` are attempts that were not received while another station was on the air, whether they
//!    would have been received without it or not.
//!
//! # Checked by
//! `tests/play.rs`, `tests/joining.rs`.

use std::sync::atomic::{AtomicBool, Ordering};

use links::air::{Addresses, Counters, Destination, Input, Overheard};
use policy::LinkId;
use record::{Buffer, Recording};
use scenario::{Medium, Plan, models};
use trace::{
    Event, Flow, FlowMeter, LinkState, LinkUse, PathUse, PolicyName, Run, RunRecord, RunStart, SERIES_BIN,
    What, World as Where, summed_series,
};
use units::{Bitrate, Duration, Instant};

use super::brain::Brain;
use super::cast::{self, Cast};
use super::energy::Spending;
use super::error::CastError;
use super::frames::Capture;
use super::hosts;
use super::joins::{Change, Joins};
use super::medium::Media;
use super::stations::{channels, datagrams, stations};
use super::totals::Totals;
use crate::World;

/// Poll interval of applications.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Update interval of walkers' positions: a step of a fast walker.
const STRIDE: Duration = Duration::from_millis(200);

/// Parameters of a run.
#[derive(Debug, Clone)]
pub struct Play<'p> {
    /// The scenario.
    pub plan: &'p Plan,
    /// The policy of the engine.
    pub policy: PolicyName,
    /// Seed of all random values.
    pub seed: u64,
    /// Limit on frames plus datagrams. A run that exceeds it is stopped.
    pub most: u64,
    /// Whether to keep what the client's radios hear.
    pub capture: bool,
    /// Whether to keep everything that happens. If not, [`Played::record`] is empty, and the memory that a
    /// run takes does not grow with its events.
    pub events: bool,
    /// Whether to keep the round-trip times of flows of hosts.
    pub round_trips: bool,
    /// Where the inputs and actions of the engine are recorded; complete once the run is over. `None`:
    /// nowhere.
    pub record: Option<Buffer>,
    /// Set from outside to end the run early.
    pub stop: Option<&'p AtomicBool>,
}

impl<'p> Play<'p> {
    /// Default limit. More frames than this would take most of an hour of wall time.
    pub const MOST: u64 = 1_000_000_000;

    /// A run with the plan's own seed.
    pub const fn new(plan: &'p Plan, policy: PolicyName) -> Self {
        Self {
            plan,
            policy,
            seed: plan.seed,
            most: Self::MOST,
            capture: false,
            events: true,
            round_trips: false,
            record: None,
            stop: None,
        }
    }

    /// Where to record the inputs and actions of the engine, if that is requested.
    pub(super) fn recording(&self) -> Option<Recording> {
        self.record.as_ref().map(|buffer| Recording {
            about: format!("{}, virtual time, {}", self.plan.name, self.policy),
            seed: Some(self.seed),
            texts: true,
            out: Box::new(buffer.clone()),
        })
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Acquire))
    }
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Its row of the result.
    pub run: Run,
    /// Everything that happened, if requested.
    pub record: RunRecord,
    /// When it was stopped, if it was too long or interrupted.
    pub stopped: Option<Instant>,
    /// Whether it was stopped from outside. If so, nothing in it is a result.
    pub interrupted: bool,
    /// What the client's radios heard (pcapng), if requested.
    pub capture: Option<Vec<u8>>,
    /// Number of frames plus datagrams.
    pub steps: u64,
    /// Of each flow of a host: when its application waited for data. Gaps under [`trace::WAIT_THRESHOLD`] are
    /// left out.
    pub waits: Vec<Vec<trace::Stall>>,
    /// Of each flow of a host, if requested: its round-trip times over subflows that exist at the end.
    pub round_trips: Vec<Vec<RoundTrip>>,
}

/// A sample of a sender's round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The link: an index in [`Plan::links`].
    pub link: usize,
    /// When the acknowledgement arrived.
    pub at: Instant,
    /// Time since the latest segment that it acknowledges was sent.
    pub took: Duration,
}

/// Checks that a plan can be played.
pub fn check(plan: &Plan) -> Result<(), CastError> {
    if hosts::has(plan) {
        hosts::check(plan)
    } else {
        Cast::of(plan).map(drop)
    }
}

/// Runs a scenario to its end.
pub fn play(what: &Play<'_>) -> Result<Played, CastError> {
    if hosts::has(what.plan) {
        return hosts::play(what);
    }
    let mut runner = Runner::build(what)?;
    runner.begin();
    let end = Instant::ZERO + what.plan.duration;
    while runner.now < end && runner.steps() < what.most && !what.is_interrupted() {
        runner.step(end);
    }
    Ok(runner.finish(end))
}

struct Runner<'p> {
    what: &'p Play<'p>,
    cast: Cast,
    world: World<Media>,
    brain: Brain,
    capture: Option<Capture>,
    meters: Vec<FlowMeter>,
    seen: Vec<u64>,
    /// What does not count. `None` during the warm-up.
    warm: Option<Totals>,
    joins: Joins,
    spending: Spending,
    events: Vec<Event>,
    now: Instant,
}

impl<'p> Runner<'p> {
    fn build(what: &'p Play<'p>) -> Result<Self, CastError> {
        let cast = Cast::of(what.plan)?;
        let links = what.plan.links.iter().map(|link| link.name.as_str());
        let policy = what.policy.in_engine((0..).map(LinkId).zip(links))?;
        let mut medium = cast.medium(what.plan, what.seed)?;
        cast.client_radios()
            .for_each(|station| medium.air.monitor(station));
        let up = (0..cast.associations.len()).map(|place| medium.air.state(place) == links::LinkState::Up);
        let joins = Joins::new(up);
        let world = World::on(medium, &cast.air, cast.flows.clone())
            .with_under_way(&cast.under_way)
            .measuring_delays(cast.delays(what.plan).collect());
        let addresses = Addresses::of(&cast.air, cast.kinds(what.plan).collect());
        let warm = Instant::ZERO + what.plan.warmup;
        let meter = |flow: &scenario::Flow| {
            FlowMeter::new(&flow.name, Instant::ZERO + flow.start)
                .counting_after(warm)
                .sent_every(flow.work.interval())
        };
        Ok(Self {
            what,
            world,
            brain: Brain::new(policy, what.plan, &cast, what.recording()),
            capture: what
                .capture
                .then(|| Capture::new(addresses, cast.flows.clone(), "client")),
            meters: what.plan.flows.iter().map(meter).collect(),
            seen: vec![0; what.plan.flows.len()],
            warm: None,
            joins,
            spending: Spending::new(what.plan),
            events: Vec::new(),
            cast,
            now: Instant::ZERO,
        })
    }

    fn begin(&mut self) {
        let plan = self.what.plan;
        self.record(What::RunStart(Box::new(RunStart {
            scenario: plan.name.clone(),
            world: Where::Sim,
            policy: self.what.policy.clone(),
            cc: None,
            server: plan.server.as_str().to_owned(),
            seed: self.what.seed,
            plan: plan.to_trace(),
        })));
        for place in 0..self.cast.associations.len() {
            let state = self.world.medium().air.state(place);
            self.report_change(Change {
                at: self.now,
                association: place,
                state,
            });
        }
        for place in 0..self.cast.wires.len() {
            self.report_link(self.now, self.cast.wires[place], links::LinkState::Up);
        }
        self.run_engine();
        self.warm_up();
    }

    /// Forgets what was counted, if the warm-up ends now.
    fn warm_up(&mut self) {
        let is_warm = self.now >= Instant::ZERO + self.what.plan.warmup;
        if is_warm && self.warm.is_none() {
            self.count_from_now();
        }
    }

    fn count_from_now(&mut self) {
        self.warm = Some(Totals::of(&self.cast, &self.world));
        self.world.forget_delays();
    }

    /// Reports a change of one of the client's associations to the engine, and records it.
    fn report_change(&mut self, change: Change) {
        let of = self.cast.associations[change.association];
        if of.walker == 0 {
            self.report_link(change.at, of.link, change.state);
        }
    }

    fn report_link(&mut self, at: Instant, link: usize, state: links::LinkState) {
        self.brain.set_state(at, link, state);
        let link = self.what.plan.links[link].name.clone();
        let state = trace_state(state);
        self.record_at(at, What::LinkState { link, state });
    }

    fn steps(&self) -> u64 {
        let stations = self.cast.air.stations.len();
        self.world.medium().air.transmissions(stations) + self.world.total().offered
    }

    /// Advances by one poll interval.
    fn step(&mut self, end: Instant) {
        let length = POLL_INTERVAL.min(end.since(self.now));
        self.world.run_for(length);
        self.now += length;
        while let Some(frame) = self.world.medium_mut().air.overheard() {
            self.hear(&frame);
        }
        while let Some(change) = self.world.medium_mut().air.poll_change() {
            self.joins.take(change);
            self.report_change(change);
        }
        self.run_engine();
        self.poll_applications();
        self.warm_up();
        if self.now.as_nanos().is_multiple_of(STRIDE.as_nanos() as u64) {
            self.walk();
        }
        if self.now.as_nanos().is_multiple_of(SERIES_BIN.as_nanos() as u64) {
            self.sample();
        }
    }

    fn walk(&mut self) {
        let time = self.now.since(Instant::ZERO);
        for radio in &self.cast.radios {
            let walker = &self.what.plan.walkers[radio.walker];
            if cast::walks(walker) {
                let there = models::position(walker.position(time));
                self.world.handle(Input::Move(radio.station, there));
            }
        }
        for (link, ap) in self.what.plan.access_points() {
            if let (Some(by), Some(station)) = (ap.carried_by, self.cast.access_point(link)) {
                let there = models::position(self.what.plan.walkers[by].position(time));
                self.world.handle(Input::Move(station, there));
            }
        }
    }

    fn hear(&mut self, frame: &Overheard) {
        self.brain.hear(frame);
        if let Some(capture) = &mut self.capture {
            capture.add(frame);
        }
    }

    fn run_engine(&mut self) {
        let (events, kept) = (&mut self.events, self.what.events);
        self.brain.tick(self.now, |at, what| {
            if kept {
                events.push(Event::new(at, what));
            }
        });
    }

    fn poll_applications(&mut self) {
        for flow in 0..self.seen.len() {
            let bytes = self.world.tallies()[flow].payload_bytes;
            let fresh = bytes - std::mem::replace(&mut self.seen[flow], bytes);
            if let Some(stall) = self.meters[flow].read(self.now, fresh) {
                self.stalled(flow, stall);
            }
        }
    }

    fn sample(&mut self) {
        self.brain.survey(self.now);
        self.spending.carried(self.now, self.world.tallies());
        if !self.what.events {
            return;
        }
        for flow in 0..self.seen.len() {
            let bytes = self.seen[flow];
            let (flow, link) = (self.flow_name(flow), self.link_of(flow));
            let (path, of) = (flow.clone(), link);
            self.record(What::AppBytes { flow, bytes });
            self.record(What::PathBytes {
                flow: path,
                link: of,
                bytes,
            });
        }
    }

    fn stalled(&mut self, flow: usize, stall: trace::Stall) {
        let flow = self.flow_name(flow);
        let (from_ns, to_ns) = (stall.from.as_nanos(), stall.to.as_nanos());
        self.record(What::Stall { flow, from_ns, to_ns });
    }

    fn record(&mut self, what: What) {
        self.record_at(self.now, what);
    }

    fn record_at(&mut self, at: Instant, what: What) {
        if self.what.events {
            self.events.push(Event::new(at, what));
        }
    }

    fn flow_name(&self, flow: usize) -> String {
        self.what.plan.flows[flow].name.clone()
    }

    fn link_of(&self, flow: usize) -> String {
        let plan = self.what.plan;
        let over = match plan.flows[flow].transport {
            scenario::Transport::Udp { over } | scenario::Transport::Tcp { over } => Some(over),
            scenario::Transport::Mptcp
            | scenario::Transport::EachLink
            | scenario::Transport::EachPeer { .. } => None,
        };
        over.map_or_else(String::new, |over| plan.links[over].name.clone())
    }

    fn finish(mut self, end: Instant) -> Played {
        if self.warm.is_none() {
            self.count_from_now();
        }
        for flow in 0..self.meters.len() {
            if let Some(stall) = self.meters[flow].end(self.now) {
                self.stalled(flow, stall);
            }
        }
        self.spending.carried(self.now, self.world.tallies());
        let stopped = (self.now < end).then_some(self.now);
        let interrupted = stopped.is_some() && self.steps() < self.what.most;
        let run = self.summary(stopped);
        self.record(What::RunEnd {
            summary: Box::new(run.clone()),
        });
        let steps = self.steps();
        self.events.sort_by_key(|event| event.t_ns);
        Played {
            run,
            record: RunRecord { events: self.events },
            stopped,
            interrupted,
            capture: self.capture.map(Capture::finish),
            steps,
            waits: Vec::new(),
            round_trips: Vec::new(),
        }
    }

    fn summary(&self, stopped: Option<Instant>) -> Run {
        let plan = self.what.plan;
        let lasted = self.now.since(Instant::ZERO);
        let totals = self.totals();
        let names = self.cast.air.stations.iter().map(|station| &*station.name);
        let of_stations = names.zip(totals.stations.iter().copied());
        Run {
            policy: self.what.policy.clone(),
            case: trace::Case::default(),
            cc: None,
            server: plan.server.as_str().to_owned(),
            seed: self.what.seed,
            duration_s: lasted.as_secs_f64(),
            warmup_s: plan.warmup.min(lasted).as_secs_f64(),
            flows: (0..self.meters.len())
                .map(|flow| self.flow(flow, &totals))
                .collect(),
            links: (0..plan.links.len())
                .map(|link| self.link(link, &totals))
                .collect(),
            stations: stations(of_stations, self.seconds()),
            channels: channels(totals.channels.iter().copied(), self.seconds()),
            energy_j: self.spending.joules(),
            optimal_mbps: self.optimal().as_mbps_f64(),
            goodput_series: summed_series(&self.meters, lasted),
            levels: trace::Levels::default(),
            notes: self.notes(stopped),
        }
    }

    /// What counts.
    fn totals(&self) -> Totals {
        let totals = Totals::of(&self.cast, &self.world);
        match &self.warm {
            Some(warm) => totals.since(warm),
            None => totals,
        }
    }

    /// Zero with the coarse medium: the rate of its air is unknown, and so is the sum.
    fn optimal(&self) -> Bitrate {
        let plan = self.what.plan;
        if is_coarse(plan) {
            return Bitrate::ZERO;
        }
        let network = models::network(plan, self.what.seed);
        let nothing_breaks = |_, _| Vec::new();
        models::optimal(plan, &network, self.now.since(Instant::ZERO), nothing_breaks)
    }

    fn flow(&self, flow: usize, totals: &Totals) -> Flow {
        let tally = totals.tallies[flow];
        let path = PathUse {
            link: self.link_of(flow),
            bytes: tally.payload_bytes,
            retransmits: 0,
            segments: None,
            ce_marks: 0,
            rtt: None,
        };
        let delays = &self.world.delays()[flow];
        let has_one_receiver = self.cast.flows[flow].to != Destination::Everyone;
        Flow {
            datagrams: Some(datagrams(tally)),
            delay: delays.figures(),
            jitter_ms: delays.jitter_ms().filter(|_| has_one_receiver),
            ..self.meters[flow].result(self.now, None, vec![path])
        }
    }

    fn link(&self, link: usize, totals: &Totals) -> LinkUse {
        let station = self.cast.access_point(link).map(|station| station.0 as usize);
        let counters = station.map_or_else(Counters::default, |station| totals.stations[station]);
        let beacons = station.map_or(0, |station| totals.beacons[station]);
        let wire = self.cast.wire(link).and_then(|wire| totals.wires.get(wire));
        LinkUse {
            name: self.what.plan.links[link].name.clone(),
            kind: self.what.plan.links[link].kind.word(),
            frames: wire.map_or(counters.frames().saturating_sub(beacons), |wire| wire.delivered),
            retries: counters.own.repeats + counters.others.repeats,
            collisions: counters.own.collisions + counters.others.collisions,
            // A frame may be on the air at the end.
            airtime_share: (counters.occupied.as_secs_f64() / self.seconds()).min(1.0),
            marks: None,
            sent_marks: None,
        }
    }

    /// How long counters have counted.
    fn seconds(&self) -> f64 {
        let warm = Instant::ZERO + self.what.plan.warmup;
        self.now.since(warm).as_secs_f64().max(1e-9)
    }

    fn notes(&self, stopped: Option<Instant>) -> Vec<String> {
        let bounded = stopped.map(|at| {
            let (at, end) = (at.since(Instant::ZERO), self.what.plan.duration);
            let when = format!("{} s of {} s", at.as_secs_f64(), end.as_secs_f64());
            match self.steps() {
                steps if steps < self.what.most => format!("interrupted after {when}"),
                steps => format!(
                    "stopped after {steps} frames and datagrams, {when}: the run is too long; shorten `duration_s`, or offer less"
                ),
            }
        });
        let unknown = is_coarse(self.what.plan).then(|| {
            "the upper limit (`optimal_mbps`) is unknown on the coarse medium: its packets have a time, not a rate"
                .to_owned()
        });
        let links = self.brain.explain();
        let said = links.into_iter().map(|(link, why)| format!("{link}: {why}"));
        let joined = self.joins.sentences().map(|(place, sentence)| {
            let of = self.cast.associations[place];
            let plan = self.what.plan;
            format!(
                "{}: {} {sentence}",
                plan.links[of.link].name, plan.walkers[of.walker].name
            )
        });
        bounded
            .into_iter()
            .chain(unknown)
            .chain(said)
            .chain(joined)
            .collect()
    }
}

/// Whether there are access points, on the coarse medium.
fn is_coarse(plan: &Plan) -> bool {
    plan.medium == Medium::Wfq && plan.access_points().next().is_some()
}

/// Converts a link state to that of traces.
pub(super) const fn trace_state(state: links::LinkState) -> LinkState {
    match state {
        links::LinkState::Down => LinkState::Down,
        links::LinkState::Joining => LinkState::Joining,
        links::LinkState::Carrier => LinkState::Carrier,
        links::LinkState::Up => LinkState::Up,
    }
}

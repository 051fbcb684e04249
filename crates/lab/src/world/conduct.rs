//! Conducts a run from time zero to its end: starts its threads, passes on what they report, and stops them.
//! [`Recorder`] keeps the record.

use super::controllers::ReadBack;
use super::flows::{self, Common};
use super::note::Note;
use super::others;
use super::paths::{FlowName, Whereabouts};
use super::ready::may_begin;
use super::recorder::{End, Recorder};
use super::relay::Sockets;
use super::stage::Stage;
use super::turns::Turns;
use super::{FlowDetail, Play, PlayError, Played};
use crate::emulator::{self, Commands, Emulator, Report, Setup};
use crate::hosts::SERVER_V6;
use crate::shell::{ProgramsEnded, Running};
use crate::stop::Stop;
use crate::traffic::{ConnectionSample, Outcome, Watchlist};
use links::{LinkConfig, Network, NetworkConfig};
use linux::bpf::CountRunTime;
use linux::daemon;
use linux::netstat;
use std::net::IpAddr;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use trace::{Event, What};
use units::{Duration, Instant};

/// How long a stop may go unnoticed while no events arrive.
const GLANCE: Duration = Duration::from_millis(50);
/// How long before the end the sockets' controllers are read. The flows see the end by themselves and close
/// their sockets.
const LAST_LOOK: Duration = Duration::from_millis(200);
/// How long before the end the daemon's report is requested. The daemon knows nothing of a closed connection.
const LAST_WORD: Duration = Duration::from_millis(20);
/// How long uploads sent in time may take to arrive after the end, so that they can be checked.
const DRAIN: Duration = Duration::from_secs(12);

/// Set when the run ends, for whatever reason.
struct Over(Stop);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A run in progress. Fields are dropped in this order, so users of a field precede it.
pub(super) struct Conductor<'r> {
    what: &'r Play<'r>,
    stop: &'r Stop,
    /// Ends this run's own flows and nobody else's.
    over: Over,
    recorder: Recorder<'r>,
    programs: Vec<Running>,
    flows: Vec<JoinHandle<()>>,
    turns: Turns,
    commands: Commands,
    emulator: Emulator,
    /// The wire between the relay and the server, if there is a relay.
    wire: Option<Emulator>,
    stage: Stage,
    /// The sockets of agent and relay.
    carried: Option<Sockets>,
    watchlist: Watchlist,
    running: usize,
    program_ended: bool,
    /// The client's program has not been started yet.
    program_waits: bool,
    /// Kept open while the cost of our controller is counted.
    counting: Option<CountRunTime>,
    /// The controllers of the sockets, once read.
    read_back: Option<ReadBack>,
    /// The daemon's report, requested just before the end.
    daemon: Option<daemon::Report>,
    /// Packets with CE that the client's kernel has received, read at the same moment.
    received_ce: Option<u64>,
}

impl<'r> Conductor<'r> {
    /// Starts the run at time zero.
    pub(super) fn begin(
        what: &'r Play<'r>,
        mut stage: Stage,
        stop: &'r Stop,
        watch: &'r mut dyn FnMut(&Event),
    ) -> Result<Self, PlayError> {
        let states = stage.plug_in_what_is_up()?;
        stage.clock.wait_for_zero();
        let emulator = start_emulator(what, &mut stage)?;
        let wire = start_wire(what, &mut stage)?;
        let carried = carried(what, &stage);
        let names = flows::names(what.plan, &what.policy, what.seed);
        let flow_count = if what.programs.is_some() { 0 } else { names.len() };
        let mut conductor = Self {
            what,
            stop,
            over: Over(Stop::new()),
            recorder: Recorder::new(what, names, flow_count, watch),
            programs: Vec::new(),
            flows: Vec::new(),
            turns: Turns::new(what.plan, stage.glue.inlet(), emulator.commands().clone()),
            commands: emulator.commands().clone(),
            emulator,
            wire,
            stage,
            carried,
            watchlist: Watchlist::default(),
            running: flow_count.saturating_sub(others::flows(what.plan).count()),
            program_ended: false,
            program_waits: what.programs.is_some(),
            counting: None,
            read_back: None,
            daemon: None,
            received_ce: None,
        };
        if what.count_cost {
            conductor.counting = Some(CountRunTime::start().map_err(PlayError::Counting)?);
        }
        conductor.recorder.start(&states);
        conductor.turns.begin();
        conductor.start_flows()?;
        conductor.start_servers()?;
        Ok(conductor)
    }

    fn start_flows(&mut self) -> Result<(), PlayError> {
        let Some(server) = self.stage.server.clone() else {
            return Ok(());
        };
        let common = Common {
            plan: self.what.plan,
            policy: &self.what.policy,
            seed: self.what.seed,
            interfaces: &self.stage.interfaces,
            glue: &self.stage.glue,
            assigned: &self.stage.assigned,
            controllers: &self.stage.controllers,
            hosts: &self.stage.hosts,
            walkers: &self.stage.walkers,
            addressing: &self.stage.addressing,
            server,
            clock: self.stage.clock,
            stop: &self.over.0,
            notes: self.stage.tell.clone(),
            watchlist: self.watchlist.clone(),
        };
        self.flows = common.start()?;
        Ok(())
    }

    fn start_servers(&mut self) -> Result<(), PlayError> {
        let servers = self.what.programs.iter().flat_map(|programs| &programs.servers);
        for server in servers {
            self.programs
                .push(Running::start(server, &self.stage.hosts.server, self.server())?);
        }
        Ok(())
    }

    /// Starts the client's program once it may begin.
    fn start_client(&mut self) -> Result<(), PlayError> {
        let Some(programs) = self.what.programs.as_ref().filter(|_| self.program_waits) else {
            return Ok(());
        };
        let now = self.stage.clock.now();
        let serving = (!programs.servers.is_empty()).then_some(self.what.plan.duration);
        if !may_begin(now, &self.stage.hosts, self.server(), serving) {
            return Ok(());
        }
        self.program_waits = false;
        let client = Running::start(&programs.client, &self.stage.hosts.client, self.server())?;
        let tell = self.stage.tell.clone();
        client.when_ended(move || drop(tell.send(Note::ProgramEnded)))?;
        self.programs.insert(0, client);
        Ok(())
    }

    fn server(&self) -> IpAddr {
        match self.what.plan.server_families.begins_in_v6() {
            true => SERVER_V6.into(),
            false => self.stage.addressing.server.into(),
        }
    }

    /// Runs until the end.
    pub(super) fn conduct(mut self) -> Result<Played, PlayError> {
        let lasts = self.what.plan.duration;
        let end = Instant::ZERO + lasts;
        self.go_on(Instant::ZERO + lasts.saturating_sub(LAST_WORD))?;
        // For a run that was ended early.
        self.read_back();
        self.ask();
        self.go_on(end)?;
        let ended = self.stage.clock.now().min(end);
        self.over.0.stop();
        self.await_flows()?;
        self.take_down(ended)
    }

    /// Runs until then, or until the run is ended early.
    fn go_on(&mut self, until: Instant) -> Result<(), PlayError> {
        while !self.is_over(until) {
            self.start_client()?;
            let left = until.since(self.stage.clock.now());
            self.listen(left.min(GLANCE))?;
            if left <= LAST_LOOK {
                self.read_back();
            }
        }
        Ok(())
    }

    /// Reads the daemon's report and the kernel's counter at one moment.
    fn ask(&mut self) {
        self.daemon = self.stage.glue.report();
        let came = self
            .stage
            .hosts
            .client
            .run(|| netstat::counted("IpExt", "InCEPkts"));
        self.received_ce = came.ok().flatten();
    }

    /// Reads the controllers of the sockets, once.
    fn read_back(&mut self) {
        if self.what.programs.is_none() && self.read_back.is_none() {
            let (plan, hosts) = (self.what.plan, &self.stage.hosts);
            self.read_back = Some(
                self.stage
                    .controllers
                    .read_back(plan, hosts, self.recorder.paths()),
            );
        }
    }

    fn is_over(&self, until: Instant) -> bool {
        self.stop.is_stopped() || self.program_ended || self.stage.clock.now() >= until
    }

    /// Waits for the flows, which end by themselves now. The links continue, so that data in flight arrives.
    fn await_flows(&mut self) -> Result<(), PlayError> {
        let limit = self.stage.clock.now() + DRAIN;
        while self.running > 0 && self.stage.clock.now() < limit {
            self.listen(GLANCE)?;
        }
        for flow in self.flows.drain(..) {
            flow.join().map_err(|_| PlayError::Panicked("application"))?;
        }
        while let Ok(note) = self.stage.notes.try_recv() {
            self.hear(note)?;
        }
        Ok(())
    }

    fn take_down(self, ended: Instant) -> Result<Played, PlayError> {
        let Self {
            what,
            stop,
            recorder,
            programs,
            emulator,
            wire,
            carried,
            mut stage,
            program_waits,
            read_back,
            daemon,
            received_ce,
            counting,
            ..
        } = self;
        let read_back = read_back.unwrap_or_default();
        let programs = what
            .programs
            .is_some()
            .then(|| programs_ended(programs, program_waits));
        // The server's threads poll their sockets until they are told to stop.
        stage.server = None;
        let per_ack = counting.and_then(|_| stage.controllers.per_ack(what.plan));
        let advised = stage.advised(what.plan);
        stage.detour = None;
        stage.brain.finish()?;
        stage.walkers.finish()?;
        let report = emulator.finish();
        drop(wire);
        assert_faults(what, &report)?;
        let recorded = recorder.finish(&End {
            network: &stage.config,
            ended,
            emulator: &report,
            strangers: &read_back.strangers,
            daemon: daemon.as_ref(),
        });
        let mut played = Played {
            run: recorded.run,
            record: recorded.record,
            flows: recorded.outcomes.into_iter().flatten().map(detail).collect(),
            emulator: report,
            daemon,
            received_ce,
            programs,
            per_ack,
            advised,
            controllers: read_back,
            stopped: stop.is_stopped(),
        };
        let caveat = radio::caveat(what.plan).map(str::to_owned);
        let notes = ways_taken(what, carried.as_ref()).chain(caveat);
        notes.for_each(|note| played.note(note));
        Ok(played)
    }

    /// Waits for a note, and acts on it and on all that are queued behind it.
    fn listen(&mut self, patience: Duration) -> Result<(), PlayError> {
        match self.stage.notes.recv_timeout(patience) {
            Ok(note) => self.hear(note)?,
            // We hold a sender ourselves, so the channel cannot be disconnected.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        }
        while let Ok(note) = self.stage.notes.try_recv() {
            self.hear(note)?;
        }
        Ok(())
    }

    fn hear(&mut self, note: Note) -> Result<(), PlayError> {
        match note {
            Note::Links(event) => self.link_event(event)?,
            Note::Asked(association) => self.turns.asked(association),
            Note::Divided(slots) => self.turns.divided(&slots),
            Note::Happened(event) => self.recorder.keep(event),
            Note::Flow(flow, now, told) => self.recorder.told(flow, now, told),
            Note::FlowEnded(flow, outcome) => self.flow_ended(flow, *outcome)?,
            Note::ProgramEnded => self.program_ended = true,
        }
        Ok(())
    }

    fn flow_ended(
        &mut self,
        flow: usize,
        outcome: Result<Outcome, crate::traffic::TransferError>,
    ) -> Result<(), PlayError> {
        self.running -= 1;
        match outcome {
            Ok(outcome) => {
                self.recorder.flow_ended(flow, outcome);
                Ok(())
            }
            Err(source) => Err(PlayError::Flow {
                flow: self.what.plan.flows[flow].name.clone(),
                source,
            }),
        }
    }

    /// Passes what the models did to the daemon and the devices, and records it.
    fn link_event(&mut self, event: emulator::Event) -> Result<(), PlayError> {
        use emulator::Event as E;
        if self.stage.walkers.hear(&event)? {
            return Ok(());
        }
        match event {
            E::Beacon { link, signal, .. } => self.stage.glue.beacon(usize::from(link.0), signal),
            E::State { at, link, state } => {
                self.stage.glue.state(usize::from(link.0), state)?;
                self.turns.state(at, link, state);
            }
            E::Turned { at, channel } => self.turns.turned(at, channel),
            E::CycleEnded { at, ref received } => self.turns.cycle_ended(at, received),
            E::Renew { link, .. } => self.stage.glue.renew(usize::from(link.0), &self.commands)?,
            E::Sample {
                at,
                lateness,
                links,
                background,
            } => {
                self.recorder.others(at, &background);
                self.stage.survey(&links);
                self.recorder.links(at, &links);
                let looks = self.look();
                let all = Whereabouts {
                    client: &self.stage.glue,
                    walkers: &self.stage.walkers,
                };
                self.recorder.sockets(at, &looks, all);
                self.recorder.record(at, What::Lateness(lateness));
                return Ok(());
            }
            E::Moved { .. } | E::Fault { .. } | E::Effect { .. } => {}
        }
        self.recorder.link_event(&event);
        Ok(())
    }

    /// Samples the sockets of all hosts.
    fn look(&mut self) -> Vec<ConnectionSample> {
        let mut looks = self.watchlist.look();
        if let Some(server) = &self.stage.server {
            looks.extend(server.watchlist().look());
        }
        let (Some(detour), Some(carried)) = (&mut self.stage.detour, &mut self.carried) else {
            return looks;
        };
        match detour.ask() {
            Some(agent) => carried.behind(looks, &agent, &self.stage.glue),
            // The next poll shows it.
            None => Vec::new(),
        }
    }
}

fn detail(outcome: Outcome) -> FlowDetail {
    FlowDetail {
        series: outcome.meter.series().to_vec(),
        waits: outcome.meter.waits().to_vec(),
        requests: outcome.requests,
        unanswered: outcome.unanswered,
    }
}

/// The way that the agent took for each flow.
fn ways_taken<'w>(what: &'w Play<'_>, carried: Option<&'w Sockets>) -> impl Iterator<Item = String> + 'w {
    let names = flows::names(what.plan, &what.policy, what.seed);
    let way = move |name: FlowName| {
        Some(format!(
            "{} took the way `{}`",
            name.name,
            carried?.ways().get(&name.seed)?
        ))
    };
    names.into_iter().filter_map(way)
}

fn start_emulator(what: &Play<'_>, stage: &mut Stage) -> Result<Emulator, PlayError> {
    let setup = Setup {
        clock: stage.clock,
        network: stage
            .network
            .take()
            .expect("a stage has its network until its emulator starts"),
        ports: std::mem::take(&mut stage.ports),
        monitor: stage.monitor.take(),
        background: others::meters(what.plan),
        schedule: scenario::models::script(what.plan, what.seed),
        tuning: what.tuning,
    };
    let tell = stage.tell.clone();
    // Nobody listens once the run is over.
    Ok(Emulator::start(setup, move |event| {
        drop(tell.send(Note::Links(event)))
    })?)
}

/// Starts the wire between the relay and the server.
fn start_wire(what: &Play<'_>, stage: &mut Stage) -> Result<Option<Emulator>, PlayError> {
    let port = stage.hosts.relay.as_mut().and_then(|relay| relay.wire.take());
    let (Some(cable), Some(port)) = (scenario::models::relay_wire(what.plan), port) else {
        return Ok(None);
    };
    let config = NetworkConfig {
        links: vec![LinkConfig::Cable(cable)],
        ..NetworkConfig::default()
    };
    let setup = Setup {
        clock: stage.clock,
        network: Network::new(what.seed, config).map_err(super::PlanError::from)?,
        ports: vec![port],
        monitor: None,
        background: emulator::Background::none(),
        schedule: Vec::new(),
        tuning: what.tuning,
    };
    // It is no link of the client's.
    Ok(Some(Emulator::start(setup, drop)?))
}

/// Finds the sockets behind the flows that an agent takes.
fn carried(what: &Play<'_>, stage: &Stage) -> Option<Sockets> {
    let names = flows::names(what.plan, &what.policy, what.seed);
    let taken = what.plan.flows.iter().zip(names);
    let taken = taken.filter(|(flow, _)| flows::is_carried(flow, what.plan, &what.policy));
    Sockets::open(&stage.hosts, taken.map(|(_, name)| name.seed).collect())
}

fn programs_ended(programs: Vec<Running>, client_waits: bool) -> ProgramsEnded {
    let mut ends = programs.into_iter().map(Running::finish);
    ProgramsEnded {
        client: if client_waits { None } else { ends.next().flatten() },
        servers: ends
            .enumerate()
            .filter_map(|(index, end)| Some((index, end?)))
            .collect(),
    }
}

fn assert_faults(what: &Play<'_>, report: &Report) -> Result<(), PlayError> {
    match report.faults.iter().find(|fault| !fault.holds()) {
        None => Ok(()),
        Some(fault) => Err(PlayError::FaultHadNoEffect {
            link: what.plan.links[usize::from(fault.link.0)].name.clone(),
            at: fault.applied,
            passed: fault.delivered,
        }),
    }
}

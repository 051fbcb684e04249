//! The record of a run: every event as the trace names it, and what the summary at its end needs.

use super::Play;
use super::others;
use super::paths::{FlowName, Paths, Whereabouts};
use super::summary::Sources;
use crate::emulator::{self, LinkSample, Report};
use crate::traffic::{ConnectionSample, Outcome, Told};
use links::{Fault, LinkId, LinkState, NetworkConfig};
use linux::daemon;
use policy::estimate::energy::{Carried, Radios};
use scenario::Plan;
use trace::{Event, Run, RunRecord, RunStart, What};
use units::Instant;

/// The record of a run in progress.
pub(super) struct Recorder<'r> {
    what: &'r Play<'r>,
    /// Sees every event as it happens.
    watch: &'r mut dyn FnMut(&Event),
    events: Vec<Event>,
    paths: Paths,
    radios: Radios,
    /// Outcome of each flow, by index in the plan.
    outcomes: Vec<Option<Outcome>>,
}

/// What is known only at the end of a run.
pub(super) struct End<'e> {
    pub(super) network: &'e NetworkConfig,
    pub(super) ended: Instant,
    pub(super) emulator: &'e Report,
    /// Sockets with another controller than the plan's.
    pub(super) strangers: &'e [String],
    pub(super) daemon: Option<&'e daemon::Report>,
}

/// A finished record, and the outcome of each flow.
pub(super) struct Recorded {
    pub(super) run: Run,
    pub(super) record: RunRecord,
    pub(super) outcomes: Vec<Option<Outcome>>,
}

impl<'r> Recorder<'r> {
    /// Creates an empty record with room for the outcomes of this many flows.
    pub(super) fn new(
        what: &'r Play<'r>,
        names: Vec<FlowName>,
        flow_count: usize,
        watch: &'r mut dyn FnMut(&Event),
    ) -> Self {
        let links = what.plan.links.iter().map(|link| link.name.clone()).collect();
        Self {
            what,
            watch,
            events: Vec::new(),
            paths: Paths::new(names, links),
            radios: radio::powered(what.plan),
            outcomes: vec![None; flow_count],
        }
    }

    /// Records the plan and the state of each link at time zero.
    pub(super) fn start(&mut self, states: &[LinkState]) {
        let plan = self.what.plan;
        let start = RunStart {
            scenario: plan.name.clone(),
            world: trace::World::Lab,
            policy: self.what.policy.clone(),
            cc: self.what.sender(),
            server: plan.server.as_str().to_owned(),
            seed: self.what.seed,
            plan: plan.to_trace(),
        };
        self.record(Instant::ZERO, What::RunStart(Box::new(start)));
        for (link, state) in states.iter().enumerate() {
            let what = self.link_state(LinkId(link as u16), *state);
            self.record(Instant::ZERO, what);
        }
    }

    /// Records what happened at that time.
    pub(super) fn record(&mut self, at: Instant, what: What) {
        self.keep(Event::new(at, what));
    }

    /// Records an event, and shows it to the watcher.
    pub(super) fn keep(&mut self, event: Event) {
        (self.watch)(&event);
        self.events.push(event);
    }

    /// The subflows of each flow that have been seen so far.
    pub(super) const fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Records what an application reports about its flow.
    pub(super) fn told(&mut self, flow: usize, at: Instant, told: Told) {
        let flow = self.what.plan.flows[flow].name.clone();
        let what = match told {
            Told::Bytes(bytes) => What::AppBytes { flow, bytes },
            Told::Stall(stall) => What::Stall {
                flow,
                from_ns: stall.from.as_nanos(),
                to_ns: stall.to.as_nanos(),
            },
        };
        self.record(at, what);
    }

    /// Keeps the outcome of a flow for the summary.
    pub(super) fn flow_ended(&mut self, flow: usize, outcome: Outcome) {
        self.outcomes[flow] = Some(outcome);
    }

    /// Records what the models did. Samples are recorded by the methods below.
    pub(super) fn link_event(&mut self, event: &emulator::Event) {
        use emulator::Event as E;
        match *event {
            E::Beacon { at, link, signal } => {
                let (link, dbm) = (self.link_name(link), signal.as_dbm_f64());
                self.record(at, What::Signal { link, dbm });
            }
            E::State { at, link, state } => {
                let what = self.link_state(link, state);
                self.record(at, what);
            }
            E::Moved { at, position } => {
                let (x_m, y_m) = (position.x_mm as f64 / 1e3, position.y_mm as f64 / 1e3);
                self.record(at, What::Position { x_m, y_m });
            }
            E::Fault { at, link, fault } => {
                // A black hole takes effect when it drops a packet; every other fault takes effect when it is
                // applied.
                let applied = fault != Fault::Blackhole(true);
                self.fault(at, link, fault, applied);
            }
            E::Effect { at, link, fault } if fault == Fault::Blackhole(true) => {
                self.fault(at, link, fault, true);
            }
            E::Effect { .. }
            | E::Renew { .. }
            | E::Sample { .. }
            | E::Turned { .. }
            | E::CycleEnded { .. } => {}
        }
    }

    fn fault(&mut self, at: Instant, link: LinkId, fault: Fault, applied: bool) {
        let what = What::Fault {
            link: self.link_name(link),
            fault: fault.to_string(),
            applied,
        };
        self.record(at, what);
    }

    /// Counts the energy that radios used for what the links carried.
    pub(super) fn links(&mut self, at: Instant, links: &[LinkSample]) {
        self.radios.carried(at, &carried(links));
    }

    /// Records what the sockets of all hosts show.
    pub(super) fn sockets(&mut self, at: Instant, looks: &[ConnectionSample], all: Whereabouts<'_>) {
        for what in self.paths.take(looks, all) {
            self.record(at, what);
        }
    }

    /// Records what has arrived of flows that no kernel carries.
    pub(super) fn others(&mut self, at: Instant, arrived: &[u64]) {
        let plan = self.what.plan;
        for ((_, flow), &bytes) in others::flows(plan).zip(arrived) {
            let name = flow.name.clone();
            let link = others::link(plan, flow).to_owned();
            self.record(
                at,
                What::AppBytes {
                    flow: name.clone(),
                    bytes,
                },
            );
            self.record(
                at,
                What::PathBytes {
                    flow: name,
                    link,
                    bytes,
                },
            );
        }
    }

    /// Sorts the record and adds the summary at its end.
    pub(super) fn finish(mut self, end: &End<'_>) -> Recorded {
        let (what, ended) = (self.what, end.ended);
        keep_others(what.plan, end.emulator, ended, &mut self.outcomes);
        self.radios.carried(ended, &carried(&end.emulator.links));
        self.events.sort_by_key(|event| event.t_ns);
        let sources = Sources {
            plan: what.plan,
            network: end.network,
            policy: &what.policy,
            cc: what.sender(),
            seed: what.seed,
            ended,
            outcomes: &self.outcomes,
            paths: &self.paths,
            radios: &self.radios,
            emulator: end.emulator,
            strangers: end.strangers,
            daemon: end.daemon,
            events: &self.events,
        };
        let run = sources.run();
        // Data in flight at the end may have arrived later.
        let last = self.events.last().map_or(ended, Event::at).max(ended);
        let summary = Box::new(run.clone());
        self.record(last, What::RunEnd { summary });
        Recorded {
            run,
            record: RunRecord { events: self.events },
            outcomes: self.outcomes,
        }
    }

    fn link_name(&self, link: LinkId) -> String {
        self.what.plan.links[usize::from(link.0)].name.clone()
    }

    fn link_state(&self, link: LinkId, state: LinkState) -> What {
        What::LinkState {
            link: self.link_name(link),
            state: match state {
                LinkState::Down => trace::LinkState::Down,
                LinkState::Joining => trace::LinkState::Joining,
                LinkState::Carrier => trace::LinkState::Carrier,
                LinkState::Up => trace::LinkState::Up,
            },
        }
    }
}

/// Keeps the outcomes of the flows that no kernel carried.
fn keep_others(plan: &Plan, report: &Report, ended: Instant, outcomes: &mut [Option<Outcome>]) {
    for ((index, _), meter) in others::flows(plan).zip(&report.background) {
        let mut meter = meter.clone();
        meter.end(ended);
        if let Some(outcome) = outcomes.get_mut(index) {
            *outcome = Some(Outcome {
                meter,
                intact: true,
                connections: 0,
                broken: Vec::new(),
                requests: Vec::new(),
                unanswered: Vec::new(),
                blocks: None,
                ended,
            });
        }
    }
}

fn carried(links: &[LinkSample]) -> Vec<Carried> {
    let of_one = |link: &LinkSample| Carried {
        up: link.up,
        down: link.down,
    };
    links.iter().map(of_one).collect()
}

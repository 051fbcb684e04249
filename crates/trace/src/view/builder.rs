//! Puts a comparison together from its records and its document.

use super::lanes::spans;
use super::series::{kbps, levels, merged, per_step};
use super::{Comparison, DecisionMark, FaultMark, PathSeries, Span, Track};
use crate::levels::summed;
use crate::{
    Event, LinkKind, Plan, PlanLink, PlayDocument, Run, RunRecord, SERIES_BIN, Walker, Waypoint, What,
};
use std::collections::BTreeMap;

/// More steps than this are finer than a screen and only make the page large.
const MOST_STEPS: u64 = 1_200;

/// The common raster of all series.
#[derive(Clone, Copy)]
struct Raster {
    bin_ms: u64,
    duration_ms: u64,
}

impl Raster {
    fn of(runs: &[Run]) -> Self {
        let longest = runs.iter().map(|run| run.duration_s).fold(0.0, f64::max);
        let duration_ms = (longest * 1e3).ceil() as u64;
        let base = SERIES_BIN.as_millis() as u64;
        let bin_ms = base * duration_ms.div_ceil(base * MOST_STEPS).max(1);
        Self { bin_ms, duration_ms }
    }

    const fn steps(self) -> usize {
        self.duration_ms.div_ceil(self.bin_ms) as usize
    }

    const fn step_ns(self) -> u64 {
        self.bin_ms * 1_000_000
    }
}

/// What all tracks of a comparison share.
struct Frame<'a> {
    document: &'a PlayDocument,
    plan: &'a Plan,
    raster: Raster,
}

pub(super) fn comparison(records: &[RunRecord], document: &PlayDocument) -> Comparison {
    let plan = plan(records, document);
    let raster = Raster::of(&document.runs);
    let frame = Frame {
        document,
        plan: &plan,
        raster,
    };
    let events = |run| record_of(records, run).map_or(&[][..], |record| &record.events);
    let tracks = document
        .runs
        .iter()
        .map(|run| frame.track(run, events(run)))
        .collect();
    Comparison {
        scenario: document.scenario.clone(),
        world: document.world,
        seed: document.seed,
        plan,
        bin_ms: raster.bin_ms,
        duration_ms: raster.duration_ms,
        tracks,
    }
}

/// The last record of this policy, seed and world: a run that was repeated counts as it was last.
fn record_of<'a>(records: &'a [RunRecord], run: &Run) -> Option<&'a RunRecord> {
    let of_run = |record: &&RunRecord| {
        record
            .start()
            .filter(|start| run.case.world.is_none_or(|world| start.world == world))
            .is_some_and(|start| start.policy == run.policy && start.seed == run.seed)
    };
    records.iter().rev().find(of_run)
}

fn plan(records: &[RunRecord], document: &PlayDocument) -> Plan {
    let told = records
        .iter()
        .find_map(|record| record.start())
        .map(|start| start.plan.clone());
    let mut plan = told.unwrap_or_else(|| Plan {
        name: document.scenario.clone(),
        ..Plan::default()
    });
    let used = document
        .runs
        .iter()
        .flat_map(|run| &run.links)
        .map(|link| (&link.name, link.kind));
    let named = document
        .runs
        .iter()
        .flat_map(|run| &run.flows)
        .flat_map(|flow| &flow.paths);
    for (name, kind) in used.chain(named.map(|path| (&path.link, LinkKind::Cable))) {
        if plan.links.iter().all(|link| link.name != *name) {
            plan.links.push(PlanLink::new(name, kind));
        }
    }
    if plan.walkers.is_empty() {
        plan.walkers
            .extend(records.first().and_then(|record| walked(&record.events)));
    }
    plan
}

/// On a real host nobody planned the walk; it is where the client was.
fn walked(events: &[Event]) -> Option<Walker> {
    let points: Vec<Waypoint> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Position { x_m, y_m } => Some(Waypoint {
                t_s: event.at().as_secs_f64(),
                x_m,
                y_m,
            }),
            _ => None,
        })
        .collect();
    (!points.is_empty()).then(|| Walker {
        name: "client".to_owned(),
        points,
    })
}

impl Frame<'_> {
    fn index(&self, name: &str) -> Option<usize> {
        self.plan.links.iter().position(|link| link.name == name)
    }

    fn track(&self, run: &Run, events: &[Event]) -> Track {
        let width = (self.raster.bin_ms / SERIES_BIN.as_millis() as u64) as usize;
        let goodput = merged(&run.goodput_series, width, self.raster.steps());
        let [window_kb, queue_kb, held_kb] = self.levels(events);
        Track {
            label: self.document.label(run),
            policy: run.policy.to_string(),
            world: run.case.world,
            sentence: run.policy.sentence(),
            ours: run.policy.is_ours(),
            only_link: run.policy.only_link().map(str::to_owned),
            computed: run.policy.is_computed(),
            figures: self.document.figures(run),
            notes: run.notes.clone(),
            goodput_kbps: kbps(&goodput, self.raster.bin_ms),
            paths: self.paths(events),
            stalls: stalls(events),
            faults: self.faults(events),
            decisions: self.decisions(events),
            lanes: spans(events, (run.duration_s * 1e3) as u64, &|name| self.index(name)),
            window_kb,
            queue_kb,
            held_kb,
        }
    }

    fn paths(&self, events: &[Event]) -> Vec<PathSeries> {
        let mut samples = BTreeMap::<(usize, &str), Vec<(u64, u64)>>::new();
        for event in events {
            if let What::PathBytes { flow, link, bytes } = &event.what
                && let Some(link) = self.index(link)
            {
                samples
                    .entry((link, flow))
                    .or_default()
                    .push((event.t_ns, *bytes));
            }
        }
        let mut by_link = BTreeMap::<usize, Vec<u64>>::new();
        for ((link, _), samples) in samples {
            let steps = per_step(&samples, self.raster.step_ns(), self.raster.steps());
            let sum = by_link.entry(link).or_insert_with(|| vec![0; steps.len()]);
            sum.iter_mut().zip(steps).for_each(|(sum, bytes)| *sum += bytes);
        }
        by_link.retain(|_, bytes| bytes.iter().any(|bytes| *bytes > 0));
        let series = |(link, bytes): (usize, Vec<u64>)| PathSeries {
            link,
            kbps: kbps(&bytes, self.raster.bin_ms),
        };
        by_link.into_iter().map(series).collect()
    }

    fn faults(&self, events: &[Event]) -> Vec<FaultMark> {
        let mark = |event: &Event| match &event.what {
            What::Fault {
                link,
                fault,
                applied: true,
            } => Some(FaultMark {
                t_ms: event.at().as_millis(),
                link: self.index(link)?,
                what: fault.clone(),
            }),
            _ => None,
        };
        events.iter().filter_map(mark).collect()
    }

    fn decisions(&self, events: &[Event]) -> Vec<DecisionMark> {
        let mark = |event: &Event| match &event.what {
            What::Decision { link, verb, why, .. } => Some(DecisionMark {
                t_ms: event.at().as_millis(),
                link: link.as_deref().and_then(|name| self.index(name)),
                verb: verb.clone(),
                why: why.clone(),
            }),
            _ => None,
        };
        events.iter().filter_map(mark).collect()
    }

    /// Window, server's queue and bytes held.
    fn levels(&self, events: &[Event]) -> [Vec<Option<u64>>; 3] {
        summed(events).map(|samples| levels(&samples, self.raster.step_ns(), self.raster.steps()))
    }
}

fn stalls(events: &[Event]) -> Vec<Span> {
    let span = |event: &Event| match event.what {
        What::Stall { from_ns, to_ns, .. } => Some(Span {
            from_ms: from_ns / 1_000_000,
            to_ms: to_ns.div_ceil(1_000_000),
        }),
        _ => None,
    };
    events.iter().filter_map(span).collect()
}

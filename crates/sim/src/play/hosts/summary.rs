//! The result of a run with hosts.

use super::world::World;
use crate::hosts::MarkCounts;
use crate::play::frames::Capture;
use crate::play::run::Played;
use crate::play::stations;
use scenario::models;
use trace::{LinkMarks, LinkUse, Run, RunRecord, What, summed_series};
use units::{Bitrate, Duration, Instant};

/// Counts of marks for the result. In virtual time every requested mark is set.
const fn told(counts: MarkCounts) -> LinkMarks {
    LinkMarks {
        ect: counts.ect,
        not_ect: counts.not_ect,
        asked: counts.made,
        made: counts.made,
    }
}

impl World<'_> {
    /// Ends the run: the last poll of its flows, and its result.
    pub(in crate::play) fn finish(mut self, end: Instant) -> Played {
        if self.warm.is_none() {
            self.count_from_now();
        }
        for index in 0..self.flows.all.len() {
            let stall = self.flows.all[index].meter.end(self.now);
            stall.into_iter().for_each(|stall| self.stalled(index, stall));
            self.look_at_flow(index);
        }
        self.radios.carried(self.now, self.carrier.carried());
        let stopped = (self.now < end).then_some(self.now);
        let steps = self.carrier.sent();
        let interrupted = stopped.is_some() && steps < self.what.most;
        self.events.sort_by_key(|event| event.t_ns);
        let run = self.summary(stopped);
        let flows = self.flows.all.iter();
        let waits = flows.map(|flow| flow.meter.waits().to_vec()).collect();
        let round_trips = (0..self.flows.all.len())
            .map(|index| self.round_trips(index))
            .collect();
        self.record(What::RunEnd {
            summary: Box::new(run.clone()),
        });
        Played {
            run,
            record: RunRecord { events: self.events },
            stopped,
            interrupted,
            capture: self.capture.map(Capture::finish),
            steps,
            waits,
            round_trips,
        }
    }

    fn summary(&self, stopped: Option<Instant>) -> Run {
        let plan = self.what.plan;
        let lasted = self.now.since(Instant::ZERO);
        let counted = lasted.saturating_sub(plan.warmup);
        let seconds = counted.as_secs_f64().max(1e-9);
        let flows = self.flows.all.iter().enumerate();
        let flows = flows.map(|(index, flow)| {
            let paths = self.paths.of_flow(index);
            let (counts, conn) = (Instant::ZERO + plan.warmup, flow.lanes[0].conn());
            let app = conn.and_then(|conn| self.openers().host(flow.host).app(conn));
            let entry = trace::Flow {
                playback: flow.playback(counts, self.now),
                reply: flow.replies(counts, self.now, app),
                ..flow.meter.result(self.now, flow.is_intact(), paths)
            };
            self.accounts.complete(index, entry, &self.carrier)
        });
        let flows: Vec<trace::Flow> = flows.collect();
        Run {
            case: trace::Case::default(),
            warmup_s: plan.warmup.min(lasted).as_secs_f64(),
            stations: stations::stations(self.stations(), seconds),
            channels: stations::channels(self.channels(), seconds),
            policy: self.what.policy.clone(),
            cc: plan.sends_by_tcp().then(|| plan.cc.clone()),
            server: plan.server.as_str().to_owned(),
            seed: self.what.seed,
            duration_s: lasted.as_secs_f64(),
            links: (0..plan.links.len())
                .map(|link| self.link(link, seconds))
                .collect(),
            energy_j: self.radios.settled().as_joules_f64(),
            optimal_mbps: self.optimal(lasted).as_mbps_f64(),
            goodput_series: summed_series(self.flows.all.iter().map(|flow| &flow.meter), lasted),
            levels: self.levels.levels(self.now),
            notes: self.notes(stopped, &flows),
            flows,
        }
    }

    fn link(&self, link: usize, seconds: f64) -> LinkUse {
        let counters = self.counters(link);
        let of = &self.what.plan.links[link];
        let frames = match counters.frames {
            0 => counters.delivered,
            frames => frames,
        };
        let [marks, sent_marks] = self.client.marks(links::LinkId(link as u16));
        LinkUse {
            name: of.name.clone(),
            kind: of.kind.word(),
            frames,
            retries: counters.retries,
            collisions: counters.collisions,
            airtime_share: counters.airtime.as_secs_f64() / seconds,
            marks: marks.map(told),
            sent_marks: sent_marks.map(told),
        }
    }

    fn optimal(&self, lasted: Duration) -> Bitrate {
        let links = self.what.plan.links.len();
        let conditions = |at, direction| self.script.conditions(links, at, direction);
        models::optimal(self.what.plan, &self.config, lasted, conditions)
    }

    fn notes(&self, stopped: Option<Instant>, figures: &[trace::Flow]) -> Vec<String> {
        let bounded = stopped.map(|at| {
            let (at, end) = (at.since(Instant::ZERO), self.what.plan.duration);
            let when = format!("{} s of {} s", at.as_secs_f64(), end.as_secs_f64());
            match self.carrier.sent() {
                sent if sent < self.what.most => format!("interrupted after {when}"),
                sent => format!(
                    "stopped after {sent} segments, {when}: the run is too long; shorten `duration_s`, or offer less"
                ),
            }
        });
        let flows = self.flows.all.iter().filter(|flow| flow.fell_back);
        let fell_back = flows.map(|flow| format!("{} fell back to plain TCP", flow.name));
        let flows = self.flows.all.iter();
        let ways = flows.filter_map(|flow| Some(format!("{} took the way `{}`", flow.name, flow.way?)));
        let played = figures.iter().filter_map(|flow| {
            let playback = flow.playback?;
            Some(format!("{}: {}", flow.name, playback.in_words()))
        });
        let replies = figures.iter().filter_map(trace::Flow::replies_in_words);
        let single = radio::caveat(self.what.plan).map(str::to_owned);
        bounded
            .into_iter()
            .chain(fell_back)
            .chain(ways)
            .chain(played)
            .chain(replies)
            .chain(single)
            .collect()
    }
}

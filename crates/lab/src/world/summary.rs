//! The outcome of a run, as `play --json` prints it.

use super::others;
use super::paths::Paths;
use crate::emulator::Report;
use crate::traffic::Outcome;
use blocks::Time;
use links::{Fault, NetworkConfig};
use linux::daemon;
use policy::estimate::energy::Radios;
use scenario::{Plan, models};
use trace::{
    Event, Flow, Levels, LinkMarks, LinkUse, PathUse, Playback, PolicyName, Run, TimesMs, summed_series,
};
use units::{Bitrate, Duration, Instant};

/// The inputs of a summary.
pub(super) struct Sources<'s> {
    pub(super) plan: &'s Plan,
    pub(super) network: &'s NetworkConfig,
    pub(super) policy: &'s PolicyName,
    /// The sender's controller, if anything is sent by TCP.
    pub(super) cc: Option<String>,
    pub(super) seed: u64,
    pub(super) ended: Instant,
    pub(super) outcomes: &'s [Option<Outcome>],
    pub(super) paths: &'s Paths,
    pub(super) radios: &'s Radios,
    pub(super) emulator: &'s Report,
    pub(super) strangers: &'s [String],
    /// The daemon's report at the end.
    pub(super) daemon: Option<&'s daemon::Report>,
    /// Events of the run, in order of time.
    pub(super) events: &'s [Event],
}

impl Sources<'_> {
    pub(super) fn run(self) -> Run {
        let duration = self.ended.since(Instant::ZERO);
        Run {
            policy: self.policy.clone(),
            case: trace::Case::default(),
            cc: self.cc.clone(),
            server: self.plan.server.as_str().to_owned(),
            seed: self.seed,
            duration_s: duration.as_secs_f64(),
            flows: self.flows(),
            links: self.links(duration),
            stations: Vec::new(),
            channels: Vec::new(),
            warmup_s: 0.0,
            energy_j: self.radios.settled().as_joules_f64(),
            optimal_mbps: self.optimal(duration).as_mbps_f64(),
            goodput_series: self.series(duration),
            levels: Levels::of(self.events, self.ended),
            notes: self.remarks(),
        }
    }

    fn flows(&self) -> Vec<Flow> {
        let on_arrival = |link: &scenario::Link| self.report_of(&link.name)?.marks;
        let made = |link| on_arrival(link).map_or(0, |marks| marks.counters.segments);
        let marked_on_arrival: Vec<u64> = self.plan.links.iter().map(made).collect();
        let flow = |(index, outcome): (usize, &Option<Outcome>)| {
            let outcome = outcome.as_ref()?;
            let paths = self.paths_of(index, outcome, &marked_on_arrival);
            let is_datagrams = matches!(self.plan.flows[index].transport, scenario::Transport::Udp { .. });
            // Datagrams may be lost, so those that arrived prove nothing.
            let intact = (!is_datagrams || !outcome.intact).then_some(outcome.intact);
            Some(Flow {
                playback: self.playback(index, outcome),
                reply: replies(outcome),
                ..outcome.meter.result(outcome.ended, intact, paths)
            })
        };
        self.outcomes.iter().enumerate().filter_map(flow).collect()
    }

    fn paths_of(&self, index: usize, outcome: &Outcome, marked_on_arrival: &[u64]) -> Vec<PathUse> {
        let flow = &self.plan.flows[index];
        if others::has(self.plan, flow) {
            return vec![PathUse {
                link: others::link(self.plan, flow).to_owned(),
                bytes: outcome.meter.bytes().get(),
                retransmits: 0,
                segments: None,
                ce_marks: 0,
                rtt: None,
            }];
        }
        self.paths.of_flow(index, &self.emulator.marks, marked_on_arrival)
    }

    fn links(&self, duration: Duration) -> Vec<LinkUse> {
        let link = |(link, sample): (&scenario::Link, &crate::emulator::LinkSample)| {
            let counters = sample.counters;
            let wireless = counters.frames > 0;
            LinkUse {
                name: link.name.clone(),
                kind: link.kind.word(),
                frames: if wireless {
                    counters.frames
                } else {
                    counters.delivered
                },
                retries: counters.retries,
                collisions: counters.collisions,
                airtime_share: counters.airtime.as_secs_f64() / duration.as_secs_f64().max(1e-9),
                marks: self.report_of(&link.name).and_then(|link| told(link.marks)),
                sent_marks: self.report_of(&link.name).and_then(|link| told(link.sent_marks)),
            }
        };
        self.plan
            .links
            .iter()
            .zip(&self.emulator.links)
            .map(link)
            .collect()
    }

    fn report_of(&self, link: &str) -> Option<&daemon::LinkReport> {
        self.daemon?.links.iter().find(|known| known.spec.name == link)
    }

    fn series(&self, duration: Duration) -> Vec<u64> {
        let outcomes = self.outcomes.iter().flatten();
        summed_series(outcomes.map(|outcome| &outcome.meter), duration)
    }

    fn optimal(&self, duration: Duration) -> Bitrate {
        let links = self.plan.links.len();
        let faults = self.emulator.faults.iter();
        let faults = faults.map(|fault| (fault.applied, fault.link, fault.fault));
        let conditions = |at, direction| links::conditions(faults.clone(), links, at, direction);
        models::optimal(self.plan, self.network, duration, conditions)
    }

    /// How many packets of each link were marked, and how many should have been.
    fn marked(&self) -> impl Iterator<Item = String> {
        let known = |link: &scenario::Link| self.report_of(&link.name);
        self.plan.links.iter().filter_map(known).flat_map(|link| {
            let arrived = told(link.marks).map(|marks| marks_in_words(&link.spec.name, "received", marks));
            let sent = told(link.sent_marks).map(|marks| marks_in_words(&link.spec.name, "sent", marks));
            [arrived, sent].into_iter().flatten()
        })
    }

    /// What the player of this flow did, if it has one.
    fn playback(&self, flow: usize, outcome: &Outcome) -> Option<Playback> {
        let from = Instant::ZERO + self.plan.flows[flow].start;
        let time = Time {
            from,
            counts: from,
            until: self.ended,
        };
        outcome.blocks.as_ref()?.playback(time)
    }

    /// What the players of flows did, and how long replies took.
    fn played(&self) -> impl Iterator<Item = String> {
        let flows = self.flows();
        let played = flows.iter().filter_map(|flow| {
            let playback = flow.playback?;
            Some(format!("{}: {}", flow.name, playback.in_words()))
        });
        let replies = flows.iter().filter_map(Flow::replies_in_words);
        played.chain(replies).collect::<Vec<_>>().into_iter()
    }

    /// Remarks for the reader.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.strangers.to_vec();
        if !self.emulator.realtime {
            remarks.push("the emulator ran without real-time scheduling: see `slowhand doctor`".to_owned());
        }
        if self.emulator.refused > 0 {
            remarks.push(format!(
                "{} packets were lost because their device was down",
                self.emulator.refused
            ));
        }
        remarks.extend(self.marked());
        remarks.extend(
            self.paths
                .fell_back()
                .map(|flow| format!("{flow} fell back to plain TCP")),
        );
        let unfelt = self
            .emulator
            .faults
            .iter()
            .filter(|fault| fault.fault == Fault::Blackhole(true) && fault.swallowed == 0);
        remarks.extend(unfelt.map(|fault| {
            let link = &self.plan.links[usize::from(fault.link.0)].name;
            format!("no packet met the black hole on {link} at {}", fault.applied)
        }));
        remarks.extend(self.played());
        for outcome in self.outcomes.iter().flatten() {
            remarks.extend(
                outcome
                    .broken
                    .first()
                    .map(|why| format!("a connection failed {why}")),
            );
        }
        remarks
    }
}

fn told(marks: Option<daemon::MarkReport>) -> Option<LinkMarks> {
    let counters = marks?.counters;
    Some(LinkMarks {
        ect: counters.ect,
        not_ect: counters.not_ect,
        asked: counters.asked,
        made: counters.made,
    })
}

fn marks_in_words(link: &str, which: &str, marks: LinkMarks) -> String {
    let LinkMarks { ect, asked, made, .. } = marks;
    format!("{link}: marked {made} of {ect} ECN-capable packets {which}, {asked} requested")
}

/// From each request to the end of its reply, or of the run.
fn replies(outcome: &Outcome) -> Option<TimesMs> {
    let all = outcome.requests.iter().chain(&outcome.unanswered);
    TimesMs::of(all.map(trace::Stall::length).collect())
}

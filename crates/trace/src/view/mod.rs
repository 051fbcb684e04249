//! A comparison as every front end draws it: one [`Track`] per run, downsampled to a common step.
//!
//! Front ends parse no JSON; the page embeds what [`Comparison::to_json`] writes. Times are milliseconds of
//! scenario time, rates kb/s and amounts kilobytes (1,000 bytes). All are whole numbers, so that the page
//! stays small.

mod builder;
mod lanes;
mod series;
#[cfg(test)]
mod tests;

use crate::{Plan, PlayDocument, Run, RunRecord, World, tcp_best, versus_best};
use serde::Serialize;

/// Everything that one picture shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// Where it ran.
    pub world: World,
    /// The seed, or the first of several.
    pub seed: u64,
    /// The place. Links that the plan does not know but a run used are appended.
    pub plan: Plan,
    /// One step of every series.
    pub bin_ms: u64,
    /// The longest run.
    pub duration_ms: u64,
    /// One per run, in the document's order.
    pub tracks: Vec<Track>,
}

/// One run, drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Track {
    /// The policy's name; with the world and the seed if the comparison has several.
    pub label: String,
    /// The policy.
    pub policy: String,
    /// Where it ran, in a comparison of both worlds.
    pub world: Option<World>,
    /// What the policy is, in a few words.
    pub sentence: &'static str,
    /// Whether the policy is one of ours.
    pub ours: bool,
    /// The link of `tcp:<link>`.
    pub only_link: Option<String>,
    /// Whether it was computed instead of run.
    pub computed: bool,
    /// The figures of the result's row.
    pub figures: Figures,
    /// Caveats of the result.
    pub notes: Vec<String>,
    /// What the applications read, kb/s.
    pub goodput_kbps: Vec<u64>,
    /// What each link carried, kb/s; links that carried nothing are left out.
    pub paths: Vec<PathSeries>,
    /// When the applications waited.
    pub stalls: Vec<Span>,
    /// Faults that began or ended.
    pub faults: Vec<FaultMark>,
    /// The decisions made.
    pub decisions: Vec<DecisionMark>,
    /// How each link was used.
    pub lanes: Vec<LaneSpan>,
    /// The client's window limit, kilobytes; empty if there never was one.
    pub window_kb: Vec<Option<u64>>,
    /// Bytes the server had assigned and that were not acknowledged, in kilobytes; empty if not sampled.
    pub queue_kb: Vec<Option<u64>>,
    /// Out-of-order bytes at the client, in kilobytes; empty if not sampled.
    pub held_kb: Vec<Option<u64>>,
}

/// The figures that a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// Bytes read by the applications.
    pub bytes: u64,
    /// Over the run, in Mb/s.
    pub goodput_mbps: f64,
    /// Seconds it lasted.
    pub duration_s: f64,
    /// From connect to the first byte of the first flow, in milliseconds.
    pub first_byte_ms: Option<f64>,
    /// The longest stall; absent where stalls do not apply (computed rows).
    pub longest_stall_ms: Option<f64>,
    /// Sum of all stalls; absent where stalls do not apply.
    pub stall_total_ms: Option<f64>,
    /// Bytes over those of `tcp-best`.
    pub versus_best: Option<f64>,
    /// Goodput over what the models allow.
    pub versus_optimal: Option<f64>,
    /// Whether everything arrived as it was sent; absent for datagrams alone.
    pub intact: Option<bool>,
}

/// What one link carried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathSeries {
    /// Index of the link in the plan.
    pub link: usize,
    /// One figure per step.
    pub kbps: Vec<u64>,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Span {
    /// From here.
    pub from_ms: u64,
    /// To here.
    pub to_ms: u64,
}

/// A fault began or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FaultMark {
    /// When.
    pub t_ms: u64,
    /// Index of the link in the plan.
    pub link: usize,
    /// What.
    pub what: String,
}

/// Something was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionMark {
    /// When.
    pub t_ms: u64,
    /// Index of the link in the plan, if it is about one.
    pub link: Option<usize>,
    /// Stable identifier.
    pub verb: String,
    /// Why.
    pub why: String,
}

/// How a link was used for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LaneSpan {
    /// Index of the link in the plan.
    pub link: usize,
    /// From here.
    pub from_ms: u64,
    /// To here.
    pub to_ms: u64,
    /// How much of it.
    pub level: LaneLevel,
}

/// How much a link is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneLevel {
    /// It has an address.
    Up,
    /// It has a subflow that is a backup.
    Backup,
    /// It has a subflow that carries data.
    Active,
}

impl Comparison {
    /// From what a run (or a comparison) left. Runs without a record are drawn from their result alone.
    pub fn new(records: &[RunRecord], document: &PlayDocument) -> Self {
        builder::comparison(records, document)
    }

    /// One line of JSON.
    ///
    /// # Panics
    /// Never: every key is text and every value plain.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain records always serialise")
    }
}

impl PlayDocument {
    /// The `tcp-best` row of the comparison that a run belongs to: the document's own, or computed now.
    pub fn best_beside(&self, run: &Run) -> Option<Run> {
        let beside = || {
            let runs = self.runs.iter();
            runs.filter(move |other| (other.seed, &other.case) == (run.seed, &run.case))
        };
        let written = beside().find(|run| run.policy.is_computed()).cloned();
        written.or_else(|| tcp_best(&beside().cloned().collect::<Vec<_>>()))
    }

    /// The name of a run in pictures and tables: its policy, with what distinguishes it here.
    pub fn label(&self, run: &Run) -> String {
        let world = run.case.world.map(|world| format!(", {world}"));
        let several_seeds = self.runs.iter().any(|other| other.seed != run.seed);
        let seed = several_seeds.then(|| format!(", seed {}", run.seed));
        format!(
            "{}{}{}",
            run.policy,
            world.unwrap_or_default(),
            seed.unwrap_or_default()
        )
    }

    /// What a table says of one of this document's runs.
    pub fn figures(&self, run: &Run) -> Figures {
        let stalls_apply = !run.policy.is_computed();
        let best = self.best_beside(run);
        Figures {
            bytes: run.bytes(),
            goodput_mbps: run.goodput_mbps(),
            duration_s: run.duration_s,
            first_byte_ms: run.flows.first().and_then(|flow| flow.first_byte_ms),
            longest_stall_ms: stalls_apply.then(|| run.longest_stall_ms()),
            stall_total_ms: stalls_apply.then(|| run.stall_total_ms()),
            versus_best: best.and_then(|best| versus_best(run, &best)),
            versus_optimal: run.versus_optimal(),
            intact: run.arrived_intact(),
        }
    }
}

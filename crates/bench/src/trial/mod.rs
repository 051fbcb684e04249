//! Runs trials in the lab: side by side while the emulator is punctual, or alone.
//!
//! # Checked by
//! `tests`: the row states every doubt about its figures; `batch::tests`: a failed trial costs no other its
//! result.

pub mod beside;
pub mod gap;
pub mod plans;

use anyhow::Context as _;
use lab::world::{Advised, FlowDetail, PlayError, ReadBack};
use linux::bpf::{RunTime, WindowKind};
use linux::daemon;
use scenario::{Flow, Plan, Work};
use serde_json::{Value, json};
use trace::{BenchRow, LatenessUs, PolicyName, Run, RunRecord, What};
use units::Duration;

use runs::batch::{self, Done, Job, Rules};
use runs::interrupt;
use runs::progress::Progress;
use show::exit::Refused;
use show::tell;

/// One run of a benchmark.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The scenario.
    pub plan: Plan,
    /// The policy under test.
    pub policy: PolicyName,
    /// Seed of everything random.
    pub seed: u64,
}

/// Outcome of a trial.
#[derive(Debug)]
pub struct Observed {
    /// Its result.
    pub run: Run,
    /// Every event.
    pub record: RunRecord,
    /// What each flow's receiving application read.
    pub flows: Vec<FlowDetail>,
    /// How late packets left the emulator.
    pub lateness: LatenessUs,
    /// Processor cores that the emulator used.
    pub cores: f64,
    /// The daemon's report at the end.
    pub daemon: Option<daemon::Report>,
    /// Cost of our congestion controller per acknowledgement, if it was counted.
    pub per_ack: Option<RunTime>,
    /// Controllers that the sockets really used.
    pub controllers: ReadBack,
    /// Radio reports that the senders' `cla` got from the client.
    pub advised: Option<Advised>,
}

impl Observed {
    /// The only flow of a plan that has one.
    pub fn only_flow(&self) -> anyhow::Result<&FlowDetail> {
        let seed = self.run.seed;
        self.flows.first().with_context(|| {
            format!("seed {seed}: the flow never ended, so this trial has no result; please report this")
        })
    }

    /// Refuses a trial whose sockets did not use the requested controllers, or where the senders of these
    /// flows could not be read back.
    pub fn ensure_sent_as_asked<'n>(&self, flows: impl IntoIterator<Item = &'n str>) -> anyhow::Result<()> {
        let (seed, controllers) = (self.run.seed, &self.controllers);
        if let Some(stranger) = controllers.strangers.first() {
            anyhow::bail!("seed {seed}: {stranger}; this run has no result, please report this");
        }
        let unread = flows
            .into_iter()
            .find(|name| !controllers.confirmed.contains_key(*name));
        if let Some(name) = unread {
            anyhow::bail!(
                "seed {seed}: no socket that sends {name} could be read back; this run has no result, please report this"
            );
        }
        Ok(())
    }

    /// Whether one link carried everything: the connection fell back to plain TCP, or no subflow joined it.
    pub fn went_over_one_link(&self) -> bool {
        let carried = |flow: &trace::Flow| flow.paths.iter().filter(|path| path.bytes > 0).count();
        self.run.flows.first().is_some_and(|flow| carried(flow) <= 1)
    }

    /// A trial in which nothing happened.
    #[cfg(test)]
    pub fn blank() -> Self {
        let run = json!({
            "policy": "mptcp", "server": "stock", "seed": 1, "duration_s": 1.0, "flows": [], "links": []
        });
        Self {
            run: serde_json::from_value(run).unwrap(),
            record: RunRecord { events: Vec::new() },
            flows: Vec::new(),
            lateness: LatenessUs::default(),
            cores: 0.0,
            daemon: None,
            per_ack: None,
            controllers: ReadBack::default(),
            advised: None,
        }
    }

    /// Adds a download of these bytes within 1 s. It began 10 ms after connect, and its longest stall was
    /// this many ms.
    #[cfg(test)]
    pub fn with_download(mut self, bytes: u64, longest_stall_ms: f64) -> Self {
        let flow = json!({
            "name": "download", "bytes": bytes, "goodput_mbps": bytes as f64 * 8e-6, "intact": true, "first_byte_ms": 10.0,
            "longest_stall_ms": longest_stall_ms, "stall_total_ms": longest_stall_ms, "paths": []
        });
        self.run.flows = vec![serde_json::from_value(flow).unwrap()];
        self
    }

    /// Refuses a trial in which some bytes did not arrive as sent.
    fn intact(self) -> anyhow::Result<Self> {
        let seed = self.run.seed;
        anyhow::ensure!(
            self.run.intact(),
            "seed {seed}: not every byte arrived as it was sent"
        );
        Ok(self)
    }

    /// Whether it was late even when repeated alone, because this machine is too busy. Such a trial does not
    /// count.
    pub fn is_late(&self) -> bool {
        Duration::from_micros(self.lateness.p99_us) > PUNCTUAL
    }
}

/// The senders' controller, for trials that share one. `None` if they send only UDP.
pub fn sender(observed: &[Observed]) -> Option<&str> {
    observed.first().and_then(|observed| observed.run.cc.as_deref())
}

/// Greatest 99th percentile of packet lateness at which a trial counts.
const PUNCTUAL: Duration = Duration::from_micros(500);
/// Limit for a trial that runs alone and is not repeated.
const HOWEVER_LATE: Duration = Duration::from_secs(1);

/// Runs trials side by side, and repeats a late one alone.
pub fn side_by_side(trials: Vec<Trial>) -> anyhow::Result<Vec<Observed>> {
    run(trials.into_iter().map(job).collect(), PUNCTUAL)
}

/// Condition that the trial with this index must meet, beyond completing. A trial that fails it gives no
/// result.
pub type Holds<'h> = &'h (dyn Fn(usize, &Observed) -> anyhow::Result<()> + Sync);

/// A trial and its way to bound windows. `None`: the best way that the kernel offers.
pub type Bounded = (Trial, Option<WindowKind>);

/// Results of trials, in their order. `None`: the trial gave none.
pub type Outcomes = anyhow::Result<Vec<Option<Observed>>>;

/// Runs trials side by side, and repeats a late one alone. A trial without a result costs no other its own,
/// and is listed in `doubts`.
pub fn each(trials: Vec<Bounded>, holds: Holds<'_>, doubts: &mut Doubts) -> Outcomes {
    let jobs: Vec<Job> = trials.into_iter().map(bounded).collect();
    let outcomes = outcomes(&jobs, PUNCTUAL)?;
    let judged = jobs.iter().zip(outcomes).enumerate();
    Ok(judged
        .map(|(index, (job, outcome))| doubts.judge(job, outcome, |seen| holds(index, seen)))
        .collect())
}

/// Runs trials one after another, and never repeats a late one.
pub fn each_alone(trials: Vec<Bounded>, holds: Holds<'_>, doubts: &mut Doubts) -> Outcomes {
    let mut results = Vec::new();
    for (index, trial) in trials.into_iter().enumerate() {
        let job = bounded(trial);
        for outcome in outcomes(std::slice::from_ref(&job), HOWEVER_LATE)? {
            results.push(doubts.judge(&job, outcome, |seen| holds(index, seen)));
        }
    }
    Ok(results)
}

fn bounded((trial, window): Bounded) -> Job {
    Job { window, ..job(trial) }
}

fn outcomes(jobs: &[Job], punctual: Duration) -> anyhow::Result<Vec<Result<Done, PlayError>>> {
    with_progress(jobs, punctual, batch::run_each)
}

/// Runs a batch of jobs and shows its progress.
fn with_progress<T>(
    jobs: &[Job],
    punctual: Duration,
    run: impl FnOnce(&[Job], &Rules<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let stop = interrupt::stop()?;
    lab::prerequisites::check().map_err(Refused::because)?;
    let progress = Progress::new("trials", jobs.len());
    let rules = Rules {
        punctual,
        stop,
        watch: &|run, event| follow(&progress, jobs, run, event),
    };
    run(jobs, &rules)
}

/// Reasons to doubt figures, which their reader must know.
#[derive(Debug, Default)]
pub struct Doubts {
    /// Trials that were late even when repeated alone: their figures are not fair.
    late: usize,
    /// Trials that gave no figure.
    failed: Vec<Failed>,
}

impl Doubts {
    /// Takes the outcome of a trial, and notes it if there is no result.
    fn judge(
        &mut self,
        job: &Job,
        outcome: Result<Done, PlayError>,
        holds: impl FnOnce(&Observed) -> anyhow::Result<()>,
    ) -> Option<Observed> {
        let whole = outcome
            .map_err(anyhow::Error::from)
            .map(observed)
            .and_then(Observed::intact)
            .and_then(|seen| {
                anyhow::ensure!(
                    seen.flows.len() == job.plan.flows.len(),
                    "a flow never ended, so this trial has no result; please report this"
                );
                seen.ensure_sent_as_asked(lasting(job))?;
                holds(&seen)?;
                Ok(seen)
            });
        whole.map_err(|why| self.failed.push(Failed::of(job, &why))).ok()
    }

    /// Counts the late ones of the trials behind the figures.
    pub fn count_late<'o>(&mut self, observed: impl IntoIterator<Item = &'o Observed>) {
        let late = observed.into_iter().filter(|seen| seen.is_late());
        self.late += late.count();
    }

    /// Doubts about trials that all gave their figures.
    pub fn of<'o>(observed: impl IntoIterator<Item = &'o Observed>) -> Self {
        let mut doubts = Self::default();
        doubts.count_late(observed);
        doubts
    }

    /// Adds the doubts about more trials behind the same figures.
    pub fn add(&mut self, others: Self) {
        self.late += others.late;
        self.failed.extend(others.failed);
    }

    /// Adds the doubts, if any, as fields of the row.
    pub fn note(&self, row: BenchRow) -> BenchRow {
        let row = match self.late {
            0 => row,
            late => row.with("late", late),
        };
        if self.failed.is_empty() {
            return row;
        }
        let failed: Vec<Value> = self.failed.iter().map(Failed::to_value).collect();
        row.with(FAILED, failed)
    }
}

/// Flows that last until the run ends, so that their sockets can be read then. Datagrams have no controller.
/// A connection over a single link may have lost that link by then, and be closed.
fn lasting(job: &Job) -> impl Iterator<Item = &str> {
    let is_over_one = matches!(job.policy, PolicyName::Tcp(_));
    let lasts = |flow: &&Flow| match flow.work {
        Work::Download { size, .. } | Work::Upload { size, .. } => size.is_none(),
        Work::OnOff { .. } | Work::Requests { .. } => true,
        Work::Stripe { .. } | Work::Swarm { .. } | Work::Datagrams { .. } => false,
    };
    let flows = job.plan.flows.iter().filter(lasts);
    flows.filter(move |_| !is_over_one).map(|flow| flow.name.as_str())
}

/// Field of a row that lists the trials without a result.
pub const FAILED: &str = "failed";

/// A trial without a result.
#[derive(Debug)]
struct Failed {
    scenario: String,
    policy: PolicyName,
    cc: String,
    seed: u64,
    why: String,
}

impl Failed {
    fn of(job: &Job, why: &anyhow::Error) -> Self {
        Self {
            scenario: job.plan.name.clone(),
            policy: job.policy.clone(),
            cc: job.plan.cc.clone(),
            seed: job.seed,
            why: format!("{why:#}"),
        }
        .told()
    }

    fn told(self) -> Self {
        let Self {
            scenario,
            policy,
            cc,
            seed,
            why,
        } = &self;
        tell!("{scenario}: {policy}, {cc}, seed {seed} gave no result: {why}");
        self
    }

    fn to_value(&self) -> Value {
        json!({
            "scenario": self.scenario,
            "policy": self.policy.to_string(),
            "cc": self.cc,
            "seed": self.seed,
            "why": self.why,
        })
    }
}

/// Runs trials as [`side_by_side`] does. The flag says whether the senders' `cla` gets radio reports.
pub fn side_by_side_advised(trials: Vec<(Trial, bool)>) -> anyhow::Result<Vec<Observed>> {
    let jobs = trials.into_iter().map(|(trial, advised)| Job {
        unadvised: !advised,
        ..job(trial)
    });
    run(jobs.collect(), PUNCTUAL)
}

/// Runs one trial alone, however late it is: lateness is the measurement.
pub fn alone(trial: Trial) -> anyhow::Result<Observed> {
    only(job(trial))
}

/// Runs one trial alone, and counts the cost of our congestion controller.
pub fn counted(trial: Trial) -> anyhow::Result<Observed> {
    only(Job {
        count_cost: true,
        ..job(trial)
    })
}

fn only(job: Job) -> anyhow::Result<Observed> {
    run(vec![job], HOWEVER_LATE)?
        .pop()
        .context("the trial gave no result")
}

fn run(jobs: Vec<Job>, punctual: Duration) -> anyhow::Result<Vec<Observed>> {
    let done = with_progress(&jobs, punctual, batch::run)?;
    done.into_iter().map(|done| observed(done).intact()).collect()
}

fn job(trial: Trial) -> Job {
    Job {
        plan: trial.plan,
        policy: trial.policy,
        seed: trial.seed,
        programs: None,
        window: None,
        count_cost: false,
        unadvised: false,
        record: false,
    }
}

/// Shows the progress of trials: a bar on a terminal, elsewhere one line for each.
fn follow(progress: &Progress, jobs: &[Job], run: usize, event: &trace::Event) {
    let Job {
        plan, policy, seed, ..
    } = &jobs[run];
    let name = &plan.name;
    match event.what {
        What::RunStart(_) => progress.begin(run, format_args!("{name}, {policy}, seed {seed}")),
        What::RunEnd { .. } => progress.end_with(
            run,
            format_args!(
                "{name}: trial {} of {}, {policy}, seed {seed}",
                run + 1,
                jobs.len()
            ),
        ),
        _ => progress.part(run, event.at().as_secs_f64() / plan.duration.as_secs_f64()),
    }
}

fn observed(done: Done) -> Observed {
    let Done { played, lateness, .. } = done;
    Observed {
        cores: played.emulator.cores(),
        per_ack: played.per_ack,
        controllers: played.controllers,
        advised: played.advised,
        flows: played.flows,
        daemon: played.daemon,
        run: played.run,
        record: played.record,
        lateness,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::plans;

    fn failed() -> Failed {
        Failed {
            scenario: "mix-3".to_owned(),
            policy: PolicyName::Mptcp,
            cc: "bbr".to_owned(),
            seed: 3_001,
            why: "the run is void".to_owned(),
        }
    }

    fn seen(p99_us: u64) -> Observed {
        let mut seen = Observed::blank();
        seen.lateness.p99_us = p99_us;
        seen
    }

    #[test]
    fn a_trial_that_was_sent_with_another_controller_gives_no_result() {
        let asked = |seen: &Observed| {
            seen.ensure_sent_as_asked(["download"])
                .map_err(|error| error.to_string())
        };
        let mut seen = Observed::blank();
        let unread = asked(&seen).unwrap_err();
        assert!(unread.contains("no socket that sends download"), "{unread}");
        seen.controllers.confirmed.insert("download".to_owned(), 3);
        assert_eq!(asked(&seen), Ok(()));
        let stranger = "3 sockets of the server used reno instead of bbr for download";
        seen.controllers.strangers.push(stranger.to_owned());
        let refused = asked(&seen).unwrap_err();
        assert!(refused.contains(stranger), "{refused}");
    }

    #[test]
    fn whoever_sends_until_the_end_is_read_back_and_over_one_link_nobody() {
        let text = "sentence = \"x\"\nduration_s = 9\n[cables.a]\nrate_mbps = 9\nrtt_ms = 9\n\
            [flows.film]\ndirection = \"down\"\n[flows.page]\ndirection = \"down\"\nsize_mb = 1\n\
            [flows.asks]\nrequests = { every_s = 1, reply_kb = 1 }\n";
        let names = |policy| {
            let plan = plans::embedded("x", text).unwrap();
            let made = job(Trial {
                plan,
                policy,
                seed: 1,
            });
            lasting(&made).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(names(PolicyName::Slowhand), ["film", "asks"]);
        assert_eq!(names(PolicyName::Tcp("a".to_owned())), [""; 0]);
    }

    #[test]
    fn trials_that_were_late_twice_are_counted_in_the_row() {
        let row = |seen: &[Observed]| Doubts::of(seen).note(crate::catalogue::row("cc-share-2"));
        assert_eq!(row(&[seen(499), seen(501), seen(2_000)]).extra["late"], 2);
        assert!(row(&[seen(500)]).extra.is_empty());
    }

    #[test]
    fn what_speaks_against_the_figures_is_in_the_row() {
        let row = || crate::catalogue::row("window-mixes");
        assert!(Doubts::default().note(row()).extra.is_empty());
        let mut doubts = Doubts {
            late: 1,
            failed: Vec::new(),
        };
        doubts.add(Doubts {
            late: 2,
            failed: vec![failed()],
        });
        let extra = doubts.note(row()).extra;
        assert_eq!(extra["late"], 3);
        let told = json!([{
            "scenario": "mix-3", "policy": "mptcp", "cc": "bbr", "seed": 3_001, "why": "the run is void"
        }]);
        assert_eq!(extra[FAILED], told);
    }
}

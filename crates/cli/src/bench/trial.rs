//! Trials in the lab: side by side while the emulator is punctual, or alone.

use anyhow::Context as _;
use lab::world::{Advised, FlowDetail, ReadBack};
use linux::bpf::{RunTime, WindowKind};
use linux::daemon;
use scenario::Plan;
use trace::{LatenessUs, PolicyName, Run, RunRecord};
use units::Duration;

use crate::batch::{self, Done, Job, Rules};
use crate::exit::Refused;
use crate::interrupt;

/// One run of a benchmark.
#[derive(Debug, Clone)]
pub struct Trial {
    /// What happens.
    pub plan: Plan,
    /// Who decides.
    pub policy: PolicyName,
    /// The seed of everything random.
    pub seed: u64,
}

/// What a trial came to.
#[derive(Debug)]
pub struct Observed {
    /// Its result.
    pub run: Run,
    /// Everything that happened.
    pub record: RunRecord,
    /// What each flow's receiving application saw.
    pub flows: Vec<FlowDetail>,
    /// How late packets left the emulator.
    pub lateness: LatenessUs,
    /// Processors that the emulator used.
    pub cores: f64,
    /// Everything the daemon knew at the end.
    pub daemon: Option<daemon::Report>,
    /// What our congestion controller took per acknowledgement, if that was counted.
    pub per_ack: Option<RunTime>,
    /// Which controllers its sockets really used.
    pub controllers: ReadBack,
    /// What the senders' `cla` was told of the client's signals.
    pub advised: Option<Advised>,
}

impl Observed {
    /// The flow of a plan that has one.
    pub fn only_flow(&self) -> anyhow::Result<&FlowDetail> {
        let seed = self.run.seed;
        self.flows.first().with_context(|| {
            format!("seed {seed}: the flow came to no end, so that this trial measured nothing; please report this")
        })
    }

    /// Whether it does not count although it was repeated alone: this machine is too busy.
    pub fn is_late(&self) -> bool {
        Duration::from_micros(self.lateness.p99_us) > PUNCTUAL
    }
}

/// The senders' controller, of trials that have the same one.
pub fn sender(observed: &[Observed]) -> Option<&str> {
    observed.first().map(|observed| observed.run.cc.as_str())
}

/// A trial counts while 99 % of the packets are less late than this.
const PUNCTUAL: Duration = Duration::from_micros(500);

/// Runs trials side by side; a late one is repeated alone.
pub fn side_by_side(trials: Vec<Trial>) -> anyhow::Result<Vec<Observed>> {
    run(trials.into_iter().map(job).collect(), PUNCTUAL)
}

/// The same; nobody tells the senders' `cla` of the radio where that is said.
pub fn side_by_side_advised(trials: Vec<(Trial, bool)>) -> anyhow::Result<Vec<Observed>> {
    let jobs = trials.into_iter().map(|(trial, advised)| Job {
        unadvised: !advised,
        ..job(trial)
    });
    run(jobs.collect(), PUNCTUAL)
}

/// Runs one trial with the machine to itself, however late it is: lateness is what is measured.
pub fn alone(trial: Trial) -> anyhow::Result<Observed> {
    only(job(trial))
}

/// The same, with windows bounded in this way.
pub fn alone_with(trial: Trial, window: Option<WindowKind>) -> anyhow::Result<Observed> {
    only(Job { window, ..job(trial) })
}

/// The same, and the cost of our congestion controller is counted.
pub fn counted(trial: Trial) -> anyhow::Result<Observed> {
    only(Job {
        count_cost: true,
        ..job(trial)
    })
}

fn only(job: Job) -> anyhow::Result<Observed> {
    run(vec![job], Duration::from_secs(1))?
        .pop()
        .context("the trial gave no result")
}

fn run(jobs: Vec<Job>, punctual: Duration) -> anyhow::Result<Vec<Observed>> {
    let stop = interrupt::stop()?;
    lab::prerequisites::check().map_err(Refused::because)?;
    let rules = Rules {
        punctual,
        stop,
        watch: &|run, event| tell(&jobs, run, event),
    };
    let observed: Vec<Observed> = batch::run(&jobs, &rules)?.into_iter().map(observed).collect();
    let broken = observed.iter().find(|observed| !observed.run.intact());
    match broken {
        Some(broken) => anyhow::bail!("seed {}: not every byte arrived as it was sent", broken.run.seed),
        None => Ok(observed),
    }
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
    }
}

/// One line for each trial, on standard error.
fn tell(jobs: &[Job], run: usize, event: &trace::Event) {
    if matches!(event.what, trace::What::RunEnd { .. }) {
        let job = &jobs[run];
        eprintln!(
            "{}: trial {} of {}, {}, seed {}",
            job.plan.name,
            run + 1,
            jobs.len(),
            job.policy,
            job.seed
        );
    }
}

fn observed(done: Done) -> Observed {
    let Done { played, lateness } = done;
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

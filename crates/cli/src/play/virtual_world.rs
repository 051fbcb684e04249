//! Scenarios in virtual time: one run, or every combination of values, seeds and policies on all cores.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant as Wall;

use lab::stop::Stop;
use record::Buffer;
use scenario::{Plan, ScenarioFile, Setting};
use sim::{CastError, Play, Played};
use trace::{PlayDocument, PlaySchema, PolicyName, RunRecord, Shown, World};

use super::files::{self, Files};
use super::paint::paint;
use super::recordings::{Of, Recordings};
use super::results::{Outputs, Results};
use super::table::{Swept, case};
use super::{Args, Wanted, comparison, report, selection, world};
use runs::interrupt;
use runs::progress::Progress;
use runs::seed::MOST_RUNS;
use show::exit::{self, Refused};
use show::tell;
use show::terminal;

/// One run of a sweep.
#[derive(Debug, Clone)]
pub struct Job {
    /// The scenario with the values of this run, shared by those that differ in seed and policy only.
    pub plan: Arc<Plan>,
    /// The values that differ from run to run.
    pub settings: Vec<Setting>,
    /// The policy.
    pub policy: PolicyName,
    /// All policies that it is compared with, in the order of the request, computed ones included.
    pub compared: Arc<[PolicyName]>,
    /// The seed of everything random.
    pub seed: u64,
}

impl Job {
    /// The scenario with its seed.
    fn seeded(&self) -> Plan {
        Plan::clone(&self.plan).with_seed(self.seed)
    }

    /// The parts of its recording's name, if it is the job with this index.
    fn called(&self, index: usize) -> Of<'_> {
        Of {
            scenario: &self.plan.name,
            policy: &self.policy,
            seed: self.seed,
            number: (!self.settings.is_empty()).then_some(index + 1),
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, seed {}", self.policy, self.seed)?;
        self.settings
            .iter()
            .try_for_each(|setting| write!(f, ", {}", Shown(&setting.to_string())))
    }
}

/// Plays the scenario in virtual time, shows the results, and judges the expectations.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.shell.is_some() {
        return Err(Refused::because(
            "--shell: virtual time cannot run programs; use --world lab",
        ));
    }
    conduct(args, &jobs(args)?)
}

/// Plays a scenario that is part of the program, under every policy that it compares.
pub fn compare(plan: Plan, wanted: Wanted) -> anyhow::Result<ExitCode> {
    sim::check(&plan).map_err(|error| refused(&plan, &error))?;
    let policies = selection::policies(&plan, &[], true)?;
    plan.doubts().for_each(|doubt| tell!("{doubt}"));
    let seed = plan.seed;
    let jobs: Vec<Job> = of_combination(plan, &[], &policies, seed..seed + 1).collect();
    let args = Args {
        wanted,
        ..Args::default()
    };
    conduct(&args, &jobs)
}

fn conduct(args: &Args, jobs: &[Job]) -> anyhow::Result<ExitCode> {
    let begun = Wall::now();
    check_outputs(args, jobs)?;
    // Only now: a scenario that comes out of a pipe may never come, and a signal must end that.
    let stop = interrupt::stop()?;
    let files = Files::create(&args.wanted)?;
    let capture = files::whole(args.capture.as_deref())?;
    let recordings = Recordings::open(args.record.as_deref())?;
    let mut done = sweep(args, jobs, recordings, stop)?;
    if let Some(capture) = capture {
        capture.write(&done[0].capture.take().unwrap_or_default())?;
    }
    let stopped = done.iter().any(|run| run.stopped.is_some());
    let (jobs, played) = assemble(jobs, done, begun);
    let failures = comparison::failures(&jobs, &played.document.runs);
    let is_one = comparison::is_one(&jobs);
    // The table of one comparison has its verdicts.
    if args.wanted.json || !is_one {
        failures.iter().for_each(|line| tell!("{line}"));
    }
    if is_one {
        files.write(&played)?;
    } else {
        files.write_study(&played.document, &jobs[0].plan.sentence)?;
    }
    show(args, &jobs, &played)?;
    Ok(if failures.is_empty() && !stopped {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Plays all jobs side by side. The results are in the order of the jobs, as are the rows of the trace and of
/// the table.
fn sweep(
    args: &Args,
    jobs: &[Job],
    recordings: Option<Recordings>,
    stop: &Stop,
) -> anyhow::Result<Vec<Played>> {
    let has_picture = args.wanted.html.is_some() || args.wanted.svg.is_some();
    let wishes = Outputs {
        trace: args.wanted.trace.as_deref(),
        table: args.table.as_deref(),
        keeps_records: has_picture && comparison::is_one(jobs),
    };
    let results = Results::new(&wishes, Swept::of(jobs), jobs.len(), stop)?;
    let numbered: Vec<(usize, &Job)> = jobs.iter().enumerate().collect();
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let side_by_side = args.jobs.map_or_else(cores, usize::from);
    let (most, flag) = (args.most.unwrap_or(Play::MOST), stop.flag());
    let progress = Progress::new("runs", jobs.len());
    let done = sim::sweep(&numbered, side_by_side, |&(index, job)| {
        (!stop.is_stopped()).then(|| {
            progress.begin(index, job);
            let plan = job.seeded();
            let buffer = recordings.as_ref().map(|_| Buffer::default());
            let played = sim::play(&Play {
                most,
                capture: args.capture.is_some(),
                events: wishes.trace.is_some() || wishes.keeps_records,
                record: buffer.clone(),
                stop: Some(&flag),
                ..Play::new(&plan, job.policy.clone())
            });
            if let (Some(recordings), Some(buffer)) = (&recordings, buffer) {
                recordings.keep(job.called(index), Some(&buffer.take()));
            }
            progress.end(index);
            played.map(|played| results.take(index, job, with_values(played, job)))
        })
    });
    drop(progress);
    let done: Vec<Option<Played>> = std::iter::zip(jobs, done)
        .map(|(job, played)| played.transpose().map_err(|error| refused(&job.plan, &error)))
        .collect::<Result<_, _>>()?;
    recordings.map_or(Ok(()), Recordings::finish)?;
    results.finish(jobs, done)
}

/// Plays all jobs, for a comparison with another world.
pub fn play(args: &Args, jobs: &[Job]) -> anyhow::Result<world::Played> {
    let begun = Wall::now();
    let done = sweep(args, jobs, None, interrupt::stop()?)?;
    Ok(assemble(jobs, done, begun).1)
}

fn show(args: &Args, jobs: &[Job], played: &world::Played) -> anyhow::Result<()> {
    let (document, plan) = (&played.document, &jobs[0].plan);
    if args.wanted.json {
        return exit::print_document(document);
    }
    let text = if comparison::is_one(jobs) {
        report::text(plan, played)
    } else {
        let output = io::stdout();
        dash::terminal::study(document, &plan.sentence, paint(&output), terminal::width(&output))
    };
    exit::print(text.as_bytes())
}

fn check_outputs(args: &Args, jobs: &[Job]) -> anyhow::Result<()> {
    if args.capture.is_some() && jobs.len() > 1 {
        return Err(Refused::because(format!(
            "--capture: there would be {} runs, and a capture is of one; give one seed, one policy and one value for each key",
            jobs.len()
        )));
    }
    let more = [("--table", &args.table), ("--capture", &args.capture)];
    let more = more
        .into_iter()
        .filter_map(|(option, path)| Some((option, path.as_deref()?)));
    let outputs: Vec<(&str, &Path)> = args.wanted.outputs().chain(more).collect();
    // The scenario of the demonstration is no file.
    let file = Some(&*args.file).filter(|file| !file.as_os_str().is_empty());
    files::check(&outputs, file, jobs.iter().map(|job| &*job.plan))
}

fn with_values(mut played: Played, job: &Job) -> Played {
    let values = job.settings.iter().map(|setting| format!("with {setting}"));
    played.run.notes.splice(0..0, values);
    played.run.case = case(&job.settings);
    played
}

/// The results, with the computed runs, and the job of each run.
fn assemble(jobs: &[Job], done: Vec<Played>, begun: Wall) -> (Vec<Job>, world::Played) {
    let (runs, records) = done.into_iter().map(|played| (played.run, played.record)).unzip();
    let records: Vec<RunRecord> = records;
    let (jobs, runs) = comparison::completed(jobs, runs);
    let played = world::Played {
        document: PlayDocument {
            schema: PlaySchema,
            scenario: jobs[0].plan.name.clone(),
            world: World::Sim,
            seed: jobs[0].seed,
            runs,
            wall_s: begun.elapsed().as_secs_f64(),
        },
        records: records
            .into_iter()
            .filter(|record| !record.events.is_empty())
            .collect(),
        programs: Vec::new(),
    };
    (jobs, played)
}

/// A refusal with the place of its reason in the scenario.
fn refused(plan: &Plan, error: &CastError) -> anyhow::Error {
    Refused::because(plan.spots.say(error.about(), error))
}

/// Makes the senders use this congestion controller.
fn set_controller(plan: &mut Plan, cc: Option<&str>) -> anyhow::Result<()> {
    let Some(cc) = cc else { return Ok(()) };
    if !plan.sends_by_tcp() {
        return Err(Refused::because(format!(
            "--cc {}: all flows of {} are UDP, which has no congestion control; remove --cc",
            Shown(cc),
            Shown(&plan.name)
        )));
    }
    cc.clone_into(&mut plan.cc);
    Ok(())
}

/// Every combination, all of them checked before the first is run.
pub fn jobs(args: &Args) -> anyhow::Result<Vec<Job>> {
    let combinations = combinations(args)?;
    let file = ScenarioFile::read(&args.file).map_err(Refused::because)?;
    let (mut jobs, mut doubts) = (Vec::new(), BTreeSet::new());
    for settings in combinations {
        let mut plan = file.plan(&settings.all).map_err(Refused::because)?;
        set_controller(&mut plan, args.cc.as_deref())?;
        sim::check(&plan).map_err(|error| refused(&plan, &error))?;
        let policies = selection::policies(&plan, &args.policies, args.compare)?;
        let made = policies.iter().filter(|policy| !policy.is_computed()).count();
        let one = args.seed.unwrap_or(plan.seed);
        let seeds = args.seeds.clone().unwrap_or(one..one + 1);
        refuse_too_many(jobs.len() as u64, &[seeds.end - seeds.start, made as u64])?;
        doubts.extend(plan.doubts());
        jobs.extend(of_combination(plan, &settings.varied, &policies, seeds));
    }
    doubts.iter().for_each(|doubt| tell!("{doubt}"));
    Ok(jobs)
}

/// The runs of a plan with these values, seed by seed.
fn of_combination(
    plan: Plan,
    settings: &[Setting],
    policies: &[PolicyName],
    seeds: std::ops::Range<u64>,
) -> impl Iterator<Item = Job> {
    let (plan, compared) = (Arc::new(plan), Arc::<[PolicyName]>::from(policies));
    let made: Vec<PolicyName> = compared
        .iter()
        .filter(|policy| !policy.is_computed())
        .cloned()
        .collect();
    let settings = settings.to_vec();
    seeds.flat_map(move |seed| {
        let job = |policy: &PolicyName| Job {
            plan: Arc::clone(&plan),
            settings: settings.clone(),
            policy: policy.clone(),
            compared: Arc::clone(&compared),
            seed,
        };
        made.iter().map(job).collect::<Vec<_>>()
    })
}

/// Refuses too many runs: `before`, and the product of `factors`.
fn refuse_too_many(before: u64, factors: &[u64]) -> anyhow::Result<()> {
    let more = factors
        .iter()
        .try_fold(1_u64, |product, factor| product.checked_mul(*factor));
    let all = more.and_then(|more| more.checked_add(before));
    if all.is_none_or(|all| all > MOST_RUNS) {
        return Err(Refused::because(format!(
            "more than {MOST_RUNS} runs; give fewer seeds or fewer values"
        )));
    }
    Ok(())
}

/// Values of one run.
#[derive(Debug, Clone, Default)]
struct Values {
    all: Vec<Setting>,
    /// Values of the keys that are swept.
    varied: Vec<Setting>,
}

/// Every combination of the values that the keys are given.
fn combinations(args: &Args) -> anyhow::Result<Vec<Values>> {
    let texts = args.settings.iter();
    let given: Vec<Vec<Setting>> = texts
        .map(|text| Setting::alternatives(text).map_err(Refused::because))
        .collect::<Result<_, _>>()?;
    refuse_contradictions(args, &given)?;
    let counts: Vec<u64> = given.iter().map(|values| values.len() as u64).collect();
    refuse_too_many(0, &counts)?;
    Ok(multiplied(&given))
}

fn multiplied(given: &[Vec<Setting>]) -> Vec<Values> {
    let mut found = vec![Values::default()];
    for values in given {
        let varies = values.len() > 1;
        let with = |before: &Values, value: &Setting| {
            let mut next = before.clone();
            next.all.push(value.clone());
            if varies {
                next.varied.push(value.clone());
            }
            next
        };
        found = found
            .iter()
            .flat_map(|before| values.iter().map(|value| with(before, value)).collect::<Vec<_>>())
            .collect();
    }
    found
}

/// Refuses two sweeps over one thing, of which one would have no effect.
fn refuse_contradictions(args: &Args, given: &[Vec<Setting>]) -> anyhow::Result<()> {
    let key = |values: &[Setting]| values.first().map_or("", Setting::key).to_owned();
    for (place, values) in given.iter().enumerate() {
        let key = key(values);
        let option = match (&args.seeds, args.seed) {
            (Some(_), _) => Some("--seeds"),
            (None, Some(_)) => Some("--seed"),
            (None, None) => None,
        };
        if let Some(option) = option.filter(|_| key == "seed") {
            return Err(Refused::because(format!(
                "--set seed=… and {option} both set the seeds; remove one of them"
            )));
        }
        let same = |other: &&Vec<Setting>| other.first().map_or("", Setting::key) == key;
        let other = given[..place].iter().find(same);
        if other.is_some_and(|other| other.len() > 1 || values.len() > 1) {
            return Err(Refused::because(format!(
                "--set {}=…: given twice, once with several values; give all values in one --set",
                Shown(&key)
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_values_is_a_job() {
        let given = ["a.b=1,2", "c=7", "d=x,y,z"].map(|text| Setting::alternatives(text).unwrap());
        let all = multiplied(&given);
        assert_eq!(all.len(), 6);
        let shown: Vec<String> = all[4].varied.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a.b=2", "d=y"]);
        assert!(all.iter().all(|values| values.all.len() == 3));
    }
    #[test]
    fn too_many_runs_are_refused_before_they_are_created() {
        assert!(refuse_too_many(0, &[1_000, 1_000]).is_ok());
        for (before, factors) in [(1, [1_000, 1_000]), (0, [u64::MAX, 2]), (u64::MAX, [1, 1])] {
            let error = refuse_too_many(before, &factors).unwrap_err().to_string();
            assert_eq!(error, "more than 1000000 runs; give fewer seeds or fewer values");
        }
    }
}

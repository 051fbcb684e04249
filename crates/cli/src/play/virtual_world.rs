//! Scenarios in virtual time: one run, or every combination of values, seeds and policies on all cores.

use std::time::Instant as Wall;

use scenario::{Plan, Setting};
use sim::{Cast, CastError, Play, Played};
use trace::{PlayDocument, PlaySchema, PolicyName, RunRecord, World};

use super::files::{self, Files};
use super::{Args, report, selection, world};
use crate::exit::{self, Refused};
use std::process::ExitCode;

/// One run of a sweep.
#[derive(Debug, Clone)]
pub struct Job {
    /// The scenario with the values of this run.
    pub plan: Plan,
    /// The values that differ from run to run.
    pub settings: Vec<Setting>,
    /// Who listens.
    pub policy: PolicyName,
    /// The seed of everything random.
    pub seed: u64,
}

/// Plays, shows, judges.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.shell.is_some() {
        return Err(Refused::because(
            "--shell: programs run on the kernel, and virtual time has none; use --world lab",
        ));
    }
    let begun = Wall::now();
    let jobs = jobs(args)?;
    let single = jobs.len() == 1;
    if args.capture.is_some() && !single {
        return Err(Refused::because(format!(
            "--capture: {} runs would be {0} captures; give one seed, one policy and one value for each key",
            jobs.len()
        )));
    }
    let files = Files::create(&args.wanted)?;
    let (table, capture) = (files::created(&args.table)?, files::created(&args.capture)?);
    let keep = args.wanted.wants_records();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = args.most.unwrap_or(Play::MOST);
    let done = sim::sweep(&jobs, cores, |job| {
        play(job, most, single && capture.is_some(), keep)
    });
    let mut done: Vec<Played> = std::iter::zip(&jobs, done)
        .map(|(job, played)| played.map_err(|error| refused(&job.plan, &error)))
        .collect::<Result<_, _>>()?;
    let rows = super::table::table(&jobs, &done);
    if let Some(capture) = capture {
        capture.write(&done[0].capture.take().unwrap_or_default())?;
    }
    if let Some(table) = table {
        table.write_table(&rows)?;
    }
    let stopped = done.iter().any(|run| run.stopped.is_some());
    let played = assemble(&jobs, done, begun);
    let failures = failures(&jobs, &played);
    // The picture of a single run has its verdicts.
    if args.wanted.json || !single {
        failures.iter().for_each(|line| tell!("{line}"));
    }
    let shown = if args.wanted.json {
        format!("{}\n", serde_json::to_string_pretty(&played.document)?)
    } else if single {
        report::text(&jobs[0].plan, &played)
    } else {
        super::table::text(&jobs, &played.document)
    };
    files.write(&played)?;
    exit::print(shown.as_bytes())?;
    Ok(if failures.is_empty() && !stopped {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn play(job: &Job, most: u64, capture: bool, keep: bool) -> Result<Played, CastError> {
    let mut played = sim::play(&Play {
        seed: job.seed,
        most,
        capture,
        ..Play::new(&job.plan, job.policy.clone())
    })?;
    let values = job.settings.iter().map(|setting| format!("with {setting}"));
    let notes = values.chain(std::mem::take(&mut played.run.notes)).collect();
    played.run.notes = notes;
    if !keep {
        played.record = RunRecord { events: Vec::new() };
    }
    Ok(played)
}

/// What does not hold, run by run.
fn failures(jobs: &[Job], played: &world::Played) -> Vec<String> {
    let mut failed = Vec::new();
    for (job, run) in jobs.iter().zip(&played.document.runs) {
        let verdicts = scenario::judge(&job.plan, std::slice::from_ref(run));
        let broken = verdicts
            .iter()
            .filter(|verdict| verdict.outcome == scenario::Outcome::Fails);
        let values: String = job
            .settings
            .iter()
            .map(|value| format!(" with {value}"))
            .collect();
        failed.extend(broken.map(|verdict| format!("{verdict}{values}")));
    }
    failed
}

fn assemble(jobs: &[Job], done: Vec<Played>, begun: Wall) -> world::Played {
    let (runs, records) = done.into_iter().map(|played| (played.run, played.record)).unzip();
    let records: Vec<RunRecord> = records;
    world::Played {
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
    }
}

/// A refusal that says where in the scenario its reason stands.
fn refused(plan: &Plan, error: &CastError) -> anyhow::Error {
    Refused::because(plan.spots.say(error.about(), error))
}

/// Every combination, all of them checked before the first is run.
fn jobs(args: &Args) -> anyhow::Result<Vec<Job>> {
    if let Some(cc) = &args.cc {
        return Err(Refused::because(format!(
            "--cc {cc}: no scenario has a congestion controller in virtual time, as all flows are UDP; leave it out, or play in the lab"
        )));
    }
    let mut jobs = Vec::new();
    for settings in combinations(&args.settings)? {
        let plan = scenario::load(&args.file, &settings.all).map_err(Refused::because)?;
        Cast::of(&plan).map_err(|error| refused(&plan, &error))?;
        let policies = selection::policies(&plan, &args.policies, args.compare)?;
        let seeds = match &args.seeds {
            Some(seeds) => seeds.clone(),
            None => args.seed.unwrap_or(plan.seed)..args.seed.unwrap_or(plan.seed).saturating_add(1),
        };
        for seed in seeds {
            let wanted = policies.iter().filter(|policy| !policy.is_computed());
            jobs.extend(wanted.map(|policy| Job {
                plan: Plan { seed, ..plan.clone() },
                settings: settings.varied.clone(),
                policy: policy.clone(),
                seed,
            }));
        }
    }
    Ok(jobs)
}

/// Values of one run.
#[derive(Debug, Clone, Default)]
struct Values {
    all: Vec<Setting>,
    /// Those of keys that have several.
    varied: Vec<Setting>,
}

/// Every combination of the values that the keys are given.
fn combinations(texts: &[String]) -> anyhow::Result<Vec<Values>> {
    let mut found = vec![Values::default()];
    for text in texts {
        let values = Setting::alternatives(text).map_err(Refused::because)?;
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
    Ok(found)
}

/// `A..B`: the seeds from A to the one before B.
pub fn seeds(text: &str) -> Result<std::ops::Range<u64>, String> {
    let wrong = || format!("`{text}` is no range of seeds; write A..B, such as 0..100 for a hundred");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let (from, to): (u64, u64) = (
        from.parse().map_err(|_| wrong())?,
        to.parse().map_err(|_| wrong())?,
    );
    if from >= to {
        return Err(wrong());
    }
    if to - from > MOST_SEEDS {
        return Err(format!(
            "`{text}` are {} seeds; give at most {MOST_SEEDS} at a time",
            to - from
        ));
    }
    Ok(from..to)
}

/// More runs than anybody waits for.
const MOST_SEEDS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_seeds_ends_before_its_end() {
        assert_eq!(seeds("0..100"), Ok(0..100));
        for wrong in ["5", "5..5", "7..5", "a..b"] {
            let error = seeds(wrong).unwrap_err();
            assert!(error.contains("write A..B"), "{error}");
        }
        assert_eq!(
            seeds("1..1000002").unwrap_err(),
            "`1..1000002` are 1000001 seeds; give at most 1000000 at a time"
        );
    }

    #[test]
    fn every_value_meets_every_other() {
        let texts = ["a.b=1,2".to_owned(), "c=7".to_owned(), "d=x,y,z".to_owned()];
        let all = combinations(&texts).unwrap();
        assert_eq!(all.len(), 6);
        let shown: Vec<String> = all[4].varied.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a.b=2", "d=y"]);
        assert!(all.iter().all(|values| values.all.len() == 3));
    }
}

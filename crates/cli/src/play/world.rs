//! Plays an order in the lab and returns the results.

use std::time::Instant as Wall;

use lab::shell::{Programs, ProgramsEnded};
use scenario::Plan;
use trace::{PlayDocument, PlaySchema, PolicyName, Run, RunRecord, World};
use units::Duration;

use super::recordings::{Of, Recordings};
use super::rows::LiveTrace;
use super::screen::Screen;
use runs::batch::{self, Done, Job, Rules};
use runs::interrupt;
use show::exit;
use show::output::Rows;
use show::tell;

/// A comparison is fair while 99 % of the packets are less late than this.
const PUNCTUAL: Duration = Duration::from_millis(1);

/// The order: what to play.
pub struct Order<'o> {
    /// The scenario; its seed and controller are those of the run.
    pub plan: &'o Plan,
    /// The policies, in the order of the result.
    pub policies: &'o [PolicyName],
    /// Programs instead of the scenario's flows.
    pub programs: Option<Programs>,
    /// Where recordings of the engines go.
    pub recordings: Option<Recordings>,
}

/// The results.
pub struct Played {
    /// The result, one run for each policy.
    pub document: PlayDocument,
    /// Everything that happened, one record for each run that was made.
    pub records: Vec<RunRecord>,
    /// How the programs of each policy ended, if programs were run.
    pub programs: Vec<(PolicyName, ProgramsEnded)>,
}

/// Plays. Rows of a trace are written during the run, so that they are there however it ends. If all runs
/// complete, the file has each run once, in order of time.
pub fn play(mut order: Order<'_>, trace: Option<Rows>) -> anyhow::Result<Played> {
    let begun = Wall::now();
    let made: Vec<PolicyName> = order
        .policies
        .iter()
        .filter(|policy| !policy.is_computed())
        .cloned()
        .collect();
    let job = |policy: &PolicyName| Job {
        plan: order.plan.clone(),
        policy: policy.clone(),
        seed: order.plan.seed,
        programs: order.programs.clone(),
        window: None,
        count_cost: false,
        unadvised: false,
        record: order.recordings.is_some(),
    };
    let screen = Screen::new(&made, order.plan.duration, order.programs.is_none());
    let live = LiveTrace::new(trace, made.len());
    let watch = |run: usize, event: &trace::Event| {
        live.observe(run, event);
        screen.observe(run, event);
    };
    let rules = Rules {
        punctual: PUNCTUAL,
        stop: interrupt::stop()?,
        watch: &watch,
    };
    let done = batch::run(&made.iter().map(job).collect::<Vec<_>>(), &rules);
    screen.close();
    let rows = live.finish();
    match done {
        Ok(done) => {
            let recordings = order.recordings.take();
            recordings.map_or(Ok(()), |recordings| keep(recordings, order.plan, &done))?;
            let played = assemble(&order, done, begun);
            if let Some(rows) = rows {
                rows.finish_with(|out| trace::write_runs(out, &played.records))?;
            }
            Ok(played)
        }
        Err(error) => {
            let kept = rows.filter(Rows::has_begun).map_or(Ok(()), Rows::finish);
            // The cause of the end matters more than a failure to write the trace.
            kept.unwrap_or_else(|unwritten| tell!("{}", exit::sentence(&unwritten)));
            Err(error)
        }
    }
}

fn keep(recordings: Recordings, plan: &Plan, done: &[Done]) -> anyhow::Result<()> {
    for one in done {
        let of = Of {
            scenario: &plan.name,
            policy: &one.played.run.policy,
            seed: one.played.run.seed,
            number: None,
        };
        recordings.keep(of, one.recording.as_deref());
    }
    recordings.finish()
}

fn assemble(order: &Order<'_>, done: Vec<Done>, begun: Wall) -> Played {
    let (mut runs, mut records, mut programs) = (Vec::new(), Vec::new(), Vec::new());
    for Done { played, .. } in done {
        programs.extend(played.programs.map(|ended| (played.run.policy.clone(), ended)));
        runs.push(played.run);
        records.push(played.record);
    }
    let document = PlayDocument {
        schema: PlaySchema,
        scenario: order.plan.name.clone(),
        world: World::Lab,
        seed: order.plan.seed,
        runs: in_order(order.policies, runs),
        wall_s: begun.elapsed().as_secs_f64(),
    };
    Played {
        document,
        records,
        programs,
    }
}

/// The runs of one seed in the order of the request, with the computed one in its place.
pub fn in_order(policies: &[PolicyName], runs: Vec<Run>) -> Vec<Run> {
    let best = trace::tcp_best(&runs);
    let mut made = runs.into_iter();
    let run = |policy: &PolicyName| {
        if policy.is_computed() {
            best.clone()
        } else {
            made.next()
        }
    };
    policies.iter().filter_map(run).collect()
}

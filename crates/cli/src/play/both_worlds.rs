//! One scenario in both worlds: in virtual time, then in the lab.

use std::process::ExitCode;

use scenario::Plan;
use trace::{PlayDocument, PlaySchema, World};

use super::files::{self, Files};
use super::world::{self, Order, Played};
use super::{Args, report, selection, virtual_world};
use runs::interrupt;
use show::exit::{self, Refused};
use show::tell;
use show::terminal;

/// Plays the scenario in both worlds, shows the results, and judges the expectations.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    only_in_one_world(args)?;
    let plan = super::plan(args)?;
    let policies = selection::policies(&plan, &args.policies, args.compare)?;
    // Virtual time refuses more scenarios, so it comes first.
    let jobs = virtual_world::jobs(args)?;
    let outputs: Vec<_> = args.wanted.outputs().collect();
    files::check(&outputs, Some(&args.file), [&plan])?;
    // A signal must end the check of the lab, too.
    interrupt::stop()?;
    lab::prerequisites::check().map_err(Refused::because)?;
    let files = Files::create(&args.wanted)?;
    let sim = virtual_world::play(args, &jobs)?;
    let order = Order {
        plan: &plan,
        policies: &policies,
        programs: None,
        recordings: None,
    };
    let lab = world::play(order, None)?;
    let failures = failures(&plan, [&sim, &lab]);
    let played = joined(sim, lab);
    files.write(&played)?;
    show(args, &plan, &played, &failures)?;
    Ok(if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Refuses options that are about the runs of one world.
fn only_in_one_world(args: &Args) -> anyhow::Result<()> {
    let asked = [
        ("--seeds", args.seeds.is_some()),
        ("--jobs", args.jobs.is_some()),
        ("--table", args.table.is_some()),
        ("--capture", args.capture.is_some()),
        ("--most", args.most.is_some()),
        ("--shell", args.shell.is_some()),
        ("--record", args.record.is_some()),
        ("--trace", args.wanted.trace.is_some()),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        Some((option, _)) => Err(Refused::because(format!(
            "{option} is for one world at a time; use --world sim or --world lab, or remove {option}"
        ))),
        None => Ok(()),
    }
}

/// Expectations that do not hold, each with its world.
fn failures(plan: &Plan, worlds: [&Played; 2]) -> Vec<String> {
    let of = |played: &Played| {
        let world = played.document.world;
        let failures = report::failures(plan, played).into_iter();
        failures.map(move |failure| format!("{world}: {failure}"))
    };
    worlds.into_iter().flat_map(of).collect()
}

/// Results of both worlds, each run with its world.
fn joined(sim: Played, lab: Played) -> Played {
    let PlayDocument { scenario, seed, .. } = sim.document.clone();
    let wall_s = sim.document.wall_s + lab.document.wall_s;
    let (mut runs, mut records) = (Vec::new(), Vec::new());
    for played in [sim, lab] {
        let world = played.document.world;
        runs.extend(played.document.runs.into_iter().map(|mut run| {
            run.case.world = Some(world);
            run
        }));
        records.extend(played.records);
    }
    Played {
        document: PlayDocument {
            schema: PlaySchema,
            scenario,
            world: World::Both,
            seed,
            runs,
            wall_s,
        },
        records,
        programs: Vec::new(),
    }
}

fn show(args: &Args, plan: &Plan, played: &Played, failures: &[String]) -> anyhow::Result<()> {
    if args.wanted.json {
        failures.iter().for_each(|line| tell!("{line}"));
        return exit::print_document(&played.document);
    }
    let mut text = report::results(plan, played);
    if !failures.is_empty() {
        text.push('\n');
    }
    let lines: String = failures.iter().map(|line| format!("{line}\n")).collect();
    exit::print((text + &terminal::fitted(&lines)).as_bytes())
}

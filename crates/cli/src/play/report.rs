//! The results for people, and whether the expectations hold.

use std::io;

use lab::shell::ProgramsEnded;
use scenario::{Outcome, Plan, Verdict};
use trace::{PolicyName, Run, Shown};

use super::idle;
use super::paint::paint;
use super::world::Played;
use show::terminal;

/// What the scenario shows, and the table.
pub fn results(plan: &Plan, played: &Played) -> String {
    let output = io::stdout();
    let table = dash::terminal::fitted(&played.document, paint(&output), terminal::width(&output));
    let sentence = terminal::fitted(&Shown(&plan.sentence).to_string());
    format!("{}\n\n{table}", sentence.trim_end())
}

/// What the scenario shows, the table, and the expectations.
pub fn text(plan: &Plan, played: &Played) -> String {
    let mut text = results(plan, played);
    let held = judged(plan, played)
        .into_iter()
        .filter(|verdict| verdict.outcome != Outcome::Fails);
    let lines: Vec<String> = held
        .map(|verdict| verdict.to_string())
        .chain(failures(plan, played))
        .collect();
    if !lines.is_empty() {
        text.push('\n');
    }
    text + &terminal::fitted(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// Everything that does not hold, a line each.
pub fn failures(plan: &Plan, played: &Played) -> Vec<String> {
    let mut failed = corrupted(&played.document.runs);
    failed.extend(failing(&judged(plan, played)));
    if played.programs.is_empty() {
        failed.extend(idle::reports(plan, &played.document.runs));
    }
    failed.extend(played.programs.iter().filter_map(program_failure));
    failed
}

/// Expectations that these runs of the scenario's flows break, a line each.
pub fn broken(plan: &Plan, runs: &[Run]) -> Vec<String> {
    let mut failed = corrupted(runs);
    failed.extend(failing(&scenario::judge(plan, runs)));
    failed.extend(idle::reports(plan, runs));
    failed
}

fn corrupted(runs: &[Run]) -> Vec<String> {
    let broken = runs.iter().filter(|run| !run.intact());
    let line = |run: &Run| {
        format!(
            "{} (seed {}): the received data differs from the sent data",
            run.policy, run.seed
        )
    };
    broken.map(line).collect()
}

fn failing(verdicts: &[Verdict]) -> Vec<String> {
    let fails = |verdict: &&Verdict| verdict.outcome == Outcome::Fails;
    verdicts.iter().filter(fails).map(ToString::to_string).collect()
}

/// Verdicts on the expectations. Empty if programs replaced the scenario's flows.
fn judged(plan: &Plan, played: &Played) -> Vec<Verdict> {
    if played.programs.is_empty() {
        scenario::judge(plan, &played.document.runs)
    } else {
        Vec::new()
    }
}

fn program_failure((policy, ended): &(PolicyName, ProgramsEnded)) -> Option<String> {
    match ended.code() {
        Some(0) => None,
        Some(code) => Some(format!("{policy}: the command exited with code {code}")),
        None => Some(format!(
            "{policy}: the command was still running when the scenario ended; set a longer duration_s"
        )),
    }
}

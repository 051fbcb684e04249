//! What came of it, for people, and whether what must hold holds.

use std::io;
use std::process::ExitCode;

use lab::shell::ProgramsEnded;
use scenario::{Outcome, Plan, Verdict};
use trace::PolicyName;

use super::paint;
use super::world::Played;

/// What the scenario shows, the table, and what must hold.
pub fn text(plan: &Plan, played: &Played) -> String {
    let mut text = format!("{}\n\n", plan.sentence);
    text += &dash::terminal::table(&played.document, paint::on(&io::stdout()));
    let verdicts = judged(plan, played);
    if !verdicts.is_empty() {
        text.push('\n');
    }
    text.extend(verdicts.iter().map(|verdict| format!("{verdict}\n")));
    text
}

/// 1 if something does not hold, and then it is also said on standard error, where it stands beside a JSON document.
pub fn exit_code(plan: &Plan, played: &Played) -> ExitCode {
    let broken = played.document.runs.iter().filter(|run| !run.intact());
    let mut failed: Vec<String> = broken.map(|run| format!("{}: not every byte arrived as it was sent", run.policy)).collect();
    let fails = |verdict: &&Verdict| verdict.outcome == Outcome::Fails;
    failed.extend(judged(plan, played).iter().filter(fails).map(ToString::to_string));
    failed.extend(played.programs.iter().filter_map(program_failure));
    failed.iter().for_each(|line| eprintln!("{line}"));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// With programs instead of the scenario's flows there is nothing of the scenario's to judge.
fn judged(plan: &Plan, played: &Played) -> Vec<Verdict> {
    if played.programs.is_empty() { scenario::judge(plan, &played.document.runs) } else { Vec::new() }
}

fn program_failure((policy, ended): &(PolicyName, ProgramsEnded)) -> Option<String> {
    match ended.code() {
        Some(0) => None,
        Some(code) => Some(format!("{policy}: the command ended with {code}")),
        None => Some(format!("{policy}: the command was still running when the scenario ended; set a longer duration_s")),
    }
}

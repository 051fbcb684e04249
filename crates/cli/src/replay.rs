//! `slowhand replay FILE...`: whether the engine still decides as it did when a recording was made, or what
//! another policy would have decided.

use std::fmt::Display;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use record::{Compared, Replayed};
use trace::{PolicyName, Shown};

use crate::play::PolicyNames;

use runs::progress::Progress;
use show::exit::{self, Refused};
use show::output::Output;
use show::{Table, terminal};

/// More than a day of a busy engine.
const LARGEST: u64 = 1 << 30;

/// Feed recorded inputs to the engine, and compare its actions with the recorded actions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows the first difference of each file. The exit code is 1 if anything differs.

With --policy, an engine with that policy gets the same inputs. A table shows how often each action was asked for, by the recorded policy and by
the other one. The inputs are those that followed the recorded actions: the table shows decisions, not what would have come of them.

Examples:
  slowhand play scenarios/shared-air.toml --world sim --record recordings
  slowhand replay recordings/shared-air-slowhand-1.record
  slowhand replay recordings/shared-air-slowhand-1.record --policy mptcp")]
pub struct Args {
    /// Files written by `slowhand play --record` or `slowhand up --record`.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// If all actions are identical and only sentences differ, store the new sentences in the file.
    #[arg(long, conflicts_with = "policy")]
    accept_words: bool,

    /// Compare with what this policy decides, given the same inputs.
    #[arg(long, value_name = "P", value_parser = PolicyNames)]
    policy: Option<PolicyName>,
}

/// Does what was asked for.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.policy {
        Some(policy) => compare(&args.files, policy),
        None => replay(args),
    }
}

/// Compares what the recorded policy and another one decide, file by file.
fn compare(files: &[PathBuf], policy: &PolicyName) -> anyhow::Result<ExitCode> {
    for path in files {
        let bytes = read(path)?;
        let refused = |error: &dyn Display| Refused::because(format!("{}: {error}", Shown(path.display())));
        let links = record::links(&bytes).map_err(|error| refused(&error))?;
        let named = links.iter().map(|(link, name)| (*link, name.as_str()));
        let other = policy.in_engine(named).map_err(|error| refused(&error))?;
        let compared = record::replay_as(&bytes, other).map_err(|error| refused(&error))?;
        let title = Shown(path.display()).to_string();
        exit::print_text(&format!("{title}\n{}", comparison(&compared, policy)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn comparison(compared: &Compared, policy: &PolicyName) -> String {
    let mut table = Table::new(&["action", "recorded", &policy.to_string()]).numbers(1..3);
    for (action, [recorded, other]) in &compared.actions {
        table.row([action, &recorded.to_string(), &other.to_string()]);
    }
    let Compared {
        calls,
        different,
        polls,
        ..
    } = compared;
    let mut text = table.fitted(terminal::width(&std::io::stdout()));
    text += &format!("{calls} inputs, {different} of {polls} decisions differ\n");
    if let Some((at, [recorded, other])) = &compared.first {
        text += &format!(
            "first at {at}\n  recorded:\n{}  {policy}:\n{}",
            indented(recorded),
            indented(other)
        );
    }
    text
}

/// Lines under a heading, or "nothing".
fn indented(lines: &str) -> String {
    match lines {
        "" => "    nothing\n".to_owned(),
        lines => lines.lines().map(|line| format!("    {line}\n")).collect(),
    }
}

/// Replays all files.
fn replay(args: &Args) -> anyhow::Result<ExitCode> {
    let mut all_same = true;
    let progress = Progress::new("replay", args.files.len());
    for (index, path) in args.files.iter().enumerate() {
        progress.begin(index, Shown(path.display()));
        let bytes = read(path)?;
        let refused = |error| Refused::because(format!("{}: {error}", Shown(path.display())));
        let replayed = record::replay(&bytes).map_err(refused)?;
        let accepted = args.accept_words && replayed.acts.is_none();
        if accepted && !replayed.is_identical() {
            let renewed = record::with_new_sentences(&bytes).map_err(refused)?;
            Output::create(path)?.write(&renewed)?;
        }
        all_same &= accepted || replayed.is_identical();
        exit::print_text(&format!("{}: {}", Shown(path.display()), verdict(&replayed)))?;
        progress.end(index);
    }
    Ok(if all_same {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let refused = |why: &dyn std::fmt::Display| Refused::because(format!("{}: {why}", Shown(path.display())));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| refused(&format!("{error}; name a file that `--record` wrote")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(refused(
            &"larger than 1 GiB, so not a recording; name a file that `--record` wrote",
        ));
    }
    Ok(bytes)
}

fn verdict(replayed: &Replayed) -> String {
    let Replayed { calls, actions, .. } = replayed;
    match (&replayed.acts, &replayed.sentences) {
        (None, None) => format!("identical: {calls} calls, {actions} actions\n"),
        (Some(difference), _) => format!("different actions: {difference}"),
        (None, Some(difference)) => format!(
            "identical actions ({calls} calls, {actions} actions), {} different sentences, first: {difference}",
            replayed.reworded
        ),
    }
}

//! `slowhand replay FILE...`: whether the engine still decides as it did when a recording was made.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use record::Replayed;
use trace::Shown;

use runs::progress::Progress;
use show::exit::{self, Refused};
use show::output::Output;

/// More than a day of a busy engine.
const LARGEST: u64 = 1 << 30;

/// Feed recorded inputs to the engine, and compare its actions with the recorded actions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows the first difference of each file. The exit code is 1 if anything differs.

Examples:
  slowhand play scenarios/shared-air.toml --world sim --record recordings
  slowhand replay recordings/shared-air-slowhand-1.record")]
pub struct Args {
    /// Files written by `slowhand play --record`.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// If all actions are identical and only sentences differ, store the new sentences in the file.
    #[arg(long)]
    accept_words: bool,
}

/// Replays all files.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
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

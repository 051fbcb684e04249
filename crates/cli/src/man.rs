//! `slowhand man DIR`: the manual pages, made from the same descriptions as `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::exit::Refused;
use crate::usage::Usage;

/// Write the manual pages into a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand man man1 && man man1/slowhand.1")]
pub struct Args {
    /// Where to; made if it is not there.
    directory: PathBuf,
}

/// Writes one page for the program and one for every verb.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Usage::command(), directory))
        .map_err(|error| {
            let shown = directory.display();
            Refused::because(format!(
                "{shown}: {error}: cannot write manual pages; choose a directory that you may write to"
            ))
        })?;
    Ok(ExitCode::SUCCESS)
}

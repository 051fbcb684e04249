//! `slowhand completions SHELL`: what a shell needs to complete our commands.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{exit, usage::Usage};

/// Print what a shell needs to complete our commands.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand completions bash > slowhand.bash")]
pub struct Args {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Usage::command(), "slowhand", &mut script);
    exit::print(&script)?;
    Ok(ExitCode::SUCCESS)
}

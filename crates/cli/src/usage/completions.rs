//! `slowhand completions SHELL`: what a shell needs to complete our commands.

use std::process::ExitCode;

use clap::{CommandFactory as _, ValueEnum};
use clap_complete::Shell;

use super::Usage;
use ::relay::command::Relay;
use host::up::Daemon;
use show::exit;

/// Print a script that lets a shell complete the commands of slowhand.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand completions bash > slowhand.bash
  slowhand completions bash slowhandd > slowhandd.bash")]
pub struct Args {
    /// Shell to print the script for.
    #[arg(value_enum)]
    shell: Shell,

    /// Program whose commands to complete.
    #[arg(value_enum, value_name = "PROGRAM", default_value_t = Program::Slowhand)]
    program: Program,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Program {
    /// The command.
    Slowhand,
    /// The daemon.
    Slowhandd,
    /// The relay.
    SlowhandRelay,
}

/// Prints the script.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    let mut command = match args.program {
        Program::Slowhand => Usage::command(),
        Program::Slowhandd => Daemon::command(),
        Program::SlowhandRelay => Relay::command(),
    };
    let name = command.get_name().to_owned();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    exit::print(&script)?;
    Ok(ExitCode::SUCCESS)
}

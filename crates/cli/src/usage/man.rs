//! `slowhand man DIR`: the manual pages. Those of commands are made from the same descriptions as `--help`.

mod configuration;
mod overview;
mod page;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use super::Usage;
use ::relay::command::Relay;
use host::up::Daemon;
use show::exit::Refused;
use show::output::Output;

/// Write the manual pages into a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand man man1 && man man1/slowhand.1")]
pub struct Args {
    /// Directory for the pages; created if missing.
    directory: PathBuf,
}

/// Writes one page for the program, one for every verb, one each for the daemon, the relay and the
/// configuration, and an overview. Each is written once it is complete.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory).map_err(|error| {
        let shown = directory.display();
        Refused::because(format!(
            "{shown}: cannot write manual pages: {error}; choose a directory that you may write to"
        ))
    })?;
    let mut command = Usage::command().disable_help_subcommand(true);
    command.build();
    write(&command, directory)?;
    let daemon = Man::new(Daemon::command()).section("8");
    write_page(&daemon, directory)?;
    let relay = Man::new(Relay::command()).section("8");
    write_page(&relay, directory)?;
    for page in [configuration::page(), overview::page(&command)] {
        put(directory, &page.file_name(), page.render().as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(command: &Command, directory: &Path) -> anyhow::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write(verb, directory)?;
    }
    write_page(&Man::new(command.clone()), directory)
}

fn write_page(man: &Man, directory: &Path) -> anyhow::Result<()> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    put(directory, &man.get_filename(), &page)
}

fn put(directory: &Path, name: &str, page: &[u8]) -> anyhow::Result<()> {
    Output::create(&directory.join(name))?.write_quietly(page)
}

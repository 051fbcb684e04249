//! The command line as a whole.

pub mod completions;
pub mod man;

use clap::{Parser, Subcommand};

use host::{log, up};

use crate::{cc, demo, live, papers, play, replay};

/// Keep a moving host's connections alive and fast over every WiFi access point and cellular link it can see.
#[derive(Debug, Parser)]
#[command(
    name = "slowhand",
    version,
    propagate_version = true,
    after_help = "\
Exit codes: 0 done; 1 it ran and something does not hold; 2 wrong use, wrong input, or something needed is missing.

Examples:
  sudo slowhand demo
  sudo slowhand play scenarios/building-walk.toml --compare"
)]
pub struct Usage {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,

    /// What it logs.
    #[command(flatten)]
    pub log: log::Options,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Walk past five access points and a cellular link on this machine's own kernel, policy by policy.
    Demo(demo::Args),
    /// Play a scenario on this machine's own kernel over modelled links, or in virtual time.
    Play(Box<play::Args>),
    /// Replay recordings of the engine, and say whether it still decides the same.
    Replay(replay::Args),
    /// Repeat the papers' figures and tables, and say which of their claims hold.
    Papers(papers::Args),
    /// Measure speed, stalls and mistakes on this machine.
    Bench(bench::Args),
    /// Keep this host's connections alive over all its links, until stopped.
    Up(up::Args),
    /// End the daemon and wait until everything it changed is put back.
    Down(live::down::Args),
    /// Show links, connections and subflows.
    Status(live::status::Args),
    /// Say why each link is used, or why not.
    Why(live::why::Args),
    /// Say what this host lacks, and how to get it.
    Doctor(live::doctor::Args),
    /// Load, unload and look at coupled congestion controllers for MPTCP.
    Cc(cc::Args),
    /// Print what a shell needs to complete our commands.
    Completions(completions::Args),
    /// Write the manual pages into a directory.
    Man(man::Args),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::{command, page, root};
    use clap::CommandFactory as _;

    /// The examples of a help: its indented lines that begin with our name.
    fn examples(help: &str) -> Vec<Vec<String>> {
        let lines = help.lines().map(|line| line.trim().trim_start_matches("sudo "));
        let ours = lines.filter(|line| line.starts_with("slowhand "));
        ours.flat_map(page::simple_commands).collect()
    }

    #[test]
    fn the_examples_of_every_help_are_understood() {
        let mut command = Usage::command();
        command.build();
        let mut found = 0;
        for verb in std::iter::once(&command).chain(command.get_subcommands()) {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            for example in examples(&help) {
                let verdict = command::judge(&root(), &example);
                assert_eq!(verdict, Ok(()), "{}: {}", verb.get_name(), example.join(" "));
                found += 1;
            }
        }
        assert!(found >= 5, "only {found} examples");
    }

    #[test]
    fn the_definition_is_consistent() {
        Usage::command().debug_assert();
    }
}

//! The command line as a whole.

pub mod completions;
pub mod man;

use clap::{Parser, Subcommand};

use host::{log, up};

use crate::{cc, demo, live, papers, play, replay, wifi};

/// Keep a moving host's connections alive and fast over every WiFi access point and cellular link it can see.
#[derive(Debug, Parser)]
#[command(
    name = "slowhand",
    version,
    propagate_version = true,
    after_help = "\
Exit codes: 0 success; 1 a check or an expectation failed; 2 wrong usage or input, or a missing requirement.

Examples:
  sudo slowhand demo
  sudo slowhand play scenarios/building-walk.toml --compare"
)]
pub struct Usage {
    /// Command to run.
    #[command(subcommand)]
    pub verb: Verb,

    /// What it logs.
    #[command(flatten)]
    pub log: log::Options,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a modelled walk past five access points and a cellular link on this machine's own kernel, under
    /// each policy.
    Demo(demo::Args),
    /// Run a scenario on this machine's own kernel over modelled links, or in virtual time.
    Play(Box<play::Args>),
    /// Replay recordings of the engine, and check whether it still decides the same.
    Replay(replay::Args),
    /// Repeat figures and tables of research papers, and check which of their claims hold.
    Papers(papers::Args),
    /// Measure goodput, stalls and wrong decisions on this machine.
    Bench(bench::Args),
    /// Start the daemon: keep this host's connections alive over all its links, until stopped.
    Up(up::Args),
    /// Stop the daemon and wait until it has restored everything it changed.
    Down(live::down::Args),
    /// Let the running daemon read its configuration again.
    Reload(live::reload::Args),
    /// Run a program whose TCP connections use MPTCP, without changing it.
    Exec(live::exec::Args),
    /// Show links, connections and subflows.
    Status(live::status::Args),
    /// Show and change which link carries each UDP flow.
    Networks(live::networks::Args),
    /// Show what each link and connection carries at the moment.
    Top(live::top::Args),
    /// Explain why each link is used or not.
    Why(live::why::Args),
    /// Show which requirements of slowhand this host does not meet, and how to meet them.
    Doctor(live::doctor::Args),
    /// Run a relay on a host with a fixed address, and manage its keys.
    Relay(::relay::command::Args),
    /// Reach a service of another mobile host over the relay, or offer one.
    Meet(live::meet::Args),
    /// Take over saved WiFi networks, and find captive portals.
    Wifi(wifi::Args),
    /// Load, unload and inspect coupled congestion controllers for MPTCP.
    Cc(cc::Args),
    /// Print a script that lets a shell complete the commands of slowhand.
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
    fn every_example_in_help_parses() {
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

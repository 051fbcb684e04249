//! The command line as a whole.

use clap::{Parser, Subcommand};

use crate::{bench, cc, completions, demo, host, man, play};

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
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Walk past five access points and a cellular link on this machine's own kernel, policy by policy.
    Demo(demo::Args),
    /// Play a scenario on this machine's own kernel over modelled links.
    Play(play::Args),
    /// Measure speed, stalls and mistakes on this machine.
    Bench(bench::Args),
    /// Keep this host's connections alive over all its links, until stopped.
    Up(host::up::Args),
    /// End the daemon and wait until everything it changed is put back.
    Down(host::down::Args),
    /// Show links, connections and subflows.
    Status(host::status::Args),
    /// Say why each link is used, or why not.
    Why(host::why::Args),
    /// Say what this host lacks, and how to get it.
    Doctor(host::doctor::Args),
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
    use clap::CommandFactory as _;

    /// Every command line of this program in a text: lines that begin with its name, with or without `sudo`.
    fn command_lines(text: &str) -> Vec<Vec<String>> {
        let starts = |line: &&str| line.starts_with("slowhand ");
        text.lines()
            .map(|line| line.trim().trim_start_matches("sudo "))
            .filter(starts)
            .map(|line| {
                words(
                    line.split([';', '>', '#'])
                        .next()
                        .unwrap()
                        .split("&&")
                        .next()
                        .unwrap(),
                )
            })
            .collect()
    }

    /// Words as a shell splits them, with single quotes.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (index, part) in line.split('\'').enumerate() {
            match index % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    fn assert_understood(text: &str, place: &str) -> usize {
        let lines = command_lines(text);
        for line in &lines {
            let understood = Usage::try_parse_from(line);
            let fine = understood.is_ok() || understood.is_err_and(|error| !error.use_stderr());
            assert!(fine, "{place}: {}", line.join(" "));
        }
        lines.len()
    }

    #[test]
    fn the_examples_of_every_help_are_understood() {
        let mut command = Usage::command();
        command.build();
        let all = std::iter::once(&command).chain(command.get_subcommands());
        let examples = |c: &clap::Command| c.get_after_help().map(ToString::to_string).unwrap_or_default();
        let found: usize = all.map(|c| assert_understood(&examples(c), c.get_name())).sum();
        assert!(found >= 5, "only {found} examples");
    }

    #[test]
    fn the_commands_of_the_readme_are_understood() {
        let readme = include_str!("../../../README.md");
        let code: String = readme.split("```").skip(1).step_by(2).collect();
        assert!(assert_understood(&code, "README.md") >= 5);
    }

    #[test]
    fn the_definition_is_consistent() {
        Usage::command().debug_assert();
    }
}

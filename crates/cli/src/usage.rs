//! The command line as a whole.

use clap::{Parser, Subcommand};

use crate::{completions, man};

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
    /// Print what a shell needs to complete our commands.
    Completions(completions::Args),
    /// Write the manual pages into a directory.
    Man(man::Args),
}

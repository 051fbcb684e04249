//! `slowhand wifi`: takes over networks that other programs have saved, and finds captive portals.

mod browse;
mod import;
mod iwd;
mod keyfile;
mod plan;
mod portal;
mod saved;

use std::process::ExitCode;

/// Take over saved WiFi networks, and find captive portals.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Add the networks that NetworkManager or iwd has saved to the configuration.
    Import(import::Args),
    /// Open a link's captive portal.
    Portal(portal::Args),
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Import(args) => import::run(args),
        Verb::Portal(args) => portal::run(args),
    }
}

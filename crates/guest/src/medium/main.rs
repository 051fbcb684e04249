//! Runs in the guest: the air between the radios of `mac80211_hwsim`. It decides the fate of every frame.
//!
//! | file | what it is |
//! |---|---|
//! | [`netlink`] | messages of generic netlink, and a socket |
//! | [`hwsim`] | what the kernel says of frames, and what it is told |
//! | [`rates`] | rates, and the airtime of an attempt |
//! | [`floor`] | positions and signals, from a scenario |
//! | [`channel`] | queues and contention |
//! | [`air`] | who receives what |
//! | [`truth`] | what happened, as JSON Lines |
//! | [`wires`] | what a script needs of a scenario |
//! | [`run`] | the loop |

mod air;
mod channel;
mod floor;
mod hwsim;
mod netlink;
mod rates;
mod run;
mod truth;
mod wires;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// The air between the radios of mac80211_hwsim, from a scenario.
#[derive(Debug, Parser)]
struct Usage {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Be the air until SIGTERM. Prints `registered` once the kernel gives it every frame. The walk begins at
    /// SIGUSR1.
    Run(run::Args),
    /// Print the access points of a scenario, one a line: number, name, channel, rate and delay of its wire.
    /// Then the length of the run in seconds.
    Wires {
        /// The scenario.
        scenario: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Usage::parse().verb {
        Verb::Run(args) => run::run(&args),
        Verb::Wires { scenario } => wires::run(&scenario),
    }
}

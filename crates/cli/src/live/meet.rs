//! `slowhand meet`: reaches a service of another mobile host, or offers one, over the relay.

use ::relay::agent::meet::{self, Setup, Side};
use host::config::{Asked, Config, DEFAULT};
use show::exit::{Refused, print_text};
use std::path::PathBuf;
use std::process::ExitCode;

/// Shortest token. Whoever knows it and has a key of the relay can take part.
const SHORTEST: usize = 12;

/// Reach a service of another mobile host over the relay, or offer one. Neither host needs an address of its
/// own, and both may move at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples, on the host with an SSH server and on the other one:
  slowhand meet 6f1ad5b1c0f2e94a --offer --local 22
  slowhand meet 6f1ad5b1c0f2e94a --local 2222")]
pub struct Args {
    /// Text that both sides give, of at least 12 characters. Choose a random one.
    token: String,

    /// Port on 127.0.0.1: where programs connect to reach the other side; with --offer, the service.
    #[arg(long, value_name = "PORT")]
    local: u16,

    /// Let the other side reach the service at --local.
    #[arg(long)]
    offer: bool,

    /// Configuration file with the table [relay].
    #[arg(long, value_name = "FILE", default_value = DEFAULT)]
    config: PathBuf,
}

/// Runs until it is stopped.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.token.len() < SHORTEST {
        return Err(Refused::because(format!(
            "the token has fewer than {SHORTEST} characters; make one with `openssl rand -hex 16`"
        )));
    }
    let config = Config::read(&args.config, Asked::ByName).map_err(Refused::because)?;
    let Some(server) = config.relay.and_then(|relay| relay.server) else {
        return Err(Refused::because(format!(
            "{}: no relay; add a table [relay] with `address` and `key_file`",
            args.config.display()
        )));
    };
    let setup = Setup {
        relay: server.address,
        key_file: server.key_file,
        token: args.token.clone(),
        side: if args.offer { Side::Offers } else { Side::Asks },
        port: args.local,
    };
    // A reader that has gone does not want the rest.
    let report = |told: &str| drop(print_text(&format!("{told}\n")));
    meet::run(setup, report).map_err(Refused::because)?;
    Ok(ExitCode::SUCCESS)
}

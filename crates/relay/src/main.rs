//! The relay, and the agent that `slowhandd` starts. `slowhand relay` becomes this program.
//!
//! It faces the Internet, so it contains a relay and nothing else: `cargo xtask deps` checks what it links.

use clap::Parser as _;
use relay::command::Relay;
use std::process::ExitCode;

fn main() -> ExitCode {
    relay::command::run(Relay::parse())
}

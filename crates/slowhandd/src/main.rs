//! The daemon. `slowhand up` becomes this program, and a service manager starts it.
//!
//! It runs as root for weeks, so it contains what a live host needs and nothing else: `cargo xtask deps`
//! checks what it links.

#![deny(clippy::print_stderr)]

mod agent;
mod log;
mod needs;
mod notify;
mod plan;
mod recording;
mod reload;
mod server;
mod up;

use clap::Parser as _;
use host::up::Daemon;
use show::exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::code(up::run(&Daemon::parse()))
}

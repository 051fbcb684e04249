//! The one binary: reads the command line, hands over to a verb, and turns what came of it into an exit code.

mod bench;
mod completions;
mod exit;
mod man;
mod usage;

use std::process::ExitCode;

use clap::Parser;
use usage::{Usage, Verb};

fn main() -> ExitCode {
    exit::code(run(Usage::parse().verb))
}

fn run(verb: Verb) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Bench(args) => bench::run(args),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
    }
}

//! The one binary: reads the command line, hands over to a verb, and turns what came of it into an exit code.

#![deny(clippy::print_stderr)]

/// A line on standard error. Whoever reads there may have gone: that stops nothing, least of all `up`.
macro_rules! tell {
    ($($line:tt)*) => { crate::exit::tell(format_args!($($line)*)) };
}

mod batch;
mod bench;
mod cc;
mod completions;
mod demo;
#[cfg(test)]
mod documents;
mod exit;
mod host;
mod interrupt;
mod man;
mod output;
mod papers;
mod play;
mod replay;
mod seed;
mod table;
mod terminal;
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
        Verb::Demo(args) => demo::run(args),
        Verb::Play(args) => play::run(*args),
        Verb::Replay(args) => replay::run(&args),
        Verb::Papers(args) => papers::run(&args),
        Verb::Up(args) => host::up::run(&args),
        Verb::Down(args) => host::down::run(&args),
        Verb::Status(args) => host::status::run(&args),
        Verb::Why(args) => host::why::run(&args),
        Verb::Doctor(args) => host::doctor::run(&args),
        Verb::Cc(args) => cc::run(&args),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
    }
}

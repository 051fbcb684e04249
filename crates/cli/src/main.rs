//! The command that users type: parses the command line, runs a verb, and turns its result into an exit code.

#![deny(clippy::print_stderr)]

mod cc;
mod demo;
#[cfg(test)]
mod documents;
mod live;
mod papers;
mod play;
mod replay;
mod usage;
mod wifi;

use std::process::ExitCode;

use clap::Parser;
use host::log::Form;
use live::other_program::{self, DAEMON, RELAY};
use show::exit::{self, Refused};
use usage::{Usage, Verb};

fn main() -> ExitCode {
    let usage = Usage::parse();
    let started = usage.log.start(Form::of_stderr()).map_err(Refused::because);
    exit::code(started.and_then(|()| run(usage)))
}

fn run(Usage { verb, log }: Usage) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Bench(args) => bench::run(args),
        Verb::Demo(args) => demo::run(args),
        Verb::Play(args) => play::run(*args),
        Verb::Replay(args) => replay::run(&args),
        Verb::Papers(args) => papers::run(&args),
        Verb::Up(_) => other_program::run(DAEMON, &log),
        Verb::Relay(_) => other_program::run(RELAY, &log),
        Verb::Meet(args) => live::meet::run(&args),
        Verb::Exec(args) => live::exec::run(&args),
        Verb::Down(args) => live::down::run(&args),
        Verb::Reload(args) => live::reload::run(&args),
        Verb::Status(args) => live::status::run(&args),
        Verb::Networks(args) => live::networks::run(&args),
        Verb::Top(args) => live::top::run(&args),
        Verb::Why(args) => live::why::run(&args),
        Verb::Doctor(args) => live::doctor::run(&args),
        Verb::Wifi(args) => wifi::run(&args),
        Verb::Cc(args) => cc::run(&args),
        Verb::Completions(args) => usage::completions::run(&args),
        Verb::Man(args) => usage::man::run(&args),
    }
}

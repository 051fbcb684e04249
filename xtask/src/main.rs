//! The project's rules as programs: `cargo xtask check` runs all checks, `cargo xtask test` runs and counts
//! the tests.

mod circles;
mod deps;
mod files;
mod licences;
mod links;
mod metadata;
mod modules;
mod pages;
mod prose;
mod readings;
mod rooms;
mod sentences;
mod spdx;
mod test;
mod thresholds;
mod tidy;
mod unreached;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask check | circles | deps | licences | links | readings [--check] | thresholds | tidy \
                     | unreached | test [ARGUMENTS OF cargo test]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let (verb, rest) = arguments
        .split_first()
        .map_or(("", [].as_slice()), |(verb, rest)| (verb.as_str(), rest));
    match verb {
        "check" => report(&[
            deps::check()?,
            licences::check()?,
            links::check()?,
            readings::check()?,
            tidy::check()?,
            prose::comments()?,
            prose::words()?,
            sentences::check()?,
            pages::check()?,
            unreached::check()?,
            circles::check()?,
            thresholds::check()?,
        ]),
        "circles" => report(&[circles::check()?]),
        "deps" => report(&[deps::check()?]),
        "licences" => report(&[licences::check()?]),
        "links" => report(&[links::check()?]),
        "thresholds" => report(&[thresholds::check()?]),
        "unreached" => report(&[unreached::check()?]),
        "readings" => match rest {
            [] => report(&[readings::write()?]),
            [check] if check == "--check" => report(&[readings::check()?]),
            _ => anyhow::bail!("{USAGE}"),
        },
        "tidy" => report(&[
            tidy::check()?,
            prose::comments()?,
            prose::words()?,
            sentences::check()?,
            pages::check()?,
        ]),
        "test" => test::run(rest),
        _ => anyhow::bail!("{USAGE}"),
    }
}

/// The findings of one rule: how much it checked, and what is wrong.
pub struct Findings {
    /// The rule, and what it checked, as in "links: 12 files".
    looked_at: String,
    /// One line for each fault, with the correction.
    wrong: Vec<String>,
}

fn report(all: &[Findings]) -> anyhow::Result<ExitCode> {
    for findings in all {
        println!("{}: {} problems", findings.looked_at, findings.wrong.len());
        findings.wrong.iter().for_each(|line| println!("  {line}"));
    }
    let clean = all.iter().all(|findings| findings.wrong.is_empty());
    Ok(if clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

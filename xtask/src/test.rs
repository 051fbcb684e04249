//! Runs `cargo test`, shows what fails, and ends with one line of counts.
//!
//! Rust's test harness cannot report a test that could not run here. Ours print `skipped: REASON` and return.
//! This runner subtracts them from the passed ones and lists the reasons. On the CI machine none may be
//! skipped.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;

/// Runs every test of the workspace, or what the arguments name.
pub fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let (for_cargo, for_harness) = match arguments.iter().position(|argument| argument == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, [].as_slice()),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    if !for_cargo.is_empty() {
        build_daemon(&cargo)?;
    }
    let mut child = Command::new(cargo)
        .args(["test", "--locked", "--no-fail-fast"])
        .args(if for_cargo.is_empty() {
            &["--workspace"][..]
        } else {
            &[]
        })
        .args(for_cargo)
        .args(["--", "--show-output"])
        .args(for_harness)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo test")?;
    let mut tally = Tally::default();
    let output = child.stdout.take().context("cargo test printed nothing")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what cargo test prints")?;
        if let Some(shown) = tally.read(&String::from_utf8_lossy(&line)) {
            println!("{shown}");
        }
    }
    let finished = child.wait().context("cannot wait for cargo test")?.success();
    Ok(tally.close(finished))
}

/// Tests of `slowhand` start the daemon and the relay, programs of other packages. Only a test of the whole
/// workspace builds them by itself.
fn build_daemon(cargo: &OsStr) -> anyhow::Result<()> {
    let mut build = Command::new(cargo);
    build.args([
        "build",
        "--locked",
        "--quiet",
        "--package",
        "slowhandd",
        "--package",
        "relay",
    ]);
    let built = build.status().context("cannot run cargo build")?;
    anyhow::ensure!(
        built.success(),
        "cannot build the daemon and the relay; run cargo build --package slowhandd --package relay"
    );
    Ok(())
}

/// The counts so far.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: Vec<String>,
    /// Inside what passing tests printed, which nobody wants to see but for the reasons of the skipped.
    in_successes: bool,
    test: String,
}

impl Tally {
    /// Takes in a line; gives back what to show of it.
    fn read(&mut self, line: &str) -> Option<String> {
        if line == "successes:" {
            self.in_successes = true;
        } else if line == "failures:" || line.starts_with("test result: ") {
            self.in_successes = false;
        }
        if !self.in_successes {
            self.count(line);
            return Some(line.to_owned());
        }
        if let Some(test) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            test.clone_into(&mut self.test);
        } else if let Some(reason) = line.trim_start().strip_prefix("skipped: ") {
            self.skipped.push(format!("{}: {reason}", self.test));
        }
        None
    }

    /// `test result: ok. 12 passed; 0 failed; 0 ignored; …`
    fn count(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else {
            return;
        };
        let number_before = |word: &str| {
            let words: Vec<&str> = result
                .split([' ', ';', '.'])
                .filter(|part| !part.is_empty())
                .collect();
            let at = words.iter().position(|candidate| *candidate == word)?;
            words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
        };
        self.passed += number_before("passed").unwrap_or(0);
        self.failed += number_before("failed").unwrap_or(0);
    }

    fn close(&self, finished: bool) -> ExitCode {
        for reason in &self.skipped {
            println!("skipped: {reason}");
        }
        let skipped = self.skipped.len() as u64;
        println!(
            "{} passed, {} failed, {skipped} skipped",
            self.passed.saturating_sub(skipped),
            self.failed
        );
        let strict = std::env::var_os("CI").is_some() && skipped > 0;
        if strict {
            eprintln!("with CI set, no test may be skipped");
        }
        if finished && self.failed == 0 && !strict {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_hides_what_passing_tests_print() {
        let mut tally = Tally::default();
        let shown: Vec<String> = [
            "running 2 tests",
            "test a ... ok",
            "test b ... ok",
            "",
            "successes:",
            "",
            "---- b stdout ----",
            "chatter",
            "skipped: needs root",
            "",
            "successes:",
            "    a",
            "    b",
            "",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
            "test result: FAILED. 3 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        ]
        .iter()
        .filter_map(|line| tally.read(line))
        .collect();
        assert_eq!((tally.passed, tally.failed), (5, 4));
        assert_eq!(tally.skipped, ["b: needs root"]);
        assert!(!shown.iter().any(|line| line.contains("chatter")), "{shown:?}");
        assert_eq!(shown.len(), 6);
    }
}

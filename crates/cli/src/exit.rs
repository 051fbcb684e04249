//! Exit codes: 0 done, 1 it ran and something does not hold, 2 wrong use, wrong input, or something needed is missing.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Marks an error as the user's to mend before anything was done: the program ends with 2 instead of 1.
#[derive(Debug)]
pub struct Refused(String);

impl Refused {
    /// Refuses, with what is wrong and what would be right.
    pub fn because(reason: impl fmt::Display) -> anyhow::Error {
        anyhow::Error::new(Self(reason.to_string()))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Whoever read our output has seen enough, as `| head` does.
#[derive(Debug)]
struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the output any more")
    }
}

impl std::error::Error for ReaderGone {}

/// Writes to standard output; a reader that has gone is no failure, but ends the program.
pub fn print(text: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(anyhow::Error::new(ReaderGone)),
        other => Ok(other?),
    }
}

/// What `tell!` does.
pub fn tell(line: fmt::Arguments<'_>) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// Tells the user what went wrong, if anything did.
pub fn code(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) if error.is::<ReaderGone>() => ExitCode::SUCCESS,
        Err(error) if error.is::<Refused>() => {
            tell!("{error:#}");
            ExitCode::from(2)
        }
        Err(error) => {
            tell!("slowhand: {error:#}");
            ExitCode::FAILURE
        }
    }
}

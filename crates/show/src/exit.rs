//! Exit codes: 0 done; 1 it ran, and a check failed; 2 wrong use, wrong input, or a missing requirement.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trace::{Shown, shown_json, shown_lines};

/// Marks an error that the user must fix before anything is done: the program exits with 2 instead of 1.
#[derive(Debug)]
pub struct Refused(String);

impl Refused {
    /// Refuses, with what is wrong and what to do.
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

/// The reader of our output has closed it, as `| head` does.
#[derive(Debug)]
struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output was closed")
    }
}

impl std::error::Error for ReaderGone {}

/// Writes to standard output. If its reader has gone, the program ends, without a failure.
pub fn print(text: &[u8]) -> anyhow::Result<()> {
    let mut written = Ok(());
    beside(&mut || {
        let mut out = io::stdout().lock();
        written = out.write_all(text).and_then(|()| out.flush());
    });
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(anyhow::Error::new(ReaderGone)),
        other => Ok(other?),
    }
}

/// Writes text for people to standard output. Lines wrap on a terminal. Control characters other than line
/// ends are always escaped.
pub fn print_text(text: &str) -> anyhow::Result<()> {
    print(crate::terminal::fitted(&shown_lines(text)).as_bytes())
}

/// Writes a `--json` document to standard output. Control characters in names are escaped in JSON's own way.
pub fn print_document(document: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(document)? + "\n";
    print(shown_json(&text).as_bytes())
}

/// Prepares a daemon's document for people: escapes control characters in all its texts, including names and
/// peers.
pub fn shown<D: Serialize + DeserializeOwned>(document: &D) -> anyhow::Result<D> {
    let mut value = serde_json::to_value(document)?;
    escape(&mut value);
    Ok(serde_json::from_value(value)?)
}

fn escape(value: &mut Value) {
    match value {
        Value::String(text) => *text = Shown(&*text).to_string(),
        Value::Array(items) => items.iter_mut().for_each(escape),
        Value::Object(fields) => fields.values_mut().for_each(escape),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Does the work of `tell!`. Control characters in the line are escaped, except line ends.
pub fn tell(line: fmt::Arguments<'_>) {
    beside(&mut || drop(writeln!(io::stderr(), "{}", shown_lines(line))));
}

/// A function that runs another one while nothing is drawn in place on the terminal.
pub type Aside = fn(&mut dyn FnMut());

static ASIDE: OnceLock<Aside> = OnceLock::new();

/// Writes every text by this function from now on. For a program that draws in place, so that neither
/// overwrites the other. The first call counts.
pub fn tell_beside(aside: Aside) {
    ASIDE.get_or_init(|| aside);
}

fn beside(write: &mut dyn FnMut()) {
    match ASIDE.get() {
        Some(aside) => aside(write),
        None => write(),
    }
}

/// An error and its causes, each stated once: many an error has its cause in its own sentence.
pub fn sentence(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

/// Reports the error, if there is one, and returns the exit code.
pub fn code(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) if error.is::<ReaderGone>() => ExitCode::SUCCESS,
        Err(error) if error.is::<Refused>() => {
            tell!("{}", sentence(&error));
            ExitCode::from(2)
        }
        Err(error) => {
            tell!("slowhand: {}", sentence(&error));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn nothing_is_said_twice() {
        let full = || io::Error::other("no space left");
        let chained = Err::<(), _>(full()).context("a.html: cannot be written");
        assert_eq!(
            sentence(&chained.unwrap_err()),
            "a.html: cannot be written: no space left"
        );
        let repeated = Err::<(), _>(full()).context("a.html: no space left; name another");
        assert_eq!(
            sentence(&repeated.unwrap_err()),
            "a.html: no space left; name another"
        );
    }
}

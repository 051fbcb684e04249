//! `slowhand doctor`: what this host has of what slowhand uses, what is missing, and how to get it.

use super::table::aligned;
use crate::exit::print;
use linux::doctor::{Check, Need, checks, needs};
use serde::Serialize;
use std::process::ExitCode;

/// Say what this host lacks, and how to get it. Changes nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document (schema slowhand.doctor/1).
    #[arg(long)]
    json: bool,
}

/// What `slowhand doctor --json` says.
#[derive(Debug, Serialize)]
struct Document {
    /// Name and version of this format.
    schema: &'static str,
    /// Whether slowhand can work here.
    works: bool,
    /// What was looked at, most important first.
    checks: Vec<Looked>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Looked {
    /// A stable identifier.
    name: &'static str,
    /// `must`: nothing works without it; `should`: it works worse; `lab`: only the lab needs it.
    need: &'static str,
    /// Whether it is there.
    ok: bool,
    /// What was found, or what is missing and how to get it.
    finding: String,
}

/// Looks at everything; 1 when slowhand cannot work here.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let document = document(&checks());
    let text = if args.json {
        serde_json::to_string_pretty(&document)? + "\n"
    } else {
        text(&document)
    };
    print(text.as_bytes())?;
    Ok(if document.works {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Why a daemon cannot work in the calling thread's namespace, in the words of `slowhand doctor`; `None`: it can.
pub fn refusal() -> Option<String> {
    refusal_of(needs())
}

fn refusal_of(mut checks: Vec<Check>) -> Option<String> {
    checks.retain(|check| check.need == Need::Must && !check.is_ok());
    let missing = !checks.is_empty();
    missing.then(|| text(&document(&checks)).trim_end().to_owned())
}

fn document(checks: &[Check]) -> Document {
    let works = checks
        .iter()
        .all(|check| check.is_ok() || check.need != Need::Must);
    Document {
        schema: "slowhand.doctor/1",
        works,
        checks: checks.iter().map(looked).collect(),
    }
}

fn looked(check: &Check) -> Looked {
    let finding = match &check.result {
        Ok(found) => found.clone(),
        Err(missing) => missing.clone(),
    };
    Looked {
        name: check.name,
        need: check.need.id(),
        ok: check.is_ok(),
        finding,
    }
}

fn text(document: &Document) -> String {
    let rows = document.checks.iter().map(|check| {
        let mark = if check.ok { "ok" } else { "--" };
        [mark, check.name, check.need, &check.finding]
            .map(str::to_owned)
            .to_vec()
    });
    let verdict = if document.works {
        "slowhand works here\n"
    } else {
        "slowhand cannot work here yet\n"
    };
    aligned(&rows.collect::<Vec<_>>()) + verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(need: Need, ok: bool) -> Check {
        let result = if ok {
            Ok("there".to_owned())
        } else {
            Err("not there; get it".to_owned())
        };
        Check {
            name: "thing",
            need,
            result,
        }
    }

    #[test]
    fn only_what_nothing_works_without_decides() {
        assert!(
            document(&[
                check(Need::Must, true),
                check(Need::Should, false),
                check(Need::Lab, false)
            ])
            .works
        );
        assert!(!document(&[check(Need::Must, false), check(Need::Should, true)]).works);
    }

    #[test]
    fn a_daemon_is_refused_with_what_is_missing_and_nothing_else() {
        assert_eq!(
            refusal_of(vec![check(Need::Must, true), check(Need::Should, false)]),
            None
        );
        assert_eq!(
            refusal_of(vec![check(Need::Must, false), check(Need::Must, true)]).unwrap(),
            "--  thing  must  not there; get it\nslowhand cannot work here yet"
        );
    }

    #[test]
    fn what_is_missing_is_told_with_its_remedy() {
        let text = text(&document(&[check(Need::Must, false)]));
        assert_eq!(
            text,
            "--  thing  must  not there; get it\nslowhand cannot work here yet\n"
        );
    }
}

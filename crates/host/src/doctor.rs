//! Checks a host for what slowhand needs: the document of `slowhand doctor`, and the message with which the
//! daemon refuses to start.

use linux::doctor::{Check, Need, needs};
use serde::Serialize;
use show::Table;

/// The document of `slowhand doctor --json`.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Name and version of this format.
    pub schema: &'static str,
    /// Whether slowhand can work here.
    pub works: bool,
    /// All checks, most important first.
    pub checks: Vec<Looked>,
}

/// Result of one check.
#[derive(Debug, Serialize)]
pub struct Looked {
    /// A stable identifier.
    pub name: &'static str,
    /// `must`: nothing works without it; `should`: it works worse without; `lab`: only the lab needs it.
    pub need: &'static str,
    /// Whether the check passed.
    pub ok: bool,
    /// What was found, or what is missing and how to get it.
    pub finding: String,
}

/// Why a daemon cannot work in the calling thread's namespace, in the words of `slowhand doctor`. `None`: it
/// can.
pub fn refusal() -> Option<String> {
    refusal_of(needs())
}

fn refusal_of(mut checks: Vec<Check>) -> Option<String> {
    checks.retain(|check| check.need == Need::Must && !check.is_ok());
    let missing = !checks.is_empty();
    missing.then(|| text(&document(&checks), usize::MAX).trim_end().to_owned())
}

/// Makes the document from these checks.
pub fn document(checks: &[Check]) -> Document {
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

/// The document for people, in `width` columns.
pub fn text(document: &Document, width: usize) -> String {
    let mut table = Table::new(&[]);
    for check in &document.checks {
        let mark = if check.ok { "ok" } else { "--" };
        table.row([mark, check.name, check.need, &check.finding]);
    }
    let verdict = if document.works {
        "slowhand works here\n"
    } else {
        "slowhand cannot work here yet\n"
    };
    table.fitted(width) + verdict
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
        let text = text(&document(&[check(Need::Must, false)]), usize::MAX);
        assert_eq!(
            text,
            "--  thing  must  not there; get it\nslowhand cannot work here yet\n"
        );
    }
}

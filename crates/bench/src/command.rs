//! Command line of `slowhand bench`, and the run of the chosen benchmarks.

use crate::catalogue::{self, ALL};
use crate::declaration::{Bench, Setup, Trials};
use crate::{table, trial};
use runs::{progress, seed};
use show::exit::{self, Refused};
use show::terminal;
use std::fmt::Write as _;
use std::process::ExitCode;
use trace::{BenchDocument, BenchRow, PolicyName};

/// Measure speed, stalls and mistakes on this machine.
#[derive(Debug, clap::Args)]
#[command(after_help = help())]
pub struct Args {
    /// Which ones; all of them if none is named.
    names: Vec<String>,

    /// Run this many trials of each instead of the number in its definition. Figures of such a run say so.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    trials: Option<u32>,

    /// Measure this policy beside ours, in turn with it: `mptcp` is the stock kernel. For stall-drop,
    /// stall-backup, resume and fade.
    #[arg(long, value_name = "P")]
    policy: Option<PolicyName>,

    /// Measure with this congestion controller only, not with those of the definition: reno and bbr for
    /// window-…; lia or all of ours for cc-….
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Seed of the first trial; the next ones count on from it, some from a thousand times it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed::parser_of_first(1_000_000))]
    seed: u64,

    /// Print one JSON document (schema slowhand.bench/1).
    #[arg(long)]
    json: bool,
}

/// Columns of the list of benchmarks. Longer lines wrap.
const HELP_WIDTH: usize = 138;
/// Column of the list at which the description starts.
const HELP_INDENT: usize = 18;

/// Text after the options: every benchmark as declared.
fn help() -> String {
    let list = |needs_root: bool| {
        let benches = ALL.iter().filter(move |bench| bench.needs_root == needs_root);
        benches.map(entry).collect::<String>()
    };
    format!(
        "Benchmarks that need root (unit; trials of the definition):\n{}\n\
         Benchmarks that any user can run:\n{}\n\
         Examples:\n  slowhand bench links\n  sudo slowhand bench stall-drop --trials 10 --policy mptcp",
        list(true),
        list(false)
    )
}

fn entry(bench: &Bench) -> String {
    let figures = bench.figures.iter().enumerate();
    figures
        .map(|(index, figure)| {
            let trials = if index == 0 {
                format!("; {}", trials(bench.trials))
            } else {
                String::new()
            };
            let text = format!("{} ({}{trials})", figure.what, figure.unit);
            let name = if figure.name.len() + 3 < HELP_INDENT {
                format!("  {:<1$}", figure.name, HELP_INDENT - 2)
            } else {
                format!("  {}\n{:HELP_INDENT$}", figure.name, "")
            };
            let mut lines = String::new();
            for (index, line) in trace::wrapped(&text, HELP_WIDTH - HELP_INDENT)
                .lines()
                .enumerate()
            {
                let before = if index == 0 {
                    name.as_str()
                } else {
                    &" ".repeat(HELP_INDENT)
                };
                let _ = writeln!(lines, "{before}{}", line.trim_start());
            }
            lines
        })
        .collect()
}

/// The trials of a definition, in words.
fn trials(trials: &[Trials]) -> String {
    let parts = trials
        .iter()
        .map(|trials| format!("{} {}", trials.count, trials.of));
    parts
        .map(|part| part.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Runs the chosen benchmarks.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    args.refuse_unknown()?;
    args.refuse_idle_controller()?;
    if args.json {
        progress::lines_only();
    }
    let mut document = BenchDocument::default();
    let mut failed = None;
    for bench in ALL {
        let wanted = |name: &str| args.names.is_empty() || args.names.iter().any(|asked| asked == name);
        if !bench.figures.iter().any(|figure| wanted(figure.name)) {
            continue;
        }
        let setup = Setup {
            bench,
            asked_trials: args.trials,
            beside: args.policy.clone(),
            cc: args.cc.clone(),
            seed: args.seed,
        };
        // Rows measured before a failure are reported all the same.
        let rows = match (bench.measure)(&setup) {
            Ok(rows) => rows.into_iter().filter(|row| wanted(&row.name)),
            Err(error) => {
                failed = Some(error);
                break;
            }
        };
        let rows: Vec<BenchRow> = rows.map(|row| shortened(row, &setup)).collect();
        if !args.json {
            exit::print(terminal::fitted(&table::text(&rows, terminal::columns())).as_bytes())?;
        }
        document.benches.extend(rows.into_iter().map(defined));
    }
    let is_worth_telling = failed.is_none() || !document.benches.is_empty();
    if args.json && is_worth_telling {
        exit::print_document(&document)?;
    }
    let whole = |row: &BenchRow| !row.extra.contains_key(trial::FAILED);
    match failed {
        Some(error) => Err(error),
        None if document.benches.iter().all(whole) => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::FAILURE),
    }
}

/// Adds the definition of the figure to a row of the document.
fn defined(row: BenchRow) -> BenchRow {
    let figure = catalogue::figures().find(|figure| figure.name == row.name);
    match figure {
        Some(figure) => row.with("what", figure.what),
        None => row,
    }
}

impl Args {
    /// Refuses a name that no benchmark has, and lists the valid names.
    pub fn refuse_unknown(&self) -> anyhow::Result<()> {
        let known: Vec<&str> = names().collect();
        match self.names.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(Refused::because(format!(
                "unknown benchmark `{name}`; valid: {}",
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a controller for a benchmark that is defined with another.
    pub fn refuse_idle_controller(&self) -> anyhow::Result<()> {
        let defined = |name: &&String| !CHOOSING.iter().any(|family| name.starts_with(family));
        match (&self.cc, self.names.iter().find(defined)) {
            (Some(cc), Some(name)) => Err(Refused::because(format!(
                "--cc {cc} changes nothing in {name}: leave it out, or name only benchmarks of {}…, {}… and {}…",
                CHOOSING[0], CHOOSING[1], CHOOSING[2]
            ))),
            _ => Ok(()),
        }
    }
}

/// Name prefixes of benchmarks that use the controller the user chooses.
const CHOOSING: [&str; 3] = ["window-", "cc-", "worlds"];

/// The names of all figures.
pub fn names() -> impl Iterator<Item = &'static str> {
    catalogue::figures().map(|figure| figure.name)
}

/// Marks a run with fewer trials than its definition asks for, so that nobody quotes it as a full one.
fn shortened(row: BenchRow, setup: &Setup) -> BenchRow {
    match setup.asked_trials {
        Some(trials) => row.with(
            "note",
            format!("--trials {trials}, not the number of the definition"),
        ),
        None => row,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_has_every_figure_as_it_is_declared() {
        let help = help();
        let one_line = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for figure in catalogue::figures() {
            let entry = format!("{} {} ({}", figure.name, figure.what, figure.unit);
            assert!(one_line.contains(&entry), "{entry}: {help}");
        }
        assert!(
            one_line.contains("(failures; 1000 of down, 200 of kill -9)"),
            "{help}"
        );
        assert!(
            help.lines().all(|line| line.chars().count() <= HELP_WIDTH),
            "{help}"
        );
    }

    #[test]
    fn a_row_of_the_document_says_what_was_measured() {
        let bench = ALL.iter().find(|bench| bench.figures[0].name == "links").unwrap();
        let setup = Setup {
            bench,
            asked_trials: Some(7),
            beside: None,
            cc: None,
            seed: 1,
        };
        let row = defined(shortened(setup.only_row(), &setup));
        assert_eq!((row.name.as_str(), row.unit.as_str()), ("links", "packets/s"));
        assert_eq!(row.extra["what"], bench.figures[0].what);
        assert_eq!(row.extra["note"], "--trials 7, not the number of the definition");
        assert_eq!(setup.trials(), 7);
        assert_eq!(
            Setup {
                asked_trials: None,
                ..setup
            }
            .trials(),
            5
        );
    }
}

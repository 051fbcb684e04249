//! `window-false`: how often a path is given up, doubted or changed in ten minutes in which every link delivers.

use scenario::{Flow, Plan, Work};
use serde_json::Value;
use trace::{BenchRow, Better, PolicyName, SubflowEvent, What};
use units::{Bitrate, Duration};

use super::figures::{self, object};
use super::rows::{self, Row};
use crate::bench::trial::{self, Observed, Trial};
use crate::bench::{Setup, gap};

/// Length of each run.
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// What applications that want little ask for, in kb/s.
const LITTLE_KBPS: [u64; 3] = [100, 1_000, 5_000];

/// Measures. The figure is how many paths were given up, in all runs together.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (wide, narrow): (Vec<Plan>, Vec<Plan>) =
        plans()?.into_iter().partition(|plan| plan.name == rows::BDP.name);
    // Apart, because fewer of the wide ones fit side by side.
    let mut observed = trial::side_by_side(narrow.into_iter().map(|plan| trial(setup, plan)).collect())?;
    observed.extend(trial::side_by_side(
        wide.into_iter().map(|plan| trial(setup, plan)).collect(),
    )?);
    let mistakes: Vec<Mistakes> = observed.iter().map(Mistakes::of).collect();
    Ok(vec![figures::with_late(row(&mistakes), &observed)])
}

fn trial(setup: &Setup, plan: Plan) -> Trial {
    Trial {
        plan: Plan {
            duration: TEN_MINUTES,
            ..plan
        },
        policy: PolicyName::Slowhand,
        seed: setup.seed,
    }
}

fn plans() -> anyhow::Result<Vec<Plan>> {
    let full = rows::ALL.into_iter().map(|row| row.plan("reno"));
    let limited = [rows::EQUAL, rows::THIN]
        .into_iter()
        .flat_map(|row| LITTLE_KBPS.map(|kbps| limited(row, kbps)));
    full.chain(limited).collect()
}

/// The row's links, and an application that asks for little.
fn limited(row: Row, kbps: u64) -> anyhow::Result<Plan> {
    let plan = row.plan("reno")?;
    let work = Work::Download {
        size: None,
        limit: Some(Bitrate::from_bps(kbps * 1_000)),
    };
    Ok(Plan {
        name: format!("{} at {} Mb/s", row.name, kbps as f64 / 1e3),
        flows: plan
            .flows
            .iter()
            .map(|flow| Flow { work, ..flow.clone() })
            .collect(),
        ..plan
    })
}

/// What one healthy run suffered.
struct Mistakes {
    scenario: String,
    /// Paths given up.
    removed: usize,
    /// How often a path fell silent and was asked whether it is alive.
    suspected: usize,
    /// Subflows that became a backup or stopped being one: the window controller's trials of slow links.
    roles: usize,
}

impl Mistakes {
    fn of(observed: &Observed) -> Self {
        let count = |wanted: &dyn Fn(&What) -> bool| {
            let events = &observed.record.events;
            events.iter().filter(|event| wanted(&event.what)).count()
        };
        Self {
            scenario: observed
                .record
                .start()
                .map(|start| start.scenario.clone())
                .unwrap_or_default(),
            removed: gap::given_up(&observed.record),
            suspected: count(&|what| matches!(what, What::Decision { verb, .. } if verb == "suspect")),
            roles: count(&|what| {
                matches!(
                    what,
                    What::Subflow {
                        event: SubflowEvent::Priority,
                        ..
                    }
                )
            }),
        }
    }

    fn to_value(&self) -> Value {
        object(&[
            ("scenario", self.scenario.as_str().into()),
            ("removed", self.removed.into()),
            ("suspected", self.suspected.into()),
            ("role_changes", self.roles.into()),
        ])
    }
}

fn row(mistakes: &[Mistakes]) -> BenchRow {
    let removed: Vec<f64> = mistakes.iter().map(|run| run.removed as f64).collect();
    let row = BenchRow::new("window-false", "count", Better::Lower).trials(&removed);
    let most = |figure: fn(&Mistakes) -> usize| mistakes.iter().map(figure).max().unwrap_or(0);
    let each: Vec<Value> = mistakes.iter().map(Mistakes::to_value).collect();
    BenchRow {
        ours: Some(removed.iter().sum()),
        ..row
    }
    .with("most_suspected", most(|run| run.suspected))
    .with("most_role_changes", most(|run| run.roles))
    .with("each", each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_and_six_that_want_little_are_watched() {
        let plans = plans().unwrap();
        assert_eq!(plans.len(), 7 + 6);
        assert!(
            plans
                .iter()
                .all(|plan| plan.cc == "reno" && plan.faults.is_empty())
        );
        assert!(plans.iter().any(|plan| plan.name == "window-thin at 0.1 Mb/s"));
    }

    #[test]
    fn the_figure_counts_every_path_given_up() {
        let run = |removed, suspected| Mistakes {
            scenario: "s".to_owned(),
            removed,
            suspected,
            roles: 0,
        };
        let row = row(&[run(0, 3), run(2, 1), run(1, 0)]);
        assert_eq!(row.ours, Some(3.0));
        assert_eq!(row.extra["most_suspected"], 3);
    }
}

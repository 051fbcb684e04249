//! `window-false`: how often a path is removed, suspected or changed in ten minutes in which every link
//! delivers.

use policy::reason::Choice;
use scenario::{Flow, Plan, Work};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trace::{BenchRow, Event, PolicyName, SubflowEvent, What};
use units::{Bitrate, Duration, Instant};

use super::figures::{self, object};
use super::rows::{self, Row};
use super::together::{self, Sets};
use crate::declaration::Setup;
use crate::trial::gap;
use crate::trial::{Observed, Trial};

/// The senders' controller, unless the user chooses another.
const DEFINED: &str = "reno";
/// Length of each run.
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// Longer than any suspicion lasts.
const IN_DOUBT: Duration = Duration::from_secs(1);
/// Rates of applications that ask for little, in kb/s.
const LITTLE_KBPS: [u64; 3] = [100, 1_000, 5_000];

/// Runs the benchmark. The figure is the number of removed paths in all runs.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let cc = setup.cc.as_deref().unwrap_or(DEFINED);
    let sets = Sets {
        places: plans(cc)?,
        trials: &|plan: &Plan, attempt| Ok(vec![trial(plan, setup.seed + attempt)]),
        play: &|trials, doubts| together::side_by_side(trials, &|_, _| Ok(()), doubts),
    };
    let results = sets.measure()?;
    let seen = results.sets.iter().flat_map(|(_, seen)| seen);
    let mistakes: Vec<Mistakes> = seen.map(Mistakes::of).collect();
    mistakes
        .iter()
        .for_each(|mistake| figures::tell("window-false", &mistake.to_value()));
    Ok(vec![
        results
            .doubts
            .note(row(setup.only_row(), &mistakes).with("cc", cc)),
    ])
}

fn trial(plan: &Plan, seed: u64) -> Trial {
    Trial {
        plan: Plan {
            duration: TEN_MINUTES,
            ..plan.clone()
        },
        policy: PolicyName::Slowhand,
        seed,
    }
}

fn plans(cc: &str) -> anyhow::Result<Vec<Plan>> {
    let full = rows::ALL.into_iter().map(|row| row.plan(cc));
    let limited = [rows::EQUAL, rows::THIN]
        .into_iter()
        .flat_map(|row| LITTLE_KBPS.map(|kbps| limited(row, kbps, cc)));
    full.chain(limited).collect()
}

/// The row's links, with an application that asks for little.
fn limited(row: Row, kbps: u64, cc: &str) -> anyhow::Result<Plan> {
    let plan = row.plan(cc)?;
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

/// Mistakes in one healthy run.
struct Mistakes {
    scenario: String,
    /// Whether packets left late although the run was alone.
    late: bool,
    /// Removed paths: when, which, and why.
    removed: Vec<String>,
    /// How often a path fell silent and was probed.
    suspected: usize,
    roles: Roles,
}

/// Subflows that became a backup or stopped being one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Roles {
    /// All changes.
    all: usize,
    /// Changes by the window controller's trials of slow links, and their ends.
    window: usize,
    /// Links that became a backup while suspected of being dead, with no other reason given.
    on_suspicion: usize,
}

/// Decisions that explain a change of roles and have not been followed by one yet.
#[derive(Debug, Default)]
struct Reasons<'r> {
    /// Whether the window controller wants a connection's link to be a backup.
    window: BTreeMap<(u32, &'r str), bool>,
    /// Links that the window controller demoted.
    slow: BTreeSet<(u32, &'r str)>,
    /// When a link was last suspected, unless there was another reason since.
    suspected: BTreeMap<&'r str, Instant>,
    /// When a low-traffic connection was last given a link.
    thin: BTreeMap<u32, Instant>,
}

impl<'r> Reasons<'r> {
    /// Notes a decision. One about a connection's link is the window controller's, unless its reason is low
    /// traffic.
    fn decided(&mut self, at: Instant, link: &'r str, conn: Option<u32>, (verb, reason): (&str, &str)) {
        let is_low_traffic = reason == Choice::LOW_TRAFFIC;
        match (verb, conn.filter(|_| !is_low_traffic)) {
            ("suspect", _) => {
                self.suspected.insert(link, at);
            }
            ("demote", Some(conn)) => {
                self.window.insert((conn, link), true);
                self.slow.insert((conn, link));
                self.suspected.remove(link);
            }
            ("demote", None) => {
                self.suspected.remove(link);
            }
            ("use", Some(conn)) if self.slow.remove(&(conn, link)) => {
                self.window.insert((conn, link), false);
            }
            _ => {}
        }
        if let Some(conn) = conn.filter(|_| is_low_traffic) {
            self.thin.insert(conn, at);
        }
    }

    fn changed(&mut self, at: Instant, (conn, link): (u32, &'r str), backup: bool, roles: &mut Roles) {
        roles.all += 1;
        let lately = |then: Option<&Instant>| then.is_some_and(|&then| at.since(then) <= IN_DOUBT);
        if self.window.get(&(conn, link)) == Some(&backup) {
            self.window.remove(&(conn, link));
            roles.window += 1;
        } else if backup && lately(self.suspected.get(link)) && !lately(self.thin.get(&conn)) {
            roles.on_suspicion += 1;
        }
    }
}

impl Roles {
    fn of(events: &[Event]) -> Self {
        let (mut reasons, mut roles) = (Reasons::default(), Self::default());
        for event in events {
            let at = event.at();
            match &event.what {
                What::Decision {
                    link: Some(link),
                    conn,
                    verb,
                    reason,
                    ..
                } => reasons.decided(at, link, *conn, (verb, reason)),
                What::Subflow {
                    conn,
                    link,
                    event: SubflowEvent::Priority,
                    backup,
                } => reasons.changed(at, (*conn, link), *backup, &mut roles),
                _ => {}
            }
        }
        roles
    }
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
            late: observed.is_late(),
            removed: gap::given_up(&observed.record),
            suspected: count(&|what| matches!(what, What::Decision { verb, .. } if verb == "suspect")),
            roles: Roles::of(&observed.record.events),
        }
    }

    fn to_value(&self) -> Value {
        object(&[
            ("scenario", self.scenario.as_str().into()),
            ("late", self.late.into()),
            ("removed", self.removed.len().into()),
            ("given_up", self.removed.clone().into()),
            ("suspected", self.suspected.into()),
            ("demoted_on_suspicion", self.roles.on_suspicion.into()),
            ("role_changes", self.roles.all.into()),
            ("window_role_changes", self.roles.window.into()),
        ])
    }
}

fn row(blank: BenchRow, mistakes: &[Mistakes]) -> BenchRow {
    let removed: Vec<f64> = mistakes.iter().map(|run| run.removed.len() as f64).collect();
    let row = blank.trials(&removed);
    let most = |figure: fn(&Mistakes) -> usize| mistakes.iter().map(figure).max().unwrap_or(0);
    let each: Vec<Value> = mistakes.iter().map(Mistakes::to_value).collect();
    BenchRow {
        ours: Some(removed.iter().sum()),
        ..row
    }
    .with("most_suspected", most(|run| run.suspected))
    .with("most_demoted_on_suspicion", most(|run| run.roles.on_suspicion))
    .with("most_role_changes", most(|run| run.roles.all))
    .with("most_window_role_changes", most(|run| run.roles.window))
    .with("each", each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_and_six_that_want_little_are_watched() {
        let plans = plans(DEFINED).unwrap();
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
            late: false,
            removed: vec![String::from("after 3 s, a: it is silent"); removed],
            suspected,
            roles: Roles::default(),
        };
        let row = row(
            crate::catalogue::row("window-false"),
            &[run(0, 3), run(2, 1), run(1, 0)],
        );
        assert_eq!(row.ours, Some(3.0));
        assert_eq!(row.extra["most_suspected"], 3);
    }

    fn decision(ms: u64, link: &str, conn: Option<u32>, verb: &str) -> Event {
        said(ms, link, conn, (verb, ""))
    }

    fn said(ms: u64, link: &str, conn: Option<u32>, (verb, reason): (&str, &str)) -> Event {
        let what = What::Decision {
            link: Some(link.to_owned()),
            conn,
            verb: verb.to_owned(),
            reason: reason.to_owned(),
            why: String::new(),
        };
        Event::new(Instant::from_millis(ms), what)
    }

    fn role(ms: u64, link: &str, backup: bool) -> Event {
        let what = What::Subflow {
            conn: 7,
            link: link.to_owned(),
            event: SubflowEvent::Priority,
            backup,
        };
        Event::new(Instant::from_millis(ms), what)
    }

    fn roles(events: &[Event]) -> [usize; 3] {
        let Roles {
            all,
            window,
            on_suspicion,
        } = Roles::of(events);
        [all, window, on_suspicion]
    }

    #[test]
    fn a_slow_link_that_is_tried_and_taken_back_is_the_windows_doing() {
        let trial = [
            decision(1_000, "a", None, "suspect"),
            decision(1_200, "a", Some(7), "demote"),
            role(1_201, "a", true),
            decision(9_000, "a", Some(7), "use"),
            role(9_001, "a", false),
        ];
        assert_eq!(roles(&trial), [2, 2, 0]);
    }

    #[test]
    fn a_link_that_is_demoted_in_doubt_without_another_reason_is_demoted_on_suspicion() {
        let doubted = [decision(1_000, "a", None, "suspect"), role(1_100, "a", true)];
        assert_eq!(roles(&doubted), [1, 0, 1]);
        let another = [decision(1_000, "b", None, "suspect"), role(1_100, "a", true)];
        assert_eq!(roles(&another), [1, 0, 0]);
        let long_ago = [decision(1_000, "a", None, "suspect"), role(3_000, "a", true)];
        assert_eq!(roles(&long_ago), [1, 0, 0]);
    }

    #[test]
    fn thin_traffic_and_steering_are_neither() {
        let thin = [
            decision(1_000, "a", None, "suspect"),
            said(1_010, "b", Some(7), ("use", Choice::LOW_TRAFFIC)),
            said(1_010, "a", Some(7), ("demote", Choice::LOW_TRAFFIC)),
            role(1_011, "a", true),
        ];
        assert_eq!(roles(&thin), [1, 0, 0]);
        let steered = [
            decision(1_000, "a", None, "suspect"),
            decision(1_010, "a", None, "demote"),
            role(1_011, "a", true),
        ];
        assert_eq!(roles(&steered), [1, 0, 0]);
    }
}

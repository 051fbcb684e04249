//! `window-cost`: processor time that bounding takes in the daemon and in its programs in the kernel.
//!
//! Each lever is measured by itself: the ways to bound windows with downloads, the limit of unsent bytes with
//! uploads.

use anyhow::Context as _;
use linux::bpf::CountRunTime;
use linux::daemon::{ConnReport, Report};
use scenario::{Flow, Plan};
use trace::{BenchRow, PolicyName};
use units::Duration;

use super::figures::{self, median, most, object, rounded};
use super::lever::{self, Lever, Levered};
use super::rows;
use super::together::Sets;
use crate::declaration::Setup;
use crate::trial::{self, Doubts, Observed, Trial};

const LASTS: Duration = Duration::from_secs(20);
/// Number of connections that share the links.
const MANY: usize = 100;

/// What the daemon limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Windows of downloads.
    Window(Lever),
    /// Unsent bytes of uploads.
    Unsent,
}

impl Way {
    fn all() -> impl Iterator<Item = Self> {
        let windows = Lever::ALL.into_iter().map(Self::Window);
        windows.chain([Self::Unsent])
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Window(lever) => lever.key(),
            Self::Unsent => "unsent",
        }
    }

    fn bounded(self, report: &Report) -> usize {
        let is_bounded = |conn: &&ConnReport| match self {
            Self::Window(_) => conn.window.is_some(),
            Self::Unsent => conn.unsent.is_some(),
        };
        report.conns.iter().filter(is_bounded).count()
    }
}

/// Connections that are bounded in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Load<'c> {
    cc: &'c str,
    way: Way,
    connections: usize,
}

/// Runs the benchmark, one run after another. The figure is that of one connection, with the most expensive
/// lever and the worse controller.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let _counting = CountRunTime::start().context("counting what programs take; run as root")?;
    let (mut measured, mut doubts) = (Vec::new(), Doubts::default());
    for cc in setup.controllers() {
        for way in Way::all() {
            for connections in [1, MANY] {
                let load = Load { cc, way, connections };
                let costs = load.measure(setup, &mut doubts)?;
                figures::tell("window-cost", &load.to_value(&costs));
                measured.push((load, costs));
            }
        }
    }
    Ok(vec![doubts.note(row(setup.only_row(), &measured))])
}

/// Shares of a core, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    daemon: f64,
    programs: f64,
    /// Number of connections bounded at the end.
    bounded: usize,
}

impl Load<'_> {
    fn measure(self, setup: &Setup, doubts: &mut Doubts) -> anyhow::Result<Vec<Cost>> {
        let runs = u64::from(setup.trials());
        let sets = Sets {
            places: (0..runs).collect(),
            trials: &|run, attempt| Ok(vec![self.levered(setup.seed + attempt * runs + run)?]),
            play: &|trials: Vec<Levered>, doubts| {
                let holds = |_: usize, seen: &Observed| self.cost(seen).map(drop);
                lever::each(&trials, trial::each_alone, &holds, doubts)
            },
        };
        let results = sets.measure()?;
        doubts.add(results.doubts);
        let seen = results.sets.iter().flat_map(|(_, seen)| seen);
        seen.map(|seen| self.cost(seen)).collect()
    }

    fn levered(self, seed: u64) -> anyhow::Result<Levered> {
        let trial = Trial {
            plan: self.plan()?,
            policy: PolicyName::Slowhand,
            seed,
        };
        let lever = match self.way {
            Way::Window(lever) => Some(lever),
            Way::Unsent => None,
        };
        Ok(Levered { trial, lever })
    }

    /// This many connections over the links of `window-equal`.
    fn plan(self) -> anyhow::Result<Plan> {
        let row = match self.way {
            Way::Window(_) => rows::EQUAL,
            Way::Unsent => rows::UPLOAD,
        };
        let plan = row.plan(self.cc)?;
        let one = plan.flows.first().context("the scenario has a flow")?;
        let flow = |number: usize| Flow {
            name: format!("{}-{number}", one.name),
            ..one.clone()
        };
        Ok(Plan {
            name: format!("window-cost, {} × {}", self.connections, self.way.key()),
            duration: LASTS,
            flows: (1..=self.connections).map(flow).collect(),
            ..plan.clone()
        })
    }

    fn cost(self, observed: &Observed) -> anyhow::Result<Cost> {
        let report = lever::report(observed)?;
        let bounded = self.way.bounded(report);
        // For windows, the lever is checked. If many connections share the links, each has too few unsent
        // bytes to be worth a limit.
        anyhow::ensure!(
            bounded > 0 || self.way != Way::Unsent || self.connections > 1,
            "no limit on unsent data was set, so there is no result; please report this"
        );
        let share = |time: Duration| time.as_secs_f64() / observed.run.duration_s * 100.0;
        Ok(Cost {
            daemon: share(report.cpu),
            programs: share(report.levers.run_time),
            bounded,
        })
    }

    /// Prefix of the load's fields.
    fn key(self) -> String {
        format!("{}_{}_{}", self.cc, self.way.key(), self.connections)
    }

    fn to_value(self, costs: &[Cost]) -> serde_json::Value {
        object(&[
            ("load", self.key().into()),
            ("runs", costs.len().into()),
            ("percent", rounded(median(&all(costs)))),
            ("programs", rounded(median(&programs(costs)))),
        ])
    }
}

fn all(costs: &[Cost]) -> Vec<f64> {
    costs.iter().map(|cost| cost.daemon + cost.programs).collect()
}

fn programs(costs: &[Cost]) -> Vec<f64> {
    costs.iter().map(|cost| cost.programs).collect()
}

fn row(blank: BenchRow, measured: &[(Load<'_>, Vec<Cost>)]) -> BenchRow {
    let blank = || blank.clone();
    let with = |connections: usize| {
        measured
            .iter()
            .filter(move |(load, _)| load.connections == connections)
    };
    let one: Vec<BenchRow> = with(1).map(|(_, costs)| blank().trials(&all(costs))).collect();
    let many: Vec<f64> = with(MANY).map(|(_, costs)| median(&all(costs))).collect();
    let row = figures::worst(blank(), &one).with("many", rounded(most(&many)));
    measured.iter().fold(row, |row, (load, costs)| {
        let bounded: Vec<f64> = costs.iter().map(|cost| cost.bounded as f64).collect();
        let key = load.key();
        row.with(&key, rounded(median(&all(costs))))
            .with(&format!("{key}_programs"), rounded(median(&programs(costs))))
            .with(&format!("{key}_bounded"), rounded(median(&bounded)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(way: Way, connections: usize) -> Load<'static> {
        Load {
            cc: "bbr",
            way,
            connections,
        }
    }

    #[test]
    fn a_hundred_connections_have_names_of_their_own_and_go_the_way_of_their_lever() {
        let names = |way| {
            let plan = load(way, MANY).plan().unwrap();
            assert_eq!((plan.cc.as_str(), plan.flows.len()), ("bbr", MANY));
            (plan.flows[0].name.clone(), plan.flows[99].name.clone())
        };
        let both = |first: &str, last: &str| (first.to_owned(), last.to_owned());
        for lever in Lever::ALL {
            assert_eq!(names(Way::Window(lever)), both("download-1", "download-100"));
        }
        assert_eq!(names(Way::Unsent), both("upload-1", "upload-100"));
    }

    #[test]
    fn the_dearest_lever_is_quoted_and_a_hundred_connections_stand_apart() {
        let cost = |daemon| Cost {
            daemon,
            programs: 0.5,
            bounded: 1,
        };
        let costs = |daemon: [f64; 3]| daemon.map(cost).to_vec();
        let row = row(
            crate::catalogue::row("window-cost"),
            &[
                (load(Way::Window(Lever::Egress), 1), costs([1.0, 1.5, 9.0])),
                (load(Way::Unsent, 1), costs([2.0, 2.5, 3.0])),
                (load(Way::Window(Lever::Egress), MANY), costs([4.0, 5.0, 6.0])),
                (load(Way::Unsent, MANY), Vec::new()),
            ],
        );
        assert_eq!((row.ours, row.max, row.runs), (Some(3.0), Some(9.5), 3));
        assert_eq!(row.extra["many"], 5.5);
        assert_eq!(row.extra["bbr_egress_1_programs"], 0.5);
        assert_eq!(row.extra["bbr_unsent_1"], 3.0);
        assert!(
            row.extra["bbr_unsent_100"].is_null(),
            "none of its runs gave a result"
        );
    }
}

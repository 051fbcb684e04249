//! `window-levers`: goodput and the stall after a silent cut with each way to bound windows, on the links of
//! `window-equal`.
//!
//! A receive buffer can be made smaller for new connections only. So an earlier connection lets the daemon
//! find the window, and is over when the measured one begins. It precedes every trial, the stock kernel's
//! too, so that whatever the kernels remember of it is the same for all.

use anyhow::Context as _;
use scenario::{Flow, Plan, Work};
use trace::{BenchRow, PolicyName, SERIES_BIN};
use units::{Bytes, Duration};

use super::cut::{Figures, each, goodput, stall};
use super::figures::{self, median, most, rounded};
use super::lever::{self, Lever, Levered};
use super::rows;
use super::together::{Nth, Results, Sets};
use crate::declaration::Setup;
use crate::trial::gap;
use crate::trial::{self, Observed, Trial};

/// Start of the measured connection.
const BEGINS: Duration = Duration::from_secs(9);
/// Size of the earlier connection: 5.5 s of all that the links carry.
const BEFORE: Bytes = Bytes::new(60_000_000);

/// The compared trials: the stock kernel's, which has no lever, and ours with each.
const ALL: [Option<Lever>; 4] = [None, Some(Lever::Egress), Some(Lever::Clamp), Some(Lever::Buffer)];
/// Index in them of the lever that the daemon chooses by itself.
const DEFAULT: usize = 1;

/// Runs the benchmark. The figure is the stall with the default lever and the worse controller.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let sets = Sets {
        places: Nth::all(setup, setup.trials().into()),
        trials: &|nth: &Nth, attempt| trials(nth, nth.seed(setup.seed, attempt)),
        play: &|trials: Vec<Levered>, doubts| {
            lever::each(&trials, trial::each, &|_, seen| read(seen).map(drop), doubts)
        },
    };
    let results = sets.measure()?;
    let verdicts: Vec<Verdict> = setup
        .controllers()
        .map(|cc| Verdict::of(&results, cc))
        .collect::<Result<_, _>>()?;
    Ok(vec![results.doubts.note(row(setup.only_row(), &verdicts))])
}

fn trials(nth: &Nth, seed: u64) -> anyhow::Result<Vec<Levered>> {
    let plan = plan(&nth.cc)?;
    let plan = rows::EQUAL.cut(&plan, nth.index as usize, seed);
    let levered = |lever: Option<Lever>| Levered {
        trial: Trial {
            plan: Plan {
                name: format!("window-levers, {}", key(lever)),
                ..plan.clone()
            },
            policy: lever.map_or(PolicyName::Mptcp, |_| PolicyName::Slowhand),
            seed,
        },
        lever,
    };
    Ok(ALL.map(levered).into())
}

/// The trial's name in a field.
fn key(lever: Option<Lever>) -> &'static str {
    lever.map_or("stock", Lever::key)
}

fn plan(cc: &str) -> anyhow::Result<Plan> {
    let plan = rows::EQUAL.plan(cc)?;
    let download = plan.flows.first().context("the scenario has a download")?.clone();
    let before = Flow {
        name: "before".to_owned(),
        work: Work::Download {
            size: Some(BEFORE),
            limit: None,
        },
        ..download.clone()
    };
    let measured = Flow {
        start: BEGINS,
        ..download
    };
    Ok(Plan {
        flows: vec![measured, before],
        ..plan
    })
}

/// Reads the figures of a trial. Refuses it if the earlier connection was not over when the measured one
/// began.
fn read(observed: &Observed) -> anyhow::Result<Figures> {
    let before = observed
        .flows
        .get(1)
        .context("the previous connection never ended")?;
    ensure_over(&before.series)?;
    Figures::around(observed, BEGINS, gap::last_change(&observed.record)?.at)
}

fn ensure_over(before: &[u64]) -> anyhow::Result<()> {
    let (read, bins) = (before.iter().sum::<u64>(), before.len() as u32);
    anyhow::ensure!(
        read == BEFORE.get() && SERIES_BIN * bins <= BEGINS,
        "the download before the measured one had only {read} of {} B by {:.1} s; run on a less busy machine",
        BEFORE.get(),
        (SERIES_BIN * bins).as_secs_f64()
    );
    Ok(())
}

/// Figures of all trials with one controller.
struct Verdict {
    cc: String,
    limit: f64,
    /// Figures of each lever, in the order of [`ALL`].
    figures: [Vec<Figures>; 4],
    one_link: [usize; 4],
}

impl Verdict {
    fn of(results: &Results<Nth>, cc: &str) -> anyhow::Result<Self> {
        let of_it = results.sets.iter().filter(|(nth, _)| nth.cc == cc);
        let mut figures: [Vec<Figures>; 4] = Default::default();
        let mut one_link = [0; 4];
        for (which, seen) in of_it.flat_map(|(_, set)| set.iter().enumerate()) {
            figures[which].push(read(seen)?);
            one_link[which] += usize::from(seen.went_over_one_link());
        }
        Ok(Self {
            cc: cc.to_owned(),
            limit: rows::payload_limit_mbps(&plan(cc)?),
            figures,
            one_link,
        })
    }

    fn fields(&self, which: usize) -> Vec<(&'static str, f64)> {
        let (mine, stock) = (&self.figures[which], &self.figures[0]);
        let stalls = each(mine, stall);
        let mut fields = vec![
            ("stall_p50_ms", median(&stalls)),
            ("stall_max_ms", most(&stalls)),
            ("steady_mbps", median(&each(mine, |of| of.steady_mbps))),
            ("first_5s_mbps", median(&each(mine, |of| of.first_mbps))),
        ];
        if ALL[which].is_some() {
            fields.push(("steady", goodput(mine, stock, self.limit, |of| of.steady_mbps)));
            fields.push(("first_5s", goodput(mine, stock, self.limit, |of| of.first_mbps)));
        }
        fields
    }
}

fn row(blank: BenchRow, verdicts: &[Verdict]) -> BenchRow {
    let blank = || blank.clone();
    let quoted = |verdict: &Verdict| blank().trials(&each(&verdict.figures[DEFAULT], stall));
    let row = figures::worst(blank(), &verdicts.iter().map(quoted).collect::<Vec<_>>());
    verdicts.iter().fold(row, |row, verdict| {
        (0..ALL.len()).fold(row, |row, which| {
            let prefix = format!("{}_{}", verdict.cc, key(ALL[which]));
            let fields = verdict.fields(which).into_iter();
            let row = fields.fold(row, |row, (name, figure)| {
                row.with(&format!("{prefix}_{name}"), rounded(figure))
            });
            row.with(&format!("{prefix}_one_link"), verdict.one_link[which])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lever_and_the_stock_kernel_meet_the_same_cut() {
        let nth = Nth {
            cc: "bbr".to_owned(),
            index: 2,
            of: 10,
        };
        let set = trials(&nth, 7).unwrap();
        let policies: Vec<String> = set.iter().map(|one| one.trial.policy.to_string()).collect();
        assert_eq!(policies, ["mptcp", "slowhand", "slowhand", "slowhand"]);
        assert_eq!(set.iter().map(|one| one.lever).collect::<Vec<_>>(), ALL);
        for one in &set {
            let plan = &one.trial.plan;
            assert_eq!((plan.cc.as_str(), one.trial.seed), ("bbr", 7));
            assert_eq!(plan.faults, set[0].trial.plan.faults);
            assert_eq!(plan.flows[0].start, BEGINS);
            assert!(plan.timeline(7)[0].at >= BEGINS + Duration::from_secs(12));
        }
        assert_eq!(ALL[DEFAULT], Some(Lever::ALL[0]));
    }

    #[test]
    fn what_comes_before_must_be_over_and_whole() {
        let bins = |count: usize| {
            let mut series = vec![0; count];
            series[count - 1] = BEFORE.get();
            series
        };
        assert!(ensure_over(&bins(90)).is_ok());
        assert!(
            ensure_over(&bins(91)).is_err(),
            "it went on beside the measured one"
        );
        assert!(ensure_over(&[BEFORE.get() - 1]).is_err());
    }

    fn figures(stall_ms: f64, mbps: f64) -> Figures {
        Figures {
            first_mbps: mbps / 2.0,
            steady_mbps: mbps,
            stall_ms,
            found_ms: None,
            given_up_before: 0,
        }
    }

    fn verdict(cc: &str, stalls: [f64; 4]) -> Verdict {
        Verdict {
            cc: cc.to_owned(),
            limit: 80.0,
            figures: stalls.map(|stall| vec![figures(stall, 60.0), figures(stall + 10.0, 72.0)]),
            one_link: [0, 0, 0, 1],
        }
    }

    #[test]
    fn each_lever_has_fields_of_its_own_and_the_default_is_quoted() {
        let row = row(
            crate::catalogue::row("window-levers"),
            &[
                verdict("reno", [1_000.0, 100.0, 150.0, 400.0]),
                verdict("bbr", [800.0, 120.0, 90.0, 300.0]),
            ],
        );
        assert_eq!((row.p50, row.max, row.runs), (Some(125.0), Some(130.0), 2));
        assert_eq!(row.extra["reno_clamp_stall_max_ms"], 160.0);
        assert_eq!(row.extra["bbr_rmem_stall_p50_ms"], 305.0);
        assert_eq!(row.extra["bbr_stock_steady_mbps"], 66.0);
        assert_eq!(row.extra["bbr_egress_steady"], 1.0);
        assert_eq!(row.extra["reno_rmem_one_link"], 1);
        assert!(!row.extra.contains_key("reno_stock_steady"));
    }
}

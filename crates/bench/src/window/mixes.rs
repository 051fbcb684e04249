//! `window-mixes`: links drawn at random, so that nothing is tuned to the links of the other benchmarks.

use scenario::Plan;
use serde_json::Value;
use std::collections::BTreeSet;
use trace::BenchRow;
use units::Duration;

use super::cut::Figures;
use super::drawn::{self, in_words, is_raised};
use super::figures::{self, least, median, object, rounded, since_start};
use super::rows;
use super::together::Pairs;
use crate::declaration::Setup;
use crate::trial::gap;
use crate::trial::{Doubts, Observed};

/// Number of mixes.
const MIXES: u64 = 12;
/// Seeds per mix: a trial's seed is its mix's number times this, plus its own index.
pub(super) const TRIALS_PER_MIX: u64 = 1_000;

/// One mix with one controller.
struct Mixed {
    mix: u64,
    links: String,
    /// Pairs of trials, and trials of them that were late.
    runs: usize,
    late: usize,
    /// Links whose buffer, as drawn, was smaller than the least capacity.
    raised: usize,
    cc: String,
    /// Trials, ours and stock's, that used one link only.
    one_link: [usize; 2],
    goodput: f64,
    stall_ms: f64,
    stock_stall_ms: f64,
}

/// Runs the benchmark. The figure is the median goodput over the stock kernel's, of the controller with the
/// smaller one.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (mut all, mut doubts) = (Vec::new(), Doubts::default());
    for mix in (0..MIXES).map(|index| setup.seed + index) {
        // Runs mix by mix, so that each is reported as soon as it is measured.
        for mixed in measure(setup, mix, &mut doubts)? {
            figures::tell("window-mixes", &mixed.to_value());
            all.push(mixed);
        }
    }
    Ok(vec![doubts.note(row(setup.only_row(), &all))])
}

fn measure(setup: &Setup, mix: u64, doubts: &mut Doubts) -> anyhow::Result<Vec<Mixed>> {
    let pairs = Pairs {
        setup,
        seed: mix * TRIALS_PER_MIX,
        plan: &|nth, seed| {
            let plan = mixed_plan(mix, &nth.cc)?;
            Ok(rows::cut(&plan, rows::fastest(&plan)[0], seed))
        },
        holds: &|seen| Trial::of(seen).map(drop),
    };
    let results = pairs.measure()?;
    let mixed = setup
        .controllers()
        .map(|cc| judged(mix, cc, &results.pairs(cc)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    doubts.add(results.doubts);
    Ok(mixed.into_iter().flatten().collect())
}

/// The links of a mix.
pub(crate) fn mixed_plan(mix: u64, cc: &str) -> anyhow::Result<Plan> {
    Ok(Plan {
        name: format!("mix-{mix}"),
        links: drawn::links(mix),
        ..rows::EQUAL.plan(cc)?
    })
}

/// Figures of one trial.
struct Trial {
    /// Mean goodput from connect to the cut, in Mb/s.
    mbps: f64,
    stall_ms: f64,
}

impl Trial {
    /// Reads a trial. The cut link need not be in use: on lossy links, either policy may have left it.
    fn of(observed: &Observed) -> anyhow::Result<Self> {
        let cut = gap::first_told(&observed.record)?;
        let series = &observed.only_flow()?.series;
        Ok(Self {
            mbps: figures::mean_mbps(series, Duration::ZERO, since_start(cut)),
            stall_ms: Figures::around(observed, Duration::ZERO, cut)?.stall_ms,
        })
    }
}

/// One mix with one controller, unless it gave no result at all.
fn judged(mix: u64, cc: &str, pairs: &[(&Observed, &Observed)]) -> anyhow::Result<Option<Mixed>> {
    let plan = mixed_plan(mix, cc)?;
    let limit = rows::payload_limit_mbps(&plan);
    let (mut ratios, mut ours, mut stock) = (Vec::new(), Vec::new(), Vec::new());
    for (our, their) in pairs {
        let (our, their) = (Trial::of(our)?, Trial::of(their)?);
        ratios.push(figures::against(our.mbps, their.mbps, limit));
        ours.push(our.stall_ms);
        stock.push(their.stall_ms);
    }
    let late = pairs.iter().flat_map(|(ours, stock)| [ours, stock]);
    Ok((!pairs.is_empty()).then(|| Mixed {
        mix,
        runs: pairs.len(),
        late: late.filter(|seen| seen.is_late()).count(),
        links: plan.links.iter().map(in_words).collect::<Vec<_>>().join(" + "),
        raised: plan.links.iter().filter(|link| is_raised(link)).count(),
        cc: cc.to_owned(),
        one_link: figures::pairs_over_one_link(pairs),
        goodput: median(&ratios),
        stall_ms: median(&ours),
        stock_stall_ms: median(&stock),
    }))
}

impl Mixed {
    fn to_value(&self) -> Value {
        object(&[
            ("mix", self.mix.into()),
            ("links", self.links.as_str().into()),
            ("runs", self.runs.into()),
            ("late", self.late.into()),
            ("raised", self.raised.into()),
            ("cc", self.cc.as_str().into()),
            ("one_link", self.one_link[0].into()),
            ("stock_one_link", self.one_link[1].into()),
            ("goodput", rounded(self.goodput)),
            ("stall_p50_ms", rounded(self.stall_ms)),
            ("stock_stall_p50_ms", rounded(self.stock_stall_ms)),
        ])
    }
}

/// Makes the row. Each controller must meet every limit.
fn row(blank: BenchRow, all: &[Mixed]) -> BenchRow {
    let controllers: BTreeSet<&str> = all.iter().map(|mixed| mixed.cc.as_str()).collect();
    let (goodput, over) = (goodput(all.iter()), stalls_over(all.iter()));
    let row = blank.trials(&goodput);
    let (mut row, mut medians) = (row, Vec::new());
    for cc in controllers {
        let of_it = || all.iter().filter(|mixed| mixed.cc == cc);
        let its = self::goodput(of_it());
        medians.push(median(&its));
        row = row
            .with(&format!("{cc}_median"), rounded(median(&its)))
            .with(&format!("{cc}_worst"), rounded(least(&its)))
            .with(&format!("{cc}_stalls_over"), stalls_over(of_it()));
    }
    let worse = (!medians.is_empty()).then(|| least(&medians));
    let each: Vec<Value> = all.iter().map(Mixed::to_value).collect();
    BenchRow {
        ours: worse,
        p50: worse,
        ..row
    }
    .with("worst", rounded(least(&goodput)))
    .with("stalls_over", over)
    .with("each", each)
}

fn goodput<'m>(mixed: impl Iterator<Item = &'m Mixed>) -> Vec<f64> {
    mixed.map(|mixed| mixed.goodput).collect()
}

fn stalls_over<'m>(mixed: impl Iterator<Item = &'m Mixed>) -> usize {
    mixed
        .filter(|mixed| mixed.stall_ms > mixed.stock_stall_ms)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_with_a_longer_stall_than_stock_is_counted() {
        let row = row(
            crate::catalogue::row("window-mixes"),
            &[
                mixed("reno", 0.91, 100.0),
                mixed("reno", 0.99, 300.0),
                mixed("reno", 1.2, 90.0),
            ],
        );
        assert_eq!(
            (row.ours, row.extra["stalls_over"].as_u64()),
            (Some(0.99), Some(1))
        );
    }

    #[test]
    fn each_controller_is_held_to_the_bars_by_itself() {
        let row = row(
            crate::catalogue::row("window-mixes"),
            &[
                mixed("reno", 1.5, 100.0),
                mixed("reno", 1.1, 100.0),
                mixed("bbr", 0.9, 300.0),
                mixed("bbr", 0.92, 300.0),
                mixed("bbr", 0.98, 100.0),
            ],
        );
        assert_eq!((row.ours, row.p50), (Some(0.92), Some(0.92)));
        assert_eq!(row.extra["reno_median"], 1.3);
        assert_eq!(
            (&row.extra["bbr_worst"], &row.extra["reno_worst"]),
            (&0.9.into(), &1.1.into())
        );
        assert_eq!(row.extra["bbr_stalls_over"], 2);
        assert_eq!(row.extra["reno_stalls_over"], 0);
    }

    fn mixed(cc: &str, goodput: f64, stall_ms: f64) -> Mixed {
        Mixed {
            mix: 1,
            links: String::new(),
            runs: 5,
            late: 0,
            raised: 0,
            cc: cc.to_owned(),
            one_link: [0; 2],
            goodput,
            stall_ms,
            stock_stall_ms: 200.0,
        }
    }
}

//! `window-mixes`: links drawn at random, so that nothing is tuned to the links of the other benchmarks.

use scenario::{Aqm, Cable, Families, Link, LinkKind, Plan, Queue, QueueLimit, Wire};
use serde_json::Value;
use std::collections::BTreeSet;
use trace::{BenchRow, Role};
use units::{Bitrate, Bytes, Duration, Ratio, Rng};

use super::cut::Figures;
use super::figures::{self, least, median, object, rounded, since_start};
use super::rows;
use super::together::Pairs;
use crate::declaration::Setup;
use crate::trial::gap;
use crate::trial::{Doubts, Observed};

/// Number of mixes.
const MIXES: u64 = 12;
/// Seeds per mix: a trial's seed is its mix's number times this, plus its own index.
const TRIALS_PER_MIX: u64 = 1_000;
const RATE_MBPS: (f64, f64) = (1.0, 100.0);
const RTT_MS: (f64, f64) = (5.0, 300.0);
const BUFFER_BDP: (f64, f64) = (0.5, 20.0);
const LOSS: (f64, f64) = (0.0, 0.02);
/// Least capacity of a buffer. Packets are whole, and if there were room for only one, none could wait while
/// another is sent.
const LEAST_PACKETS: u64 = 2;
const PACKET: u64 = 1_500;
const LEAST_BUFFER: u64 = LEAST_PACKETS * PACKET;

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
    let mut rng = Rng::named(mix, "window-mixes");
    let count = 2 + rng.below(2);
    let links = (0..count).map(|index| drawn(index, &mut rng)).collect();
    Ok(Plan {
        name: format!("mix-{mix}"),
        links,
        ..rows::EQUAL.plan(cc)?
    })
}

fn drawn(index: u64, rng: &mut Rng) -> Link {
    let mbps = log_uniform(rng, RATE_MBPS);
    let rtt_ms = log_uniform(rng, RTT_MS);
    let buffer = log_uniform(rng, BUFFER_BDP) * mbps * 1e3 / 8.0 * rtt_ms;
    let loss = LOSS.0 + (LOSS.1 - LOSS.0) * rng.unit();
    let wire = Wire {
        rate: Bitrate::from_bps((mbps * 1e6) as u64),
        jitter: Duration::ZERO,
        loss: Ratio::clamped(loss),
        queue: Queue {
            limit: QueueLimit::Bytes(Bytes::new((buffer as u64).max(LEAST_BUFFER))),
            aqm: Aqm::TailDrop,
        },
    };
    Link {
        name: format!("link{index}"),
        role: Role::Primary,
        subnet: None,
        families: Families::V4,
        kind: LinkKind::Cable(Cable {
            up: wire,
            down: wire,
            rtt: Duration::from_micros((rtt_ms * 1e3) as u64),
            behind: None,
        }),
    }
}

fn log_uniform(rng: &mut Rng, (from, to): (f64, f64)) -> f64 {
    from * (to / from).powf(rng.unit())
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

/// Whether a link's buffer was raised to the least capacity. No buffer is drawn with exactly that.
fn is_raised(link: &Link) -> bool {
    let LinkKind::Cable(cable) = &link.kind else {
        return false;
    };
    cable.down.queue.limit == QueueLimit::Bytes(Bytes::new(LEAST_BUFFER))
}

fn in_words(link: &Link) -> String {
    let LinkKind::Cable(cable) = &link.kind else {
        return link.name.clone();
    };
    let queue_ms = match cable.down.queue.limit {
        QueueLimit::Bytes(bytes) => bytes.get() as f64 * 8.0 / cable.down.rate.as_mbps_f64() / 1e3,
        _ => 0.0,
    };
    let raised = if is_raised(link) {
        " (raised to two packets)"
    } else {
        ""
    };
    format!(
        "{:.1} Mb/s {} ms, queue {queue_ms:.0} ms{raised}, loss {:.1} %",
        cable.down.rate.as_mbps_f64(),
        cable.rtt.as_millis(),
        cable.down.loss.as_f64() * 100.0
    )
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
    fn mixes_are_within_their_bounds_and_the_same_again() {
        for mix in 1..=200 {
            let plan = mixed_plan(mix, "reno").unwrap();
            assert_eq!(plan, mixed_plan(mix, "reno").unwrap());
            assert!((2..=3).contains(&plan.links.len()));
            for link in &plan.links {
                let LinkKind::Cable(cable) = &link.kind else {
                    panic!()
                };
                let mbps = cable.down.rate.as_mbps_f64();
                assert!((0.99..=100.0).contains(&mbps), "{mbps}");
                assert!(cable.down.loss.as_f64() <= 0.02);
                assert!((Duration::from_millis(4)..=Duration::from_millis(300)).contains(&cable.rtt));
            }
        }
    }

    #[test]
    fn links_are_described_by_what_was_drawn() {
        let mut rng = Rng::named(1, "window-mixes");
        let words = in_words(&drawn(0, &mut rng));
        assert!(
            words.contains("Mb/s") && words.contains("queue") && words.contains("loss"),
            "{words}"
        );
    }

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

    #[test]
    fn buffers_are_as_drawn_wherever_two_packets_fit() {
        let (mut raised, mut small) = (0, 0);
        for link in (1..=500).flat_map(|mix| mixed_plan(mix, "reno").unwrap().links) {
            let LinkKind::Cable(cable) = &link.kind else {
                panic!()
            };
            let QueueLimit::Bytes(buffer) = cable.down.queue.limit else {
                panic!()
            };
            assert!(buffer >= Bytes::new(LEAST_BUFFER));
            raised += usize::from(is_raised(&link));
            small += usize::from(buffer < Bytes::new(30 * PACKET) && !is_raised(&link));
            let products = buffer.get() as f64 / (cable.down.rate * cable.rtt).get() as f64;
            assert!(
                is_raised(&link) || (0.49..=20.1).contains(&products),
                "{products}"
            );
            assert_eq!(in_words(&link).contains("raised"), is_raised(&link));
        }
        assert!(raised > 0 && small > raised, "{raised} raised, {small} small");
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

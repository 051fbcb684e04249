//! nsdi15, figure 5: a client's estimate of the delivery probability against what its access point's transmitter counted.

use anyhow::Context as _;
use policy::estimate::delivery::{Config, Delivery, Estimate};
use scenario::{Plan, Setting};
use sim::{Cast, World, digest};
use trace::{PaperFigure, PaperSeries};
use units::{Duration, Instant};

use super::Experiment;
use super::folder::{Figures, Folder};

const SCENARIO: &str = include_str!("../../../../papers/nsdi15-fig5/scenario.toml");
/// The paper's window.
const WINDOW: Duration = Duration::from_millis(500);
const FULL_DBM: i32 = 15;
/// Two minutes at each power.
const PHASE: Duration = Duration::from_secs(120);
/// Enough at each step of a sweep.
const SHORT: Duration = Duration::from_secs(60);
/// Of the hidden access point, in Mb/s at its 6 Mb/s; sparse traffic leaves most of the air.
const SPARSE_MBPS: [&str; 6] = ["0.05", "0.1", "0.25", "0.5", "1", "2"];

/// One half second.
#[derive(Debug, Clone, Copy)]
struct Sample {
    /// `None`: the client had nothing to go by.
    estimate: Option<f64>,
    truth: f64,
}

impl Sample {
    /// How far the estimate is off, in points of probability.
    fn error(&self) -> Option<f64> {
        Some(100.0 * (self.estimate? - self.truth))
    }
}

/// How loud the access point is, and what the hidden one offers.
#[derive(Debug, Clone)]
struct Condition {
    power_dbm: i32,
    rumble: Rumble,
}

#[derive(Debug, Clone, Copy)]
enum Rumble {
    None,
    Mbps(&'static str),
    Saturated,
}

/// Runs all of it.
pub(super) fn run(_: &Folder) -> anyhow::Result<Experiment> {
    let powers = powers()?;
    let low = powers
        .first()
        .context("no power leads to a delivery probability between 0.3 and 1")?
        .0;
    let quiet = |power_dbm| Condition {
        power_dbm,
        rumble: Rumble::None,
    };
    let (weak, strong) = (samples(&quiet(low), PHASE)?, samples(&quiet(FULL_DBM), PHASE)?);
    let joined: Vec<Sample> = weak.iter().chain(&strong).copied().collect();
    let sparse = sparse()?;
    let most = sparse
        .iter()
        .max_by(|a, b| a.1.overestimate().total_cmp(&b.1.overestimate()))
        .context("nothing was swept")?;
    let heavy = Summary::of(&samples(
        &Condition {
            power_dbm: FULL_DBM,
            rumble: Rumble::Saturated,
        },
        SHORT,
    )?);
    let worst = powers
        .iter()
        .map(|(_, summary)| summary.mean_error)
        .fold(0.0, f64::max);
    let measured: Figures = [
        ("estimate_low", Summary::of(&weak).estimate),
        ("estimate_full", Summary::of(&strong).estimate),
        ("mean_error_percent", Summary::of(&joined).mean_error),
        ("worst_mean_error_percent", worst),
        ("sparse_truth", most.1.truth),
        ("sparse_estimate", most.1.estimate),
        ("sparse_overestimate_percent", most.1.overestimate()),
        ("heavy_error_percent", heavy.mean_error),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    Ok(Experiment {
        measured,
        figures: vec![over_time(&joined), by_power(&powers), by_pace(&sparse)],
    })
}

/// What a run came to.
#[derive(Debug, Clone, Copy)]
struct Summary {
    estimate: f64,
    truth: f64,
    /// Mean of |estimate − truth|, in points; half seconds without an estimate count as 100.
    mean_error: f64,
}

impl Summary {
    fn of(samples: &[Sample]) -> Self {
        let mean = |value: &dyn Fn(&Sample) -> f64| {
            samples.iter().map(value).sum::<f64>() / samples.len().max(1) as f64
        };
        let known: Vec<f64> = samples.iter().filter_map(|sample| sample.estimate).collect();
        Self {
            estimate: known.iter().sum::<f64>() / known.len().max(1) as f64,
            truth: mean(&|sample| sample.truth),
            mean_error: mean(&|sample| sample.error().map_or(100.0, f64::abs)),
        }
    }

    fn overestimate(&self) -> f64 {
        100.0 * (self.estimate - self.truth)
    }
}

/// Every power, in steps of 1 dB, that leads to a delivery probability between 0.3 and 1, from the lowest.
fn powers() -> anyhow::Result<Vec<(i32, Summary)>> {
    let mut found = Vec::new();
    for power_dbm in -10..=FULL_DBM {
        let condition = Condition {
            power_dbm,
            rumble: Rumble::None,
        };
        let summary = Summary::of(&samples(&condition, SHORT)?);
        if (0.3..0.9995).contains(&summary.truth) {
            found.push((power_dbm, summary));
        }
    }
    Ok(found)
}

fn sparse() -> anyhow::Result<Vec<(f64, Summary)>> {
    SPARSE_MBPS
        .iter()
        .map(|mbps| {
            let condition = Condition {
                power_dbm: FULL_DBM,
                rumble: Rumble::Mbps(mbps),
            };
            Ok((mbps.parse()?, Summary::of(&samples(&condition, SHORT)?)))
        })
        .collect()
}

fn plan(condition: &Condition) -> anyhow::Result<Plan> {
    let mut values = vec![format!("aps.near.tx_power_dbm={}", condition.power_dbm)];
    if let Rumble::Mbps(mbps) = condition.rumble {
        values.push(format!("flows.rumble.limit_mbps={mbps}"));
    }
    let mut settings = Vec::new();
    for value in &values {
        settings.extend(Setting::alternatives(value)?);
    }
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let mut plan = scenario::parse(
        "papers/nsdi15-fig5/scenario.toml",
        SCENARIO.as_bytes(),
        &settings,
        &no_files,
    )?;
    match condition.rumble {
        Rumble::None => plan.flows.retain(|flow| flow.name != "rumble"),
        Rumble::Mbps(_) => {}
        Rumble::Saturated => {
            for flow in plan.flows.iter_mut().filter(|flow| flow.name == "rumble") {
                if let scenario::Work::Datagrams { pace, .. } = &mut flow.work {
                    *pace = scenario::Pace::Saturated;
                }
            }
        }
    }
    Ok(plan)
}

/// Estimate and truth in every half second.
fn samples(condition: &Condition, length: Duration) -> anyhow::Result<Vec<Sample>> {
    let plan = plan(condition)?;
    let cast = Cast::of(&plan)?;
    let near = plan.link_index("near").and_then(|link| cast.access_point(link));
    let near = near.context("the scenario has an access point `near`")?;
    let client = cast.client_radios().next().context("the client has a radio")?;
    let mut world = World::new(plan.seed, &cast.air, cast.flows.clone())?;
    world.monitor(client);
    let mut delivery = Delivery::new(Config::LEGACY);
    let (mut now, mut before) = (Instant::ZERO, world.air().counters(near));
    let mut found = Vec::new();
    while now < Instant::ZERO + length {
        world.run_for(WINDOW);
        now += WINDOW;
        while let Some(frame) = world.overheard() {
            if let Some(seen) = digest(&frame).filter(|_| frame.from == near) {
                delivery.hear(frame.end, &seen);
            }
        }
        let counted = world.air().counters(near);
        let attempts = counted.attempts - before.attempts;
        let failures = counted.failures - before.failures;
        before = counted;
        found.push(Sample {
            estimate: match delivery.estimate(now) {
                Estimate::Known { delivered, .. } => Some(delivered.as_f64()),
                Estimate::Silent | Estimate::Unattributable { .. } => None,
            },
            truth: 1.0 - failures as f64 / attempts.max(1) as f64,
        });
    }
    Ok(found)
}

fn ours(name: &str, points: Vec<[f64; 2]>) -> PaperSeries {
    PaperSeries {
        name: name.to_owned(),
        published: false,
        points,
    }
}

fn figure(title: &str, x: &str, y: &str, series: Vec<PaperSeries>) -> PaperFigure {
    PaperFigure {
        id: "nsdi15-fig5".to_owned(),
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        series,
    }
}

fn over_time(samples: &[Sample]) -> PaperFigure {
    let at = |place: usize| (place + 1) as f64 * WINDOW.as_secs_f64();
    let truth = samples
        .iter()
        .enumerate()
        .map(|(place, sample)| [at(place), sample.truth]);
    let known = samples
        .iter()
        .enumerate()
        .filter_map(|(place, sample)| Some([at(place), sample.estimate?]));
    figure(
        "Two minutes at low power, two at full power",
        "time, s",
        "delivery probability",
        vec![
            ours("counted at the sender", truth.collect()),
            ours("estimated by the client", known.collect()),
        ],
    )
}

fn by_power(powers: &[(i32, Summary)]) -> PaperFigure {
    let curve = |value: &dyn Fn(&Summary) -> f64| {
        powers
            .iter()
            .map(|(dbm, summary)| [f64::from(*dbm), value(summary)])
            .collect()
    };
    figure(
        "Powers that lead to a delivery probability between 0.3 and 1",
        "transmit power, dBm",
        "mean error, points; delivery probability, %",
        vec![
            ours("mean error", curve(&|summary| summary.mean_error)),
            ours("delivery probability", curve(&|summary| 100.0 * summary.truth)),
        ],
    )
}

fn by_pace(paces: &[(f64, Summary)]) -> PaperFigure {
    let curve = |value: &dyn Fn(&Summary) -> f64| {
        paces
            .iter()
            .map(|(mbps, summary)| [*mbps, value(summary)])
            .collect()
    };
    figure(
        "A hidden access point sends at 6 Mb/s",
        "hidden traffic, Mb/s",
        "delivery probability",
        vec![
            ours("counted at the sender", curve(&|summary| summary.truth)),
            ours("estimated by the client", curve(&|summary| summary.estimate)),
        ],
    )
}

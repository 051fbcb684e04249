//! nsdi15, figure 5: a client's estimate of the delivery probability against what its access point's
//! transmitter counted.

mod draw;

use std::cell::Cell;

use anyhow::Context as _;
use policy::estimate::delivery::{Config, Delivery, Estimate};
use scenario::{Plan, Setting};
use sim::{Cast, World, digest};
use units::{Duration, Instant};

use super::folder::{Figures, Folder};
use super::{Experiment, Report};

const SCENARIO: &str = include_str!("../../../../papers/nsdi15-fig5/scenario.toml");
/// The paper's window.
const WINDOW: Duration = Duration::from_millis(500);
const FULL_DBM: i32 = 15;
/// Groups of runs, for the report of their progress.
const GROUPS: f64 = 10.0;
/// Two minutes at each power.
const PHASE: Duration = Duration::from_secs(120);
/// Enough at each step of a sweep.
const SHORT: Duration = Duration::from_secs(60);
/// Of the hidden access point, in Mb/s at its 6 Mb/s; sparse traffic leaves most of the air.
const SPARSE_MBPS: [&str; 6] = ["0.05", "0.1", "0.25", "0.5", "1", "2"];

/// Rates of the hidden access point's frames, in Mb/s: at the first they last eight times as long as ours.
const HIDDEN_MBPS: [&str; 3] = ["6", "24", "54"];
/// Powers in 802.11n, in dBm.
const POWERS_OF_N: [i32; 5] = [-5, 0, 5, 10, 15];
/// A channel that changes as it does for somebody who walks, and who sits.
const FADES: [&str; 2] = [
    "place.fading={ k_factor_db = 6, coherence_ms = 100 }",
    "place.fading={ k_factor_db = 6, coherence_ms = 1000 }",
];
/// Settings of 802.11n with Minstrel-HT.
const N: [&str; 4] = [
    // It has no meaning here, and a client's radio follows one standard on a channel.
    "aps.hidden.channel=40",
    "aps.near.rate_mbps=auto",
    "aps.near.rate_control=minstrel-ht",
    "aps.near.ht={ streams = 1 }",
];

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

/// How loud the access point is and how it sends, and what the hidden one offers.
#[derive(Debug, Clone, Copy)]
struct Condition {
    power_dbm: i32,
    has_n: bool,
    fades: Option<&'static str>,
    rumble: Rumble,
    /// At which rate the hidden one sends.
    hidden_mbps: &'static str,
}

impl Condition {
    const fn quiet(power_dbm: i32) -> Self {
        Self {
            power_dbm,
            has_n: false,
            fades: None,
            rumble: Rumble::None,
            hidden_mbps: HIDDEN_MBPS[0],
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Rumble {
    None,
    Mbps(&'static str),
    Saturated,
}

/// Runs all of it.
pub(super) fn run(folder: &Folder, report: Report<'_>) -> anyhow::Result<Experiment> {
    let published = Published::of(folder)?;
    let results = Results::of_runs(report)?;
    Ok(Experiment {
        measured: results.measured()?,
        figures: draw::all(&results, &published),
    })
}

/// What the paper says of all of an experiment, in points; its curves are not legible.
#[derive(Debug, Clone, Copy)]
struct Published {
    mean_error: f64,
    mean_error_n: f64,
    sparse_overestimate: f64,
}

impl Published {
    fn of(folder: &Folder) -> anyhow::Result<Self> {
        Ok(Self {
            mean_error: folder.value("mean_error_percent")?,
            mean_error_n: folder.value("worst_mean_error_n_percent")?,
            sparse_overestimate: folder.value("sparse_overestimate_percent")?,
        })
    }
}

/// The result of each power.
type Powers = Vec<(i32, Summary)>;
/// The result of each pace of hidden traffic.
type Paces = Vec<(f64, Summary)>;

/// Results of all runs.
#[derive(Debug)]
struct Results {
    /// Two minutes at low power.
    weak: Vec<Sample>,
    /// Two minutes at full power.
    strong: Vec<Sample>,
    powers: Powers,
    /// For each of [`HIDDEN_MBPS`].
    sparse: [Paces; HIDDEN_MBPS.len()],
    heavy: Summary,
    of_n: Powers,
    /// 802.11n, where the channel changes as for somebody who walks, and who sits.
    walking: Powers,
    sitting: Powers,
}

impl Results {
    fn of_runs(report: Report<'_>) -> anyhow::Result<Self> {
        let ended = Cell::new(0);
        let end = || {
            ended.set(ended.get() + 1);
            report(f64::from(ended.get()) / GROUPS);
        };
        let powers = reported(powers(), end)?;
        let low = powers
            .first()
            .context("no transmit power gives a delivery probability between 0.3 and 1")?
            .0;
        let quiet = |power_dbm| reported(samples(&Condition::quiet(power_dbm), PHASE), end);
        let saturated = Condition {
            rumble: Rumble::Saturated,
            ..Condition::quiet(FULL_DBM)
        };
        let [slow, middle, fast] = HIDDEN_MBPS.map(|mbps| reported(sparse(mbps), end));
        let [walking, sitting] = FADES.map(|fades| reported(powers_of_n(Some(fades)), end));
        Ok(Self {
            weak: quiet(low)?,
            strong: quiet(FULL_DBM)?,
            powers,
            sparse: [slow?, middle?, fast?],
            heavy: Summary::of(&reported(samples(&saturated, SHORT), end)?),
            of_n: reported(powers_of_n(None), end)?,
            walking: walking?,
            sitting: sitting?,
        })
    }

    /// All samples: those with low power, then those with full power.
    fn joined(&self) -> Vec<Sample> {
        self.weak.iter().chain(&self.strong).copied().collect()
    }

    /// Figures by the names that claims use.
    fn measured(&self) -> anyhow::Result<Figures> {
        let most = self.sparse[0]
            .iter()
            .max_by(|a, b| a.1.overestimate().total_cmp(&b.1.overestimate()))
            .context("the sweep has no results")?;
        let worst = |swept: &Powers| {
            let errors = swept.iter().map(|(_, summary)| summary.mean_error);
            errors.fold(0.0, f64::max)
        };
        let named = [
            ("estimate_low", Summary::of(&self.weak).estimate),
            ("estimate_full", Summary::of(&self.strong).estimate),
            ("mean_error_percent", Summary::of(&self.joined()).mean_error),
            ("worst_mean_error_percent", worst(&self.powers)),
            ("worst_mean_error_n_percent", worst(&self.of_n)),
            ("worst_mean_error_fading_n_percent", worst(&self.walking)),
            ("sparse_truth", most.1.truth),
            ("sparse_estimate", most.1.estimate),
            ("sparse_overestimate_percent", most.1.overestimate()),
            ("heavy_error_percent", self.heavy.mean_error),
        ];
        let named = named.into_iter();
        Ok(named.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// The result of a run.
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

/// Passes a result on, and reports it.
fn reported<T>(result: T, report: impl Fn()) -> T {
    report();
    result
}

/// Every power, in steps of 1 dB, that leads to a delivery probability between 0.3 and 1, from the lowest.
fn powers() -> anyhow::Result<Powers> {
    let mut found = Vec::new();
    for power_dbm in -10..=FULL_DBM {
        let summary = Summary::of(&samples(&Condition::quiet(power_dbm), SHORT)?);
        if (0.3..0.9995).contains(&summary.truth) {
            found.push((power_dbm, summary));
        }
    }
    Ok(found)
}

/// In 802.11n, every power that gives a delivery probability of at least 0.3.
fn powers_of_n(fades: Option<&'static str>) -> anyhow::Result<Powers> {
    let one = |power_dbm| {
        let condition = Condition {
            has_n: true,
            fades,
            ..Condition::quiet(power_dbm)
        };
        Ok((power_dbm, Summary::of(&samples(&condition, SHORT)?)))
    };
    let all: anyhow::Result<Vec<_>> = POWERS_OF_N.into_iter().map(one).collect();
    Ok(all?
        .into_iter()
        .filter(|(_, summary)| summary.truth >= 0.3)
        .collect())
}

/// What each pace of hidden traffic leads to, whose frames are sent at that rate.
fn sparse(hidden_mbps: &'static str) -> anyhow::Result<Paces> {
    let one = |mbps: &'static str| {
        let condition = Condition {
            rumble: Rumble::Mbps(mbps),
            hidden_mbps,
            ..Condition::quiet(FULL_DBM)
        };
        Ok((mbps.parse()?, Summary::of(&samples(&condition, SHORT)?)))
    };
    SPARSE_MBPS.into_iter().map(one).collect()
}

fn plan(condition: &Condition) -> anyhow::Result<Plan> {
    let mut values = vec![
        format!("aps.near.tx_power_dbm={}", condition.power_dbm),
        format!("aps.hidden.rate_mbps={}", condition.hidden_mbps),
    ];
    if condition.has_n {
        values.extend(N.map(str::to_owned));
    }
    values.extend(condition.fades.map(str::to_owned));
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
    let mut delivery = Delivery::new(if condition.has_n {
        Config::HT
    } else {
        Config::LEGACY
    });
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

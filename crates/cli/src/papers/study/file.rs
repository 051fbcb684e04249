//! Reads `study.toml`, and makes plans of its cases.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use scenario::{Plan, Setting};
use serde::Deserialize;
use trace::PolicyName;

use super::super::folder::Folder;
use super::place::{self, Place};
use super::trial::Span;
use super::value::{Quantity, Value};

/// All figures of a folder.
#[derive(Debug)]
pub(super) struct Study<'f> {
    folder: &'f Folder,
    warmup_s: f64,
    pub(super) figures: Vec<Figure>,
}

/// One figure or table.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) x: String,
    pub(super) y: String,
    pub(super) axis: Axis,
    places: Vec<Place>,
    set: Vec<String>,
    pub(super) show: Vec<Value>,
    also: Vec<Value>,
    seeds: u64,
    pub(super) cases: Vec<Case>,
    pub(super) ratios: Vec<Compared>,
    pub(super) differences: Vec<Compared>,
}

/// What is along the horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Axis {
    /// The cases, side by side: a table.
    Cases,
    /// A number that settings contain.
    Swept(Vec<f64>),
    /// Combinations of several such numbers, each curve's in ascending order of its values.
    Combined,
    /// The time of the run, in windows of this length.
    Time { every_s: f64 },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyFile {
    seeds: u64,
    #[serde(default)]
    warmup_s: f64,
    figures: Vec<FigureFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureFile {
    title: String,
    x: String,
    y: String,
    /// The numbers of a sweep.
    #[serde(default)]
    at: Vec<f64>,
    /// Settings of each of these numbers alone.
    #[serde(default)]
    at_set: Vec<Vec<String>>,
    /// Instead of `at`: names and their numbers, of which every combination is played.
    #[serde(default)]
    combine: BTreeMap<String, Vec<f64>>,
    /// The windows of a figure over time.
    every_s: Option<f64>,
    /// For all cases. `{x}` stands for the number of the sweep, `{NAME}` for one of `combine`.
    #[serde(default)]
    set: Vec<String>,
    /// What is measured and drawn.
    #[serde(default = "sum")]
    show: Vec<Value>,
    /// What is measured and not drawn.
    #[serde(default)]
    also: Vec<Value>,
    /// Instead of the study's.
    seeds: Option<u64>,
    cases: Vec<Case>,
    #[serde(default)]
    ratios: Vec<Compared>,
    #[serde(default)]
    differences: Vec<Compared>,
}

/// What is played for one curve, or for one row of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    #[serde(default = "scenario_file")]
    scenario: String,
    #[serde(default = "plain")]
    pub(super) policy: PolicyName,
    #[serde(default)]
    set: Vec<String>,
}

/// One value and others at each place: in percent of the largest of these, or less the smallest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) of: String,
    pub(super) over: Vec<String>,
}

fn sum() -> Vec<Value> {
    Value::try_from("sum".to_owned()).into_iter().collect()
}

fn scenario_file() -> String {
    "scenario.toml".to_owned()
}

const fn plain() -> PolicyName {
    PolicyName::Mptcp
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job<'s> {
    study: &'s Study<'s>,
    figure: &'s Figure,
    pub(super) case: &'s Case,
    place: &'s Place,
    pub(super) seed: u64,
}

impl<'f> Study<'f> {
    pub(super) fn read(folder: &'f Folder) -> anyhow::Result<Self> {
        let place = || format!("papers/{}/study.toml", folder.id());
        let file: StudyFile = toml::from_str(folder.file("study.toml")?).with_context(place)?;
        let figures = file.figures.into_iter();
        let figures: anyhow::Result<Vec<Figure>> =
            figures.map(|figure| Figure::new(figure, file.seeds)).collect();
        Ok(Self {
            folder,
            warmup_s: file.warmup_s,
            figures: figures.with_context(place)?,
        })
    }

    /// All runs of a figure: for each case, for each number of a sweep, for each seed.
    pub(super) fn jobs<'s>(&'s self, figure: &'s Figure) -> Vec<Job<'s>> {
        let cases = figure.cases.iter();
        let placed = cases.flat_map(|case| figure.places.iter().map(move |place| (case, place)));
        let seeded = placed.flat_map(|(case, place)| (1..=figure.seeds).map(move |seed| (case, place, seed)));
        let job = |(case, place, seed)| Job {
            study: self,
            figure,
            case,
            place,
            seed,
        };
        seeded.map(job).collect()
    }

    /// The parts of a case's runs that are measured, each with its place on the axis.
    pub(super) fn spans(&self, figure: &Figure, duration_s: f64) -> Vec<(f64, Span)> {
        let span = |from_s, to_s| Span { from_s, to_s };
        match figure.axis {
            Axis::Cases | Axis::Swept(_) | Axis::Combined => vec![(0.0, span(self.warmup_s, duration_s))],
            Axis::Time { every_s } => {
                let windows = ((duration_s - self.warmup_s) / every_s).floor() as u32;
                let window = |number| self.warmup_s + f64::from(number) * every_s;
                (0..windows)
                    .map(|number| (window(number + 1), span(window(number), window(number + 1))))
                    .collect()
            }
        }
    }
}

/// Checks that each name of `combine` is in a setting. Otherwise its numbers would repeat the same runs.
fn all_are_set(file: &FigureFile) -> anyhow::Result<()> {
    let cases = file.cases.iter().flat_map(|case| &case.set);
    let settings: Vec<&String> = file.set.iter().chain(cases).collect();
    for name in file.combine.keys() {
        let braced = format!("{{{name}}}");
        ensure!(
            settings.iter().any(|setting| setting.contains(&braced)),
            "`{}`: no setting has `{braced}` of `combine`; use it, or remove it",
            file.title
        );
    }
    Ok(())
}

impl Figure {
    /// `seeds`: those of the study.
    fn new(file: FigureFile, seeds: u64) -> anyhow::Result<Self> {
        let axis = match (file.at.is_empty(), file.combine.is_empty(), file.every_s) {
            (true, true, None) => Axis::Cases,
            (false, true, None) => Axis::Swept(file.at.clone()),
            (true, false, None) => Axis::Combined,
            (true, true, Some(every_s)) => Axis::Time { every_s },
            _ => bail!(
                "`{}` has several of `at`, `combine` and `every_s`; keep one",
                file.title
            ),
        };
        ensure!(
            file.at_set.is_empty() || matches!(axis, Axis::Swept(_)),
            "`{}` has `at_set` without `at`; remove it",
            file.title
        );
        all_are_set(&file)?;
        let places = match &axis {
            Axis::Combined => place::combinations(&file.combine),
            _ => place::sweep(&file.at, &file.at_set),
        };
        let places = places.with_context(|| format!("`{}`", file.title))?;
        let seeds = file.seeds.unwrap_or(seeds);
        ensure!(seeds > 0, "`{}` has no `seeds`", file.title);
        let mut values = file.show.iter().chain(&file.also);
        if matches!(axis, Axis::Time { .. })
            && let Some(value) = values.find(|value| !value.quantity.has_spans())
        {
            bail!("`{}` has no value over time; remove `every_s`", value.text());
        }
        Ok(Self {
            title: file.title,
            x: file.x,
            y: file.y,
            axis,
            places,
            set: file.set,
            show: file.show,
            also: file.also,
            seeds,
            cases: file.cases,
            ratios: file.ratios,
            differences: file.differences,
        })
    }

    /// Everything that is measured of a case.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.show.iter().chain(&self.also)
    }

    /// Whether times between packets are wanted.
    pub(super) fn listens(&self) -> bool {
        self.values()
            .any(|value| matches!(value.quantity, Quantity::Gap(_)))
    }

    /// Whether round-trip times are wanted.
    pub(super) fn times_round_trips(&self) -> bool {
        self.values()
            .any(|value| matches!(value.quantity, Quantity::RoundTrip(..)))
    }

    /// How many runs each number of a sweep of each case has.
    pub(super) const fn seeds(&self) -> usize {
        self.seeds as usize
    }
}

impl Job<'_> {
    /// The scenario with its settings.
    pub(super) fn plan(&self) -> anyhow::Result<Plan> {
        let folder = self.study.folder;
        let text = folder.file(&self.case.scenario)?;
        let name = format!("papers/{}/{}", folder.id(), self.case.scenario);
        let mut settings = Vec::new();
        let own = self.figure.set.iter().chain(&self.case.set);
        for setting in own.chain(self.place.settings()) {
            settings.extend(Setting::alternatives(&self.place.filled(setting))?);
        }
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let plan = scenario::parse(&name, text.as_bytes(), &settings, &no_files);
        plan.with_context(|| format!("case `{}`", self.case.name))
    }
}

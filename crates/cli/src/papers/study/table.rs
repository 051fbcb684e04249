//! The values of a figure, by the names that claims use.

use anyhow::{Context as _, ensure};

use super::super::folder::Figures;
use super::file::{Axis, Case, Compared, Figure, Study};
use super::trial::Trial;
use super::value::Value;

/// All values of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    /// Of each case in the order of the file: its values.
    curves: Vec<Vec<Curve>>,
    compared: Vec<Curve>,
    has_axis: bool,
}

/// One value of a case, or one comparison, at each place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    name: String,
    /// For the legend.
    pub(super) label: String,
    pub(super) points: Vec<Point>,
}

/// A value at its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) name: String,
    pub(super) x: f64,
    pub(super) value: f64,
}

impl Table {
    /// Of runs in the order of [`Study::jobs`].
    pub(super) fn of(study: &Study<'_>, figure: &Figure, trials: &[Trial]) -> anyhow::Result<Self> {
        let each = trials.len() / figure.cases.len().max(1);
        let cases = figure.cases.iter().zip(trials.chunks(each.max(1)));
        let values = |(number, (case, trials)): (usize, (&Case, &[Trial]))| {
            let of = |value| curve(study, figure, (number, case), value, trials);
            figure.values().map(of).collect::<anyhow::Result<Vec<_>>>()
        };
        let curves: Vec<Vec<Curve>> = cases.enumerate().map(values).collect::<anyhow::Result<_>>()?;
        let all: Vec<&Curve> = curves.iter().flatten().collect();
        let has_axis = figure.axis != Axis::Cases;
        let ratios = figure.ratios.iter();
        let ratios = ratios.map(|ratio| compared(&all, ratio, percent_of_largest, has_axis));
        let differences = figure.differences.iter();
        let differences = differences.map(|less| compared(&all, less, less_the_smallest, has_axis));
        Ok(Self {
            compared: ratios.chain(differences).collect::<anyhow::Result<_>>()?,
            curves,
            has_axis,
        })
    }

    /// Every value by its name; of a curve over an axis, also the mean, the median, the least and the most.
    pub(super) fn named(&self) -> Figures {
        let mut named = Figures::new();
        for curve in self.curves.iter().flatten().chain(&self.compared) {
            let points = curve.points.iter();
            named.extend(points.map(|point| (point.name.clone(), point.value)));
            if self.has_axis {
                named.extend(curve.summary());
            }
        }
        named
    }

    /// What is drawn: the curves, or the columns of a table, each over all cases.
    pub(super) fn drawn(&self, figure: &Figure) -> Vec<Curve> {
        if self.has_axis {
            let shown = |case: &Vec<Curve>| case[..figure.show.len()].to_vec();
            let mut curves: Vec<Curve> = self.curves.iter().flat_map(shown).collect();
            if figure.axis == Axis::Combined {
                curves.iter_mut().for_each(Curve::sort);
            }
            return curves;
        }
        let column = |(number, value): (usize, &Value)| Curve {
            name: value.name(),
            label: value.text().to_owned(),
            points: self
                .curves
                .iter()
                .flat_map(|case| case[number].points.clone())
                .collect(),
        };
        figure.show.iter().enumerate().map(column).collect()
    }
}

impl Curve {
    /// The mean, the median, the least and the most of its values, by their names.
    fn summary(&self) -> [(String, f64); 4] {
        let mut values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        values.sort_by(f64::total_cmp);
        let count = values.len().max(1);
        let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
        [
            ("mean", values.iter().sum::<f64>() / count as f64),
            ("median", (at((count - 1) / 2) + at(count / 2)) / 2.0),
            ("least", at(0)),
            ("most", at(count - 1)),
        ]
        .map(|(what, value)| (format!("{}_{what}", self.name), value))
    }

    /// Puts its values into ascending order, each at the place of its rank.
    fn sort(&mut self) {
        self.points.sort_by(|a, b| a.value.total_cmp(&b.value));
        for (rank, point) in self.points.iter_mut().enumerate() {
            point.x = rank as f64 + 1.0;
        }
    }
}

/// One value of a case: its number, and its runs.
fn curve(
    study: &Study<'_>,
    figure: &Figure,
    (number, case): (usize, &Case),
    value: &Value,
    trials: &[Trial],
) -> anyhow::Result<Curve> {
    let name = format!("{}_{}", case.name, value.name());
    let mut points = Vec::new();
    for (sweep, trials) in trials.chunks(figure.seeds()).enumerate() {
        let duration_s = trials.first().map_or(0.0, |trial| trial.duration_s);
        for (time, span) in study.spans(figure, duration_s) {
            let value = value
                .of(trials, span)
                .with_context(|| format!("case `{}`", case.name))?;
            points.push(match &figure.axis {
                Axis::Cases => point(&name, None, number as f64 + 1.0, value),
                Axis::Swept(numbers) => point(&name, Some(numbers[sweep]), numbers[sweep], value),
                Axis::Combined => point(&name, Some(sweep as f64 + 1.0), sweep as f64 + 1.0, value),
                Axis::Time { .. } => point(&name, Some(time), time, value),
            });
        }
    }
    let label = match figure.show.len() {
        1 => case.name.clone(),
        _ => format!("{}, {}", case.name, value.text()),
    };
    Ok(Curve { name, label, points })
}

fn point(curve: &str, on_axis: Option<f64>, x: f64, value: f64) -> Point {
    let name = match on_axis {
        Some(number) => format!("{curve}_{number}"),
        None => curve.to_owned(),
    };
    Point { name, x, value }
}

fn percent_of_largest(of: f64, over: &[f64]) -> f64 {
    100.0 * of / over.iter().copied().fold(0.0, f64::max).max(1e-9)
}

fn less_the_smallest(of: f64, over: &[f64]) -> f64 {
    of - over.iter().copied().fold(f64::INFINITY, f64::min)
}

/// A curve and others, compared at each place.
fn compared(
    curves: &[&Curve],
    wanted: &Compared,
    compare: fn(f64, &[f64]) -> f64,
    has_axis: bool,
) -> anyhow::Result<Curve> {
    let find = |name: &String| {
        let found = curves.iter().find(|curve| curve.name == *name);
        found.with_context(|| format!("`{}`: there is no value `{name}`", wanted.name))
    };
    let of = find(&wanted.of)?;
    let over: Vec<&&Curve> = wanted.over.iter().map(find).collect::<anyhow::Result<_>>()?;
    ensure!(!over.is_empty(), "`{}`: `over` is empty", wanted.name);
    let points = of.points.iter().enumerate().map(|(place, top)| {
        let others = over.iter().filter_map(|curve| curve.points.get(place));
        let others: Vec<f64> = others.map(|point| point.value).collect();
        let value = compare(top.value, &others);
        point(&wanted.name, has_axis.then_some(top.x), top.x, value)
    });
    Ok(Curve {
        name: wanted.name.clone(),
        label: wanted.name.clone(),
        points: points.collect(),
    })
}

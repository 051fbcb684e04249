//! Many runs of one scenario: the figures that differ from seed to seed, from policy to policy, and with the
//! values of swept keys.
//!
//! Where no key is swept, each figure is a distribution over the seeds. Where keys are, it is a curve over
//! each key, with the spread over the seeds.

use crate::distribution::{self, Sample};
use crate::measure::{FIGURES, Figure};
use crate::svg::{Curve, Plot, sheet};
use std::collections::BTreeMap;
use trace::{Case, PlayDocument, PolicyName, Run};

/// More curves than this in one plot cannot be told apart.
const MOST_CURVES: usize = 12;

/// More steps than this in a distribution are finer than the picture.
const MOST_STEPS: usize = 1_000;

/// Runs that differ in nothing but their seed.
#[derive(Debug)]
pub(crate) struct Group<'d> {
    pub policy: &'d PolicyName,
    pub case: &'d Case,
    pub runs: Vec<&'d Run>,
}

impl Group<'_> {
    /// Values of a figure, of the runs that have it.
    fn values(&self, figure: &Figure) -> Vec<f64> {
        self.runs.iter().filter_map(|run| (figure.of)(run)).collect()
    }

    /// The values of its keys but one, and its policy.
    fn name_without(&self, key: &str) -> String {
        let set = self.case.set.iter().filter(|(name, _)| *name != key);
        let values = set.map(|(name, value)| format!(", {name}={value}"));
        format!("{}{}", self.policy, values.collect::<String>())
    }

    fn value(&self, key: &str) -> String {
        self.case
            .set
            .get(key)
            .map_or_else(String::new, ToString::to_string)
    }
}

/// Mean, least and largest of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub mean: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// `None` if there are no values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            least: values.iter().copied().reduce(f64::min)?,
            most: values.iter().copied().reduce(f64::max)?,
        })
    }
}

/// The runs of a document, grouped.
#[derive(Debug)]
pub(crate) struct Study<'d> {
    /// Groups, in the order of the document.
    pub groups: Vec<Group<'d>>,
    /// Swept keys.
    pub keys: Vec<&'d str>,
}

impl<'d> Study<'d> {
    pub(crate) fn of(document: &'d PlayDocument) -> Self {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for run in document.runs.iter().filter(|run| !run.policy.is_computed()) {
            let name = format!("{} {:?}", run.policy, run.case);
            let place = *places.entry(name).or_insert_with(|| {
                groups.push(Group {
                    policy: &run.policy,
                    case: &run.case,
                    runs: Vec::new(),
                });
                groups.len() - 1
            });
            groups[place].runs.push(run);
        }
        let first = groups.first().map(|group| group.case.set.keys());
        let keys = first.into_iter().flatten().map(String::as_str).collect();
        Self { groups, keys }
    }

    /// All plots, those of one key together.
    pub(crate) fn plots(&self) -> Vec<Plot> {
        let shown = || FIGURES.iter().filter(|figure| self.has(figure));
        if self.keys.is_empty() {
            let seeds = shown().map(|figure| self.distribution(figure));
            return seeds.chain(self.distributions_of_packets()).collect();
        }
        let keys = self.keys.iter();
        keys.flat_map(|key| shown().map(|figure| self.over(key, figure)))
            .collect()
    }

    /// Those of delays and round-trip times, of the runs of each policy together.
    fn distributions_of_packets(&self) -> Vec<Plot> {
        let sample = |group: &Group<'d>| Sample {
            name: group.policy.to_string(),
            runs: group.runs.clone(),
        };
        distribution::plots(&self.groups.iter().map(sample).collect::<Vec<_>>())
    }

    fn has(&self, figure: &Figure) -> bool {
        self.groups.iter().any(|group| !group.values(figure).is_empty())
    }

    /// For each policy, the share of runs in which the figure is at most as large.
    fn distribution(&self, figure: &Figure) -> Plot {
        let curve = |group: &Group<'_>| Curve {
            name: group.policy.to_string(),
            points: steps(group.values(figure), group.runs.len()),
            spread: Vec::new(),
        };
        Plot {
            title: format!("{} over the seeds", figure.name),
            x: format!("{}, {}", figure.name, figure.unit),
            y: "share of the runs, at most this".to_owned(),
            ticks: Vec::new(),
            top: Some(1.0),
            curves: self.groups.iter().map(curve).collect(),
        }
    }

    /// The figure over a key: a curve for each policy and each combination of the other keys' values, or for
    /// each policy alone if those would be too many.
    fn over(&self, key: &str, figure: &Figure) -> Plot {
        let positions = self.positions(key);
        let each = self.curves(key, figure, &positions, |group| group.name_without(key));
        let is_crowded = each.len() > MOST_CURVES;
        let curves = if is_crowded {
            self.curves(key, figure, &positions, |group| group.policy.to_string())
        } else {
            each
        };
        let others = if is_crowded {
            ", all other values together"
        } else {
            ""
        };
        Plot {
            title: format!("{} over {key}{others}", figure.name),
            x: key.to_owned(),
            y: format!(
                "{}, {}; the bars are the least and the most",
                figure.name, figure.unit
            ),
            ticks: positions
                .iter()
                .map(|(label, position)| (*position, label.clone()))
                .collect(),
            top: None,
            curves,
        }
    }

    fn curves(
        &self,
        key: &str,
        figure: &Figure,
        positions: &[(String, f64)],
        name: impl Fn(&Group<'_>) -> String,
    ) -> Vec<Curve> {
        let mut names: Vec<String> = Vec::new();
        let mut values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for group in &self.groups {
            let (name, value) = (name(group), group.value(key));
            let curve = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            let position = positions.iter().position(|(label, _)| *label == value);
            let at = values.entry((curve, position.unwrap_or(0))).or_default();
            at.extend(group.values(figure));
        }
        let mut curves: Vec<Curve> = names
            .into_iter()
            .map(|name| Curve {
                name,
                ..Curve::default()
            })
            .collect();
        for ((curve, position), values) in values {
            if let Some(spread) = Spread::of(&values) {
                let x = positions[position].1;
                curves[curve].points.push([x, spread.mean]);
                curves[curve].spread.push([x, spread.least, spread.most]);
            }
        }
        curves
    }

    /// The values of a key with their positions on an axis, from left to right: numbers where they are, other
    /// values side by side in the order of the document.
    fn positions(&self, key: &str) -> Vec<(String, f64)> {
        let mut found: Vec<(String, Option<f64>)> = Vec::new();
        for value in self.groups.iter().filter_map(|group| group.case.set.get(key)) {
            let label = value.to_string();
            if found.iter().all(|(known, _)| *known != label) {
                found.push((label, value.number()));
            }
        }
        let numbers: Option<Vec<f64>> = found.iter().map(|(_, number)| *number).collect();
        let are_apart = |numbers: &Vec<f64>| {
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.is_sorted_by(|one, next| one < next) && sorted.len() > 1
        };
        let labels = found.into_iter().map(|(label, _)| label);
        let mut positions: Vec<(String, f64)> = match numbers.filter(are_apart) {
            Some(numbers) => labels.zip(numbers).collect(),
            None => labels.zip((0..).map(f64::from)).collect(),
        };
        positions.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        positions
    }

    /// "24 runs: 2 policies, 6 seeds, 2 values of aps.near.rate_mbps".
    pub(crate) fn headline(&self) -> String {
        let runs: usize = self.groups.iter().map(|group| group.runs.len()).sum();
        let mut policies: Vec<&PolicyName> = self.groups.iter().map(|group| group.policy).collect();
        policies.sort_unstable();
        policies.dedup();
        let seeds = self
            .groups
            .iter()
            .map(|group| group.runs.len())
            .max()
            .unwrap_or(0);
        let keys = self.keys.iter().map(|key| {
            let values = counted(self.positions(key).len(), "value", "values");
            format!(", {values} of {key}")
        });
        format!(
            "{}: {}, {}{}",
            counted(runs, "run", "runs"),
            counted(policies.len(), "policy", "policies"),
            counted(seeds, "seed", "seeds"),
            keys.collect::<String>()
        )
    }

    /// A row for each flow of each group.
    pub(crate) fn table(&self) -> Figures {
        let rows = self.groups.iter().flat_map(|group| self.rows(group));
        Figures::of(&self.keys, rows.collect())
    }

    fn rows(&self, group: &Group<'d>) -> Vec<FigureRow> {
        let names = group.runs.first().map_or(&[][..], |run| &run.flows);
        let row = |place: usize, name: &str| {
            let flows = || group.runs.iter().filter_map(move |run| run.flows.get(place));
            let values = |value: fn(&trace::Flow) -> Option<f64>| {
                Spread::of(&flows().filter_map(value).collect::<Vec<_>>())
            };
            FigureRow {
                values: self.keys.iter().map(|key| group.value(key)).collect(),
                policy: group.policy.to_string(),
                flow: name.to_owned(),
                runs: group.runs.len(),
                goodput: values(|flow| Some(flow.goodput_mbps)),
                stall: values(|flow| Some(flow.longest_stall_ms)),
                first_byte: values(|flow| flow.first_byte_ms),
                lost: values(|flow| flow.datagrams?.lost_percent()),
                delay: values(|flow| Some(flow.delay?.mean_ms)),
                latest: values(|flow| Some(flow.delay?.p99_ms)),
                reply: values(|flow| Some(flow.reply?.p50_ms)),
                late_reply: values(|flow| Some(flow.reply?.p99_ms)),
            }
        };
        let flows = names.iter().enumerate();
        flows.map(|(place, flow)| row(place, &flow.name)).collect()
    }
}

/// Renders the plots of many runs as one picture.
pub fn study_svg(document: &PlayDocument) -> String {
    let study = Study::of(document);
    sheet(&study.plots(), &study.headline())
}

/// One flow of one group.
#[derive(Debug, Clone, PartialEq)]
struct FigureRow {
    values: Vec<String>,
    policy: String,
    flow: String,
    runs: usize,
    goodput: Option<Spread>,
    stall: Option<Spread>,
    first_byte: Option<Spread>,
    lost: Option<Spread>,
    /// Mean of one-way delays.
    delay: Option<Spread>,
    /// Their 99th percentile.
    latest: Option<Spread>,
    /// Median of replies.
    reply: Option<Spread>,
    /// Their 99th percentile.
    late_reply: Option<Spread>,
}

/// A table of texts, the same on the page and in a terminal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figures {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Number of columns that are text. The others are numbers.
    pub texts: usize,
}

impl Figures {
    fn of(keys: &[&str], rows: Vec<FigureRow>) -> Self {
        // The last two columns are empty in most documents.
        let unused = match rows.iter().any(|row| row.reply.is_some()) {
            true => 0,
            false => 2,
        };
        let mut figures = vec![
            "runs",
            "Mb/s",
            "least",
            "most",
            "stall ms",
            "most",
            "first byte ms",
            "most",
            "lost %",
            "delay ms",
            "99 %",
            "reply ms",
            "99 %",
        ];
        figures.truncate(figures.len() - unused);
        let header = keys.iter().copied().chain(["policy", "flow"]).chain(figures);
        let cells = |row: FigureRow| {
            let texts = row.values.into_iter().chain([row.policy, row.flow]);
            let mut numbers = vec![
                row.runs.to_string(),
                shown(row.goodput.map(|spread| spread.mean), 3),
                shown(row.goodput.map(|spread| spread.least), 3),
                shown(row.goodput.map(|spread| spread.most), 3),
                shown(row.stall.map(|spread| spread.mean), 0),
                shown(row.stall.map(|spread| spread.most), 0),
                shown(row.first_byte.map(|spread| spread.mean), 1),
                shown(row.first_byte.map(|spread| spread.most), 1),
                shown(row.lost.map(|spread| spread.mean), 2),
                shown(row.delay.map(|spread| spread.mean), 2),
                shown(row.latest.map(|spread| spread.mean), 2),
                shown(row.reply.map(|spread| spread.mean), 2),
                shown(row.late_reply.map(|spread| spread.mean), 2),
            ];
            numbers.truncate(numbers.len() - unused);
            texts.chain(numbers).collect()
        };
        Self {
            header: header.map(str::to_owned).collect(),
            rows: rows.into_iter().map(cells).collect(),
            texts: keys.len() + 2,
        }
    }
}

/// "–" if there is no number.
fn shown(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(|| "–".to_owned(), |number| format!("{number:.digits$}"))
}

/// "1 seed", "3 seeds".
fn counted(number: usize, one: &str, several: &str) -> String {
    let word = if number == 1 { one } else { several };
    format!("{number} {word}")
}

/// Corners of the steps of a distribution of `all` runs, those of which have a value that are given.
fn steps(mut values: Vec<f64>, all: usize) -> Vec<[f64; 2]> {
    values.sort_by(f64::total_cmp);
    let share = |count: usize| count as f64 / all.max(1) as f64;
    let every = values.len().div_ceil(MOST_STEPS).max(1);
    let mut corners = Vec::new();
    let mut below = 0;
    for (count, &value) in (1..).zip(&values) {
        if count % every == 0 || count == values.len() {
            corners.extend([[value, share(below)], [value, share(count)]]);
            below = count;
        }
    }
    corners
}

#[cfg(test)]
#[path = "study_tests.rs"]
mod tests;

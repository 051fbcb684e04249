//! Results of benchmarks: the document of `bench --json`.

use crate::BenchSchema;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The output of `slowhand bench`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BenchDocument {
    /// Name and version of this format.
    pub schema: BenchSchema,
    /// One per benchmark.
    pub benches: Vec<BenchRow>,
}

/// One benchmark. What was not measured is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// Its name, as in `slowhand bench NAME`.
    pub name: String,
    /// Unit of every figure of the row.
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// The figure to quote.
    pub ours: Option<f64>,
    /// Median of the trials.
    pub p50: Option<f64>,
    /// Their 99th percentile.
    pub p99: Option<f64>,
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// How many trials.
    pub runs: u64,
    /// What it is compared with.
    pub peer: Option<String>,
    /// The peer's figure.
    pub theirs: Option<f64>,
    /// Where the peer's figure comes from.
    pub theirs_from: TheirsFrom,
    /// Better than 1 is better than the peer.
    pub ratio: Option<f64>,
    /// Fields that only this benchmark has.
    #[serde(flatten)]
    pub extra: BTreeMap<String, serde_json::Value>,
}

impl BenchRow {
    /// A row without figures yet.
    pub fn new(name: impl Into<String>, unit: impl Into<String>, better: Better) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            better,
            ours: None,
            p50: None,
            p99: None,
            min: None,
            max: None,
            runs: 0,
            peer: None,
            theirs: None,
            theirs_from: TheirsFrom::None,
            ratio: None,
            extra: BTreeMap::new(),
        }
    }

    /// Sets count, spread and, as the quoted figure, the median from one figure per trial.
    #[must_use]
    pub fn trials(mut self, figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        self.runs = sorted.len() as u64;
        self.min = sorted.first().copied();
        self.max = sorted.last().copied();
        self.p50 = median(&sorted);
        self.p99 = p99(&sorted);
        self.ours = self.p50;
        self
    }

    /// Adds a field of this benchmark's own.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.extra.insert(key.to_owned(), value.into());
        self
    }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(lower + (upper - lower) / 2.0)
}

/// The least figure that at least 99 % do not exceed.
fn p99(sorted: &[f64]) -> Option<f64> {
    sorted
        .get((sorted.len() * 99).div_ceil(100).checked_sub(1)?)
        .copied()
}

words! {
    /// Which way is good.
    Better is "direction" {
        /// More is better.
        Higher = "higher",
        /// Less is better.
        Lower = "lower",
    }
}

words! {
    /// Where the peer's figure comes from.
    TheirsFrom is "origin" {
        /// Measured in the same run.
        ThisRun = "this run",
        /// A stored figure, scaled by the calibration loop.
        Stored = "stored",
        /// No peer figure.
        None = "none",
    }
}

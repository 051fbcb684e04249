//! The declaration of a benchmark, from which its help, its row in the README, its JSON and its trials
//! follow.

use trace::{BenchRow, Better, PolicyName};

/// Runs a benchmark, and returns one row for each figure.
pub type Measure = fn(&Setup) -> anyhow::Result<Vec<BenchRow>>;

/// A benchmark: figures that are measured together.
pub struct Bench {
    /// At least one, each with a name for the command line.
    pub figures: &'static [Figure],
    /// Trials of its definition, one entry per kind.
    pub trials: &'static [Trials],
    /// Whether it needs the lab, and so root.
    pub needs_root: bool,
    /// Runs it.
    pub measure: Measure,
}

/// One figure of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// Its name, as in `slowhand bench NAME`.
    pub name: &'static str,
    /// What is measured, as the help and the README say it.
    pub what: &'static str,
    /// Unit of every value of the row.
    pub unit: &'static str,
    /// Whether less or more is better.
    pub better: Better,
    /// Whether the README quotes it.
    pub is_quoted: bool,
}

/// Trials of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// How many.
    pub count: u32,
    /// Description of each, if it needs one.
    pub of: &'static str,
}

impl Bench {
    /// A benchmark that needs root.
    pub const fn rooted(figures: &'static [Figure], trials: &'static [Trials], measure: Measure) -> Self {
        Self {
            figures,
            trials,
            needs_root: true,
            measure,
        }
    }

    /// A benchmark that any user can run.
    pub const fn rootless(figures: &'static [Figure], trials: &'static [Trials], measure: Measure) -> Self {
        Self {
            figures,
            trials,
            needs_root: false,
            measure,
        }
    }
}

impl Figure {
    /// A figure where less is better.
    pub const fn less(name: &'static str, unit: &'static str, what: &'static str) -> Self {
        Self {
            name,
            what,
            unit,
            better: Better::Lower,
            is_quoted: false,
        }
    }

    /// A figure where more is better.
    pub const fn more(name: &'static str, unit: &'static str, what: &'static str) -> Self {
        Self {
            better: Better::Higher,
            ..Self::less(name, unit, what)
        }
    }

    /// Adds a row in the README.
    pub const fn quoted(self) -> Self {
        Self {
            is_quoted: true,
            ..self
        }
    }
}

impl Trials {
    /// This many trials, without a description.
    pub const fn count(count: u32) -> Self {
        Self { count, of: "" }
    }

    /// This many trials of a kind.
    pub const fn of(count: u32, of: &'static str) -> Self {
        Self { count, of }
    }
}

/// The user's options for a benchmark.
pub struct Setup {
    /// The benchmark.
    pub bench: &'static Bench,
    /// Number of trials instead of the definition's.
    pub asked_trials: Option<u32>,
    /// Policy to measure beside ours.
    pub beside: Option<PolicyName>,
    /// Congestion controller to use alone.
    pub cc: Option<String>,
    /// Seed of the first trial.
    pub seed: u64,
}

impl Setup {
    /// Number of trials of the first kind in the definition.
    pub fn trials(&self) -> u32 {
        self.trials_of(0)
    }

    /// Number of trials of this kind.
    pub fn trials_of(&self, kind: usize) -> u32 {
        self.asked_trials.unwrap_or(self.bench.trials[kind].count)
    }

    /// Congestion controllers of a benchmark whose definition says reno and bbr.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        let defined = ["reno", "bbr"].into_iter();
        defined.filter(|_| self.cc.is_none()).chain(self.cc.as_deref())
    }

    /// An empty row for the figure of this name.
    ///
    /// # Panics
    /// If the benchmark declares no such figure.
    pub fn row(&self, name: &str) -> BenchRow {
        let figure = self.bench.figures.iter().find(|figure| figure.name == name);
        let figure = figure.unwrap_or_else(|| panic!("the figure `{name}` is not declared"));
        BenchRow::new(figure.name, figure.unit, figure.better)
    }

    /// An empty row for the only figure, or the first.
    pub fn only_row(&self) -> BenchRow {
        self.row(self.bench.figures[0].name)
    }
}

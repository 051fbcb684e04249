//! What a benchmark declares of itself: its help, its row in the README, its JSON and its trials follow
//! from this.

use trace::{BenchRow, Better, PolicyName};

/// Measures, and gives one row for each figure.
pub type Measure = fn(&Setup) -> anyhow::Result<Vec<BenchRow>>;

/// A benchmark: figures that are measured in one go.
pub struct Bench {
    /// At least one, each with a name for the command line.
    pub figures: &'static [Figure],
    /// The trials of its definition, one entry for each kind.
    pub trials: &'static [Trials],
    /// Whether it needs the lab, and so root.
    pub needs_root: bool,
    /// How it is measured.
    pub measure: Measure,
}

/// One figure of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// As in `slowhand bench NAME`.
    pub name: &'static str,
    /// What is measured, as the help and the README say it.
    pub what: &'static str,
    /// Unit of every value of the row.
    pub unit: &'static str,
    /// Which way is good.
    pub better: Better,
    /// Whether the README quotes it.
    pub is_quoted: bool,
}

/// Trials of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// How many.
    pub count: u32,
    /// What each is, where there is more to say.
    pub of: &'static str,
}

impl Bench {
    /// One that needs root.
    pub const fn rooted(figures: &'static [Figure], trials: &'static [Trials], measure: Measure) -> Self {
        Self {
            figures,
            trials,
            needs_root: true,
            measure,
        }
    }

    /// One that any user can run.
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
    /// A figure of which less is better.
    pub const fn less(name: &'static str, unit: &'static str, what: &'static str) -> Self {
        Self {
            name,
            what,
            unit,
            better: Better::Lower,
            is_quoted: false,
        }
    }

    /// A figure of which more is better.
    pub const fn more(name: &'static str, unit: &'static str, what: &'static str) -> Self {
        Self {
            better: Better::Higher,
            ..Self::less(name, unit, what)
        }
    }

    /// The same, with a row in the README.
    pub const fn quoted(self) -> Self {
        Self {
            is_quoted: true,
            ..self
        }
    }
}

impl Trials {
    /// So many, with nothing more to say of them.
    pub const fn count(count: u32) -> Self {
        Self { count, of: "" }
    }

    /// So many of a kind.
    pub const fn of(count: u32, of: &'static str) -> Self {
        Self { count, of }
    }
}

/// What the user asked of a benchmark.
pub struct Setup {
    /// The benchmark.
    pub bench: &'static Bench,
    /// So many trials instead of those of the definition.
    pub asked_trials: Option<u32>,
    /// Whom to measure beside ours.
    pub beside: Option<PolicyName>,
    /// The only congestion controller.
    pub cc: Option<String>,
    /// The first trial's seed.
    pub seed: u64,
}

impl Setup {
    /// How many trials, of the first kind that the definition names.
    pub fn trials(&self) -> u32 {
        self.trials_of(0)
    }

    /// How many trials of this kind.
    pub fn trials_of(&self, kind: usize) -> u32 {
        self.asked_trials.unwrap_or(self.bench.trials[kind].count)
    }

    /// The congestion controllers, where the definition says reno and bbr.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        let defined = ["reno", "bbr"].into_iter();
        defined.filter(|_| self.cc.is_none()).chain(self.cc.as_deref())
    }

    /// A row without values for the figure of this name.
    ///
    /// # Panics
    /// The benchmark does not declare such a figure.
    pub fn row(&self, name: &str) -> BenchRow {
        let figure = self.bench.figures.iter().find(|figure| figure.name == name);
        let figure = figure.unwrap_or_else(|| panic!("the figure `{name}` is not declared"));
        BenchRow::new(figure.name, figure.unit, figure.better)
    }

    /// The row of the only figure, or of the first.
    pub fn only_row(&self) -> BenchRow {
        self.row(self.bench.figures[0].name)
    }
}

//! Every hand-off that is compared, with every sender: what the table of `bpf/cc/README.md` is made of.

use super::outcome::Outcome;
use super::walk::{HandOff, Left, Link, Walk, WalkError, Watched};
use super::world::play;
use crate::sweep::sweep;
use crate::tcp::{Config, Detection, Estimates, Ordered, Steps};
use policy::cc::Controller;
use std::ops::Range;
use units::{Bitrate, Duration};

/// The seeds of the published tables.
pub const SEEDS: Range<u64> = 0..5;
/// Both sides of what Linux waits at least, and one that the back-off shows in.
const GAPS: [Duration; 5] = [ms(0), ms(50), ms(200), ms(500), ms(2_000)];
/// Where two are enough.
const TWO_GAPS: [Duration; 2] = [ms(0), ms(200)];
const LEFT: [Left; 2] = [Left::Forwarded, Left::Lost];

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn link(mbps: u64, rtt_ms: u64) -> Link {
    Link {
        rate: Bitrate::from_mbps(mbps),
        rtt: ms(rtt_ms),
    }
}

/// From one access point to another.
pub const CHANGES: [[Link; 2]; 5] = [
    [link(20, 20), link(20, 20)],
    [link(20, 20), link(20, 100)],
    [link(20, 100), link(20, 20)],
    [link(20, 20), link(5, 300)],
    [link(5, 300), link(20, 20)],
];

/// Who is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Its name in tables.
    pub name: &'static str,
    /// What it does at a hand-off; `None`: it is Reno, and nobody tells it anything.
    pub steps: Option<Steps>,
}

impl Kind {
    /// Its sender.
    pub const fn sender(self, detection: Detection) -> Config {
        let config = match self.steps {
            None => Config::new(Controller::Reno),
            Some(steps) => Config::cla(steps),
        };
        Config { detection, ..config }
    }
}

const fn kind(name: &'static str, steps: Steps) -> Kind {
    Kind {
        name,
        steps: Some(steps),
    }
}

/// The paper's window and threshold at the next acknowledgement: what a struct_ops program could order.
const ORDERED: Steps = Steps::ordering(Ordered::ByThePathBefore);

/// The kinds that are compared, in the order of the tables.
pub const KINDS: [Kind; 9] = [
    Kind {
        name: "Reno",
        steps: None,
    },
    kind("CLA", Steps::KERNEL),
    kind(
        "+ threshold once known",
        Steps::ordering(Ordered::ThresholdOnceKnown),
    ),
    kind("+ order", ORDERED),
    kind(
        "order + estimates",
        Steps {
            estimates: Estimates::Anew,
            ..ORDERED
        },
    ),
    kind(
        "order + estimates, strictly",
        Steps {
            estimates: Estimates::Strictly,
            ..ORDERED
        },
    ),
    kind(
        "order + duplicates",
        Steps {
            ignores_duplicates: true,
            ..ORDERED
        },
    ),
    kind(
        "order + window at once",
        Steps {
            window_at_once: true,
            ..ORDERED
        },
    ),
    kind("whole", Steps::WHOLE),
];
/// Of [`KINDS`]: uncoupled Reno, which is told nothing.
pub const RENO: usize = 0;
/// CLA as it is in the kernel, where nothing is ordered at such a hand-off.
pub const CLA: usize = 1;
/// The same, and slow start to what the path before carried once the new one's round trip is known.
pub const ONCE_KNOWN: usize = 2;
/// CLA with the paper's window and threshold at the next acknowledgement.
pub const ORDER: usize = 3;
/// The same, at once.
pub const AT_ONCE: usize = 7;
/// The whole of the paper's stage.
pub const WHOLE: usize = 8;

/// All changes and gaps, with what waits lost or forwarded, for one sort of sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// How losses are noticed.
    pub detection: Detection,
    /// The sender is told before that its path fades.
    pub foreseen: bool,
    /// How long the client is at neither access point.
    pub gaps: &'static [Duration],
}

impl Grid {
    /// Linux' senders, which are told: the table of `bpf/cc/README.md`.
    pub const FORESEEN: Self = Self {
        detection: Detection::Linux,
        foreseen: true,
        gaps: &GAPS,
    };
    /// Linux' senders, which are not told.
    pub const UNFORESEEN: Self = Self {
        foreseen: false,
        gaps: &TWO_GAPS,
        ..Self::FORESEEN
    };
    /// Senders that know nothing but three duplicates and time-outs, and are told.
    pub const THREE_DUPLICATES: Self = Self {
        detection: Detection::ThreeDuplicates,
        foreseen: true,
        gaps: &TWO_GAPS,
    };

    /// How the client goes from one access point to the other, in the order of the tables.
    pub fn hand_offs(&self) -> Vec<HandOff> {
        let of = |left| {
            self.gaps.iter().map(move |&gap| HandOff {
                gap,
                left,
                foreseen: self.foreseen,
            })
        };
        LEFT.into_iter().flat_map(of).collect()
    }

    /// Plays every hand-off with every kind and each of these seeds on so many cores. The same seeds give the same, whatever the cores.
    pub fn play(&self, seeds: Range<u64>, cores: usize) -> Result<Played, WalkError> {
        let how = self.hand_offs();
        let changes = CHANGES.into_iter();
        let plans: Vec<([Link; 2], HandOff)> = changes
            .flat_map(|links| how.iter().map(move |&how| (links, how)))
            .collect();
        let walks = plans
            .iter()
            .flat_map(|&(links, how)| self.walks(links, how, seeds.clone()));
        let walks: Vec<Walk> = walks.collect();
        let mut outcomes = sweep(&walks, cores, play).into_iter();
        let each = seeds.end.saturating_sub(seeds.start) as usize;
        let row = |(links, how)| -> Result<Row, WalkError> {
            let mut runs: [Vec<Outcome>; KINDS.len()] = Default::default();
            for runs in &mut runs {
                *runs = outcomes.by_ref().take(each).collect::<Result<_, WalkError>>()?;
            }
            Ok(Row { links, how, runs })
        };
        let rows = plans.into_iter().map(row).collect::<Result<_, WalkError>>()?;
        Ok(Played { rows })
    }

    /// One hand-off, with every kind and every seed.
    fn walks(&self, links: [Link; 2], how: HandOff, seeds: Range<u64>) -> impl Iterator<Item = Walk> {
        let detection = self.detection;
        KINDS.into_iter().flat_map(move |kind| {
            seeds.clone().map(move |seed| Walk {
                links,
                hand_off: Some(how),
                watched: Watched::AroundTheHandOff,
                sender: kind.sender(detection),
                seed,
            })
        })
    }
}

/// One hand-off, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// From one access point to another.
    pub links: [Link; 2],
    /// How.
    pub how: HandOff,
    /// Of each of [`KINDS`], one for each seed.
    pub runs: [Vec<Outcome>; KINDS.len()],
}

/// A grid that was played.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// One for each change and hand-off.
    pub rows: Vec<Row>,
}

impl Played {
    /// What came of one of [`KINDS`], by its index there, in the rows that are wanted; nothing for an index that there is not.
    pub fn runs(&self, kind: usize, wanted: impl Fn(&Row) -> bool) -> Vec<Outcome> {
        let rows = self.rows.iter().filter(|row| wanted(row));
        rows.filter_map(|row| row.runs.get(kind))
            .flatten()
            .copied()
            .collect()
    }

    /// What came of one of [`KINDS`] everywhere.
    pub fn all(&self, kind: usize) -> Vec<Outcome> {
        self.runs(kind, |_| true)
    }
}

//! Grid of hand-offs and senders that are compared. It is the source of the table in `bpf/cc/README.md`.

use super::outcome::Outcome;
use super::walk::{HandOff, Left, Link, Walk, WalkError, Watched};
use super::world::play;
use crate::sweep::sweep;
use crate::tcp::{Config, Detection, Estimates, Ordered, Steps};
use policy::cc::Controller;
use std::ops::Range;
use units::{Bitrate, Duration};

/// Seeds of the published tables.
pub const SEEDS: Range<u64> = 0..5;
/// Gaps on both sides of Linux's minimum RTO, and one in which the back-off shows.
const GAPS: [Duration; 5] = [ms(0), ms(50), ms(200), ms(500), ms(2_000)];
/// Gaps of the smaller grids.
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

/// Link pairs: before and after the hand-off.
pub const CHANGES: [[Link; 2]; 5] = [
    [link(20, 20), link(20, 20)],
    [link(20, 20), link(20, 100)],
    [link(20, 100), link(20, 20)],
    [link(20, 20), link(5, 300)],
    [link(5, 300), link(20, 20)],
];

/// A kind of sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Name in tables.
    pub name: &'static str,
    /// Steps at a hand-off. `None`: Reno, which receives no orders.
    pub steps: Option<Steps>,
}

impl Kind {
    /// Configuration of the sender.
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

/// The paper's window and threshold at the next ACK, which a struct_ops program could set.
const ORDERED: Steps = Steps::ordering(Ordered::ByThePathBefore);

/// Kinds of senders, in the order of the tables.
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
/// Index in [`KINDS`]: uncoupled Reno, without orders.
pub const RENO: usize = 0;
/// Index in [`KINDS`]: CLA as in the kernel, which orders nothing at such a hand-off.
pub const CLA: usize = 1;
/// As [`CLA`], with slow start to the rate of the old path once the RTT of the new path is known.
pub const ONCE_KNOWN: usize = 2;
/// As [`CLA`], with the paper's window and threshold at the next ACK.
pub const ORDER: usize = 3;
/// As [`ORDER`], applied at once.
pub const AT_ONCE: usize = 7;
/// The paper's whole hand-off stage.
pub const WHOLE: usize = 8;

/// All link pairs and gaps, with queued segments lost or forwarded, for one loss detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Loss detection.
    pub detection: Detection,
    /// The sender is told in advance that its path fades.
    pub foreseen: bool,
    /// Times that the client is at neither access point.
    pub gaps: &'static [Duration],
}

impl Grid {
    /// Linux senders that are told in advance: the table of `bpf/cc/README.md`.
    pub const FORESEEN: Self = Self {
        detection: Detection::Linux,
        foreseen: true,
        gaps: &GAPS,
    };
    /// Linux senders that are not told.
    pub const UNFORESEEN: Self = Self {
        foreseen: false,
        gaps: &TWO_GAPS,
        ..Self::FORESEEN
    };
    /// Senders that detect losses only by three duplicate ACKs and time-outs, and are told in advance.
    pub const THREE_DUPLICATES: Self = Self {
        detection: Detection::ThreeDuplicates,
        foreseen: true,
        gaps: &TWO_GAPS,
    };

    /// Hand-offs of the grid, in the order of the tables.
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

    /// Runs every hand-off with every kind and each of these seeds on `cores` cores. The result depends on
    /// the seeds, not on the cores.
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

    /// One hand-off with every kind and every seed.
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

/// One hand-off and its outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Links before and after the hand-off.
    pub links: [Link; 2],
    /// The hand-off.
    pub how: HandOff,
    /// Outcomes for each of [`KINDS`], one per seed.
    pub runs: [Vec<Outcome>; KINDS.len()],
}

/// Results of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// One row per link pair and hand-off.
    pub rows: Vec<Row>,
}

impl Played {
    /// Outcomes of one kind (an index in [`KINDS`]) in the rows that `wanted` selects. Empty if there is no
    /// such kind.
    pub fn runs(&self, kind: usize, wanted: impl Fn(&Row) -> bool) -> Vec<Outcome> {
        let rows = self.rows.iter().filter(|row| wanted(row));
        rows.filter_map(|row| row.runs.get(kind))
            .flatten()
            .copied()
            .collect()
    }

    /// Outcomes of one kind in all rows.
    pub fn all(&self, kind: usize) -> Vec<Outcome> {
        self.runs(kind, |_| true)
    }
}

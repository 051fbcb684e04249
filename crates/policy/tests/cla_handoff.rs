//! What CLA's hand-off stage brings and costs a subflow that stays, because both access points share the client's address: in a model of one
//! TCP sender, two queues and a change from one to the other. And what a window of `BDP_UB` other than 10 segments would bring a new one.
//!
//! # Sources
//! - cla §IV-C, Algorithm 2; what is compared is nothing at the hand-off, as `crates/linux/src/cla` has it for a subflow that stays, the window alone
//!   at the next acknowledgement, as the BPF program carries it out, and with it each of the steps that a struct_ops program does not reach
//!   (`crates/policy/src/cc/cla/handoff.rs`).
//!
//! # Where we differ, and why
//! 1. One subflow: what others of the connection carry meanwhile is the same for all that are compared. CLA's mobile stage is told that they carry
//!    all they can.
//! 2. No published number is asserted: the paper has none for these steps alone.
//!
//! The tables: `cargo test -p policy --test cla_handoff -- --nocapture`.

mod handoff;
mod model;

use handoff::sender::{Counts, Detection, Estimates, Kind, MSS, Ordered, Steps};
use handoff::world::{HandOff, Left, Link, Outcome, Walk, play};

const SEEDS: u64 = 5;
/// Both sides of what Linux waits at least, and one that the back-off shows in.
const GAPS_MS: [u32; 5] = [0, 50, 200, 500, 2_000];
/// Where two are enough.
const TWO_GAPS_MS: [u32; 2] = [0, 200];
const LEFT: [Left; 2] = [Left::Forwarded, Left::Lost];

const fn link(mbps: u64, rtt_ms: u32) -> Link {
    Link { mbps, rtt_ms }
}

/// From one access point to another.
const CHANGES: [[Link; 2]; 5] = [
    [link(20, 20), link(20, 20)],
    [link(20, 20), link(20, 100)],
    [link(20, 100), link(20, 20)],
    [link(20, 20), link(5, 300)],
    [link(5, 300), link(20, 20)],
];

const fn cla(ordered: Ordered, estimates: Estimates, deaf: bool, at_once: bool) -> Kind {
    Kind::Cla(Steps {
        estimates,
        deaf,
        at_once,
        ordered,
    })
}

const fn by_the_path_before(estimates: Estimates, deaf: bool, at_once: bool) -> Kind {
    cla(Ordered::ByThePathBefore, estimates, deaf, at_once)
}

/// What is compared. The second is CLA as it is, the last the paper's whole.
const KINDS: [(&str, Kind); 9] = [
    ("Reno", Kind::Reno),
    ("CLA", cla(Ordered::Nothing, Estimates::Kept, false, false)),
    (
        "+ threshold once known",
        cla(Ordered::ThresholdOnceKnown, Estimates::Kept, false, false),
    ),
    ("+ order", by_the_path_before(Estimates::Kept, false, false)),
    (
        "order + estimates",
        by_the_path_before(Estimates::Anew, false, false),
    ),
    (
        "order + estimates, strictly",
        by_the_path_before(Estimates::Strictly, false, false),
    ),
    (
        "order + duplicates",
        by_the_path_before(Estimates::Kept, true, false),
    ),
    (
        "order + window at once",
        by_the_path_before(Estimates::Kept, false, true),
    ),
    ("whole", by_the_path_before(Estimates::Anew, true, true)),
];
const CLA: usize = 1;
const ONCE_KNOWN: usize = 2;
const ORDER: usize = 3;
const AT_ONCE: usize = 7;
const WHOLE: usize = 8;

/// Of each kind, the runs of the same seeds in the same order.
type Runs = [Vec<Outcome>; KINDS.len()];

fn walks(walk: Walk) -> Vec<Outcome> {
    (0..SEEDS).map(|seed| play(Walk { seed, ..walk })).collect()
}

fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
}

fn total(outcomes: &[Outcome], count: impl Fn(&Counts) -> u64) -> u64 {
    outcomes.iter().map(|outcome| count(&outcome.counts)).sum()
}

/// What is true of every run.
fn holds(outcome: &Outcome) {
    let on_the_way = outcome.dropped + outcome.under_way;
    assert_eq!(outcome.sent, outcome.arrived + on_the_way, "{outcome:?}");
    let once = outcome.arrived - outcome.twice;
    assert!(once >= outcome.got_in_all, "{outcome:?}");
    assert!(
        outcome.got_in_all >= outcome.got.max(outcome.acknowledged),
        "{outcome:?}"
    );
    assert!(outcome.sent - outcome.counts.again >= once, "{outcome:?}");
}

/// One way to hand off, and what came of it.
struct Row {
    links: [Link; 2],
    how: HandOff,
    runs: Runs,
}

impl Row {
    fn play(links: [Link; 2], how: HandOff, detection: Detection) -> Self {
        let runs = KINDS.map(|(_, kind)| {
            walks(Walk {
                links,
                hand_off: Some(how),
                first: None,
                kind,
                detection,
                seed: 0,
            })
        });
        Self { links, how, runs }
    }

    fn change(&self) -> String {
        let [before, after] = self
            .links
            .map(|link| format!("{} Mb/s, {} ms", link.mbps, link.rtt_ms));
        format!("{before} to {after}")
    }
}

/// `NAME | a cell for each kind | CLA less order`, of all these rows together.
fn line(name: &str, rows: &[&Row]) -> String {
    let runs: Runs = std::array::from_fn(|kind| rows.iter().flat_map(|row| row.runs[kind].clone()).collect());
    let cells = runs.each_ref().map(|runs| cell(runs));
    let (more, error) = difference(&runs[ORDER], &runs[CLA]);
    format!("| {name} | {} | {more:+.2} ± {error:.2} |\n", cells.join(" | "))
}

/// Goodput in Mb/s, segments sent again, the longest silence in ms.
fn cell(outcomes: &[Outcome]) -> String {
    let mbps = mean(outcomes, Outcome::mbps);
    let again = mean(outcomes, |outcome| outcome.again as f64);
    let silent = mean(outcomes, |outcome| outcome.silent.as_secs_f64() * 1e3);
    format!("{mbps:.1}, {again:.0}, {silent:.0}")
}

/// Of the goodputs of the same seeds: its mean, and the standard error of that.
fn difference(one: &[Outcome], other: &[Outcome]) -> (f64, f64) {
    let pairs = one.iter().zip(other);
    let differences: Vec<f64> = pairs.map(|(one, other)| other.mbps() - one.mbps()).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let squares: f64 = differences.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count * (count - 1.0))).sqrt())
}

/// All hand-offs of one sort of sender.
struct Grid {
    detection: Detection,
    rows: Vec<Row>,
}

impl Grid {
    fn play(detection: Detection, foreseen: bool, gaps_ms: &[u32]) -> Self {
        let ways = LEFT.into_iter().flat_map(|left| {
            let how = move |&gap_ms| HandOff {
                gap_ms,
                left,
                foreseen,
            };
            gaps_ms.iter().map(how)
        });
        let ways: Vec<HandOff> = ways.collect();
        let all = CHANGES
            .iter()
            .flat_map(|&links| ways.iter().map(move |&how| (links, how)));
        let rows = all.map(|(links, how)| Row::play(links, how, detection));
        Self {
            detection,
            rows: rows.collect(),
        }
    }

    /// In one piece: other tests print, too.
    fn print(&self, title: &str) {
        let names = KINDS.map(|(name, _)| name).join(" | ");
        let columns = ["---"; KINDS.len() + 2].join("|");
        let each = self.by(|row| format!("{}; {:?}, {} ms", row.change(), row.how.left, row.how.gap_ms));
        let changes = self.by(|row| format!("every gap: {}; {:?}", row.change(), row.how.left));
        let gaps = self.by(|row| format!("every change: {:?}, {} ms", row.how.left, row.how.gap_ms));
        let all = self.by(|_| "all".to_owned());
        println!(
            "\n{title}: Mb/s, segments sent again, longest silence in ms\n\n| | {names} | CLA less order |\n|{columns}|\n\
             {each}{changes}{gaps}{all}\n{}",
            self.counted()
        );
    }

    /// Rows of one name together, in the order of the first of each.
    fn by(&self, name: impl Fn(&Row) -> String) -> String {
        let mut names: Vec<String> = Vec::new();
        for row in &self.rows {
            let name = name(row);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let line_of = |wanted: &String| {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| name(row) == *wanted).collect();
            line(wanted, &rows)
        };
        names.iter().map(line_of).collect()
    }

    fn all(&self, kind: usize) -> Vec<Outcome> {
        self.rows.iter().flat_map(|row| row.runs[kind].clone()).collect()
    }

    fn counted(&self) -> String {
        let kinds = KINDS.iter().enumerate();
        let lines = kinds.map(|(index, (name, _))| {
            let all = self.all(index);
            let twice: u64 = all.iter().map(|outcome| outcome.twice).sum();
            format!(
                "{name}: {} hand-offs, {twice} arrived twice, {:?}\n",
                all.len(),
                sum(&all)
            )
        });
        lines.collect()
    }

    /// Whatever the figures are, what makes them was there.
    fn was_exercised(&self) {
        let all = self.all(ORDER);
        let foreseen = self.rows.iter().any(|row| row.how.foreseen);
        let runs = all.len() as u64;
        for (index, (name, kind)) in KINDS.iter().enumerate() {
            let outcomes = self.all(index);
            outcomes.iter().for_each(holds);
            let counts = sum(&outcomes);
            let (estimates, deaf) = (kind.estimates(), kind.is_deaf());
            let resets = if estimates == Estimates::Kept { 0 } else { runs };
            assert_eq!(counts.resets, resets, "{name}");
            assert_eq!(counts.ignored > 0, deaf, "{name}");
            let is_ordered = *kind != Kind::Reno && (foreseen || index >= ORDER);
            assert_eq!(counts.orders > 0, is_ordered, "{name}");
            assert!(counts.timeouts > 0 && counts.recoveries > 0, "{name}");
            if self.detection == Detection::Plain {
                assert_eq!((counts.probes, counts.undone), (0, 0), "{name}");
            } else if index <= ORDER {
                assert!(counts.probes > 0 && counts.undone > 0, "{name}");
            }
        }
        assert!(all.iter().any(|outcome| outcome.reordered));
        let forwards = |row: &Row| row.runs.iter().flatten().any(|outcome| outcome.forwarded > 0);
        assert!(
            self.rows
                .iter()
                .all(|row| forwards(row) == (row.how.left == Left::Forwarded))
        );
        // The two that differ by a step do differ by it.
        // An order that comes at once leaves no count behind: it makes another run.
        assert_ne!(self.all(AT_ONCE), all);
    }
}

fn sum(outcomes: &[Outcome]) -> Counts {
    Counts {
        again: total(outcomes, |counts| counts.again),
        timeouts: total(outcomes, |counts| counts.timeouts),
        probes: total(outcomes, |counts| counts.probes),
        undone: total(outcomes, |counts| counts.undone),
        recoveries: total(outcomes, |counts| counts.recoveries),
        orders: total(outcomes, |counts| counts.orders),
        resets: total(outcomes, |counts| counts.resets),
        ignored: total(outcomes, |counts| counts.ignored),
    }
}

#[test]
fn hand_offs_that_linux_senders_expect() {
    let grid = Grid::play(Detection::Linux, true, &GAPS_MS);
    grid.print("Linux, foreseen");
    grid.was_exercised();
    // An order by the round trip of the path before costs more than it brings; one by the new path's would bring something.
    for (less, more) in [(ORDER, CLA), (CLA, ONCE_KNOWN)] {
        let (gain, error) = difference(&grid.all(less), &grid.all(more));
        assert!(
            gain > 3.0 * error,
            "{} to {}: {gain} ± {error}",
            KINDS[less].0,
            KINDS[more].0
        );
    }
}

#[test]
fn hand_offs_that_linux_senders_do_not_expect() {
    let grid = Grid::play(Detection::Linux, false, &TWO_GAPS_MS);
    grid.print("Linux, not foreseen");
    grid.was_exercised();
}

#[test]
fn hand_offs_of_senders_that_count_duplicates() {
    let grid = Grid::play(Detection::Plain, true, &TWO_GAPS_MS);
    grid.print("Three duplicates, foreseen");
    grid.was_exercised();
}

/// Walks on one link.
fn stay(link: Link, kind: Kind, detection: Detection) -> Vec<Outcome> {
    walks(Walk {
        links: [link, link],
        hand_off: None,
        first: None,
        kind,
        detection,
        seed: 0,
    })
}

#[test]
fn without_a_hand_off_the_steps_change_nothing() {
    for detection in [Detection::Linux, Detection::Plain] {
        for [link, _] in CHANGES {
            let [_, plain, others @ ..] = KINDS.map(|(_, kind)| stay(link, kind, detection));
            plain.iter().for_each(holds);
            assert!(
                others.iter().all(|other| *other == plain),
                "{link:?}, {detection:?}"
            );
            assert_eq!(
                total(&plain, |counts| counts.resets + counts.ignored + counts.orders),
                0
            );
        }
    }
}

#[test]
fn one_seed_is_one_run() {
    let walk = Walk {
        links: CHANGES[1],
        hand_off: Some(HandOff {
            gap_ms: 200,
            left: Left::Lost,
            foreseen: true,
        }),
        first: None,
        kind: KINDS[WHOLE].1,
        detection: Detection::Linux,
        seed: 7,
    };
    assert_eq!(play(walk), play(walk));
    assert_ne!(play(walk), play(Walk { seed: 8, ..walk }));
}

/// The first 2.5 s of a new subflow after a path that carried 10 Mb/s, with a window of so many segments.
fn begins_with(segments: u32, link: Link) -> Vec<Outcome> {
    let twice = 2.0 * 10e6 / 8.0 * f64::from(link.rtt_ms) / 1e3;
    let threshold = (twice / f64::from(MSS)) as u32;
    walks(Walk {
        links: [link, link],
        hand_off: None,
        first: Some((segments, threshold.max(segments))),
        kind: KINDS[CLA].1,
        detection: Detection::Linux,
        seed: 0,
    })
}

/// Fewer hops than anybody is away, the ten segments that there are instead, 12 hops each way, and as many as packets live by default.
#[test]
fn what_a_new_subflow_may_begin_with_matters_little() {
    const HOPS: [u32; 4] = [4, 10, 24, 64];
    for link in [link(20, 20), link(20, 100), link(50, 50), link(100, 20)] {
        let runs = HOPS.map(|hops| begins_with(hops, link));
        runs.iter().flatten().for_each(holds);
        let mbps = runs.each_ref().map(|runs| mean(runs, Outcome::mbps));
        println!(
            "{} Mb/s, {} ms: N of {HOPS:?} brings {mbps:.2?} Mb/s in its first 2.5 s",
            link.mbps, link.rtt_ms
        );
        assert!(mbps.is_sorted(), "{mbps:?}");
        let [_, ten, hops, _] = mbps;
        assert!(hops / ten < 1.06, "{mbps:?}");
        assert_eq!(total(&runs.concat(), |counts| counts.again), 0, "{link:?}");
    }
}

/// A queue as long as the round trip keeps a link busy while Reno halves its window.
#[test]
fn a_sender_that_stays_fills_its_link() {
    for detection in [Detection::Linux, Detection::Plain] {
        for link in [link(20, 20), link(5, 20), link(20, 100)] {
            for outcome in stay(link, Kind::Reno, detection) {
                let part = outcome.mbps() / (link.mbps as f64 * 1_448.0 / 1_500.0);
                assert!((0.95..1.03).contains(&part), "{link:?}, {detection:?}: {part}");
                assert!(outcome.counts.recoveries > 0, "{outcome:?}");
            }
        }
    }
}

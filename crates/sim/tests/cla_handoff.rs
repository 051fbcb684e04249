//! Gains and costs of CLA's hand-off stage for a subflow that stays, because both access points share the
//! client's address: the grid of [`sim::handoff`]. Also what a new subflow gains if its `BDP_UB` window
//! differs from 10 segments.
//!
//! # Where we differ, and why
//! 1. No published number is asserted: the paper has none for these steps alone.
//!
//! Print the tables with `cargo test -p sim --test cla_handoff -- --nocapture`, the figures alone with
//! `slowhand bench cla-steps --seed 0`.

use policy::cc::Controller;
use sim::handoff::{
    AT_ONCE, CHANGES, CLA, Gain, Grid, HandOff, KINDS, Left, Link, ONCE_KNOWN, ORDER, Outcome, Played, Row,
    SEEDS, Summary, WHOLE, Walk, Watched, play,
};
use sim::tcp::{Config, Counts, Detection, Estimates, MSS, Steps};
use units::{Bitrate, Duration};

const fn link(mbps: u64, rtt_ms: u64) -> Link {
    Link {
        rate: Bitrate::from_mbps(mbps),
        rtt: Duration::from_millis(rtt_ms),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn walks(walk: Walk) -> Vec<Outcome> {
    SEEDS.map(|seed| play(&Walk { seed, ..walk }).unwrap()).collect()
}

fn mbps(outcomes: &[Outcome]) -> f64 {
    Summary::of(outcomes).unwrap().goodput_mbps
}

fn total(outcomes: &[Outcome], count: impl Fn(&Counts) -> u64) -> u64 {
    outcomes.iter().map(|outcome| count(&outcome.counts)).sum()
}

/// Invariants of every run.
fn holds(outcome: &Outcome) {
    let on_the_way = outcome.dropped + outcome.under_way;
    assert_eq!(outcome.sent, outcome.arrived + on_the_way, "{outcome:?}");
    let once = outcome.arrived - outcome.duplicates;
    assert!(once >= outcome.delivered_in_all, "{outcome:?}");
    assert!(
        outcome.delivered_in_all >= outcome.delivered.max(outcome.acknowledged),
        "{outcome:?}"
    );
    assert!(outcome.sent - outcome.counts.retransmits >= once, "{outcome:?}");
}

fn change(links: [Link; 2]) -> String {
    let [before, after] =
        links.map(|link| format!("{:.0} Mb/s, {} ms", link.rate.as_mbps_f64(), link.rtt.as_millis()));
    format!("{before} to {after}")
}

/// Row of a table: `NAME | a cell per kind | CLA less order`, over all selected rows of the grid.
fn line(played: &Played, name: &str, wanted: impl Fn(&Row) -> bool) -> String {
    let runs: [Vec<Outcome>; KINDS.len()] = std::array::from_fn(|kind| played.runs(kind, &wanted));
    let cells = runs.each_ref().map(|runs| cell(runs));
    let gain = Gain::between(&runs[ORDER], &runs[CLA]).unwrap();
    let (more, error) = (gain.mbps, gain.error_mbps);
    format!("| {name} | {} | {more:+.2} ± {error:.2} |\n", cells.join(" | "))
}

/// Goodput in Mb/s, retransmitted segments, longest silence in ms.
fn cell(outcomes: &[Outcome]) -> String {
    let summary = Summary::of(outcomes).unwrap();
    let (mbps, again, silent) = (
        summary.goodput_mbps,
        summary.retransmits,
        summary.longest_silence_ms,
    );
    format!("{mbps:.1}, {again:.0}, {silent:.0}")
}

/// Prints all tables at once, because other tests print too.
fn print(played: &Played, title: &str) {
    let names = KINDS.map(|kind| kind.name).join(" | ");
    let columns = ["---"; KINDS.len() + 2].join("|");
    let gap = |row: &Row| row.how.gap.as_millis();
    let each = by(played, |row| {
        format!("{}; {:?}, {} ms", change(row.links), row.how.left, gap(row))
    });
    let changes = by(played, |row| {
        format!("every gap: {}; {:?}", change(row.links), row.how.left)
    });
    let gaps = by(played, |row| {
        format!("every change: {:?}, {} ms", row.how.left, gap(row))
    });
    let all = by(played, |_| "all".to_owned());
    println!(
        "\n{title}: Mb/s, segments sent again, longest silence in ms\n\n| | {names} | CLA less order |\n|{columns}|\n\
         {each}{changes}{gaps}{all}\n{}",
        counted(played)
    );
}

/// Rows with equal names together, in order of first appearance.
fn by(played: &Played, name: impl Fn(&Row) -> String) -> String {
    let mut names: Vec<String> = Vec::new();
    for row in &played.rows {
        let name = name(row);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let line_of = |wanted: &String| line(played, wanted, |row| name(row) == *wanted);
    names.iter().map(line_of).collect()
}

fn counted(played: &Played) -> String {
    let kinds = KINDS.iter().enumerate();
    let lines = kinds.map(|(index, kind)| {
        let all = played.all(index);
        let twice: u64 = all.iter().map(|outcome| outcome.duplicates).sum();
        format!(
            "{}: {} hand-offs, {twice} arrived twice, {:?}\n",
            kind.name,
            all.len(),
            sum(&all)
        )
    });
    lines.collect()
}

/// Checks that the run exercised the mechanisms that the figures depend on.
fn was_exercised(grid: &Grid, played: &Played) {
    let all = played.all(ORDER);
    let runs = all.len() as u64;
    assert_eq!(runs, (CHANGES.len() * grid.hand_offs().len()) as u64 * SEEDS.end);
    for (index, kind) in KINDS.iter().enumerate() {
        let outcomes = played.all(index);
        outcomes.iter().for_each(holds);
        let (counts, name) = (sum(&outcomes), kind.name);
        let steps = kind.steps.unwrap_or(Steps::KERNEL);
        let resets = if steps.estimates == Estimates::Kept {
            0
        } else {
            runs
        };
        assert_eq!(counts.resets, resets, "{name}");
        assert_eq!(counts.ignored > 0, steps.ignores_duplicates, "{name}");
        let is_ordered = kind.steps.is_some() && (grid.foreseen || index >= ORDER);
        assert_eq!(counts.orders > 0, is_ordered, "{name}");
        assert!(counts.timeouts > 0 && counts.recoveries > 0, "{name}");
        if grid.detection == Detection::ThreeDuplicates {
            assert_eq!((counts.probes, counts.undone), (0, 0), "{name}");
        } else if index <= ORDER {
            assert!(counts.probes > 0 && counts.undone > 0, "{name}");
        }
    }
    assert!(all.iter().any(|outcome| outcome.reordered));
    let forwards = |row: &Row| row.runs.iter().flatten().any(|outcome| outcome.forwarded > 0);
    assert!(
        played
            .rows
            .iter()
            .all(|row| forwards(row) == (row.how.left == Left::Forwarded))
    );
    // An order that applies at once changes no counter, but it must change the run.
    assert_ne!(played.all(AT_ONCE), all);
}

fn sum(outcomes: &[Outcome]) -> Counts {
    Counts {
        retransmits: total(outcomes, |counts| counts.retransmits),
        timeouts: total(outcomes, |counts| counts.timeouts),
        probes: total(outcomes, |counts| counts.probes),
        undone: total(outcomes, |counts| counts.undone),
        recoveries: total(outcomes, |counts| counts.recoveries),
        orders: total(outcomes, |counts| counts.orders),
        resets: total(outcomes, |counts| counts.resets),
        ignored: total(outcomes, |counts| counts.ignored),
        congested: total(outcomes, |counts| counts.congested),
        acknowledged: total(outcomes, |counts| counts.acknowledged),
    }
}

/// Runs a grid, prints it, and checks its invariants.
fn played(grid: Grid, title: &str) -> Played {
    let played = grid.play(SEEDS, cores()).unwrap();
    print(&played, title);
    was_exercised(&grid, &played);
    played
}

#[test]
fn linux_senders_with_a_foreseen_hand_off() {
    let played = played(Grid::FORESEEN, "Linux, foreseen");
    // An order by the RTT of the old path costs more than it gains. One by the new path's RTT would gain
    // something.
    for (less, more) in [(ORDER, CLA), (CLA, ONCE_KNOWN)] {
        let gain = Gain::between(&played.all(less), &played.all(more)).unwrap();
        assert!(
            gain.mbps > 3.0 * gain.error_mbps,
            "{} to {}: {gain:?}",
            KINDS[less].name,
            KINDS[more].name
        );
    }
}

#[test]
fn linux_senders_with_an_unforeseen_hand_off() {
    played(Grid::UNFORESEEN, "Linux, not foreseen");
}

#[test]
fn duplicate_counting_senders_with_a_foreseen_hand_off() {
    played(Grid::THREE_DUPLICATES, "Three duplicates, foreseen");
}

/// Walks on one link without a hand-off, measured at the usual time of the hand-off.
fn stay(link: Link, sender: Config) -> Vec<Outcome> {
    walks(Walk {
        links: [link, link],
        hand_off: None,
        watched: Watched::AroundTheHandOff,
        sender,
        seed: 0,
    })
}

#[test]
fn without_a_hand_off_the_steps_change_nothing() {
    for detection in [Detection::Linux, Detection::ThreeDuplicates] {
        for [link, _] in CHANGES {
            let [_, plain, others @ ..] = KINDS.map(|kind| stay(link, kind.sender(detection)));
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
fn equal_seeds_give_equal_runs() {
    let walk = Walk {
        links: CHANGES[1],
        hand_off: Some(HandOff {
            gap: Duration::from_millis(200),
            left: Left::Lost,
            foreseen: true,
        }),
        watched: Watched::AroundTheHandOff,
        sender: KINDS[WHOLE].sender(Detection::Linux),
        seed: 7,
    };
    assert_eq!(play(&walk), play(&walk));
    assert_ne!(play(&walk), play(&Walk { seed: 8, ..walk }));
}

#[test]
fn a_grid_is_the_same_on_any_number_of_cores() {
    const GAP: [Duration; 1] = [Duration::from_millis(50)];
    let grid = Grid {
        gaps: &GAP,
        ..Grid::FORESEEN
    };
    let one = grid.play(0..2, 1).unwrap();
    assert_eq!(one, grid.play(0..2, 3).unwrap());
    assert_ne!(one, grid.play(1..3, 3).unwrap());
    // The seed that both grids share gives the same run in both.
    let second = |played: &sim::handoff::Played, at: usize| played.rows[0].runs[WHOLE][at];
    assert_eq!(second(&one, 1), second(&grid.play(1..3, 2).unwrap(), 0));
}

/// The first 2.5 s of a new subflow with an initial window of `segments`, after a path that carried 10 Mb/s.
fn begins_with(segments: u32, link: Link) -> Vec<Outcome> {
    let twice = 2.0 * 10e6 / 8.0 * link.rtt.as_millis() as f64 / 1e3;
    let threshold = (twice / f64::from(MSS)) as u32;
    walks(Walk {
        links: [link, link],
        hand_off: None,
        watched: Watched::TheBeginning,
        sender: Config {
            initial_window: segments,
            ssthresh: Some(threshold.max(segments)),
            ..Config::cla(Steps::KERNEL)
        },
        seed: 0,
    })
}

/// Hop counts: fewer than any real path has, the default of ten segments, 12 hops each way, and the default
/// TTL of packets.
#[test]
fn the_initial_window_of_a_new_subflow_matters_little() {
    const HOPS: [u32; 4] = [4, 10, 24, 64];
    for link in [link(20, 20), link(20, 100), link(50, 50), link(100, 20)] {
        let runs = HOPS.map(|hops| begins_with(hops, link));
        runs.iter().flatten().for_each(holds);
        let mbps = runs.each_ref().map(|runs| mbps(runs));
        println!(
            "{:.0} Mb/s, {} ms: N of {HOPS:?} gives {mbps:.2?} Mb/s in its first 2.5 s",
            link.rate.as_mbps_f64(),
            link.rtt.as_millis()
        );
        assert!(mbps.is_sorted(), "{mbps:?}");
        let [_, ten, hops, _] = mbps;
        assert!(hops / ten < 1.06, "{mbps:?}");
        assert_eq!(total(&runs.concat(), |counts| counts.retransmits), 0, "{link:?}");
    }
}

/// A queue of one RTT keeps a link busy when the window is halved, whichever controller halves it. Without
/// another path all controllers behave the same.
#[test]
fn a_sender_that_stays_fills_its_link() {
    let controllers = [
        Controller::Reno,
        Controller::Lia,
        Controller::Olia,
        Controller::Balia,
    ];
    for detection in [Detection::Linux, Detection::ThreeDuplicates] {
        for (link, controller) in [link(20, 20), link(5, 20), link(20, 100)]
            .into_iter()
            .flat_map(|link| controllers.map(|controller| (link, controller)))
        {
            let sender = Config {
                detection,
                ..Config::new(controller)
            };
            for outcome in stay(link, sender) {
                let part = outcome.goodput_mbps() / (link.rate.as_mbps_f64() * 1_448.0 / 1_500.0);
                assert!(
                    (0.95..1.03).contains(&part),
                    "{link:?}, {detection:?}, {controller:?}: {part}"
                );
                assert!(outcome.counts.recoveries > 0, "{outcome:?}");
            }
        }
    }
}

//! `relay-…`: agent and relay, each with its control in the same run.
//!
//! | module | what it measures |
//! |---|---|
//! | `paths` | whole scenarios in the lab: goodput, silent links, the direct way, the first byte |
//! | `speed`, `rate`, `idle` | a relay on loopback beside HAProxy: bytes, connections, memory |
//! | `hostile`, `intact` | requests that must reach nothing, and bytes that must arrive as they were sent |
//! | `rig`, `haproxy` | the relay, its clients and servers, and HAProxy, in a namespace of their own |

mod haproxy;
mod hostile;
mod idle;
mod intact;
mod paths;
mod rate;
mod rig;
mod speed;

pub use hostile::run as hostile;
pub use idle::run as idle;
pub use intact::run as intact;
pub use paths::{agent, bypass, drop, first_byte, goodput};
pub use rate::run as rate;
pub use speed::run as speed;

use trace::{BenchRow, Better, TheirsFrom};

/// What a figure must reach, and what it aims for.
#[derive(Debug, Clone, Copy)]
struct Goal {
    must: f64,
    aim: f64,
}

/// Adds to a row what it should reach, and whether it does.
fn judged(row: BenchRow, goal: Goal) -> BenchRow {
    let reaches = |figure: f64, wanted: f64| match row.better {
        Better::Lower => figure <= wanted,
        Better::Higher => figure >= wanted,
    };
    let verdict = match row.ours {
        None => "not measured",
        Some(figure) if reaches(figure, goal.aim) => "reaches the aim",
        Some(figure) if reaches(figure, goal.must) => "reaches what it must",
        Some(_) => "misses what it must",
    };
    row.with("must", goal.must)
        .with("aim", goal.aim)
        .with("verdict", verdict)
}

/// Adds the control to a row.
fn beside(row: BenchRow, control: &str, figures: &[f64]) -> BenchRow {
    let theirs = BenchRow::new("", "", row.better).trials(figures).p50;
    let both = row
        .ours
        .zip(theirs)
        .filter(|(ours, theirs)| *ours > 0.0 && *theirs > 0.0);
    let ratio = both.map(|(ours, theirs)| match row.better {
        Better::Higher => ours / theirs,
        Better::Lower => theirs / ours,
    });
    BenchRow {
        peer: Some(control.to_owned()),
        theirs,
        theirs_from: TheirsFrom::ThisRun,
        ratio,
        ..row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_judged_in_the_direction_that_is_better() {
        let verdict = |better, figure: f64| {
            let row = BenchRow::new("x", "y", better).trials(&[figure]);
            let (must, aim) = match better {
                Better::Lower => (150.0, 100.0),
                Better::Higher => (100.0, 150.0),
            };
            judged(row, Goal { must, aim }).extra["verdict"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        for (better, figure, expected) in [
            (Better::Lower, 90.0, "reaches the aim"),
            (Better::Lower, 120.0, "reaches what it must"),
            (Better::Lower, 160.0, "misses what it must"),
            (Better::Higher, 160.0, "reaches the aim"),
            (Better::Higher, 120.0, "reaches what it must"),
            (Better::Higher, 90.0, "misses what it must"),
        ] {
            assert_eq!(verdict(better, figure), expected, "{better:?} {figure}");
        }
    }

    #[test]
    fn more_than_one_is_better_than_the_control() {
        let row = |better| BenchRow::new("x", "y", better).trials(&[2.0]);
        assert_eq!(beside(row(Better::Higher), "z", &[1.0]).ratio, Some(2.0));
        assert_eq!(beside(row(Better::Lower), "z", &[1.0]).ratio, Some(0.5));
    }
}

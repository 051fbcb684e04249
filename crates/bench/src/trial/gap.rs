//! Reads from a run's record what a fault did to the application.

use trace::{Event, LinkState, RunRecord, Stall, WAIT_THRESHOLD, What};
use units::{Duration, Instant};

/// Greatest delay after a fault at which a gap still counts as caused by it.
const AFTERMATH: Duration = Duration::from_secs(3);

/// A change of a link that took effect: a fault, or the end of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Time of the change.
    pub at: Instant,
    /// The link it changed.
    pub link: String,
}

/// The last fault or end of a fault that is known to have taken effect. A trial without one measures nothing.
pub fn last_change(record: &RunRecord) -> anyhow::Result<Applied> {
    let applied = |event: &Event| match &event.what {
        What::Fault {
            link, applied: true, ..
        } => Some(Applied {
            at: event.at(),
            link: link.clone(),
        }),
        _ => None,
    };
    let found = record.events.iter().rev().find_map(applied);
    found.ok_or_else(|| {
        anyhow::anyhow!("the fault was not applied, so this trial has no result; please report this")
    })
}

/// When the first fault was set on the link, whether or not it hit a packet. Nothing passes from then on: the
/// emulator asserts that of every run.
pub fn first_told(record: &RunRecord) -> anyhow::Result<Instant> {
    let told = record
        .events
        .iter()
        .find(|event| matches!(event.what, What::Fault { .. }));
    told.map(Event::at).ok_or_else(|| {
        anyhow::anyhow!("no fault was applied, so this trial has no result; please report this")
    })
}

/// The longest gap of all. If no gap was long enough to be kept, the threshold for keeping one.
pub fn longest(waits: &[Stall]) -> Duration {
    waits.iter().map(Stall::length).max().unwrap_or(WAIT_THRESHOLD)
}

/// The longest gap between two reads of the application that contains the moment or begins soon after it.
/// Gaps too short to be kept count as the threshold for keeping one.
pub fn longest_wait(waits: &[Stall], at: Instant) -> Duration {
    waits
        .iter()
        .filter(|wait| wait.to >= at && wait.from <= at + AFTERMATH)
        .map(Stall::length)
        .max()
        .unwrap_or(WAIT_THRESHOLD)
}

/// Time from when the link is usable again after `after` to the application's next read. `None` if there was
/// none.
pub fn until_new_byte(record: &RunRecord, link: &str, after: Instant) -> Option<Duration> {
    let usable = record.events.iter().find_map(|event| match &event.what {
        What::LinkState {
            link: name,
            state: LinkState::Up,
        } if name == link && event.at() >= after => Some(event.at()),
        _ => None,
    })?;
    let resumed = |(from, to): &(Instant, Instant)| *from < usable && *to >= usable;
    let (_, first_byte) = gaps(record).find(resumed)?;
    let end = record.events.last()?.at();
    (first_byte < end).then(|| first_byte.since(usable))
}

/// Each removal of a link, for any reason: when, which, and why.
pub fn given_up(record: &RunRecord) -> Vec<String> {
    let gave_up = |event: &Event| match &event.what {
        What::Decision {
            link: Some(link),
            verb,
            why,
            ..
        } if verb == "remove" || verb == "retire" => {
            let after = event.at().as_secs_f64();
            Some(format!("after {after:.3} s, {link}: {why}"))
        }
        _ => None,
    };
    record.events.iter().filter_map(gave_up).collect()
}

fn gaps(record: &RunRecord) -> impl Iterator<Item = (Instant, Instant)> + '_ {
    record.events.iter().filter_map(|event| match event.what {
        What::Stall { from_ns, to_ns, .. } => {
            Some((Instant::from_nanos(from_ns), Instant::from_nanos(to_ns)))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn record(events: &[(u64, What)]) -> RunRecord {
        RunRecord {
            events: events
                .iter()
                .map(|(ms, what)| Event::new(at(*ms), what.clone()))
                .collect(),
        }
    }

    fn stall(from_ms: u64, to_ms: u64) -> (u64, What) {
        let (from_ns, to_ns) = (at(from_ms).as_nanos(), at(to_ms).as_nanos());
        (
            to_ms,
            What::Stall {
                flow: "f".to_owned(),
                from_ns,
                to_ns,
            },
        )
    }

    fn fault(ms: u64, applied: bool) -> (u64, What) {
        (
            ms,
            What::Fault {
                link: "a".to_owned(),
                fault: "drops".to_owned(),
                applied,
            },
        )
    }

    fn up(ms: u64) -> (u64, What) {
        (
            ms,
            What::LinkState {
                link: "a".to_owned(),
                state: LinkState::Up,
            },
        )
    }

    #[test]
    fn a_fault_that_was_only_asked_for_is_none() {
        assert!(last_change(&record(&[fault(5, false)])).is_err());
        assert_eq!(
            last_change(&record(&[fault(5, false), fault(6, true)]))
                .unwrap()
                .at,
            at(6)
        );
    }

    #[test]
    fn what_was_given_up_is_told_with_its_reason() {
        let said = |verb: &str| What::Decision {
            link: Some("a".to_owned()),
            conn: None,
            verb: verb.to_owned(),
            reason: String::new(),
            why: "three questions".to_owned(),
        };
        let record = record(&[
            (5, said("suspect")),
            (60, said("remove")),
            (61, said("use")),
            (1_000, said("retire")),
        ]);
        let expected = [
            "after 0.060 s, a: three questions",
            "after 1.000 s, a: three questions",
        ];
        assert_eq!(given_up(&record), expected);
    }

    #[test]
    fn a_link_that_nobody_uses_is_cut_all_the_same() {
        assert!(first_told(&record(&[])).is_err());
        assert_eq!(first_told(&record(&[fault(5, false)])).unwrap(), at(5));
        assert_eq!(
            first_told(&record(&[fault(5, false), fault(6, true)])).unwrap(),
            at(5)
        );
    }

    #[test]
    fn the_gap_is_around_the_fault_or_soon_after_it() {
        let waits =
            [(1_000, 2_900), (4_990, 5_060), (7_900, 7_990), (8_100, 9_900)].map(|(from, to)| Stall {
                from: at(from),
                to: at(to),
            });
        assert_eq!(longest_wait(&waits, at(5_000)), Duration::from_millis(90));
        assert_eq!(longest_wait(&waits, at(20_000)), WAIT_THRESHOLD);
        assert_eq!(longest(&waits), Duration::from_millis(1_900));
        assert_eq!(longest(&[]), WAIT_THRESHOLD);
    }

    #[test]
    fn resumption_counts_from_the_address_to_the_first_byte() {
        let end = (9_000, What::Position { x_m: 0.0, y_m: 0.0 });
        let back = record(&[up(0), up(8_100), stall(3_000, 8_160), end.clone()]);
        assert_eq!(
            until_new_byte(&back, "a", at(8_100)),
            Some(Duration::from_millis(60))
        );
        let never = record(&[up(0), up(8_100), stall(3_000, 9_000), end]);
        assert_eq!(until_new_byte(&never, "a", at(8_100)), None);
    }
}

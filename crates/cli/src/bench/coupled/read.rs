//! Figures read off the record of a run.

use std::collections::BTreeMap;
use trace::{RunRecord, What};
use units::{Duration, Instant};

/// The last value told until `at`; 0 before the first.
fn last_until(values: impl Iterator<Item = (Instant, u64)>, at: Instant) -> u64 {
    values
        .take_while(|(when, _)| *when <= at)
        .last()
        .map_or(0, |(_, value)| value)
}

fn app_bytes<'r>(record: &'r RunRecord, flow: &'r str) -> impl Iterator<Item = (Instant, u64)> + 'r {
    record.events.iter().filter_map(move |event| match &event.what {
        What::AppBytes { flow: name, bytes } if name == flow => Some((event.at(), *bytes)),
        _ => None,
    })
}

fn path_bytes<'r>(
    record: &'r RunRecord,
    flow: &'r str,
    link: &'r str,
) -> impl Iterator<Item = (Instant, u64)> + 'r {
    record.events.iter().filter_map(move |event| match &event.what {
        What::PathBytes {
            flow: name,
            link: over,
            bytes,
        } if name == flow && over == link => Some((event.at(), *bytes)),
        _ => None,
    })
}

/// Bytes that the receiving application of a flow read between two moments.
pub fn read_between(record: &RunRecord, flow: &str, from: Instant, to: Instant) -> u64 {
    last_until(app_bytes(record, flow), to).saturating_sub(last_until(app_bytes(record, flow), from))
}

/// Bytes of a flow that a link carried between two moments.
pub fn carried_between(record: &RunRecord, flow: &str, link: &str, from: Instant, to: Instant) -> u64 {
    let until = |at| last_until(path_bytes(record, flow, link), at);
    until(to).saturating_sub(until(from))
}

/// Segments of a flow that were sent again between two moments, on all links together.
pub fn retransmits_between(record: &RunRecord, flow: &str, from: Instant, to: Instant) -> u64 {
    retransmits(record, flow, from, to).values().sum()
}

/// The same on one link.
pub fn path_retransmits_between(
    record: &RunRecord,
    flow: &str,
    link: &str,
    from: Instant,
    to: Instant,
) -> u64 {
    let links = retransmits(record, flow, from, to);
    links.get(link).copied().unwrap_or_default()
}

fn retransmits<'r>(record: &'r RunRecord, flow: &str, from: Instant, to: Instant) -> BTreeMap<&'r str, u64> {
    let mut links = BTreeMap::<&str, (u64, u64)>::new();
    for event in record.events.iter().filter(|event| event.at() <= to) {
        let What::PathSender {
            flow: name,
            link,
            retransmits,
            ..
        } = &event.what
        else {
            continue;
        };
        if name == flow {
            let (before, until) = links.entry(link).or_default();
            if event.at() <= from {
                *before = *retransmits;
            }
            *until = *retransmits;
        }
    }
    let during = links
        .into_iter()
        .map(|(link, (before, until))| (link, until - before));
    during.collect()
}

/// The mean of a flow's smoothed round-trip time over a link, in seconds; `None` if none was told.
pub fn mean_rtt_s(record: &RunRecord, flow: &str, link: &str) -> Option<f64> {
    let told = record.events.iter().filter_map(|event| match &event.what {
        What::PathSender {
            flow: name,
            link: over,
            srtt_us,
            ..
        } if name == flow && over == link && *srtt_us > 0 => Some(*srtt_us as f64 / 1e6),
        _ => None,
    });
    let (sum, count) = told.fold((0.0, 0_u32), |(sum, count), rtt| (sum + rtt, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// What a link carried of a flow in each whole `step` of the run, in Mb/s.
pub fn series_mbps(record: &RunRecord, flow: &str, link: &str, step: Duration, whole: Duration) -> Vec<f64> {
    let steps = (whole.as_nanos() / step.as_nanos()) as u32;
    let values: Vec<(Instant, u64)> = path_bytes(record, flow, link).collect();
    let until = |at: Instant| {
        let behind = values.partition_point(|(when, _)| *when <= at);
        // Between two samples the link is taken to have been steady.
        match (behind.checked_sub(1).map(|last| values[last]), values.get(behind)) {
            (Some((t0, b0)), Some((t1, b1))) => {
                let part = at.since(t0).as_secs_f64() / t1.since(t0).as_secs_f64().max(1e-9);
                b0 as f64 + (*b1 as f64 - b0 as f64) * part
            }
            (Some((_, last)), None) => last as f64,
            (None, _) => 0.0,
        }
    };
    let at = |index: u32| Instant::ZERO + step * index;
    (0..steps)
        .map(|index| (until(at(index + 1)) - until(at(index))) * 8e-6 / step.as_secs_f64())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Event;

    fn record() -> RunRecord {
        let path = |ms: u64, link: &str, bytes, retransmits| {
            let (flow, link) = ("f".to_owned(), link.to_owned());
            let bytes = What::PathBytes {
                flow: flow.clone(),
                link: link.clone(),
                bytes,
            };
            let sender = What::PathSender {
                flow,
                link,
                retransmits,
                srtt_us: 10_000 + ms,
                cwnd: 10,
                ssthresh: None,
            };
            [bytes, sender].map(|what| Event::new(Instant::from_millis(ms), what))
        };
        let events = [
            path(1_000, "a", 1_000_000, 3),
            path(1_000, "b", 500, 1),
            path(2_000, "a", 3_000_000, 7),
            path(3_000, "b", 600, 2),
        ];
        RunRecord {
            events: events.concat(),
        }
    }

    #[test]
    fn cumulative_figures_become_differences() {
        let (record, at) = (record(), Instant::from_secs);
        assert_eq!(carried_between(&record, "f", "a", at(1), at(2)), 2_000_000);
        assert_eq!(retransmits_between(&record, "f", at(1), at(2)), 4);
        assert_eq!(retransmits_between(&record, "f", at(0), at(9)), 9);
        assert_eq!(path_retransmits_between(&record, "f", "a", at(0), at(9)), 7);
        assert_eq!(path_retransmits_between(&record, "f", "c", at(0), at(9)), 0);
        assert_eq!(carried_between(&record, "g", "a", at(0), at(9)), 0);
    }

    #[test]
    fn a_series_takes_links_to_be_steady_between_samples() {
        let step = Duration::from_millis(500);
        let series = series_mbps(&record(), "f", "a", step, Duration::from_secs(2));
        assert_eq!(series[2..], [16.0, 16.0]);
    }

    #[test]
    fn the_mean_round_trip_is_that_of_one_path() {
        let mean = mean_rtt_s(&record(), "f", "a").unwrap();
        assert!((mean - 0.0115).abs() < 1e-9, "{mean}");
        assert_eq!(mean_rtt_s(&record(), "f", "c"), None);
    }
}

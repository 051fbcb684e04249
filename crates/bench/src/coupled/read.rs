//! Reads figures from the record of a run.
//!
//! # Sources
//! - RFC 5348 §2: a loss event is all losses within one round trip, to which a sender responds once.
//!
//! # Where we differ, and why
//! 1. The record shows only the retransmitted segments of a loss event, in ten samples per second. A recovery
//!    that spans several samples is one event while the slow-start threshold stays the one that it began
//!    with. Two events within one sample count as one. Where round-trip times are shorter than a sample and
//!    losses are many, the count is therefore too low. A spurious retransmission counts.
//!
//! # Checked by
//! `tests` below.

use std::collections::BTreeMap;
use trace::{RunRecord, What};
use units::{Duration, Instant};

/// Last value recorded until `at`; 0 before the first.
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

/// Bytes read by a flow's receiving application between two moments.
pub fn read_between(record: &RunRecord, flow: &str, from: Instant, to: Instant) -> u64 {
    last_until(app_bytes(record, flow), to).saturating_sub(last_until(app_bytes(record, flow), from))
}

/// Bytes of a flow that a link carried between two moments.
pub fn carried_between(record: &RunRecord, flow: &str, link: &str, from: Instant, to: Instant) -> u64 {
    let until = |at| last_until(path_bytes(record, flow, link), at);
    until(to).saturating_sub(until(from))
}

/// Segments of a flow retransmitted between two moments, over all links.
pub fn retransmits_between(record: &RunRecord, flow: &str, from: Instant, to: Instant) -> u64 {
    retransmits(record, flow, from, to).values().sum()
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

/// State of a flow's sender over a link, in one sample.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    retransmits: u64,
    srtt: Duration,
    ssthresh: Option<u32>,
}

fn samples<'r>(record: &'r RunRecord, flow: &'r str, link: &'r str) -> impl Iterator<Item = Sample> + 'r {
    record.events.iter().filter_map(move |event| match &event.what {
        What::PathSender {
            flow: name,
            link: over,
            retransmits,
            srtt_us,
            ssthresh,
            ..
        } if name == flow && over == link => Some(Sample {
            at: event.at(),
            retransmits: *retransmits,
            srtt: Duration::from_micros(*srtt_us),
            ssthresh: *ssthresh,
        }),
        _ => None,
    })
}

/// Mean of a flow's smoothed round-trip time over a link between two moments, in seconds. `None` if none was
/// recorded.
pub fn mean_rtt_s(record: &RunRecord, flow: &str, link: &str, from: Instant, to: Instant) -> Option<f64> {
    let told = samples(record, flow, link)
        .filter(|sample| from < sample.at && sample.at <= to && sample.srtt > Duration::ZERO);
    let (sum, count) = told.fold((0.0, 0_u32), |(sum, count), sample| {
        (sum + sample.srtt.as_secs_f64(), count + 1)
    });
    (count > 0).then(|| sum / f64::from(count))
}

/// Number of loss events of a flow's sender over a link between two moments, at most one per round trip.
pub fn loss_events_between(record: &RunRecord, flow: &str, link: &str, from: Instant, to: Instant) -> u64 {
    let (mut events, mut before, mut last) = (0, 0, None::<Recovery>);
    for sample in samples(record, flow, link).take_while(|sample| sample.at <= to) {
        let rose = sample.retransmits > before;
        before = sample.retransmits;
        last = match (rose, last) {
            (false, last) => last.map(|last| Recovery {
                goes_on: false,
                ..last
            }),
            (true, Some(last)) if last.has(&sample) => Some(last.with(&sample)),
            (true, _) => {
                events += u64::from(from < sample.at);
                Some(Recovery::of(&sample))
            }
        };
    }
    events
}

/// Recovery from a loss.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    began: Instant,
    /// Slow-start threshold that the sender set.
    ssthresh: Option<u32>,
    /// Segments were retransmitted up to the last sample.
    goes_on: bool,
}

impl Recovery {
    const fn of(sample: &Sample) -> Self {
        Self {
            began: sample.at,
            ssthresh: sample.ssthresh,
            goes_on: true,
        }
    }

    /// Whether the retransmissions in this sample belong to this recovery: lost in the same round trip, or
    /// before it ended.
    fn has(&self, sample: &Sample) -> bool {
        let same_round_trip = sample.at.since(self.began) < sample.srtt;
        same_round_trip || (self.goes_on && self.ssthresh == sample.ssthresh)
    }

    const fn with(self, sample: &Sample) -> Self {
        Self {
            ssthresh: sample.ssthresh,
            goes_on: true,
            ..self
        }
    }
}

/// Rate of a flow over a link in each whole `step` of the run, in Mb/s.
pub fn series_mbps(record: &RunRecord, flow: &str, link: &str, step: Duration, whole: Duration) -> Vec<f64> {
    let steps = (whole.as_nanos() / step.as_nanos()) as u32;
    let values: Vec<(Instant, u64)> = path_bytes(record, flow, link).collect();
    let until = |at: Instant| {
        let behind = values.partition_point(|(when, _)| *when <= at);
        // Assumes a steady rate between two samples.
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
        assert_eq!(carried_between(&record, "g", "a", at(0), at(9)), 0);
    }

    #[test]
    fn a_series_takes_links_to_be_steady_between_samples() {
        let step = Duration::from_millis(500);
        let series = series_mbps(&record(), "f", "a", step, Duration::from_secs(2));
        assert_eq!(series[2..], [16.0, 16.0]);
    }

    #[test]
    fn the_mean_round_trip_is_that_of_one_path_and_time() {
        let mean = |link, from_s, to_s| {
            let (from, to) = (Instant::from_secs(from_s), Instant::from_secs(to_s));
            mean_rtt_s(&record(), "f", link, from, to)
        };
        assert!((mean("a", 0, 9).unwrap() - 0.0115).abs() < 1e-9);
        // Leaves out the beginning, and everything after the end.
        assert!((mean("a", 1, 9).unwrap() - 0.012).abs() < 1e-9);
        assert!((mean("a", 0, 1).unwrap() - 0.011).abs() < 1e-9);
        assert_eq!(mean("a", 2, 9), None);
        assert_eq!(mean("c", 0, 9), None);
    }

    /// Samples of one path: time in ms, segments retransmitted since the start, round-trip time in ms,
    /// threshold.
    fn lossy(samples: &[(u64, u64, u64, u32)]) -> RunRecord {
        let event = |&(ms, retransmits, rtt_ms, ssthresh): &(u64, u64, u64, u32)| {
            let what = What::PathSender {
                flow: "f".to_owned(),
                link: "a".to_owned(),
                retransmits,
                srtt_us: rtt_ms * 1_000,
                cwnd: 10,
                ssthresh: Some(ssthresh),
            };
            Event::new(Instant::from_millis(ms), what)
        };
        RunRecord {
            events: samples.iter().map(event).collect(),
        }
    }

    fn events(samples: &[(u64, u64, u64, u32)], from_ms: u64) -> u64 {
        let from = Instant::from_millis(from_ms);
        loss_events_between(&lossy(samples), "f", "a", from, Instant::from_secs(9))
    }

    #[test]
    fn many_segments_lost_at_once_are_one_event() {
        assert_eq!(
            events(&[(100, 0, 50, 40), (200, 7, 50, 20), (300, 7, 50, 20)], 0),
            1
        );
        // Retransmissions up to the next sample belong to it.
        assert_eq!(
            events(&[(100, 7, 50, 20), (200, 9, 50, 20), (300, 9, 50, 20)], 0),
            1
        );
        // So do those within a round trip, whatever the threshold.
        assert_eq!(events(&[(100, 7, 150, 20), (200, 9, 150, 10)], 0), 1);
        assert_eq!(
            events(&[(100, 7, 250, 20), (200, 7, 250, 20), (300, 8, 250, 20)], 0),
            1
        );
    }

    #[test]
    fn losses_that_the_sender_answers_twice_are_two_events() {
        assert_eq!(events(&[(100, 7, 50, 20), (200, 9, 50, 10)], 0), 2);
        assert_eq!(
            events(&[(100, 7, 50, 20), (200, 7, 50, 20), (300, 8, 50, 20)], 0),
            2
        );
        // A path at its smallest window: the threshold does not distinguish events, time does.
        let one_each_second: Vec<_> = (1..=8).map(|s| (s * 1_000, s, 50, 2)).collect();
        let quiet = one_each_second
            .iter()
            .map(|&(ms, lost, rtt, least)| (ms + 100, lost, rtt, least));
        let mut all: Vec<_> = one_each_second.iter().copied().chain(quiet).collect();
        all.sort_unstable();
        assert_eq!(events(&all, 0), 8);
    }

    #[test]
    fn an_event_belongs_to_the_time_in_which_it_began() {
        let samples = [
            (100, 7, 50, 20),
            (200, 9, 50, 20),
            (300, 9, 50, 20),
            (400, 10, 50, 10),
        ];
        assert_eq!(events(&samples, 0), 2);
        assert_eq!(events(&samples, 100), 1);
        assert_eq!(events(&samples, 400), 0);
        let until = loss_events_between(
            &lossy(&samples),
            "f",
            "a",
            Instant::ZERO,
            Instant::from_millis(399),
        );
        assert_eq!(until, 1);
        assert_eq!(
            loss_events_between(&lossy(&samples), "f", "b", Instant::ZERO, Instant::from_secs(9)),
            0
        );
    }
}

//! Finds when the measured connection began.
//!
//! The definitions count from connect: the first 5 s, and the cut 12 to 17 s later. The measurement counts
//! from the moment at which the plan has the application connect, because the cut is drawn before the run. So
//! a trial in which the two differ too much gives no result, and the cut is drawn late enough for both.
//!
//! # Where we differ, and why
//! 1. The record has no event for connect. It has the first bytes read, and the result has how long after
//!    connect that was. For a download the difference is the moment itself. An application that sends first
//!    appears when it has sent, one round trip after connect. Its connect is therefore recorded that much too
//!    late.
//! 2. Connect is when the application first calls it. If there is no route to the server yet, the call fails
//!    at once and is repeated (`lab`). That is part of the goodput of the first seconds. Cables are up from
//!    the first moment.
//!
//! # Checked by
//! `tests`. Measured on 15 runs of the lab: 0.6 to 1.3 ms.

use anyhow::Context as _;
use trace::{Run, RunRecord, What};
use units::{Duration, Instant};

use crate::trial::Observed;

/// Greatest delay between the planned and the real connect. A later connection does not meet the definitions.
pub const LATEST: Duration = Duration::from_millis(100);

/// Refuses a trial whose first flow connected more than [`LATEST`] after `planned`, counted from the start of
/// the run.
pub fn ensure_prompt(observed: &Observed, planned: Duration) -> anyhow::Result<()> {
    prompt(&observed.run, &observed.record, planned)
}

fn prompt(run: &Run, record: &RunRecord, planned: Duration) -> anyhow::Result<()> {
    let began = began(run, record).context("the connection never started, so this trial has no result")?;
    let late = began.since(Instant::ZERO + planned);
    anyhow::ensure!(
        late <= LATEST,
        "the connection began {} ms late, so its first 5 s and its fault do not match the definition; run on a less busy machine",
        late.as_millis()
    );
    Ok(())
}

/// Time of the first flow's connect, or a little later.
fn began(run: &Run, record: &RunRecord) -> Option<Instant> {
    let flow = run.flows.first()?;
    let (at, bytes) = record.events.iter().find_map(|event| match &event.what {
        What::AppBytes { flow: name, bytes } if *name == flow.name => Some((event.at(), *bytes)),
        _ => None,
    })?;
    let after_connect = flow.first_byte_ms.filter(|_| bytes > 0);
    Some(at - Duration::from_secs_f64(after_connect.unwrap_or(0.0).max(0.0) / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Event, Flow, PolicyName};

    fn run(first_byte_ms: Option<f64>) -> Run {
        let flow = Flow {
            name: "download".to_owned(),
            bytes: 1,
            goodput_mbps: 1.0,
            intact: Some(true),
            first_byte_ms,
            longest_stall_ms: 0.0,
            stall_total_ms: 0.0,
            stalls: 0,
            datagrams: None,
            delay: None,
            jitter_ms: None,
            paths: Vec::new(),
        };
        Run {
            policy: PolicyName::Slowhand,
            case: trace::Case::default(),
            cc: Some("reno".to_owned()),
            server: "stock".to_owned(),
            seed: 1,
            duration_s: 20.0,
            flows: vec![flow],
            links: Vec::new(),
            stations: Vec::new(),
            channels: Vec::new(),
            warmup_s: 0.0,
            energy_j: 0.0,
            optimal_mbps: 0.0,
            goodput_series: Vec::new(),
            levels: trace::Levels::default(),
            notes: Vec::new(),
        }
    }

    fn record(read: &[(&str, u64, u64)]) -> RunRecord {
        let event = |&(flow, ms, bytes): &(&str, u64, u64)| {
            let flow = flow.to_owned();
            Event::new(Instant::from_millis(ms), What::AppBytes { flow, bytes })
        };
        RunRecord {
            events: read.iter().map(event).collect(),
        }
    }

    #[test]
    fn a_download_began_so_long_before_its_first_byte_as_the_result_says() {
        let heard = record(&[
            ("before", 30, 7),
            ("download", 9_345, 1_448),
            ("download", 9_445, 90_000),
        ]);
        assert_eq!(
            began(&run(Some(44.5)), &heard),
            Some(Instant::from_micros(9_300_500))
        );
        assert_eq!(began(&run(None), &record(&[("before", 30, 7)])), None);
    }

    #[test]
    fn an_upload_began_before_it_was_heard_of() {
        let heard = record(&[("download", 21, 0), ("download", 121, 40_000)]);
        assert_eq!(began(&run(Some(33.0)), &heard), Some(Instant::from_millis(21)));
    }

    #[test]
    fn one_that_begins_late_is_refused_with_how_late() {
        let ms = Duration::from_millis;
        let heard = record(&[("download", 345, 1_448)]);
        assert!(prompt(&run(Some(245.0)), &heard, Duration::ZERO).is_ok());
        let refused = prompt(&run(Some(45.0)), &heard, Duration::ZERO).unwrap_err();
        assert!(refused.to_string().contains("began 300 ms late"), "{refused}");
        assert!(prompt(&run(Some(45.0)), &heard, ms(250)).is_ok());
        assert!(prompt(&run(Some(45.0)), &record(&[]), Duration::ZERO).is_err());
    }
}

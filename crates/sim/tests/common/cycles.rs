//! How the time of a single radio was divided.

use trace::{RunRecord, What};

/// Why it was divided as it was, each time with its time in seconds.
pub fn cycles(record: &RunRecord) -> Vec<(f64, String)> {
    let cycles = record.events.iter().filter_map(|event| match &event.what {
        What::Decision { verb, why, .. } if verb == "slots" => Some((event.t_ns as f64 / 1e9, why.clone())),
        _ => None,
    });
    cycles.collect()
}

//! Means over a run of the sender's queue, its limit, and the receiver's out-of-order bytes.
//!
//! # Checked by
//! `tests` below; in the lab, `world.rs`.

use crate::{Event, Levels, What};
use std::collections::BTreeMap;
use units::Instant;

impl Levels {
    /// Builds the levels from the events of a run, in order of time. `ended`: when the run ended.
    pub fn of(events: &[Event], ended: Instant) -> Self {
        let [window, queue, held] = summed(events);
        Self {
            server_queue_bytes: mean(&queue, ended),
            window_bytes: mean(&window, ended),
            held_bytes: mean(&held, ended),
        }
    }
}

/// A sum over connections from this time on, nanoseconds since the start; `None`: of no connection.
pub(crate) type Sample = (u64, Option<u64>);

/// Window, server's queue and bytes held, each summed over the connections that have it.
pub(crate) fn summed(events: &[Event]) -> [Vec<Sample>; 3] {
    let mut sums: [Summed; 3] = Default::default();
    for event in events {
        match event.what {
            What::Window { conn, bytes, .. } => sums[0].set(event.t_ns, conn, bytes),
            What::ServerQueue { conn, bytes } => sums[1].set(event.t_ns, conn, Some(bytes)),
            What::OutOfOrder { conn, bytes } => sums[2].set(event.t_ns, conn, Some(bytes)),
            _ => {}
        }
    }
    sums.map(|sum| sum.samples)
}

/// A level that every connection has of its own, summed.
#[derive(Default)]
struct Summed {
    now: BTreeMap<u32, u64>,
    samples: Vec<Sample>,
}

impl Summed {
    fn set(&mut self, t_ns: u64, conn: u32, level: Option<u64>) {
        match level {
            Some(bytes) => self.now.insert(conn, bytes),
            None => self.now.remove(&conn),
        };
        self.samples
            .push((t_ns, (!self.now.is_empty()).then(|| self.now.values().sum())));
    }
}

fn mean(samples: &[Sample], ended: Instant) -> Option<u64> {
    let ends = samples.iter().skip(1).map(|(t_ns, _)| *t_ns);
    let spans = samples.iter().zip(ends.chain([ended.as_nanos()]));
    let known = spans.filter_map(|((from, level), to)| Some((to.saturating_sub(*from), (*level)?)));
    let (time, area) = known.fold((0, 0), |(time, area), (span, level)| {
        (
            time + u128::from(span),
            area + u128::from(span) * u128::from(level),
        )
    });
    u64::try_from(area.checked_div(time)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, what: What) -> Event {
        Event::new(Instant::from_millis(ms), what)
    }

    fn window(conn: u32, bytes: Option<u64>) -> What {
        let why = String::new();
        What::Window { conn, bytes, why }
    }

    #[test]
    fn means_cover_only_times_with_known_values() {
        let events = [
            at(100, window(1, Some(1_000))),
            at(200, window(1, Some(3_000))),
            at(300, window(1, None)),
        ];
        let levels = Levels::of(&events, Instant::from_millis(900));
        assert_eq!(levels.window_bytes, Some(2_000));
        assert_eq!((levels.server_queue_bytes, levels.held_bytes), (None, None));
    }

    #[test]
    fn levels_of_connections_are_summed() {
        let queue = |conn, bytes| What::ServerQueue { conn, bytes };
        let held = |conn, bytes| What::OutOfOrder { conn, bytes };
        let events = [
            at(0, queue(1, 10)),
            at(0, held(1, 1)),
            at(500, queue(2, 20)),
            at(500, held(1, 3)),
        ];
        let levels = Levels::of(&events, Instant::from_millis(1_000));
        assert_eq!(
            (levels.server_queue_bytes, levels.held_bytes),
            (Some(20), Some(2))
        );
    }

    #[test]
    fn a_run_without_samples_has_no_levels() {
        assert!(Levels::of(&[], Instant::from_secs(1)).is_unknown());
    }
}

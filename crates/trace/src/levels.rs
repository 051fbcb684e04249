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
        let mut meter = LevelMeter::default();
        for event in events {
            meter.observe(event.at(), &event.what);
        }
        meter.levels(ended)
    }
}

/// Takes the means of a run while it lasts. The memory does not grow with the number of events.
#[derive(Debug, Clone, Default)]
pub struct LevelMeter([Mean; 3]);

impl LevelMeter {
    /// Something happened at `now`.
    pub fn observe(&mut self, now: Instant, what: &What) {
        if let Some((place, conn, level)) = level(what) {
            self.0[place].set(now.as_nanos(), conn, level);
        }
    }

    /// Forgets the past. What is known now counts from now on.
    pub fn restart(&mut self, now: Instant) {
        self.0.iter_mut().for_each(|mean| mean.restart(now.as_nanos()));
    }

    /// The means up to now.
    pub fn levels(&self, now: Instant) -> Levels {
        let [window_bytes, server_queue_bytes, held_bytes] =
            [0, 1, 2].map(|place| self.0[place].until(now.as_nanos()));
        Levels {
            server_queue_bytes,
            window_bytes,
            held_bytes,
        }
    }
}

/// Window, server's queue or bytes held, in this order, of a connection. `None`: another event.
const fn level(what: &What) -> Option<(usize, u32, Option<u64>)> {
    match *what {
        What::Window { conn, bytes, .. } => Some((0, conn, bytes)),
        What::ServerQueue { conn, bytes } => Some((1, conn, Some(bytes))),
        What::OutOfOrder { conn, bytes } => Some((2, conn, Some(bytes))),
        _ => None,
    }
}

/// A sum over connections from this time on, nanoseconds since the start; `None`: of no connection.
pub(crate) type Sample = (u64, Option<u64>);

/// Window, server's queue and bytes held, each summed over the connections that have it.
pub(crate) fn summed(events: &[Event]) -> [Vec<Sample>; 3] {
    let mut sums: [Sum; 3] = Default::default();
    let mut samples: [Vec<Sample>; 3] = Default::default();
    for event in events {
        if let Some((place, conn, level)) = level(&event.what) {
            samples[place].push((event.t_ns, sums[place].set(conn, level)));
        }
    }
    samples
}

/// A level that every connection has of its own, summed.
#[derive(Debug, Clone, Default)]
struct Sum {
    levels: BTreeMap<u32, u64>,
    total: u64,
}

impl Sum {
    /// Returns the sum from now on. `None`: no connection has the level.
    fn set(&mut self, conn: u32, level: Option<u64>) -> Option<u64> {
        let before = match level {
            Some(bytes) => self.levels.insert(conn, bytes),
            None => self.levels.remove(&conn),
        };
        self.total = self.total + level.unwrap_or(0) - before.unwrap_or(0);
        (!self.levels.is_empty()).then_some(self.total)
    }
}

/// The mean of a sum over the time in which it is known.
#[derive(Debug, Clone, Default)]
struct Mean {
    sum: Sum,
    /// The sum since the last change.
    present: Option<u64>,
    /// Time of the last change, nanoseconds since the start.
    since: u64,
    /// Time in which it was known, in nanoseconds, up to the last change.
    time: u128,
    /// Sum times nanoseconds, up to the last change.
    area: u128,
}

impl Mean {
    fn set(&mut self, now: u64, conn: u32, level: Option<u64>) {
        (self.time, self.area) = self.passed(now);
        self.since = now;
        self.present = self.sum.set(conn, level);
    }

    /// Time and area up to now.
    fn passed(&self, now: u64) -> (u128, u128) {
        let span = u128::from(now.saturating_sub(self.since));
        match self.present {
            Some(level) => (self.time + span, self.area + span * u128::from(level)),
            None => (self.time, self.area),
        }
    }

    const fn restart(&mut self, now: u64) {
        (self.time, self.area, self.since) = (0, 0, now);
    }

    fn until(&self, now: u64) -> Option<u64> {
        let (time, area) = self.passed(now);
        u64::try_from(area.checked_div(time)?).ok()
    }
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
    fn after_a_restart_what_is_known_counts_and_the_past_does_not() {
        let at = Instant::from_millis;
        let mut meter = LevelMeter::default();
        meter.observe(at(0), &window(1, Some(9_000)));
        meter.observe(at(100), &window(1, Some(1_000)));
        meter.restart(at(200));
        assert_eq!(meter.levels(at(300)).window_bytes, Some(1_000));
        meter.observe(at(300), &window(1, Some(3_000)));
        assert_eq!(meter.levels(at(400)).window_bytes, Some(2_000));
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

//! Several runs, as many side by side as the machine bears.
//!
//! Every run has namespaces, links and a medium of its own, so runs meet only in the processors. Where they do, it shows: the emulator
//! of a run is late. Such a run is repeated alone, and says so.
//!
//! # Checked by
//! `tests/compare.rs`: order of results; a late run is repeated and told; a stop ends all.

use crate::stop::Stop;
use crate::world::{Play, PlayError, Played, play};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use trace::Event;
use units::Duration;

/// How runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compare {
    /// How many runs go on at the same time; at least one.
    pub side_by_side: usize,
    /// A run whose packets were later than this (99th percentile) while others ran beside it is repeated alone.
    pub late: Duration,
}

impl Default for Compare {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            side_by_side: cores,
            late: Duration::from_millis(1),
        }
    }
}

/// What happens while runs go on. `run` is the index of the run in the list.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'e> {
    /// A run begins.
    Begins {
        /// Which.
        run: usize,
    },
    /// Something happened in a run.
    Event {
        /// Which.
        run: usize,
        /// What.
        event: &'e Event,
    },
    /// A run was late and will be repeated alone; what was told of it so far is void.
    Late {
        /// Which.
        run: usize,
        /// How late.
        p99: Duration,
    },
    /// A run is over.
    Ends {
        /// Which.
        run: usize,
    },
}

/// What came of each run, in the order of the list; `None`: not run, because of a stop.
pub type Compared = Vec<Option<Result<Played, PlayError>>>;

impl Compare {
    /// Runs all of them. `watch` is called on the runs' own threads, and must not wait.
    pub fn run(self, runs: &[Play<'_>], stop: &Stop, watch: &(dyn Fn(Progress<'_>) + Sync)) -> Compared {
        let results: Mutex<Compared> = Mutex::new(runs.iter().map(|_| None).collect());
        let queue: Mutex<VecDeque<usize>> = Mutex::new((0..runs.len()).collect());
        let workers = self.side_by_side.clamp(1, runs.len().max(1));
        let work = || {
            while let Some(run) = lock(&queue).pop_front().filter(|_| !stop.is_stopped()) {
                let played = one(runs, run, stop, watch);
                lock(&results)[run] = Some(played);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        if workers > 1 {
            self.repeat_late(runs, &mut results, stop, watch);
        }
        results
    }

    fn repeat_late(
        self,
        runs: &[Play<'_>],
        results: &mut Compared,
        stop: &Stop,
        watch: &(dyn Fn(Progress<'_>) + Sync),
    ) {
        for (run, result) in results.iter_mut().enumerate() {
            let Some(p99) = result.as_ref().and_then(|played| self.too_late(played)) else {
                continue;
            };
            if stop.is_stopped() {
                return;
            }
            watch(Progress::Late { run, p99 });
            let mut again = one(runs, run, stop, watch);
            if let Ok(played) = &mut again {
                played.note(format!(
                    "repeated alone: beside others the emulator was {} µs late (p99)",
                    p99.as_micros()
                ));
            }
            *result = Some(again);
        }
    }

    fn too_late(self, played: &Result<Played, PlayError>) -> Option<Duration> {
        let p99 = played.as_ref().ok()?.emulator.lateness.percentile(99);
        (p99 > self.late).then_some(p99)
    }
}

fn one(
    runs: &[Play<'_>],
    run: usize,
    stop: &Stop,
    watch: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Played, PlayError> {
    watch(Progress::Begins { run });
    let played = play(&runs[run], stop, &mut |event| {
        watch(Progress::Event { run, event })
    });
    watch(Progress::Ends { run });
    played
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A run that panicked has left the queue and the other results as they were.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

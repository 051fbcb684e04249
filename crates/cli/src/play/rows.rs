//! Trace files that grow while runs are in progress in parallel. The rows of one run stay together, in the
//! order of the runs.
//!
//! The first unfinished run is written as it happens, the others when their turn comes. A repeated run is
//! written after the others.
//!
//! # Checked by
//! `tests`; `tests/play.rs` and `tests/virtual_world.rs`: what an interrupted run leaves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use trace::{Event, What, event_line, header_line};

use show::output::Rows;

/// Rows of several runs, from several threads.
pub struct LiveTrace(Mutex<State>);

struct State {
    rows: Option<Rows>,
    runs: Vec<Held>,
    /// The run that is written as it comes.
    turn: usize,
}

/// The rows so far of a run whose turn has not come.
#[derive(Debug, Clone, Default)]
struct Held {
    rows: String,
    has_ended: bool,
}

impl LiveTrace {
    /// For this many runs. Nothing is kept if no trace is wanted.
    pub fn new(rows: Option<Rows>, runs: usize) -> Self {
        Self(Mutex::new(State {
            rows,
            runs: vec![Held::default(); runs],
            turn: 0,
        }))
    }

    /// Something happened in a run.
    pub fn observe(&self, run: usize, event: &Event) {
        self.state().observe(run, event);
    }

    /// Whether a row could not be written.
    pub fn has_failed(&self) -> bool {
        self.state().rows.as_ref().is_some_and(Rows::has_failed)
    }

    /// The rows with all that was held back: nothing more is to come.
    pub fn finish(self) -> Option<Rows> {
        let mut state = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rest: String = state.runs.drain(..).map(|held| held.rows).collect();
        state.write(&rest);
        state.rows
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn observe(&mut self, run: usize, event: &Event) {
        if self.rows.is_none() {
            return;
        }
        let row = event_line(event);
        if run <= self.turn {
            self.write(&row);
        } else {
            self.runs[run].rows += &row;
        }
        self.runs[run].has_ended |= matches!(event.what, What::RunEnd { .. });
        while self.runs.get(self.turn).is_some_and(|held| held.has_ended) {
            self.turn += 1;
            if let Some(next) = self.runs.get_mut(self.turn) {
                let held = std::mem::take(&mut next.rows);
                self.write(&held);
            }
        }
    }

    fn write(&mut self, rows: &str) {
        if let Some(out) = self.rows.as_mut().filter(|_| !rows.is_empty()) {
            if !out.has_begun() {
                out.add(&header_line());
            }
            out.add(rows);
        }
    }
}

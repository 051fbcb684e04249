//! Progress of runs on standard error: lines redrawn in place on a terminal, elsewhere one line for the end
//! of each run.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration as Wall, Instant as WallInstant};

use dash::terminal::{Live, progress};
use trace::{Event, PolicyName, What};
use units::Duration;

use super::paint::paint;
use show::terminal;

/// Redrawing more often than this shows nothing new.
const REDRAW_EVERY: Wall = Wall::from_millis(250);

/// Follows runs, each known by its number in the order in which they were announced.
pub struct Screen {
    face: ProgressStyle,
    state: Mutex<State>,
}

/// Where the progress goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressStyle {
    Terminal,
    Log,
}

struct State {
    runs: Vec<Live>,
    labels: Vec<String>,
    duration: Duration,
    drawn: usize,
    drawn_at: Option<WallInstant>,
}

impl Screen {
    /// Makes the display for runs of the same length. `alone`: nobody else writes to the terminal, so lines
    /// may be redrawn.
    pub fn new(policies: &[PolicyName], duration: Duration, alone: bool) -> Self {
        let labels: Vec<String> = policies.iter().map(ToString::to_string).collect();
        let runs = labels
            .iter()
            .map(|label| Live::new(label.as_str(), duration))
            .collect();
        // Lines are drawn over by moving the cursor up, which ends at the top of the screen.
        let error = io::stderr();
        let can_draw =
            error.is_terminal() && !terminal::is_dumb() && policies.len() < terminal::height(&error);
        let face = if alone && can_draw {
            ProgressStyle::Terminal
        } else {
            ProgressStyle::Log
        };
        Self {
            face,
            state: Mutex::new(State {
                runs,
                labels,
                duration,
                drawn: 0,
                drawn_at: None,
            }),
        }
    }

    /// Something happened in run number `run`.
    pub fn observe(&self, run: usize, event: &Event) {
        let mut state = self.state();
        if matches!(event.what, What::RunStart(_)) {
            // Also when it is repeated, because the first time was no fair one.
            state.runs[run] = Live::new(state.labels[run].as_str(), state.duration);
        }
        state.runs[run].observe(event);
        match self.face {
            ProgressStyle::Terminal => state.redraw(matches!(event.what, What::RunEnd { .. })),
            ProgressStyle::Log => state.log(run, event),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the last state.
    pub fn close(&self) {
        let mut state = self.state();
        if self.face == ProgressStyle::Terminal {
            state.redraw(true);
        }
    }
}

impl State {
    fn redraw(&mut self, now: bool) {
        if !now && self.drawn_at.is_some_and(|at| at.elapsed() < REDRAW_EVERY) {
            return;
        }
        // One column less: on some terminals a full line starts another.
        let width = terminal::width(&io::stderr()).saturating_sub(1);
        let text = progress(&self.runs, width, paint(&io::stderr()));
        let up = if self.drawn > 0 {
            format!("\x1b[{}A", self.drawn)
        } else {
            String::new()
        };
        // Each line is cleared to its end, so that a shorter one leaves nothing of the longer one behind.
        let lines: String = text.lines().map(|line| format!("{line}\x1b[K\n")).collect();
        // Progress that cannot be shown is no reason to end a run.
        drop(io::stderr().write_all(format!("{up}{lines}").as_bytes()));
        self.drawn = text.lines().count();
        self.drawn_at = Some(WallInstant::now());
    }

    fn log(&self, run: usize, event: &Event) {
        let label = &self.labels[run];
        let line = match &event.what {
            What::RunStart(start) => format!("{label}: runs, seed {}\n", start.seed),
            What::RunEnd { summary } => format!(
                "{label}: {:.1} Mb/s, longest stall {:.0} ms\n",
                summary.goodput_mbps(),
                summary.longest_stall_ms()
            ),
            What::Fault {
                link,
                fault,
                applied: true,
            } => format!("{label}: {:.1} s: {link} {fault}\n", event.at().as_secs_f64()),
            _ => return,
        };
        drop(io::stderr().write_all(line.as_bytes()));
    }
}

//! Progress of runs on standard error: on a terminal a live line for each run, and a bar for all of them;
//! elsewhere one line for the end of each run.

use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration as Wall, Instant as WallInstant};

use dash::terminal::{Live, progress as live_lines};
use runs::progress::{self, Line, Progress};
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
enum ProgressStyle {
    /// A line for each run, and a bar for all of them.
    Terminal {
        lines: Vec<Line>,
        bar: Progress,
    },
    Log,
}

struct State {
    runs: Vec<Live>,
    labels: Vec<String>,
    duration: Duration,
    drawn_at: Option<WallInstant>,
}

impl Screen {
    /// Makes the display for runs of the same length. `alone`: nobody else writes to the terminal, so lines
    /// may be redrawn.
    pub fn new(policies: &[PolicyName], duration: Duration, alone: bool) -> Self {
        let labels: Vec<String> = policies.iter().map(ToString::to_string).collect();
        let runs: Vec<Live> = labels
            .iter()
            .map(|label| Live::new(label.as_str(), duration))
            .collect();
        // The lines, the bar, and the cursor below them.
        let fits = policies.len() + 1 < terminal::height(&io::stderr());
        let face = if alone && fits && progress::can_draw() {
            ProgressStyle::Terminal {
                lines: runs.iter().map(|_| Line::new()).collect(),
                bar: Progress::new("runs", runs.len()),
            }
        } else {
            ProgressStyle::Log
        };
        Self {
            face,
            state: Mutex::new(State {
                runs,
                labels,
                duration,
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
        match &self.face {
            ProgressStyle::Terminal { lines, bar } => {
                state.advance(bar, run, event);
                state.redraw(lines, matches!(event.what, What::RunEnd { .. }));
            }
            ProgressStyle::Log => state.log(run, event),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the last state.
    pub fn close(&self) {
        let mut state = self.state();
        if let ProgressStyle::Terminal { lines, .. } = &self.face {
            state.redraw(lines, true);
        }
    }
}

impl State {
    fn advance(&self, bar: &Progress, run: usize, event: &Event) {
        match event.what {
            What::RunStart(_) => bar.begin(run, &self.labels[run]),
            What::RunEnd { .. } => bar.end(run),
            _ => bar.part(run, event.at().as_secs_f64() / self.duration.as_secs_f64()),
        }
    }

    fn redraw(&mut self, lines: &[Line], now: bool) {
        if !now && self.drawn_at.is_some_and(|at| at.elapsed() < REDRAW_EVERY) {
            return;
        }
        // One column less: on some terminals a full line starts another.
        let width = terminal::width(&io::stderr()).saturating_sub(1);
        let text = live_lines(&self.runs, width, paint(&io::stderr()));
        for (line, text) in lines.iter().zip(text.lines()) {
            line.show(text.to_owned());
        }
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

//! Progress of long work on standard error. On a terminal it is a bar: steps that are complete, time left,
//! and what runs now. Elsewhere it is a line for each complete step.
//!
//! Lines that `tell!` prints meanwhile go above the bar.
//!
//! # Checked by
//! `tests`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration as Wall;

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use show::{exit, tell, terminal};

/// Everything that is redrawn in place.
static DRAWN: LazyLock<MultiProgress> = LazyLock::new(|| {
    exit::tell_beside(|write| DRAWN.suspend(write));
    MultiProgress::new()
});
/// Whether nothing may be redrawn in place.
static LINES_ONLY: AtomicBool = AtomicBool::new(false);

/// Positions of the bar for each step.
const PARTS: f64 = 1_000.0;
/// Columns below which a terminal has no room for a bar.
const NARROW: usize = 60;
/// Least part of a step that is worth redrawing.
const LEAST_PART: f64 = 0.01;

/// Draws nothing in place from now on. For `--json`, whose readers may be programs on a terminal.
pub fn lines_only() {
    LINES_ONLY.store(true, Ordering::Relaxed);
}

/// Whether standard error is a terminal on which lines may be redrawn in place.
pub fn can_draw() -> bool {
    !LINES_ONLY.load(Ordering::Relaxed) && io::stderr().is_terminal() && !terminal::is_dumb()
}

/// A line that is redrawn in place, above the bars that are made after it. Its last text stays.
pub struct Line(ProgressBar);

impl Line {
    /// An empty line. Only where [`can_draw`].
    pub fn new() -> Self {
        Self(DRAWN.add(ProgressBar::no_length().with_style(style("{msg}"))))
    }

    /// Shows this text.
    pub fn show(&self, text: String) {
        self.0.set_message(text);
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Progress of work in steps that take about the same time, one after the other or side by side. Steps are
/// known by their number from 0. The bar disappears at the end.
pub struct Progress {
    /// `None`: lines only.
    bar: Option<ProgressBar>,
    steps: Mutex<Steps>,
}

impl Progress {
    /// Progress of the work of this name.
    pub fn new(what: &str, steps: usize) -> Self {
        let bar = can_draw().then(|| {
            let length = steps as u64 * PARTS as u64;
            let style = bar_style(terminal::width(&io::stderr()));
            let bar = DRAWN.add(ProgressBar::new(length).with_style(style));
            bar.set_prefix(what.to_owned());
            bar.enable_steady_tick(Wall::from_secs(1));
            bar
        });
        Self {
            bar,
            steps: Mutex::new(Steps::new(steps)),
        }
    }

    /// A step begins, perhaps once more.
    pub fn begin(&self, step: usize, name: impl fmt::Display) {
        if let Some(bar) = &self.bar {
            let mut steps = self.steps();
            steps.begin(step, name.to_string());
            steps.draw(bar);
        }
    }

    /// This share of a step is complete, from 0 to 1.
    pub fn part(&self, step: usize, share: f64) {
        if let Some(bar) = &self.bar {
            let mut steps = self.steps();
            if (share - steps.shares[step]).abs() >= LEAST_PART && share < 1.0 {
                steps.set(step, share);
                steps.draw(bar);
            }
        }
    }

    /// A step is complete.
    pub fn end(&self, step: usize) {
        if let Some(bar) = &self.bar {
            let mut steps = self.steps();
            steps.end(step);
            steps.draw(bar);
        }
    }

    /// A step is complete. Where there is no bar, prints this line.
    pub fn end_with(&self, step: usize, line: fmt::Arguments<'_>) {
        match self.bar {
            Some(_) => self.end(step),
            None => tell!("{line}"),
        }
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How far each step is.
struct Steps {
    /// From 0 to 1, one for each step.
    shares: Vec<f64>,
    /// Sum of the shares.
    sum: f64,
    /// Names of the steps in progress.
    running: BTreeMap<usize, String>,
    complete: usize,
}

impl Steps {
    fn new(count: usize) -> Self {
        Self {
            shares: vec![0.0; count],
            sum: 0.0,
            running: BTreeMap::new(),
            complete: 0,
        }
    }

    fn begin(&mut self, step: usize, name: String) {
        if self.shares[step] >= 1.0 {
            self.complete -= 1;
        }
        self.set(step, 0.0);
        self.running.insert(step, name);
    }

    fn end(&mut self, step: usize) {
        if self.shares[step] < 1.0 {
            self.complete += 1;
        }
        self.set(step, 1.0);
        self.running.remove(&step);
    }

    fn set(&mut self, step: usize, share: f64) {
        self.sum += share - self.shares[step];
        self.shares[step] = share;
    }

    fn draw(&self, bar: &ProgressBar) {
        bar.set_position((self.sum * PARTS) as u64);
        bar.set_message(self.to_string());
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.complete, self.shares.len())?;
        for (place, name) in self.running.values().enumerate() {
            write!(f, "{}{name}", if place == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

/// The bar on a terminal of this width; on a narrow one only what runs.
fn bar_style(width: usize) -> ProgressStyle {
    if width < NARROW {
        style("{wide_msg}")
    } else {
        style("{prefix} {bar:20} {left:>15}  {wide_msg}").with_key("left", left)
    }
}

/// # Panics
/// If the template is not one: all of them are constants, and the tests draw them.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a valid template")
}

/// Time left, as far as it is known.
fn left(state: &ProgressState, f: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // A bar that cannot be drawn is no reason to end the work.
        let _ = write!(f, "{} left", HumanDuration(state.eta()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_once_complete_even_if_they_are_repeated() {
        let mut steps = Steps::new(3);
        steps.begin(0, "tcp:a".to_owned());
        steps.begin(2, "slowhand".to_owned());
        assert_eq!(steps.to_string(), "0 of 3: tcp:a; slowhand");
        steps.set(2, 0.5);
        steps.end(0);
        assert_eq!((steps.to_string().as_str(), steps.sum), ("1 of 3: slowhand", 1.5));
        steps.begin(0, "tcp:a".to_owned());
        assert_eq!((steps.complete, steps.sum), (0, 0.5));
        (0..3).for_each(|step| steps.end(step));
        assert_eq!((steps.to_string().as_str(), steps.sum), ("3 of 3", 3.0));
    }

    #[test]
    fn the_styles_are_valid() {
        for width in [40, 80] {
            let bar = ProgressBar::hidden().with_style(bar_style(width));
            Steps::new(2).draw(&bar);
            assert_eq!(bar.message(), "0 of 2");
        }
        style("{msg}");
    }

    #[test]
    fn nothing_is_drawn_where_only_lines_are_wanted() {
        lines_only();
        assert!(!can_draw());
        assert!(Progress::new("work", 2).bar.is_none());
    }
}

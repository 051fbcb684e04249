//! Progress lines of running policies: a spark per second, the current rate, bytes so far, and the longest
//! stall.

use crate::figures::{megabytes, stall};
use show::paint::{Look, Paint};
use std::collections::BTreeMap;
use trace::{Event, What};
use units::{Duration, Instant};

const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns for the figures beside the sparks: rate, amount, stall and time, with the spaces between them.
const FIGURES_WIDTH: usize = 52;

/// State of one run so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    label: String,
    duration: Duration,
    now: Instant,
    /// Cumulative bytes per flow.
    flows: BTreeMap<String, u64>,
    /// Bytes read in each second.
    per_second: Vec<u64>,
    longest_stall: Duration,
    /// Time of the last read. `None` before the first byte.
    last_read: Option<Instant>,
    done: bool,
}

impl Live {
    /// State at the start of a run of this policy that will last `duration`.
    pub fn new(label: impl Into<String>, duration: Duration) -> Self {
        Self {
            label: label.into(),
            duration,
            now: Instant::ZERO,
            flows: BTreeMap::new(),
            per_second: Vec::new(),
            longest_stall: Duration::ZERO,
            last_read: None,
            done: false,
        }
    }

    /// Updates the state from an event. An event without progress only advances the time.
    pub fn observe(&mut self, event: &Event) {
        self.now = self.now.max(event.at());
        match &event.what {
            What::AppBytes { flow, bytes } => self.read(flow, *bytes),
            What::Stall { from_ns, to_ns, .. } => {
                let length = Instant::from_nanos(*to_ns).since(Instant::from_nanos(*from_ns));
                self.longest_stall = self.longest_stall.max(length);
            }
            What::RunEnd { .. } => self.done = true,
            _ => {}
        }
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.flows.values().sum()
    }

    /// Whether the run is over.
    pub const fn is_done(&self) -> bool {
        self.done
    }

    fn read(&mut self, flow: &str, total: u64) {
        let before = self.flows.entry(flow.to_owned()).or_default();
        let gained = total.saturating_sub(*before);
        *before = total;
        if gained > 0 {
            self.last_read = Some(self.now);
        }
        // A sample at a whole second covers the second before it.
        let second = (self.now.as_nanos().saturating_sub(1) / 1_000_000_000) as usize;
        if second >= self.per_second.len() {
            self.per_second.resize(second + 1, 0);
        }
        self.per_second[second] += gained;
    }

    /// Bytes of each completed second.
    fn whole_seconds(&self) -> &[u64] {
        let whole = ((self.now.as_nanos() / 1_000_000_000) as usize).min(self.per_second.len());
        &self.per_second[..whole]
    }

    fn sparks(&self, cells: usize, most: u64) -> String {
        let seconds = self.whole_seconds();
        let total = (self.duration.as_secs() as usize).max(seconds.len()).max(1);
        let cells = cells.min(total);
        let drawn: String = (0..cells)
            .map(|cell| &seconds[share(seconds, cell, cells, total)..share(seconds, cell + 1, cells, total)])
            .take_while(|part| !part.is_empty())
            .map(|part| spark(part.iter().sum::<u64>() / part.len() as u64, most))
            .collect();
        format!("{drawn:<cells$}")
    }

    /// Time since the last read, if it is long enough to be a stall despite the sampling at 10 Hz.
    fn stalled_for(&self) -> Option<Duration> {
        let since = self.now.since(self.last_read?);
        (!self.done && since >= Duration::from_millis(500)).then_some(since)
    }

    /// Longest form of the figures that fits into `room` columns.
    fn figures(&self, room: usize) -> String {
        let rate = self
            .whole_seconds()
            .last()
            .map_or(0.0, |bytes| *bytes as f64 * 8e-6);
        let (now, end) = (self.now.as_secs_f64(), self.duration.as_secs_f64());
        let time = if self.done {
            "done".to_owned()
        } else {
            format!("{now:.0}/{end:.0} s")
        };
        let waited = match self.stalled_for() {
            Some(since) => format!("waits {}", stall(since.as_millis() as f64)),
            None => format!("stall {}", stall(self.longest_stall.as_millis() as f64)),
        };
        let full = format!(
            "{rate:>6.1} Mb/s {:>8}  {waited:<13} {time:>9}",
            megabytes(self.bytes() as f64)
        );
        let forms = [
            full,
            format!("{rate:.1} Mb/s {time}"),
            format!("{rate:.1} Mb/s"),
            time,
        ];
        let fits = |form: &String| form.chars().count() <= room;
        forms.into_iter().find(fits).unwrap_or_default()
    }
}

/// Index of the first second of `cell`, when all `total` seconds fill `cells`. Limited to the seconds there
/// are so far.
fn share(seconds: &[u64], cell: usize, cells: usize, total: usize) -> usize {
    (cell * total / cells).min(seconds.len())
}

fn spark(bytes: u64, most: u64) -> char {
    match (bytes * 8).div_ceil(most.max(1)) {
        0 => '·',
        step => SPARKS[(step as usize - 1).min(7)],
    }
}

/// One line per run, at most `width` characters each. All sparks share one scale. If `width` is small, sparks
/// and some figures are left out.
pub fn progress(runs: &[Live], width: usize, paint: Paint) -> String {
    let names = runs
        .iter()
        .map(|run| run.label.chars().count())
        .max()
        .unwrap_or(0);
    let longest = runs.iter().map(|run| run.duration.as_secs()).max().unwrap_or(0);
    let room = width.saturating_sub(names + FIGURES_WIDTH).min(60);
    let cells = if room < 8 {
        0
    } else {
        room.min(longest.max(8) as usize)
    };
    let most = runs
        .iter()
        .flat_map(|run| run.whole_seconds())
        .copied()
        .max()
        .unwrap_or(1);
    runs.iter()
        .map(|run| line(run, (names, cells, most), width, paint))
        .collect()
}

fn line(run: &Live, (names, cells, most): (usize, usize, u64), width: usize, paint: Paint) -> String {
    let look = if run.done { Look::Soft } else { Look::Good };
    let label = cut(&format!("{:<names$}", run.label), width);
    let mut line = paint.apply(Look::Strong, &label);
    if cells > 0 {
        let sparks = format!("{:<cells$}", run.sparks(cells, most));
        line += &format!("  {}", paint.apply(look, &sparks));
    }
    let used = names + if cells > 0 { cells + 2 } else { 0 };
    let figures = run.figures(width.saturating_sub(used + 2));
    if !figures.is_empty() {
        let waits = run.stalled_for().is_some() || run.longest_stall >= Duration::from_secs(1);
        let look = if waits { Look::Alarm } else { Look::Plain };
        line += &format!("  {}", paint.apply(look, &figures));
    }
    line + "\n"
}

/// The first `width` characters.
fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

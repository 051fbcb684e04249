//! Results of many runs in virtual time. Rows are written in the order of the runs, whichever finishes first;
//! the rest is written at the end.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lab::stop::Stop;
use sim::Played;
use trace::RunRecord;

use super::files;
use super::rows::LiveTrace;
use super::table::{Swept, table};
use super::virtual_world::Job;
use show::output::{Output, Rows};

/// What the user wants of the runs, besides their result.
pub struct Outputs<'w> {
    pub trace: Option<&'w Path>,
    pub table: Option<&'w Path>,
    /// Whether their events are needed at the end.
    pub keeps_records: bool,
}

/// Where the rows go.
pub struct Results<'s> {
    keeps_records: bool,
    trace: LiveTrace,
    table: Mutex<Growing>,
    swept: Vec<Swept>,
    parquet: Option<Output>,
    stop: &'s Stop,
}

/// A table of JSON Lines.
struct Growing {
    rows: Option<Rows>,
    /// The rows of each run that came before its turn.
    held: Vec<Option<String>>,
    turn: usize,
}

impl<'s> Results<'s> {
    /// Opens the files for this many runs. If they cannot be written, the runs are stopped.
    pub fn new(wishes: &Outputs<'_>, swept: Vec<Swept>, runs: usize, stop: &'s Stop) -> anyhow::Result<Self> {
        let is_parquet = |path: &&Path| path.extension().is_some_and(|ending| ending == "parquet");
        Ok(Self {
            keeps_records: wishes.keeps_records,
            trace: LiveTrace::new(files::rows(wishes.trace)?, runs),
            table: Mutex::new(Growing {
                rows: files::rows(wishes.table.filter(|path| !is_parquet(path)))?,
                held: vec![None; runs],
                turn: 0,
            }),
            swept,
            parquet: files::whole(wishes.table.filter(is_parquet))?,
            stop,
        })
    }

    /// Takes the result of a run, and returns it without the parts that are no longer needed.
    pub fn take(&self, index: usize, job: &Job, mut played: Played) -> Played {
        for event in &played.record.events {
            self.trace.observe(index, event);
        }
        if !played.interrupted {
            let rows = table(&self.swept, [(job, &played)]).json_lines();
            self.growing().take(index, rows);
        }
        if self.trace.has_failed() || self.growing().rows.as_ref().is_some_and(Rows::has_failed) {
            self.stop.stop();
        }
        if !self.keeps_records {
            played.record = RunRecord::default();
        }
        played
    }

    fn growing(&self) -> MutexGuard<'_, Growing> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the files. Returns the results of all runs, or an error if one of them did not complete.
    pub fn finish(self, jobs: &[Job], done: Vec<Option<Played>>) -> anyhow::Result<Vec<Played>> {
        let mut growing = self.table.into_inner().unwrap_or_else(PoisonError::into_inner);
        growing.rest();
        let ended = |played: &Option<Played>| played.as_ref().is_some_and(|played| !played.interrupted);
        let count = done.iter().filter(|played| ended(played)).count();
        let all = count == done.len();
        let rows = self.trace.finish().into_iter().chain(growing.rows);
        for rows in rows.filter(|rows| all || rows.has_begun() || rows.has_failed()) {
            rows.finish()?;
        }
        if let Some(parquet) = self.parquet.filter(|_| all || count > 0) {
            let rows = jobs.iter().zip(&done).filter(|(_, played)| ended(played));
            let rows = rows.filter_map(|(job, played)| Some((job, played.as_ref()?)));
            parquet.write(&table(&self.swept, rows).parquet()?)?;
        }
        anyhow::ensure!(all, "interrupted; {count} of {} runs were finished", done.len());
        Ok(done.into_iter().flatten().collect())
    }
}

impl Growing {
    fn take(&mut self, index: usize, rows: String) {
        if self.rows.is_none() {
            return;
        }
        self.held[index] = Some(rows);
        while let Some(rows) = self.held.get_mut(self.turn).and_then(Option::take) {
            self.write(&rows);
            self.turn += 1;
        }
    }

    /// The results that wait for a run that will not end.
    fn rest(&mut self) {
        let rest: Vec<String> = self.held.drain(..).flatten().collect();
        rest.iter().for_each(|rows| self.write(rows));
    }

    fn write(&mut self, rows: &str) {
        if let Some(out) = &mut self.rows {
            out.add(rows);
        }
    }
}

//! Studies: figures and tables that a file describes as cases to play and values to measure.
//!
//! `study.toml` in a folder of `papers/` has the cases. Each is a scenario of the same folder, played in
//! virtual time under one policy. A value gets the name that claims use: CASE_VALUE, or CASE_VALUE_X where
//! the figure has an axis. `papers/README.md` explains the keys.
//!
//! # Checked by
//! `study::tests`.

mod file;
mod gaps;
mod place;
mod table;
mod trial;
mod value;

use trace::{PaperFigure, PaperSeries};

use super::folder::{Figures, Folder};
use super::{Experiment, Report};
use file::{Figure, Study};
use table::Table;
use trial::{Trial, Wanted};

/// Runs between two reports of progress, for each core.
const BATCH: usize = 4;

/// Runs all of it.
pub(super) fn run(folder: &Folder, report: Report<'_>) -> anyhow::Result<Experiment> {
    let study = Study::read(folder)?;
    let runs: Vec<usize> = study
        .figures
        .iter()
        .map(|figure| study.jobs(figure).len())
        .collect();
    let all = runs.iter().sum::<usize>().max(1) as f64;
    let (mut measured, mut figures, mut before) = (Figures::new(), Vec::new(), 0);
    for (figure, runs) in study.figures.iter().zip(runs) {
        let trials = play(&study, figure, &|ended| report((before + ended) as f64 / all))?;
        before += runs;
        let table = Table::of(&study, figure, &trials)?;
        measured.extend(table.named());
        figures.push(drawn(folder, figure, &table));
    }
    Ok(Experiment { measured, figures })
}

/// The runs of a figure, in the order of [`Study::jobs`].
fn play(study: &Study<'_>, figure: &Figure, ended: &dyn Fn(usize)) -> anyhow::Result<Vec<Trial>> {
    let jobs = study.jobs(figure);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = Wanted {
        gaps: figure.listens(),
        round_trips: figure.times_round_trips(),
    };
    let mut trials = Vec::new();
    for batch in jobs.chunks(BATCH * cores) {
        let results = sim::sweep(batch, cores, |job| {
            Trial::of(&job.plan()?, &job.case.policy, job.seed, wanted)
        });
        for trial in results {
            trials.push(trial?);
        }
        ended(trials.len());
    }
    Ok(trials)
}

/// Our curves, and the published points of each.
fn drawn(folder: &Folder, figure: &Figure, table: &Table) -> PaperFigure {
    let curves = table.drawn(figure);
    let ours = curves.iter().map(|curve| PaperSeries {
        name: curve.label.clone(),
        published: false,
        level: false,
        points: curve.points.iter().map(|point| [point.x, point.value]).collect(),
    });
    let theirs = curves.iter().filter_map(|curve| {
        let points = curve.points.iter();
        let points = points.filter_map(|point| Some([point.x, folder.published(&point.name)?]));
        let points: Vec<[f64; 2]> = points.collect();
        (!points.is_empty()).then(|| PaperSeries {
            name: format!("{}, published", curve.label),
            published: true,
            level: false,
            points,
        })
    });
    PaperFigure {
        id: folder.id().to_owned(),
        title: figure.title.clone(),
        x: figure.x.clone(),
        y: figure.y.clone(),
        series: ours.chain(theirs).collect(),
    }
}

#[cfg(test)]
mod tests;

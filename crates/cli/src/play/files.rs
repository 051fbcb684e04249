//! The output files of a run.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use scenario::Plan;
use trace::PlayDocument;

use super::Wanted;
use super::world::Played;
use show::output::{self, Output, Rows};

/// The files to write.
pub struct Files {
    html: Option<Output>,
    svg: Option<Output>,
}

impl Wanted {
    /// The files, each with its option.
    pub fn outputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [
            ("--trace", &self.trace),
            ("--html", &self.html),
            ("--svg", &self.svg),
        ];
        all.into_iter()
            .filter_map(|(option, path)| Some((option, path.as_deref()?)))
    }
}

/// Refuses outputs that are the scenario, one of its rate traces, or each other.
pub fn check<'p>(
    outputs: &[(&str, &Path)],
    scenario: Option<&Path>,
    plans: impl IntoIterator<Item = &'p Plan>,
) -> anyhow::Result<()> {
    let folder = scenario.and_then(Path::parent).unwrap_or(Path::new(""));
    let mut inputs: Vec<(&str, PathBuf)> = scenario
        .map(|path| ("the scenario", path.to_owned()))
        .into_iter()
        .collect();
    for (_, trace) in plans.into_iter().flat_map(Plan::rate_traces) {
        let path = folder.join(trace.path());
        if !inputs.iter().any(|(_, known)| *known == path) {
            inputs.push(("a rate trace of the scenario", path));
        }
    }
    output::distinct(outputs, &inputs)
}

/// Opens a file for rows, if `path` is given.
pub fn rows(path: Option<&Path>) -> anyhow::Result<Option<Rows>> {
    path.map(Rows::create).transpose()
}

/// Makes a temporary file for one whole document, if `path` is given.
pub fn whole(path: Option<&Path>) -> anyhow::Result<Option<Output>> {
    path.map(Output::create).transpose()
}

impl Files {
    /// Makes the temporary files of pages and pictures.
    pub fn create(wanted: &Wanted) -> anyhow::Result<Self> {
        Ok(Self {
            html: whole(wanted.html.as_deref())?,
            svg: whole(wanted.svg.as_deref())?,
        })
    }

    /// Writes those of a comparison, and prints their paths on standard error.
    pub fn write(self, played: &Played) -> anyhow::Result<()> {
        let (records, document) = (&played.records, &played.document);
        self.fill(|| dash::page(records, document), || dash::svg(records, document))
    }

    /// Writes those of many runs of one policy. `about` says what the scenario shows.
    pub fn write_study(self, document: &PlayDocument, about: &str) -> anyhow::Result<()> {
        self.fill(|| dash::study_page(document, about), || dash::study_svg(document))
    }

    fn fill(self, page: impl FnOnce() -> String, picture: impl FnOnce() -> String) -> anyhow::Result<()> {
        if let Some(html) = self.html {
            html.fill(|out| out.write_all(page().as_bytes()))?;
        }
        if let Some(svg) = self.svg {
            svg.fill(|out| out.write_all(picture().as_bytes()))?;
        }
        Ok(())
    }
}

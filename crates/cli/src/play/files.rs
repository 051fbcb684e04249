//! The files that a run was asked to write: opened before it begins, so that a minute's work is not lost to a wrong path.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Wanted;
use super::world::Played;
use crate::exit::Refused;

/// What is to be written, and where.
pub struct Files {
    trace: Option<Target>,
    html: Option<Target>,
    svg: Option<Target>,
}

struct Target {
    path: PathBuf,
    file: File,
}

impl Files {
    /// Makes the files, empty, and the folders that they lie in.
    pub fn create(wanted: &Wanted) -> anyhow::Result<Self> {
        let create = |path: &Option<PathBuf>| path.as_deref().map(Target::create).transpose();
        Ok(Self {
            trace: create(&wanted.trace)?,
            html: create(&wanted.html)?,
            svg: create(&wanted.svg)?,
        })
    }

    /// Writes them, and says on standard error where they are.
    pub fn write(self, played: &Played) -> anyhow::Result<()> {
        if let Some(trace) = self.trace {
            trace.fill(|out| Ok(trace::write_runs(out, &played.records)?))?;
        }
        if let Some(html) = self.html {
            html.fill(|out| Ok(out.write_all(dash::page(&played.records, &played.document).as_bytes())?))?;
        }
        if let Some(svg) = self.svg {
            svg.fill(|out| Ok(out.write_all(dash::svg(&played.records, &played.document).as_bytes())?))?;
        }
        Ok(())
    }
}

impl Target {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let file = folder.and_then(|()| File::create(path)).map_err(|error| {
            let shown = path.display();
            Refused::because(format!(
                "{shown}: {error}; name a file in a directory that you may write to"
            ))
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    fn fill(self, write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut out = BufWriter::new(self.file);
        let written = write(&mut out).and_then(|()| Ok(out.flush()?));
        written.with_context(|| format!("{}: cannot be written", self.path.display()))?;
        eprintln!("wrote {}", self.path.display());
        Ok(())
    }
}

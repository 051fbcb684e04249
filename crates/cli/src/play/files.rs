//! The files that a run was asked to write: opened before it begins, so that a minute's work is not lost to a wrong path.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Wanted;
use super::world::Played;
use crate::exit::Refused;
use trace::Table;

/// What is to be written, and where.
pub struct Files {
    trace: Option<Target>,
    html: Option<Target>,
    svg: Option<Target>,
}

/// A file that will be written.
pub struct Target {
    path: PathBuf,
    file: File,
}

impl Files {
    /// Makes the files, empty, and the folders that they lie in.
    pub fn create(wanted: &Wanted) -> anyhow::Result<Self> {
        Ok(Self {
            trace: created(&wanted.trace)?,
            html: created(&wanted.html)?,
            svg: created(&wanted.svg)?,
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

/// Makes one file, empty, if it is asked for.
pub fn created(path: &Option<PathBuf>) -> anyhow::Result<Option<Target>> {
    path.as_deref().map(Target::create).transpose()
}

impl Target {
    /// Writes these bytes.
    pub fn write(self, bytes: &[u8]) -> anyhow::Result<()> {
        self.fill(|out| Ok(out.write_all(bytes)?))
    }

    /// Writes a table, in the form that the name of the file asks for.
    pub fn write_table(self, table: &Table) -> anyhow::Result<()> {
        if self.path.extension().is_some_and(|ending| ending == "parquet") {
            self.write(&table.parquet())
        } else {
            self.write(table.json_lines().as_bytes())
        }
    }

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
        tell!("wrote {}", self.path.display());
        Ok(())
    }
}

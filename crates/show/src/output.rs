//! Writes the output files of a command.
//!
//! - [`Output`]: a file written as a whole. It goes to a temporary file in the same folder, which is renamed
//!   when it is complete. A reader finds the old file or the new one.
//! - [`Rows`]: JSON Lines grow in place, row by row, so that a run that ends early leaves the rows it had.
//! - [`distinct`]: refuses to write a file that is read, or to write one twice.
//!
//! Pipes and devices are written to directly. All outputs are opened before the work begins, so that a wrong
//! path does not cost a minute of it.

mod distinct;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context as _;
use trace::Shown;

pub use distinct::distinct;

use crate::exit::Refused;

/// A file that appears once it is complete.
pub struct Output {
    path: PathBuf,
    file: File,
    /// Its temporary path and its final one; `None` for pipes and devices.
    moves: Option<(PathBuf, PathBuf)>,
}

impl Output {
    /// Creates the temporary file, and the folders of the file.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        Self::open(path).map_err(|error| unwritable(path, &error))
    }

    fn open(path: &Path) -> io::Result<Self> {
        let target = in_folder(path)?;
        let before = std::fs::metadata(&target).ok();
        if before.as_ref().is_some_and(|before| before.is_dir()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if before.as_ref().is_some_and(|before| !before.is_file()) || is_the_systems(&target) {
            return Ok(Self {
                path: path.to_owned(),
                file: OpenOptions::new().write(true).truncate(true).open(&target)?,
                moves: None,
            });
        }
        let temporary = beside(&target);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        if let Some(before) = before {
            // Keeps the owner and permissions. Only root can change the owner.
            file.set_permissions(before.permissions())?;
            drop(fchown(&file, Some(before.uid()), Some(before.gid())));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            moves: Some((temporary, target)),
        })
    }

    /// Writes these bytes.
    pub fn write(self, bytes: &[u8]) -> anyhow::Result<()> {
        self.fill(|out| out.write_all(bytes))
    }

    /// Writes these bytes without a message: one file of many.
    pub fn write_quietly(self, bytes: &[u8]) -> anyhow::Result<()> {
        let path = self.path.clone();
        self.complete(|out| out.write_all(bytes))
            .with_context(|| format!("{}: cannot be written", Shown(path.display())))
    }

    /// Writes the content, gives the file its name, and reports its place on standard error.
    pub fn fill(self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> anyhow::Result<()> {
        let path = self.path.clone();
        self.complete(write)
            .with_context(|| format!("{}: cannot be written", Shown(path.display())))?;
        tell!("wrote {}", Shown(path.display()));
        Ok(())
    }

    fn complete(mut self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
        let mut out = BufWriter::new(&self.file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        if let Some((temporary, target)) = &self.moves {
            self.file.sync_all()?;
            std::fs::rename(temporary, target)?;
            self.moves = None;
        }
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.moves {
            drop(std::fs::remove_file(temporary));
        }
    }
}

/// JSON Lines in place. The file keeps its old content until the first row.
pub struct Rows {
    path: PathBuf,
    file: File,
    /// Its path; `None` for pipes and devices.
    target: Option<PathBuf>,
    is_new: bool,
    begun: bool,
    failed: Option<io::Error>,
}

impl Rows {
    /// Opens the file, and creates its folders.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        Self::open(path).map_err(|error| unwritable(path, &error))
    }

    fn open(path: &Path) -> io::Result<Self> {
        let target = in_folder(path)?;
        let is_new = !target.exists();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&target)?;
        let is_file = file.metadata()?.is_file();
        Ok(Self {
            path: path.to_owned(),
            file,
            target: is_file.then_some(target),
            is_new,
            begun: false,
            failed: None,
        })
    }

    /// Appends rows, each with its line end. After a failure nothing more is written, and [`Self::finish`]
    /// reports the failure.
    pub fn add(&mut self, rows: &str) {
        if self.failed.is_none() {
            self.failed = self.append(rows).err();
        }
    }

    fn append(&mut self, rows: &str) -> io::Result<()> {
        if !self.begun && self.target.is_some() {
            self.file.set_len(0)?;
        }
        self.begun = true;
        self.file.write_all(rows.as_bytes())
    }

    /// Whether any row was written.
    pub const fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether a row could not be written.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Reports on standard error where the rows are.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.add("");
        if let Some(error) = self.failed.take() {
            let shown = self.path.display().to_string();
            return Err(error).with_context(|| format!("{}: cannot be written", Shown(shown)));
        }
        tell!("wrote {}", Shown(self.path.display()));
        Ok(())
    }

    /// Finishes as [`Self::finish`] does, with this in place of the rows, written at once.
    pub fn finish_with(
        mut self,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        if self.target.is_none() || self.has_failed() {
            return self.finish();
        }
        self.begun = true;
        Output::create(&self.path)?.fill(write)
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        if let Some(target) = self.target.as_ref().filter(|_| self.is_new && !self.begun) {
            drop(std::fs::remove_file(target));
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> anyhow::Error {
    let shown = Shown(path.display());
    Refused::because(format!(
        "{shown}: {error}; name a file in a directory that you may write to"
    ))
}

/// The final path, once its folders exist. Follows a link, which stays a link.
fn in_folder(path: &Path) -> io::Result<PathBuf> {
    let target = followed(path);
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => std::fs::create_dir_all(folder)?,
        _ => {}
    }
    Ok(target)
}

/// Most links to follow, the same as the kernel's.
const MOST_LINKS: usize = 40;

fn followed(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&target) {
            Ok(next) if !is_the_systems(&target) => {
                target = target.parent().unwrap_or(Path::new("")).join(next);
            }
            _ => break,
        }
    }
    target
}

/// Whether a name means an open file, as `/dev/stdout` and `/dev/fd/3` do, or a device. Such a name is
/// written to, never replaced.
fn is_the_systems(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.is_some_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
}

/// A unique name in the same folder, so that the file can be renamed.
fn beside(target: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!(".slowhand-{}-{number}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests;

//! From a file or a text to a plan.

use crate::document;
use crate::plan::Plan;
use crate::read::{self, Files};
use crate::section::{Log, Section};
use crate::setting::Setting;
use crate::source::{Problem, Problems, Sources};
use std::io;
use std::path::{Path, PathBuf};

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{path}: {source}; name a scenario file, for example scenarios/building-walk.toml")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no scenario: they are small.
    #[error("{path}: {bytes} bytes are no scenario; name a TOML file of at most {LARGEST} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// What it says is wrong.
    #[error(transparent)]
    Bad(#[from] Problems),
}

/// A scenario file has at most this many bytes.
const LARGEST: u64 = 1 << 20;

/// A rate trace has at most this many bytes: an hour at 100 Mb/s.
const LARGEST_TRACE: u64 = 256 << 20;

/// Reads a scenario file; trace files in it are looked up from its directory. Settings replace what the file says, in
/// their order.
pub fn load(path: &Path, settings: &[Setting]) -> Result<Plan, LoadError> {
    let failed = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let bytes = std::fs::metadata(path).map_err(failed)?.len();
    if bytes > LARGEST {
        return Err(LoadError::TooLarge {
            path: path.to_owned(),
            bytes,
        });
    }
    let content = std::fs::read(path).map_err(failed)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    Ok(parse(&path.to_string_lossy(), &content, settings, &|file| {
        read_beside(directory, file)
    })?)
}

/// Reads the bytes of a scenario file called `name`; `files` finds the trace files it names and says what to call them.
pub fn parse(name: &str, content: &[u8], settings: &[Setting], files: Files<'_>) -> Result<Plan, Problems> {
    let text = text_of(name, content).map_err(Problems::one)?;
    let mut sources = Sources::default();
    let source = sources.add(name, text);
    let mut root = document::parse(&sources, source, text).map_err(Problems::of)?;
    for setting in settings {
        setting.apply(&mut sources, &mut root).map_err(Problems::one)?;
    }
    let log = Log::new(&sources);
    let plan = read::plan(
        &Section::new(&log, root.at, "the scenario", &root),
        &stem(name),
        files,
    );
    match log.into_problems() {
        problems if problems.is_empty() => Ok(plan),
        problems => Err(Problems::of(problems)),
    }
}

/// The text of a file, or where it stops being one.
pub(crate) fn text_of<'c>(name: &str, content: &'c [u8]) -> Result<&'c str, Problem> {
    std::str::from_utf8(content).map_err(|error| {
        let end = error.valid_up_to();
        let readable = std::str::from_utf8(&content[..end]).unwrap_or_default();
        Problem::new(
            name,
            readable,
            end..end,
            "from here on this is not UTF-8 text".into(),
            "save the file as UTF-8".into(),
        )
    })
}

fn stem(name: &str) -> String {
    Path::new(name)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn read_beside(directory: &Path, file: &str) -> io::Result<(String, Vec<u8>)> {
    let path = directory.join(file);
    let bytes = std::fs::metadata(&path)?.len();
    if bytes > LARGEST_TRACE {
        return Err(io::Error::other(format!(
            "{bytes} bytes are more than a trace may have ({LARGEST_TRACE})"
        )));
    }
    Ok((path.to_string_lossy().into_owned(), std::fs::read(&path)?))
}

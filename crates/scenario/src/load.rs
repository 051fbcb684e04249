//! From a file or a text to a plan.

use crate::document;
use crate::format::Format;
use crate::plan::Plan;
use crate::read::{self, Files};
use crate::section::{Log, Section};
use crate::setting::Setting;
use crate::source::{Problem, Problems, Sources};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use trace::Shown;

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{}: {source}; name a scenario file, for example scenarios/building-walk.toml", Shown(path.display()))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no scenario: one with 10,000 of everything has a tenth of this.
    #[error("{}: larger than {LARGEST} bytes, so not a scenario; name a TOML file", Shown(path.display()))]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Its content is wrong.
    #[error(transparent)]
    Bad(#[from] Problems),
}

/// A scenario file has at most this many bytes.
const LARGEST: u64 = 64 << 20;

/// A rate trace has at most this many bytes: an hour at 100 Mb/s.
const LARGEST_TRACE: u64 = 256 << 20;

/// A scenario file as it was read: once, since it may be a pipe, however many plans are made of it.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    path: PathBuf,
    content: Vec<u8>,
}

impl ScenarioFile {
    /// Reads it.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let content = read_up_to(path, LARGEST).map_err(|source| LoadError::Read {
            path: path.to_owned(),
            source,
        })?;
        if content.len() as u64 > LARGEST && Format::of(&content).is_none() {
            return Err(LoadError::TooLarge {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            content,
        })
    }

    /// The plan. Trace files in it are resolved relative to its directory. Settings replace values of the
    /// file, in their order.
    pub fn plan(&self, settings: &[Setting]) -> Result<Plan, Problems> {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        parse(&self.path.to_string_lossy(), &self.content, settings, &|file| {
            read_beside(directory, file)
        })
    }
}

/// Reads a scenario file and makes its plan.
pub fn load(path: &Path, settings: &[Setting]) -> Result<Plan, LoadError> {
    Ok(ScenarioFile::read(path)?.plan(settings)?)
}

/// Parses the bytes of a scenario file called `name`. `files` finds the trace files it names and says how to
/// name them in messages.
pub fn parse(name: &str, content: &[u8], settings: &[Setting], files: Files<'_>) -> Result<Plan, Problems> {
    let text = text_of(name, content).map_err(Problems::one)?;
    let mut sources = Sources::default();
    let source = sources.add(name, text);
    let mut root = document::parse(&sources, source, text).map_err(Problems::one)?;
    let mut made = Vec::new();
    for setting in settings {
        made.extend(setting.apply(&mut sources, &mut root).map_err(Problems::one)?);
    }
    let log = Log::new(&sources);
    let plan = read::plan(
        &Section::new(&log, root.at, "the scenario", &root),
        &stem(name),
        files,
    );
    log.explain(made);
    match log.into_problems() {
        problems if problems.is_empty() => Ok(plan),
        problems => Err(Problems::of(problems)),
    }
}

/// The text of a scenario, or why it is not one.
fn text_of<'c>(name: &str, content: &'c [u8]) -> Result<&'c str, Problem> {
    if let Some(format) = Format::of(content) {
        let remedy = format.remedy("a scenario, which is TOML");
        return Err(Problem::at_line(
            name,
            1,
            format!("the file is {format}, not a scenario"),
            remedy,
        ));
    }
    let text = std::str::from_utf8(content).map_err(|error| {
        let end = error.valid_up_to();
        let readable = std::str::from_utf8(&content[..end]).unwrap_or_default();
        Problem::new(
            name,
            readable,
            end..end,
            "the file is not UTF-8 text from here on".into(),
            "save the file as UTF-8".into(),
        )
    })?;
    let is_time = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    if text.lines().next().is_some_and(is_time) {
        let what = "the file is a rate trace, not a scenario".to_owned();
        let remedy = "name it in a scenario, as `down_trace` of a [cells.NAME]".to_owned();
        return Err(Problem::at_line(name, 1, what, remedy));
    }
    Ok(text)
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
    let content = read_up_to(&path, LARGEST_TRACE)?;
    if content.len() as u64 > LARGEST_TRACE && Format::of(&content).is_none() {
        return Err(io::Error::other(format!(
            "larger than {LARGEST_TRACE} bytes, so not a rate trace"
        )));
    }
    Ok((path.to_string_lossy().into_owned(), content))
}

/// Reads a file or a pipe, up to one byte more than `most`: the length in its metadata is no limit. Devices
/// are not opened, because opening one may have an effect.
fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_char_device() || kind.is_block_device() || kind.is_socket() {
        return Err(io::Error::other("this is a device or a socket, not a file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut content)?;
    Ok(content)
}

//! How the verbs ask a running daemon: one line of JSON each way over a Unix socket.
//!
//! A question is `{"verb": "status"}` (`why`, `stop`); the answer is the verb's document, or `{"error": "…"}`. Root, and whoever runs the
//! daemon, asks on `control.sock`. Everybody else asks on `status.sock`, where `stop` is refused. The daemon's end is
//! `crates/slowhandd/src/server.rs`.
//!
//! A stop has three steps: the daemon answers `{"pid": …}`, the asker acknowledges that with a line, and only then does the daemon end. So
//! a stop whose asker has lost patience is not carried out later. When everything is put back, it says `{"left": […]}`, what it could not.

use super::place::Place;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Who asks looks so often for the answer. A machine that stands still for a while takes one look from the two, and not all their patience.
const LOOKS: u32 = 50;
const GLANCE: Duration = Duration::from_millis(100);
/// The daemon's word that an asker has heard it: any line does.
pub const HEARD: &str = "heard";

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "lowercase", deny_unknown_fields)]
pub enum Question {
    /// Links, connections, subflows.
    Status,
    /// A sentence for each.
    Why,
    /// End, and put everything back.
    Stop,
}

/// What an answer looks like.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer<T> {
    /// There is none.
    Error {
        /// Why.
        error: String,
    },
    /// What was asked for.
    Document(T),
}

/// The first answer to [`Question::Stop`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Stopping {
    /// The process that is about to end.
    pub pid: u32,
}

/// The second: everything else is as it was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stopped {
    /// What could not be put back, and why.
    pub left: Vec<String>,
}

/// Why there was no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// Nobody is there.
    #[error(
        "slowhand is not running here; start it with `slowhand up`, or name its place with --runtime-dir"
    )]
    NotRunning,
    /// Others may only look.
    #[error("only root may stop the daemon: run as root")]
    NotAllowed,
    /// Somebody is there, but the socket failed.
    #[error("the daemon does not answer ({0}); see its log, or end it with `slowhand down`")]
    Silent(#[source] io::Error),
    /// Somebody was there, and hung up: it has died, or is about to end.
    #[error("the daemon hung up before it had answered; see its log, or end it with `slowhand down`")]
    HungUp,
    /// It answered that it cannot.
    #[error("{0}")]
    Refused(String),
    /// Its answer makes no sense: another version.
    #[error("the daemon's answer cannot be read ({0}); it is of another version, start it again")]
    Unreadable(#[source] serde_json::Error),
}

/// Asks the daemon of this place.
pub fn ask<T: DeserializeOwned>(place: &Place, question: Question) -> Result<T, AskError> {
    Talk::begin(place, question)?.answer()
}

/// A stop that the daemon carries out.
pub struct Ending {
    /// The process that ends.
    pub pid: u32,
    talk: Talk,
}

/// Has the daemon of this place end. An error means that it does not, or that it was about to.
pub fn stop(place: &Place) -> Result<Ending, AskError> {
    let mut talk = Talk::begin(place, Question::Stop)?;
    let Stopping { pid } = talk.answer()?;
    writeln!(talk.stream.get_ref(), "{HEARD}").map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => AskError::HungUp,
        _ => AskError::Silent(error),
    })?;
    Ok(Ending { pid, talk })
}

impl Ending {
    /// Waits until the daemon has put everything back; `None`: it ended without a word.
    pub fn wait(mut self, until: Instant) -> io::Result<Option<Stopped>> {
        let line = self.talk.line(|| Instant::now() < until)?;
        Ok(serde_json::from_slice(&line).ok())
    }
}

/// An exchange with the daemon.
struct Talk {
    stream: BufReader<UnixStream>,
}

impl Talk {
    fn begin(place: &Place, question: Question) -> Result<Self, AskError> {
        let stream = connect(place, question).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotRunning,
            io::ErrorKind::PermissionDenied if question == Question::Stop => AskError::NotAllowed,
            _ => AskError::Silent(error),
        })?;
        let asked = stream.set_read_timeout(Some(GLANCE));
        asked.map_err(AskError::Silent)?;
        let text = serde_json::to_string(&question).map_err(AskError::Unreadable)?;
        // Who refuses may have hung up without listening: its words are there to be read.
        let _ = writeln!(&stream, "{text}");
        let stream = BufReader::new(stream);
        Ok(Self { stream })
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, AskError> {
        let mut left = LOOKS;
        let patient = || {
            left -= 1;
            left > 0
        };
        let line = self.line(patient).map_err(AskError::Silent)?;
        if line.last() != Some(&b'\n') {
            return Err(AskError::HungUp);
        }
        match serde_json::from_slice(&line).map_err(AskError::Unreadable)? {
            Answer::Error { error } => Err(AskError::Refused(error)),
            Answer::Document(document) => Ok(document),
        }
    }

    /// The next line, empty at the end; asks after each glance in vain whether to look on.
    fn line(&mut self, mut patient: impl FnMut() -> bool) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            match self.stream.read_until(b'\n', &mut line) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && patient() => {}
                // It is gone, and did not hear all that we said.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(line),
                read => return read.map(|_| line),
            }
        }
    }
}

/// Who may not control the daemon may ask it on the other socket, unless to stop it.
fn connect(place: &Place, question: Question) -> io::Result<UnixStream> {
    match UnixStream::connect(place.control()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && question != Question::Stop => {
            UnixStream::connect(place.status())
        }
        connected => connected,
    }
}

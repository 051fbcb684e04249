//! Protocol between the commands and a running daemon: one line of JSON each way over a Unix socket.
//!
//! A question is `{"verb": "status"}` (`why`, `stop`, `reload`, `networks`). The answer is the verb's
//! document, or `{"error": "…"}`. Root and the user that runs the daemon ask on `control.sock`. Everybody
//! else asks on `status.sock`, where `stop`, `reload` and `networks` are refused. The daemon's end is
//! `crates/slowhandd/src/server.rs`.
//!
//! A stop has three steps. The daemon answers `{"pid": …}`, the client acknowledges that with a line, and
//! only then does the daemon end. So a stop whose client has given up is not carried out later. When
//! everything is restored, the daemon sends `{"left": […]}` with what could not be. A reload has the same
//! steps, and the same process starts again after them.

use super::place::Place;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use thiserror::Error;
use tracing::debug;

/// Number of polls for an answer, each [`GLANCE`] long. A pause of the whole machine costs each side one
/// poll, not all its patience.
const LOOKS: u32 = 50;
const GLANCE: Duration = Duration::from_millis(100);
/// The client's acknowledgement of an answer. The daemon accepts any line.
pub const HEARD: &str = "heard";

/// A question to the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "lowercase", deny_unknown_fields)]
pub enum Question {
    /// Links, connections, subflows.
    Status,
    /// The reason for each decision, as a sentence.
    Why,
    /// End, and restore everything.
    Stop,
    /// The same, then start again with the configuration as it is now.
    Reload,
    /// Change networks for flows. The answer is [`Done`].
    Networks {
        /// What to change.
        change: NetworksChange,
    },
}

/// A change of networks for flows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum NetworksChange {
    /// Add a rule after all others.
    Add {
        /// Flows of this user.
        #[serde(default)]
        user: Option<u32>,
        /// Flows to these addresses.
        #[serde(default)]
        to: Option<String>,
        /// Flows to this port.
        #[serde(default)]
        port: Option<u16>,
        /// Flows of sockets with this mark.
        #[serde(default)]
        mark: Option<u32>,
        /// Flows of sockets of this cgroup.
        #[serde(default)]
        cgroup: Option<String>,
        /// The link that carries them while it can.
        network: String,
        /// Whether they wait while it cannot.
        #[serde(default)]
        holds: bool,
    },
    /// Let sockets with the mark of a wish use a link.
    Wish {
        /// The link that carries their flows while it can.
        network: String,
    },
    /// Remove a rule.
    Remove {
        /// Its number.
        rule: u8,
    },
    /// Share new flows among links. Empty: they begin on one link.
    Weight {
        /// The share of each link.
        weights: BTreeMap<String, u16>,
    },
    /// Move a flow, or all flows of a link.
    Move {
        /// The flow.
        #[serde(default)]
        flow: Option<u64>,
        /// The link whose flows move.
        #[serde(default)]
        from: Option<String>,
        /// The link that they use from then on.
        to: String,
    },
}

/// The change is made.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    /// Always true.
    pub done: bool,
}

impl Question {
    /// Whether only root may ask.
    const fn changes_the_host(&self) -> bool {
        matches!(self, Self::Stop | Self::Reload | Self::Networks { .. })
    }
}

/// An answer of the daemon.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer<T> {
    /// A refusal.
    Error {
        /// The reason.
        error: String,
    },
    /// The requested document.
    Document(T),
}

/// First answer to [`Question::Stop`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Stopping {
    /// The process that is about to end.
    pub pid: u32,
}

/// Second answer to [`Question::Stop`]: everything not listed is restored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stopped {
    /// What could not be restored, and why.
    pub left: Vec<String>,
}

/// Why there was no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// No daemon runs here.
    #[error(
        "slowhand is not running here; start it with `slowhand up`, or name its place with --runtime-dir"
    )]
    NotRunning,
    /// Other users may only query.
    #[error("only root may stop, reload or change the daemon: run as root")]
    NotAllowed,
    /// A daemon runs, but the socket failed.
    #[error("the daemon does not answer ({0}); see its log, or end it with `slowhand down`")]
    Silent(#[source] io::Error),
    /// The daemon closed the connection: it has died, or is about to end.
    #[error("the daemon hung up before it had answered; see its log, or end it with `slowhand down`")]
    HungUp,
    /// The daemon refused.
    #[error("{0}")]
    Refused(String),
    /// The answer cannot be parsed: the daemon is of another version.
    #[error("the daemon's answer cannot be read ({0}); it is of another version, start it again")]
    Unreadable(#[source] serde_json::Error),
}

/// Asks the daemon of this place.
pub fn ask<T: DeserializeOwned>(place: &Place, question: Question) -> Result<T, AskError> {
    Talk::begin(place, &question)?.answer()
}

/// A stop in progress.
pub struct Ending {
    /// The process that is ending.
    pub pid: u32,
    talk: Talk,
}

/// Asks the daemon of this place to end. An error means that it will not, or was ending already.
pub fn stop(place: &Place) -> Result<Ending, AskError> {
    end(place, Question::Stop)
}

/// Asks the daemon of this place to start again. An error means that it continues as before.
pub fn reload(place: &Place) -> Result<Ending, AskError> {
    end(place, Question::Reload)
}

fn end(place: &Place, question: Question) -> Result<Ending, AskError> {
    let mut talk = Talk::begin(place, &question)?;
    let Stopping { pid } = talk.answer()?;
    writeln!(talk.stream.get_ref(), "{HEARD}").map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => AskError::HungUp,
        _ => AskError::Silent(error),
    })?;
    Ok(Ending { pid, talk })
}

impl Ending {
    /// Waits until the daemon has restored everything. `None`: it ended without an answer.
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
    fn begin(place: &Place, question: &Question) -> Result<Self, AskError> {
        let text = serde_json::to_string(question).map_err(AskError::Unreadable)?;
        debug!("asking the daemon in {}: {text}", place.runtime_dir.display());
        let stream = connect(place, question).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotRunning,
            io::ErrorKind::PermissionDenied if question.changes_the_host() => AskError::NotAllowed,
            _ => AskError::Silent(error),
        })?;
        let asked = stream.set_read_timeout(Some(GLANCE));
        asked.map_err(AskError::Silent)?;
        // A daemon that refuses may close without reading. Its answer can still be read.
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

    /// Reads the next line, empty at the end of the stream. After each poll without data, asks `patient`
    /// whether to wait on.
    fn line(&mut self, mut patient: impl FnMut() -> bool) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            match self.stream.read_until(b'\n', &mut line) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && patient() => {}
                // The daemon is gone, and did not read all that was sent.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(line),
                read => return read.map(|_| line),
            }
        }
    }
}

/// Connects to `control.sock`. A user without access gets `status.sock` instead, except to change the host.
fn connect(place: &Place, question: &Question) -> io::Result<UnixStream> {
    match UnixStream::connect(place.control()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !question.changes_the_host() => {
            UnixStream::connect(place.status())
        }
        connected => connected,
    }
}

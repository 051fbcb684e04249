//! How the verbs speak to a running daemon: one line of JSON each way over a Unix socket.
//!
//! A question is `{"verb": "status"}` (`why`, `stop`); the answer is the verb's document, or `{"error": "…"}`. Everybody on the
//! host may ask; only root, and whoever runs the daemon, may stop it.

use super::document::{Status, Why};
use linux::daemon::{InletSender, Stopper};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// A daemon answers at once or is in trouble.
const PATIENCE: Duration = GLANCE.saturating_mul(LOOKS);
/// Who asks looks so often for the answer. A machine that stands still for a while takes one look from the two, and not all their patience.
const LOOKS: u32 = 50;
const GLANCE: Duration = Duration::from_millis(100);
/// No question of ours is longer.
const LONGEST_QUESTION: u64 = 4096;

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

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Error { error: String },
    Document(T),
}

/// The answer to [`Question::Stop`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Stopping {
    /// The process that is about to end.
    pub pid: u32,
}

/// Why there was no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// Nobody is there.
    #[error(
        "slowhand is not running here; start it with `slowhand up`, or name its place with --runtime-dir"
    )]
    NotRunning,
    /// Somebody is there, but the socket failed.
    #[error("the daemon does not answer ({0}); see its log, or end it with `slowhand down`")]
    Silent(#[source] io::Error),
    /// It answered that it cannot.
    #[error("{0}")]
    Refused(String),
    /// Its answer makes no sense: another version.
    #[error("the daemon's answer cannot be read ({0}); it is of another version, start it again")]
    Unreadable(#[source] serde_json::Error),
}

/// Asks the daemon behind `socket`.
pub fn ask<T: DeserializeOwned>(socket: &Path, question: Question) -> Result<T, AskError> {
    let line = exchange(socket, question).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotRunning,
        _ => AskError::Silent(error),
    })?;
    match serde_json::from_str(&line).map_err(AskError::Unreadable)? {
        Answer::Error { error } => Err(AskError::Refused(error)),
        Answer::Document(document) => Ok(document),
    }
}

fn exchange(socket: &Path, question: Question) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(GLANCE))?;
    writeln!(stream, "{}", serde_json::to_string(&question)?)?;
    let (mut answer, mut line) = (BufReader::new(stream), Vec::new());
    for left in (0..LOOKS).rev() {
        match answer.read_until(b'\n', &mut line) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && left > 0 => {}
            read => {
                read?;
                break;
            }
        }
    }
    if line.is_empty() {
        Err(io::ErrorKind::UnexpectedEof.into())
    } else {
        String::from_utf8(line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// The daemon's end.
pub struct Server {
    listener: UnixListener,
    inlet: InletSender,
    stopper: Stopper,
    policy: String,
}

impl Server {
    /// Listens at `socket`; whoever calls this holds the place's lock, so what lies there is a dead daemon's.
    pub fn bind(socket: &Path, inlet: InletSender, stopper: Stopper, policy: String) -> io::Result<Self> {
        match std::fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(socket)?;
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o666))?;
        Ok(Self {
            listener,
            inlet,
            stopper,
            policy,
        })
    }

    /// Answers one after another, for as long as the process lives.
    pub fn serve(&self) {
        for stream in self.listener.incoming() {
            // Whoever hangs up before the answer does not want it.
            let _ = stream.and_then(|stream| self.answer(stream));
        }
    }

    fn answer(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new((&stream).take(LONGEST_QUESTION)).read_line(&mut line)?;
        let answer = match serde_json::from_str(&line) {
            Ok(question) => self.document(question, &stream),
            Err(error) => Err(format!("not a question of ours: {error}")),
        };
        let answer = answer.or_else(|error| serde_json::to_string(&Answer::<()>::Error { error }))?;
        writeln!(stream, "{answer}")
    }

    fn document(&self, question: Question, stream: &UnixStream) -> Result<String, String> {
        let report = || self.inlet.report(PATIENCE).map_err(|error| error.to_string());
        let pid = std::process::id();
        let text = match question {
            Question::Status => serde_json::to_string(&Status::new(&report()?, pid, self.policy.clone())),
            Question::Why => serde_json::to_string(&Why::new(&report()?)),
            Question::Stop if !may_stop(stream) => {
                return Err("only root may stop the daemon: run as root".to_owned());
            }
            Question::Stop => {
                self.stopper.stop();
                serde_json::to_string(&Stopping { pid })
            }
        };
        text.map_err(|error| error.to_string())
    }
}

fn may_stop(stream: &UnixStream) -> bool {
    let ours = nix::unistd::getuid().as_raw();
    getsockopt(stream, PeerCredentials).is_ok_and(|peer| peer.uid() == 0 || peer.uid() == ours)
}

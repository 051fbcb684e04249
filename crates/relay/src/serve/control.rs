//! What a relay answers on its Unix socket, and how `slowhand relay status` asks.

use super::Shared;
use crate::control::{self, Answer, EXCHANGE, Socket};
use crate::metrics::Document;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Answers at `path` until the result is dropped.
pub fn serve(path: &Path, shared: Arc<Shared>) -> io::Result<Socket> {
    control::serve(path, move |asked| match asked {
        "/metrics" => Answer::Metrics(shared.document().prometheus()),
        // Numbers and texts: every document can be written.
        "/status" => Answer::Document(serde_json::to_string(&shared.document()).unwrap_or_default()),
        _ => Answer::Nothing("/metrics or /status"),
    })
}

/// What to ask a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Its state.
    Status,
    /// Its counters for Prometheus.
    Metrics,
}

/// Why a relay gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It does not answer.
    #[error("{path}: no relay answers ({source}); start one with `slowhand relay`")]
    Silent {
        /// Its socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its answer cannot be read.
    #[error("the relay's answer is not that of this version; restart the relay")]
    Unreadable,
}

/// Asks the relay with the socket `path`.
pub fn ask(path: &Path, asked: Asked) -> Result<String, AskError> {
    let silent = |source| AskError::Silent {
        path: path.to_owned(),
        source,
    };
    let exchange = || {
        let mut stream = Blocking::connect(path)?;
        stream.set_read_timeout(Some(EXCHANGE))?;
        let what = match asked {
            Asked::Status => "status",
            Asked::Metrics => "metrics",
        };
        write!(stream, "GET /{what} HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text)
    };
    let text = exchange().map_err(silent)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(AskError::Unreadable)?;
    let fine = head.starts_with("HTTP/1.0 200 ");
    fine.then(|| body.to_owned()).ok_or(AskError::Unreadable)
}

/// Parses the answer to [`Asked::Status`].
pub fn status(text: &str) -> Result<Document, AskError> {
    serde_json::from_str(text).map_err(|_| AskError::Unreadable)
}

//! The Unix socket of a relay: `GET /metrics` for Prometheus, `GET /status` for `slowhand relay status`.
//!
//! It speaks as much HTTP as `curl --unix-socket` needs.

use super::Shared;
use crate::metrics::Document;
use std::fs::Permissions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

/// Time limit of an exchange.
const EXCHANGE: Duration = Duration::from_secs(2);
/// Greatest length of a question, in bytes.
const LONGEST: u64 = 8 * 1024;

/// The socket, removed when this is dropped.
pub struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Answers at `path` until the result is dropped. A socket that nobody answers is replaced.
pub fn serve(path: &Path, shared: Arc<Shared>) -> io::Result<Socket> {
    if Blocking::connect(path).is_ok() {
        return Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another relay answers there",
        ));
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let shared = shared.clone();
                    tokio::spawn(async move { timeout(EXCHANGE, answer(stream, &shared)).await });
                }
                Err(_) => tokio::time::sleep(super::EXHAUSTED).await,
            }
        }
    });
    Ok(Socket(path.to_owned()))
}

async fn answer(stream: UnixStream, shared: &Shared) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader.take(LONGEST)).lines();
    let question = lines.next_line().await?.unwrap_or_default();
    // An HTTP client sends its headers before it reads.
    while lines.next_line().await?.is_some_and(|line| !line.is_empty()) {}
    let path = question.split(' ').nth(1).unwrap_or("");
    let (status, kind, body) = match path {
        "/metrics" => (
            "200 OK",
            "text/plain; version=0.0.4",
            shared.document().prometheus(),
        ),
        "/status" => {
            let document = serde_json::to_string(&shared.document()).map_err(io::Error::other)?;
            ("200 OK", "application/json", document)
        }
        _ => (
            "404 Not Found",
            "text/plain",
            "ask for /metrics or /status\n".to_owned(),
        ),
    };
    let length = body.len();
    let head = format!("HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    writer.write_all(head.as_bytes()).await?;
    writer.write_all(body.as_bytes()).await?;
    writer.shutdown().await
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

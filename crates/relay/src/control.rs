//! The Unix socket of a relay or an agent: `GET /metrics` for Prometheus, and more paths that its owner has.
//!
//! It speaks as much HTTP as `curl --unix-socket` needs.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

/// Time limit of an exchange.
pub const EXCHANGE: Duration = Duration::from_secs(2);
/// Pause after a failed accept: descriptors or memory have run out.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// Greatest length of a question, in bytes.
const LONGEST: u64 = 8 * 1024;
/// Media type of the text for Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4";

/// What is found at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Text for Prometheus.
    Metrics(String),
    /// A JSON document.
    Document(String),
    /// Nothing. The paths that there are.
    Nothing(&'static str),
}

/// The socket, removed when this is dropped.
#[derive(Debug)]
pub struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Answers at `path` until the result is dropped. A socket that nobody answers is replaced.
pub fn serve(path: &Path, answers: impl Fn(&str) -> Answer + Send + Sync + 'static) -> io::Result<Socket> {
    if Blocking::connect(path).is_ok() {
        return Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another process answers there",
        ));
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let answers = Arc::new(answers);
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let answers = answers.clone();
                    tokio::spawn(async move { timeout(EXCHANGE, exchange(stream, &*answers)).await });
                }
                Err(_) => tokio::time::sleep(EXHAUSTED).await,
            }
        }
    });
    Ok(Socket(path.to_owned()))
}

async fn exchange(stream: UnixStream, answers: &(dyn Fn(&str) -> Answer + Send + Sync)) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader.take(LONGEST)).lines();
    let question = lines.next_line().await?.unwrap_or_default();
    // An HTTP client sends its headers before it reads.
    while lines.next_line().await?.is_some_and(|line| !line.is_empty()) {}
    let path = question.split(' ').nth(1).unwrap_or("");
    let (status, kind, body) = match answers(path) {
        Answer::Metrics(text) => ("200 OK", PROMETHEUS, text),
        Answer::Document(text) => ("200 OK", "application/json", text),
        Answer::Nothing(paths) => ("404 Not Found", "text/plain", format!("ask for {paths}\n")),
    };
    let length = body.len();
    let head = format!("HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    writer.write_all(head.as_bytes()).await?;
    writer.write_all(body.as_bytes()).await?;
    writer.shutdown().await
}

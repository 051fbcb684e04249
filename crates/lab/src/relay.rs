//! A relay as users run it: the program `slowhand-relay` in a namespace, with one key.
//!
//! # Checked by
//! `tests/relay.rs`; the benchmarks `relay-…`.

use crate::shell::spawn_contained;
use linux::netns::{EnterError, Netns};
use linux::nft::TableError;
use std::fs::DirBuilder;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use thiserror::Error;

const NAME: &str = "slowhand-relay";
/// Where packages install it.
const INSTALLED: [&str; 2] = ["/usr/libexec/slowhand-relay", "/usr/bin/slowhand-relay"];
/// Name of the client's key.
const CLIENT: &str = "client";

/// Why the relay or the agent did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no program.
    #[error("`{NAME}` is not installed; install it as one of {0}, or run `cargo build --package relay`")]
    Missing(String),
    /// It cannot be executed.
    #[error("{program}: cannot be started; check that you may execute this file")]
    Program {
        /// Its file.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// It ended, or printed something else.
    #[error("`{NAME}` did not start as {0}; the lines above say why")]
    Silent(&'static str),
    /// Its folder cannot be made.
    #[error("{path}: cannot make a folder for the relay's key; check that it can be written")]
    Folder {
        /// Where.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The connections are not redirected.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A namespace cannot be entered.
    #[error(transparent)]
    Enter(#[from] EnterError),
    /// No thread.
    #[error("cannot start a thread; check the limit `ulimit -u`")]
    Thread(#[source] io::Error),
}

/// A folder of its own for keys and configuration, removed when dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, StartError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("slowhand-lab-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(StartError::Folder {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    fn socket(&self) -> PathBuf {
        self.0.join("relay.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is in the folder for temporary files.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A running relay. It ends when this is dropped, or with this process.
#[derive(Debug)]
pub struct Relay {
    child: Child,
    program: PathBuf,
    address: SocketAddr,
    key: String,
    folder: Folder,
}

impl Relay {
    /// Starts a relay at `address` in a namespace. `more` are lines of its configuration; tables follow keys.
    pub fn start(netns: &Netns, address: SocketAddr, more: &str) -> Result<Self, StartError> {
        let (program, folder) = (program()?, Folder::new()?);
        let key = configure(&program, &folder.0, address, more)?;
        let mut relay = Command::new(&program);
        relay.arg("--config").arg(config(&folder.0));
        relay.arg("--socket").arg(folder.socket()).stdin(Stdio::null());
        let (child, mut lines) = spawn(&program, &mut relay, netns)?;
        let started = Self {
            child,
            program,
            address,
            key,
            folder,
        };
        lines.next().map(|_| started).ok_or(StartError::Silent("relay"))
    }

    /// Address and port at which it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file with the client's key.
    pub fn key_file(&self) -> &Path {
        self.key.as_ref()
    }

    /// The process. It waits for the relay, which is its only child.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The program, which is the agent's, too.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Prometheus text: what the relay has counted.
    pub fn metrics(&self) -> io::Result<String> {
        let mut stream = UnixStream::connect(self.folder.socket())?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It may have ended already. In either case nothing of it is left after this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program beside this one, or in the folder above (tests), or where packages install it.
fn program() -> Result<PathBuf, StartError> {
    let own = std::env::current_exe().ok();
    let folders = own.iter().flat_map(|own| own.ancestors().skip(1).take(2));
    let beside = folders.map(|folder| folder.join(NAME));
    let places = Vec::from_iter(beside.chain(INSTALLED.map(PathBuf::from)));
    match places.iter().find(|place| place.is_file()) {
        Some(found) => Ok(found.clone()),
        None => Err(StartError::Missing(
            Vec::from_iter(places.iter().map(|place| place.display().to_string())).join(", "),
        )),
    }
}

fn config(folder: &Path) -> PathBuf {
    folder.join("relay.toml")
}

/// Writes the relay's configuration and makes the client's key. Returns the key's file.
fn configure(program: &Path, folder: &Path, address: SocketAddr, more: &str) -> Result<String, StartError> {
    let keys = folder.join("keys");
    let text = format!(
        "listen = [\"{address}\"]\nkeys = \"{}\"\n{more}\n",
        keys.display()
    );
    std::fs::write(config(folder), text).map_err(|source| StartError::Folder {
        path: folder.display().to_string(),
        source,
    })?;
    let mut command = Command::new(program);
    command
        .args(["key", "add", CLIENT, "--config"])
        .arg(config(folder));
    let done = command.output().map_err(|source| refused(program, source))?;
    let printed = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    if !done.status.success() || printed.is_empty() {
        return Err(StartError::Silent("keeper of keys"));
    }
    Ok(printed)
}

/// What a program prints.
pub(crate) type Lines =
    std::iter::MapWhile<io::Lines<BufReader<ChildStdout>>, fn(io::Result<String>) -> Option<String>>;

/// Starts a program that ends with this process, and reads what it prints.
pub(crate) fn spawn(
    program: &Path,
    command: &mut Command,
    netns: &Netns,
) -> Result<(Child, Lines), StartError> {
    netns.prepare(command.stdout(Stdio::piped()));
    let mut child = spawn_contained(command).map_err(|source| refused(program, source))?;
    let out = child.stdout.take().ok_or(StartError::Silent("program"))?;
    let ok: fn(io::Result<String>) -> Option<String> = Result::ok;
    Ok((child, BufReader::new(out).lines().map_while(ok)))
}

fn refused(program: &Path, source: io::Error) -> StartError {
    StartError::Program {
        program: program.display().to_string(),
        source,
    }
}

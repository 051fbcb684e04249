//! Starts the relay and the agent.

use super::Detour;
use crate::hosts::{Hosts, RelayNetns};
use crate::shell::spawn_contained;
use linux::netns::{EnterError, Netns};
use linux::redirect::{Table, TableError, table};
use std::fs::DirBuilder;
use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use thiserror::Error;
use trace::agent::Ports;

const NAME: &str = "slowhand-relay";
/// Where packages install it.
const INSTALLED: [&str; 2] = ["/usr/libexec/slowhand-relay", "/usr/bin/slowhand-relay"];
const PORT: u16 = 4433;
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
pub(super) struct Folder(PathBuf);

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
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is in the folder for temporary files.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

pub(super) fn start(hosts: &Hosts, relay: &RelayNetns, interfaces: &[String]) -> Result<Detour, StartError> {
    let (program, folder) = (program()?, Folder::new()?);
    let address = SocketAddr::from((relay.address, PORT));
    let key = configure(&program, &folder.0, address)?;
    let (relay, _) = run_relay(&program, &folder.0, &relay.netns)?;
    let mut agent = Command::new(&program);
    agent.args(["agent", "--relay", &address.to_string(), "--key-file", &key]);
    agent.stdin(Stdio::piped());
    let (mut agent, mut lines) = spawn(&program, &mut agent, &hosts.client)?;
    let questions = agent.stdin.take().ok_or(StartError::Silent("agent"))?;
    let ports = lines.next().and_then(|line| Ports::parse(&line));
    let rules = table([], interfaces, ports.ok_or(StartError::Silent("agent"))?);
    let table = hosts.client.run(|| Table::install(&rules))??;
    Ok(Detour {
        _table: table,
        questions,
        answers: answers(lines)?,
        agent,
        relay,
        _folder: folder,
    })
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
fn configure(program: &Path, folder: &Path, address: SocketAddr) -> Result<String, StartError> {
    let keys = folder.join("keys");
    let text = format!("listen = [\"{address}\"]\nkeys = \"{}\"\n", keys.display());
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

fn run_relay(program: &Path, folder: &Path, netns: &Netns) -> Result<(Child, Lines), StartError> {
    let mut relay = Command::new(program);
    relay.arg("--config").arg(config(folder));
    relay.arg("--socket").arg(folder.join("relay.sock"));
    relay.stdin(Stdio::null());
    let (relay, mut lines) = spawn(program, &mut relay, netns)?;
    match lines.next() {
        Some(_) => Ok((relay, lines)),
        None => Err(StartError::Silent("relay")),
    }
}

type Lines = std::iter::MapWhile<io::Lines<BufReader<ChildStdout>>, fn(io::Result<String>) -> Option<String>>;

/// Starts a program that ends with this process, and reads what it prints.
fn spawn(program: &Path, command: &mut Command, netns: &Netns) -> Result<(Child, Lines), StartError> {
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

/// Passes on the agent's answers.
fn answers(lines: Lines) -> Result<Receiver<String>, StartError> {
    let (to, answers) = channel();
    let read = move || {
        for line in lines {
            // Nobody asks once the run is over.
            if to.send(line).is_err() {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("lab-agent".into());
    thread.spawn(read).map_err(StartError::Thread)?;
    Ok(answers)
}

//! A table of nftables that ends with this process.
//!
//! A process of `nft` owns the table, and the kernel removes it with that process. That ends when its
//! standard input does, which this process holds: also after `kill -9`, nothing is left.
//!
//! # Sources
//! - `nft(8)`, `flags owner`.
//!
//! # Checked by
//! The tests of what uses it: `conntrack::tests`, `slowhandd`'s `tests/relay.rs`.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time in which `nft` must install a table.
const INSTALLS: Duration = Duration::from_secs(5);
/// Pause between two looks at the table.
const STEP: Duration = Duration::from_millis(5);

/// An installed table.
#[derive(Debug)]
pub struct Table {
    nft: Child,
    input: Option<ChildStdin>,
}

/// Why a table could not be installed or changed.
#[derive(Debug, Error)]
pub enum TableError {
    /// There is no such program, or no process left.
    #[error("`nft` cannot be started ({0}); install nftables")]
    Start(#[source] io::Error),
    /// It refused the rules. Its own words.
    #[error("`nft` refused the rules: {0}")]
    Refused(String),
    /// The table did not appear.
    #[error("`nft` did not install the rules within {} s", INSTALLS.as_secs())]
    Slow,
}

impl Table {
    /// Installs these rules, and returns once they are in force. They are a whole table with
    /// `flags owner`. `chain` is one of its chains, such as `inet slowhand output`.
    pub fn install(rules: &str, chain: &str) -> Result<Self, TableError> {
        check(rules)?;
        let mut command = nft(&["-i"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut nft = command.spawn().map_err(TableError::Start)?;
        let mut table = Self {
            input: nft.stdin.take(),
            nft,
        };
        table.change(rules)?;
        let until = Instant::now() + INSTALLS;
        while !is_installed(chain)? {
            if Instant::now() >= until {
                return Err(TableError::Slow);
            }
            std::thread::sleep(STEP);
        }
        Ok(table)
    }

    /// Sends commands, which take effect together, and does not wait for that.
    pub fn change(&mut self, commands: &str) -> Result<(), TableError> {
        // It takes each line as one transaction.
        let line = commands.replace('\n', " ");
        match self.input.as_mut().map(|input| writeln!(input, "{line}")) {
            Some(Ok(())) => Ok(()),
            _ => Err(TableError::Refused("it ended early".to_owned())),
        }
    }

    /// Whether the process has ended, and the table with it.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.nft.try_wait(), Ok(None))
    }

    /// Removes the table, and returns once it is gone.
    pub fn remove(self) {
        drop(self);
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.nft.wait();
    }
}

/// Lets `nft` check the rules, without effect.
fn check(rules: &str) -> Result<(), TableError> {
    let mut command = nft(&["-c", "-f", "-"]);
    command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let mut nft = command.spawn().map_err(TableError::Start)?;
    let written = nft
        .stdin
        .take()
        .map(|mut input| input.write_all(rules.as_bytes()));
    let mut said = String::new();
    if let Some(mut err) = nft.stderr.take() {
        let _ = err.read_to_string(&mut said);
    }
    let fine = nft.wait().is_ok_and(|status| status.success());
    match (fine, written) {
        (true, Some(Ok(()))) => Ok(()),
        _ => Err(TableError::Refused(
            said.lines().next().unwrap_or("no reason given").to_owned(),
        )),
    }
}

fn is_installed(chain: &str) -> Result<bool, TableError> {
    let arguments = Vec::from_iter(["list", "chain"].into_iter().chain(chain.split(' ')));
    let mut command = nft(&arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
        .status()
        .map(|status| status.success())
        .map_err(TableError::Start)
}

fn nft(arguments: &[&str]) -> Command {
    let mut command = Command::new("nft");
    // It keeps a history of its lines in this directory, and there is none.
    command.env("HOME", "/dev/null").args(arguments).process_group(0);
    command
}

//! A table of nftables that ends with the process that owns it.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// Time in which `nft` must install a table.
const INSTALLS: Duration = Duration::from_secs(5);
/// Pause between two looks at the table.
const STEP: Duration = Duration::from_millis(5);

/// An installed table. `nft` owns it, and removes it when its standard input ends: also when we are killed.
#[derive(Debug)]
pub struct Table {
    nft: Child,
    input: Option<ChildStdin>,
}

/// Why a table could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It is missing.
    #[error("`nft` cannot be started ({0}); install nftables")]
    Start(#[source] io::Error),
    /// It does not take the rules.
    #[error("`nft` refused the redirection: {0}")]
    Refused(String),
    /// It takes too long.
    #[error("`nft` did not install the redirection within {} s", INSTALLS.as_secs())]
    Slow,
}

impl Table {
    /// Installs these rules.
    pub fn install(rules: &str) -> Result<Self, TableError> {
        check(rules)?;
        let mut command = nft(&["-i"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut nft = command.spawn().map_err(TableError::Start)?;
        let mut table = Self {
            input: nft.stdin.take(),
            nft,
        };
        // Each command is one line there.
        let line = rules.replace('\n', " ");
        let written = table.input.as_mut().map(|input| writeln!(input, "{line}"));
        if !matches!(written, Some(Ok(()))) {
            return Err(TableError::Refused("it ended early".to_owned()));
        }
        let until = Instant::now() + INSTALLS;
        while !is_installed()? {
            if Instant::now() >= until {
                return Err(TableError::Slow);
            }
            std::thread::sleep(STEP);
        }
        Ok(table)
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

fn is_installed() -> Result<bool, TableError> {
    let mut command = nft(&["list", "chain", "inet", "slowhand", "output"]);
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

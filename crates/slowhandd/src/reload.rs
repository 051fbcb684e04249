//! `slowhand reload` and SIGHUP: the daemon restores everything, and starts again with the configuration as
//! it is now.
//!
//! It stays the same process, so that the service manager and the terminal see one daemon. A configuration
//! with which it could not start is refused first, and the daemon continues with the one it has.

use crate::plan::plan;
use host::up::Args;
use nix::unistd::execvp;
use std::ffi::CString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the daemon is to start again once it has ended.
#[derive(Debug)]
pub struct Reload {
    config: Option<PathBuf>,
    cc: Option<String>,
    is_recorded: bool,
    /// It had a terminal when it started.
    had_terminal: bool,
    wanted: AtomicBool,
}

impl Reload {
    /// Nobody wants it yet.
    pub fn new(args: &Args) -> Self {
        Self {
            config: args.config.clone(),
            cc: args.cc.clone(),
            is_recorded: args.record.is_some(),
            had_terminal: has_terminal(),
            wanted: AtomicBool::new(false),
        }
    }

    /// Checks whether the daemon could start with the configuration as it is now.
    ///
    /// # Errors
    /// Why it could not.
    pub fn check(&self) -> Result<(), String> {
        if self.is_recorded {
            return Err(
                "a recording has one configuration; end the daemon with `slowhand down` first".to_owned(),
            );
        }
        plan(self.config.as_deref(), self.cc.as_deref()).map(drop)
    }

    /// The daemon is to start again. The caller ends it.
    pub fn request(&self) {
        self.wanted.store(true, Ordering::Release);
    }

    /// The daemon is to end for good.
    pub fn cancel(&self) {
        self.wanted.store(false, Ordering::Release);
    }

    /// Whether somebody has requested it.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    /// Whether SIGHUP means that the daemon's terminal was closed. It has to end then, as without a reload.
    pub fn has_lost_terminal(&self) -> bool {
        self.had_terminal && !has_terminal()
    }
}

/// Whether this process has a controlling terminal, and nobody has closed it.
fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

/// Becomes the daemon that is installed now, with the same arguments. Returns only if that fails.
///
/// Signals stay blocked, so that one that comes meanwhile waits for the new daemon. `Command` would unblock
/// them.
pub fn start_again() -> anyhow::Error {
    let words = std::env::args_os().map(|word| CString::new(word.into_encoded_bytes()));
    match words.collect::<Result<Vec<_>, _>>() {
        Ok(words) => match words.first() {
            Some(program) => match execvp(program, &words) {
                Err(error) => error.into(),
                Ok(never) => match never {},
            },
            None => anyhow::anyhow!("its arguments do not begin with its name"),
        },
        Err(error) => error.into(),
    }
}

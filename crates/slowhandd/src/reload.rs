//! `slowhand reload` and SIGHUP: the daemon restores everything, and starts again with the configuration as
//! it is now.
//!
//! If at most the networks of `[wifi]` have changed, the running daemon takes them over instead. Then access
//! points of the other networks stay joined. With `[networks]` it always starts again, because that restores
//! what other programs have changed there.
//!
//! It stays the same process, so that the service manager and the terminal see one daemon. A configuration
//! with which it could not start is refused first, and the daemon continues with the one it has.
//!
//! # Checked by
//! `tests`; `cli`'s `tests/host/reload.rs`; the trials `joins` and `joins-four` of `guest`.

use crate::notify;
use crate::plan::{Planned, plan};
use host::config::Config;
use host::up::Args;
use linux::daemon::SignalReports;
use linux::portal::Check;
use linux::wifi::Changer;
use nix::unistd::execvp;
use std::ffi::CString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a daemon was started with, without the networks of `[wifi]`. If any of it changes, it starts again.
#[derive(Debug, PartialEq)]
struct Basis {
    config: Config,
    reports: Option<SignalReports>,
    check: Option<Check>,
    /// What the key file of the relay has.
    relay_key: Option<Vec<u8>>,
}

impl Basis {
    fn of(planned: &Planned) -> Self {
        let mut config = planned.config.clone();
        if let Some(wifi) = &mut config.wifi {
            wifi.networks.clear();
        }
        let relay = planned.config.relay.as_ref();
        Self {
            reports: planned.reports.clone(),
            check: planned.check(),
            relay_key: relay.and_then(|relay| std::fs::read(&relay.server.as_ref()?.key_file).ok()),
            config,
        }
    }
}

/// A running daemon whose networks can be changed.
struct Running {
    basis: Basis,
    changer: Changer,
}

/// Whether the daemon is to start again once it has ended.
pub struct Reload {
    config: Option<PathBuf>,
    cc: Option<String>,
    is_recorded: bool,
    /// It had a terminal when it started.
    had_terminal: bool,
    wanted: AtomicBool,
    /// `None`: it has no `[wifi]`, or has not started yet.
    running: Mutex<Option<Running>>,
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
            running: Mutex::new(None),
        }
    }

    /// The networks of `[wifi]` can be changed from now on, while the rest stays what was planned.
    pub fn may_change(&self, planned: &Planned, changer: Changer) {
        let basis = Basis::of(planned);
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(Running { basis, changer });
    }

    /// Takes over the networks of `[wifi]` as they are now. Returns `false` and changes nothing if anything
    /// else has changed, too: the daemon must start again then.
    pub fn change(&self) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = running.as_mut() else {
            return false;
        };
        let planned = match plan(self.config.as_deref(), self.cc.as_deref()) {
            Ok(planned) => planned,
            Err(error) => {
                // It has been written again since it was checked. A new start would fail.
                tracing::error!("the configuration stays as it was: {error}");
                return true;
            }
        };
        let has_networks = planned.config.networks.is_some();
        if has_networks || is_replaced() || Basis::of(&planned) != running.basis {
            return false;
        }
        notify::reloading();
        running.changer.change(planned.networks);
        notify::ready();
        true
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

/// Whether another version of this program is installed now.
fn is_replaced() -> bool {
    let program = std::fs::read_link("/proc/self/exe");
    program.is_ok_and(|path| path.to_string_lossy().ends_with(" (deleted)"))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a daemon is started with by a file with this text.
    fn basis(text: &str) -> Basis {
        let path = std::env::temp_dir().join(format!("slowhand-reload-{}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let planned = plan(Some(&path), None).map(|planned| Basis::of(&planned));
        std::fs::remove_file(&path).unwrap();
        planned.unwrap()
    }

    #[test]
    fn only_other_networks_to_join_let_the_daemon_continue() {
        let network = |ssid: &str| format!("[[wifi.network]]\nssid = \"{ssid}\"\nopen = true\n");
        let (one, other) = (network("one"), network("other"));
        let before = basis(&format!("[wifi]\n{one}"));
        assert_eq!(before, basis(&format!("[wifi]\n{one}")));
        assert_eq!(before, basis(&format!("[wifi]\n{other}role = \"backup\"\n{one}")));
        for changed in [
            format!("peer_subflows = 8\n[wifi]\n{one}"),
            format!("[wifi]\nmac = \"random\"\n{one}"),
            format!("[wifi]\nradio = \"phy1\"\n{one}"),
            format!("[wifi]\ntake_over = true\n{one}"),
            String::new(),
        ] {
            assert_ne!(before, basis(&changed), "{changed}");
        }
    }
}

//! Handles Ctrl-C and other termination signals: the run ends, and everything is torn down as at its usual
//! end.

use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Context as _;
use lab::stop::Stop;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static STOP: OnceLock<Stop> = OnceLock::new();
/// Whether the handlers are installed. Once a first signal has removed one, it must not return: the second
/// would be mistaken for a first.
static LISTENING: Mutex<bool> = Mutex::new(false);

/// The flag that a run must watch. SIGINT, SIGTERM or SIGHUP sets it. A second signal ends the program at
/// once.
pub fn stop() -> anyhow::Result<&'static Stop> {
    let stop = STOP.get_or_init(Stop::new);
    let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
    if !*listening {
        listen()?;
        *listening = true;
    }
    Ok(stop)
}

fn listen() -> anyhow::Result<()> {
    let action = SigAction::new(
        SigHandler::Handler(ask),
        SaFlags::SA_RESETHAND | SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: `ask` only loads one atomic and stores another.
        unsafe { sigaction(signal, &action) }.with_context(|| format!("cannot handle {signal}"))?;
    }
    Ok(())
}

extern "C" fn ask(_signal: libc::c_int) {
    if let Some(stop) = STOP.get() {
        stop.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The present handler of SIGHUP. Sets the default one, as after a first signal.
    fn spent() -> SigHandler {
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: the default runs no code of ours.
        let before = unsafe { sigaction(Signal::SIGHUP, &default) };
        before.unwrap().handler()
    }

    #[test]
    fn the_second_signal_stays_the_last_however_often_it_is_asked_for() {
        stop().unwrap();
        assert_eq!(spent(), SigHandler::Handler(ask));
        stop().unwrap();
        assert_eq!(spent(), SigHandler::SigDfl);
    }
}

//! Ctrl-C and its relatives: the run is asked to end, and everything is taken down as at its usual end.

use std::sync::OnceLock;

use anyhow::Context as _;
use lab::stop::Stop;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static STOP: OnceLock<Stop> = OnceLock::new();

/// What a run should watch: set by the first SIGINT, SIGTERM or SIGHUP. The second one ends the program at once.
pub fn stop() -> anyhow::Result<&'static Stop> {
    let stop = STOP.get_or_init(Stop::new);
    let action = SigAction::new(
        SigHandler::Handler(ask),
        SaFlags::SA_RESETHAND | SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: `ask` only loads one atomic and stores another.
        unsafe { sigaction(signal, &action) }.with_context(|| format!("cannot listen to {signal}"))?;
    }
    Ok(stop)
}

extern "C" fn ask(_signal: libc::c_int) {
    if let Some(stop) = STOP.get() {
        stop.stop();
    }
}

//! `slowhand down`: end the daemon and wait until everything is as it was.

use super::control::{AskError, Question, Stopping, ask};
use super::place::{LockError, Place};
use crate::exit::{Refused, print};
use linux::journal::Undone;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// End the daemon and wait until everything it changed is put back.
///
/// When no daemon runs, what a crashed one has left behind is put back; what somebody has changed since, or the kernel refuses, is told, and the
/// exit code is 1.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,

    /// How many seconds to wait.
    #[arg(long, value_name = "S", default_value_t = 30)]
    timeout: u64,
}

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Stops the daemon of the place.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match ask::<Stopping>(&args.place.socket(), Question::Stop) {
        Ok(stopping) => wait(args, stopping.pid),
        Err(AskError::NotRunning) => restore(args),
        Err(error) => Err(error.into()),
    }
}

fn wait(args: &Args, pid: u32) -> anyhow::Result<ExitCode> {
    let until = Instant::now() + Duration::from_secs(args.timeout);
    while Instant::now() < until {
        if args.place.lock().is_ok() {
            print(format!("slowhand (process {pid}) has ended; everything is as it was\n").as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    anyhow::bail!(
        "process {pid} has not ended after {} s; see its log",
        args.timeout
    )
}

/// Nobody answers: either nobody is there, or somebody who is just starting or ending.
fn restore(args: &Args) -> anyhow::Result<ExitCode> {
    let _lock = match args.place.lock() {
        Ok(lock) => lock,
        Err(error @ LockError::Taken { .. }) => {
            anyhow::bail!("{error}, but it does not answer yet; try again in a moment")
        }
        Err(error) => return Err(Refused::because(error)),
    };
    let undone = linux::daemon::recover(&args.place.journal())?;
    print(words(&undone).as_bytes())?;
    match undone.left[..] {
        [] => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::FAILURE),
    }
}

fn words(undone: &Undone) -> String {
    let Undone { done, left } = undone;
    if left.is_empty() && *done == 0 {
        return "slowhand is not running, and nothing of it is left\n".to_owned();
    }
    let mut text = format!("slowhand is not running; {done} changes that a crash had left were put back\n");
    for left in left {
        let _ = writeln!(text, "left as it is: {left}");
    }
    text
}

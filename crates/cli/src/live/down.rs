//! `slowhand down`: ends the daemon and waits until it has restored everything.

use host::control::{self, AskError, Ending, Stopped};
use host::place::{Lock, LockError, Place};
use linux::journal::Undone;
use show::exit::{Refused, print_text};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use trace::Shown;

/// Stop the daemon and wait until it has restored everything it changed.
///
/// If no daemon runs, restore what a crashed one left behind. The exit code is 1 if something could not be
/// restored, because somebody else has changed it or the kernel refuses. The output lists it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,

    /// Longest wait, in seconds.
    #[arg(long, value_name = "S", default_value_t = 30)]
    timeout: u64,
}

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Stops the daemon of the place.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match control::stop(&args.place) {
        Ok(ending) => wait(args, ending),
        Err(AskError::NotRunning) => restore(args),
        Err(AskError::HungUp) => outlive(args),
        Err(error @ AskError::NotAllowed) => Err(Refused::because(error)),
        Err(error) => Err(error.into()),
    }
}

fn wait(args: &Args, ending: Ending) -> anyhow::Result<ExitCode> {
    let until = Instant::now() + Duration::from_secs(args.timeout);
    let pid = ending.pid;
    let stopped = ending.wait(until);
    let late = || {
        anyhow::anyhow!(
            "process {pid} has not ended after {} s; it ends when it has restored everything, see its log",
            args.timeout
        )
    };
    let lock = free(&args.place, until).ok_or_else(late)?;
    let Ok(Some(stopped)) = stopped else {
        // It died meanwhile: restore what it left behind.
        return put_back(args, lock);
    };
    print_text(&ended(pid, &stopped))?;
    Ok(code(&stopped.left))
}

/// After the daemon has hung up and is gone, restores what it did not.
fn outlive(args: &Args) -> anyhow::Result<ExitCode> {
    let until = Instant::now() + Duration::from_secs(args.timeout);
    let lock = free(&args.place, until).ok_or(AskError::HungUp)?;
    put_back(args, lock)
}

/// The run directory's lock, once it is free.
fn free(place: &Place, until: Instant) -> Option<Lock> {
    loop {
        match place.lock() {
            Ok(lock) => return Some(lock),
            Err(_) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            Err(_) => return None,
        }
    }
}

fn ended(pid: u32, stopped: &Stopped) -> String {
    let how = match stopped.left[..] {
        [] => "everything is as it was",
        _ => "not everything is as it was",
    };
    with_left(
        format!("slowhand (process {pid}) has ended; {how}\n"),
        &stopped.left,
    )
}

fn with_left(mut text: String, left: &[String]) -> String {
    for left in left {
        let _ = writeln!(text, "left as it is: {}", Shown(left));
    }
    text
}

fn code(left: &[String]) -> ExitCode {
    match left {
        [] => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// No reply: there is no daemon, or one that is just starting or ending.
fn restore(args: &Args) -> anyhow::Result<ExitCode> {
    match args.place.lock() {
        Ok(lock) => put_back(args, lock),
        Err(LockError::Taken { pid }) if has_ended(&pid) => outlive_killed(args),
        Err(error @ LockError::Taken { .. }) => {
            anyhow::bail!("{error}, but it does not reply yet; try again in a moment")
        }
        Err(error) => Err(Refused::because(error)),
    }
}

/// After the daemon was killed: a program that it had just started holds a copy of the lock until its `exec`.
/// A new daemon may begin meanwhile, and is ended.
fn outlive_killed(args: &Args) -> anyhow::Result<ExitCode> {
    let until = Instant::now() + Duration::from_secs(args.timeout);
    loop {
        match args.place.lock() {
            Ok(lock) => return put_back(args, lock),
            Err(error) if Instant::now() >= until => return Err(error.into()),
            Err(_) => {}
        }
        if let Ok(ending) = control::stop(&args.place) {
            return wait(args, ending);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whether no process has this ID, as far as it is known.
fn has_ended(pid: &str) -> bool {
    pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()
}

fn put_back(args: &Args, _lock: Lock) -> anyhow::Result<ExitCode> {
    let undone = linux::daemon::recover(&args.place.journal())?;
    // A daemon that joined no access points has none.
    let _ = std::fs::remove_dir_all(args.place.wifi());
    let left = Vec::from_iter(undone.left.iter().map(ToString::to_string));
    print_text(&words(&undone, &left))?;
    Ok(code(&left))
}

fn words(undone: &Undone, left: &[String]) -> String {
    if left.is_empty() && undone.done == 0 {
        return "slowhand is not running, and nothing of it is left\n".to_owned();
    }
    let done = undone.done;
    with_left(
        format!("slowhand is not running; {done} changes that a crash had left were put back\n"),
        left,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_left_behind_are_listed() {
        let stopped = |left: &[&str]| Stopped {
            left: left.iter().map(|&left| left.to_owned()).collect(),
        };
        assert_eq!(
            ended(7, &stopped(&[])),
            "slowhand (process 7) has ended; everything is as it was\n"
        );
        assert_eq!(
            ended(7, &stopped(&["limits: somebody has set them", "a rule: no"])),
            "slowhand (process 7) has ended; not everything is as it was\n\
             left as it is: limits: somebody has set them\nleft as it is: a rule: no\n"
        );
        assert_eq!(
            ended(7, &stopped(&["wl\x1b[2J\nleft"])).lines().last(),
            Some("left as it is: wl\\u{1b}[2J\\nleft")
        );
    }
}

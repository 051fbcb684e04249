//! `slowhand reload`: the running daemon takes over the configuration as it is now.

use host::control::{self, AskError, Question};
use host::document::Status;
use host::place::Place;
use show::exit::{Refused, print_text};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use trace::Shown;

/// Let the running daemon read its configuration again.
///
/// The daemon checks the configuration first. If it could not start with it, it continues as before.
/// Otherwise it restores everything it changed, and the same process starts again. Connections stay open. For
/// less than a second, nothing manages them. A daemon that is sent SIGHUP does the same.
///
/// If the configuration has `[wifi]` and not `[networks]`, and at most its tables `[[wifi.network]]` have
/// changed, the daemon continues. Then access points of networks that have not changed stay joined.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,

    /// Longest wait, in seconds.
    #[arg(long, value_name = "S", default_value_t = 30)]
    timeout: u64,
}

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Reloads the daemon of the place, and waits until it answers again.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let ending = match control::reload(&args.place) {
        Ok(ending) => ending,
        Err(error @ (AskError::NotAllowed | AskError::NotRunning | AskError::Refused(_))) => {
            return Err(Refused::because(error));
        }
        Err(error) => return Err(error.into()),
    };
    let until = Instant::now() + Duration::from_secs(args.timeout);
    let pid = ending.pid;
    let stopped = ending.wait(until);
    while !answers(&args.place, pid) {
        anyhow::ensure!(
            Path::new("/proc").join(pid.to_string()).exists(),
            "process {pid} could not start again, and has ended; see its log"
        );
        anyhow::ensure!(
            Instant::now() < until,
            "process {pid} does not answer {} s after the reload; see its log",
            args.timeout
        );
        std::thread::sleep(LOOK_EVERY);
    }
    let left = stopped.ok().flatten().unwrap_or_default().left;
    let mut text = format!("slowhand (process {pid}) runs with the configuration as it is now\n");
    for left in left {
        text += &format!("left as it was: {}\n", Shown(&left));
    }
    print_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the same process answers.
fn answers(place: &Place, pid: u32) -> bool {
    control::ask::<Status>(place, Question::Status).is_ok_and(|status| status.pid == pid)
}

//! `slowhand up`: becomes the daemon, a program of its own.
//!
//! The process stays the same one, so that signals, the service manager and the exit code are the daemon's.

use host::log::{Options, VARIABLE};
use show::exit::Refused;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const NAME: &str = "slowhandd";
/// Where packages install the daemon.
const INSTALLED: [&str; 2] = ["/usr/libexec/slowhandd", "/usr/bin/slowhandd"];

/// Becomes the daemon. It takes the arguments of `up`, which have been checked.
pub fn run(log: &Options) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe();
    let beside = own.ok().and_then(|own| Some(own.parent()?.join(NAME)));
    let places = Vec::from_iter(beside.into_iter().chain(INSTALLED.map(PathBuf::from)));
    let daemon = first_file(&places)?;
    tracing::debug!("starting {}", daemon.display());
    let mut command = Command::new(daemon);
    // Options of the log may come before the verb, too.
    command.envs(log.filter().map(|filter| (VARIABLE, filter.to_string())));
    let error = command.args(arguments(std::env::args_os())).exec();
    let daemon = daemon.display();
    Err(Refused::because(format!(
        "{daemon}: cannot start the daemon ({error}); check that you may execute this file"
    )))
}

/// The first of these places where there is a file.
fn first_file(places: &[PathBuf]) -> anyhow::Result<&Path> {
    let found = places.iter().find(|place| place.is_file());
    found.map(PathBuf::as_path).ok_or_else(|| {
        let places = Vec::from_iter(places.iter().map(|place| place.display().to_string()));
        Refused::because(format!(
            "the daemon `{NAME}` is not installed; install it as one of {}",
            places.join(", ")
        ))
    })
}

/// Arguments after the verb.
fn arguments(all: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    all.skip(1).skip_while(|word| word != "up").skip(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_daemon_is_reported_with_the_searched_places() {
        let error = first_file(&["/nowhere/a".into(), "/dev".into()]).unwrap_err();
        assert!(error.is::<Refused>());
        assert_eq!(
            error.to_string(),
            "the daemon `slowhandd` is not installed; install it as one of /nowhere/a, /dev"
        );
    }

    #[test]
    fn the_first_existing_file_is_used() {
        let places = [
            "/nowhere".into(),
            "/proc/self/status".into(),
            "/proc/self/stat".into(),
        ];
        assert_eq!(first_file(&places).unwrap(), Path::new("/proc/self/status"));
    }

    #[test]
    fn the_daemon_gets_the_arguments_after_the_verb() {
        let words = |line: &str| Vec::from_iter(line.split(' ').map(OsString::from));
        let given = |line| Vec::from_iter(arguments(words(line).into_iter()));
        assert_eq!(
            given("slowhand up --cc up --config x"),
            words("--cc up --config x")
        );
        assert_eq!(given("up up --cc lia"), words("--cc lia"));
    }
}

//! `slowhand up` becomes the daemon, and `slowhand relay` the relay: programs of their own.
//!
//! The process stays the same one, so that signals, the service manager and the exit code are the program's.

use host::log::{Options, VARIABLE};
use show::exit::Refused;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Folders in which packages install programs.
const INSTALLED: [&str; 2] = ["/usr/libexec", "/usr/bin"];

/// A program that a verb becomes.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    name: &'static str,
    /// What it is, for messages.
    what: &'static str,
    verb: &'static str,
}

/// The daemon.
pub const DAEMON: Program = Program {
    name: "slowhandd",
    what: "daemon",
    verb: "up",
};
/// The relay.
pub const RELAY: Program = Program {
    name: "slowhand-relay",
    what: "relay",
    verb: "relay",
};

/// Becomes `program`. It takes the arguments of its verb, which have been checked.
pub fn run(program: Program, log: &Options) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe();
    let beside = own.ok().and_then(|own| Some(own.parent()?.to_owned()));
    let folders = beside.into_iter().chain(INSTALLED.map(PathBuf::from));
    let places = Vec::from_iter(folders.map(|folder| folder.join(program.name)));
    let file = first_file(program, &places)?;
    tracing::debug!("starting {}", file.display());
    let mut command = Command::new(file);
    // Options of the log may come before the verb, too.
    command.envs(log.filter().map(|filter| (VARIABLE, filter.to_string())));
    let error = command.args(arguments(program, std::env::args_os())).exec();
    let file = file.display();
    Err(Refused::because(format!(
        "{file}: cannot start the {} ({error}); check that you may execute this file",
        program.what
    )))
}

/// The first of these places where there is a file.
fn first_file(program: Program, places: &[PathBuf]) -> anyhow::Result<&Path> {
    let found = places.iter().find(|place| place.is_file());
    found.map(PathBuf::as_path).ok_or_else(|| {
        let places = Vec::from_iter(places.iter().map(|place| place.display().to_string()));
        Refused::because(format!(
            "the {} `{}` is not installed; install it as one of {}",
            program.what,
            program.name,
            places.join(", ")
        ))
    })
}

/// Arguments after the verb.
fn arguments(program: Program, all: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    all.skip(1).skip_while(move |word| word != program.verb).skip(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_daemon_is_reported_with_the_searched_places() {
        let error = first_file(DAEMON, &["/nowhere/a".into(), "/dev".into()]).unwrap_err();
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
        assert_eq!(
            first_file(DAEMON, &places).unwrap(),
            Path::new("/proc/self/status")
        );
    }

    #[test]
    fn a_program_gets_the_arguments_after_its_verb() {
        let words = |line: &str| Vec::from_iter(line.split(' ').map(OsString::from));
        let given = |line| Vec::from_iter(arguments(DAEMON, words(line).into_iter()));
        assert_eq!(
            given("slowhand up --cc up --config x"),
            words("--cc up --config x")
        );
        assert_eq!(given("up up --cc lia"), words("--cc lia"));
    }
}

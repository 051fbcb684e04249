//! The command line of the daemon. Cargo builds the program for these tests, so a test of the whole
//! workspace finds it.

use std::process::{Command, Output};

fn daemon(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowhandd"));
    command.args(arguments).output().unwrap()
}

#[test]
fn it_says_its_version() {
    let told = daemon(&["--version"]);
    let version = concat!("slowhandd ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8_lossy(&told.stdout), version);
}

#[test]
fn a_wrong_filter_of_the_log_is_refused_with_its_place() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowhandd"));
    let told = command.env("SLOWHAND_LOG", "info,linus=debug").output().unwrap();
    let error = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(2), "{error}");
    assert_eq!(
        error,
        "SLOWHAND_LOG: no part of the log is called `linus`; did you mean `linux`?\n"
    );
}

#[test]
fn the_level_of_the_log_decides_which_lines_appear() {
    let all = daemon(&["--config", "/nowhere.toml", "-v"]);
    let said = String::from_utf8_lossy(&all.stderr);
    assert!(said.contains("debug: reading /nowhere.toml\n"), "{said}");
    let quiet = daemon(&["--config", "/nowhere.toml"]);
    let error = String::from_utf8_lossy(&quiet.stderr);
    assert_eq!(error, "/nowhere.toml: there is no such file\n");
}

#[test]
fn wrong_words_and_wrong_files_are_refused() {
    for (arguments, message) in [
        (&["up"][..], "unexpected argument 'up'"),
        (&["--policy", "mptcp"], "unexpected argument '--policy'"),
        (&["--log", "loud"], "'--log <FILTER>': `loud` is no level; "),
        (
            &["--config", "/nowhere.toml"],
            "/nowhere.toml: there is no such file",
        ),
    ] {
        let told = daemon(arguments);
        let error = String::from_utf8_lossy(&told.stderr);
        assert_eq!(told.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}

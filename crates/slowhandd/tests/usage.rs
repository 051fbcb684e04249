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
fn wrong_words_and_wrong_files_are_refused() {
    for (arguments, message) in [
        (&["up"][..], "unexpected argument 'up'"),
        (&["--policy", "mptcp"], "unexpected argument '--policy'"),
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

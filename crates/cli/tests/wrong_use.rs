//! Wrong use ends with 2, on standard error, with what would be right.

mod common;

use common::slowhand;

const SHARED_AIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/shared-air.toml");

#[test]
fn wrong_arguments_are_refused() {
    let table: [(&[&str], &str); 15] = [
        (&["demo", "--seed", "one"], "invalid digit"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (
            &["status", "--log", "inof"],
            "`inof` is no level; did you mean `info`?",
        ),
        (&["--log", "info", "-v", "status"], "cannot be used with"),
        (&["bench", "stall"], "unknown benchmark `stall`; valid: "),
        (&["bench", "links", "--trials", "0"], "0 is not in 1..=1000"),
        (
            &["bench", "links", "--policy", "fastest"],
            "unknown policy `fastest`; valid: tcp:<link>, tcp-best",
        ),
        (
            &["bench", "cc-cost", "walk", "--cc", "olia"],
            "--cc olia changes nothing in walk: leave it out",
        ),
        (
            &["demo", "--seed", "9223372036854775808"],
            "9223372036854775808 is not in 0..=9223372036854775807",
        ),
        (
            &["play", SHARED_AIR, "--seed", "18446744073709551615"],
            "18446744073709551615 is not in 0..=9223372036854775807",
        ),
        (
            &[
                "play",
                SHARED_AIR,
                "--world",
                "sim",
                "--seeds",
                "0..18446744073709551615",
            ],
            "goes beyond the last seed, which is 9223372036854775807",
        ),
        (
            &["bench", "window-mixes", "--seed", "18446744073709551615"],
            "18446744073709551615 is not in 0..=9223372036854",
        ),
        (
            &[
                "play",
                SHARED_AIR,
                "--world",
                "sim",
                "--set",
                "seed=18446744073709551615",
            ],
            "give a whole number from 0 to 9223372036854775807",
        ),
        (
            &["play", "/dev/zero", "--world", "sim"],
            "/dev/zero: this is a device or a socket, not a file; name a scenario file, for example",
        ),
        (
            &["play", SHARED_AIR, "--world", "sim", "--cc", "vegas"],
            "--cc vegas: all flows of shared-air are UDP",
        ),
    ];
    for (arguments, message) in table {
        let ran = slowhand(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(message), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[test]
fn a_closed_output_pipe_is_not_an_error() {
    use std::process::Stdio;
    let mut child = common::program()
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// As in `slowhand … 2>&1 | head`: a closed standard error does not change how the program ends.
#[test]
fn a_closed_error_pipe_changes_no_exit_code() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = common::program();
    command.args(["play", "scenarios/missing.toml", "--world", "sim"]);
    let ended = command.stderr(writer).status().unwrap();
    assert_eq!(ended.code(), Some(2));
    let told = common::slowhand(&["play", "scenarios/missing.toml", "--world", "sim"]);
    assert!(
        told.code == Some(2) && told.err.contains("missing.toml"),
        "{told:?}"
    );
}

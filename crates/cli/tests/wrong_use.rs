//! Wrong use ends with 2, on standard error, with what would be right.

mod common;

use common::slowhand;

#[test]
fn wrong_words_are_refused() {
    let table: [(&[&str], &str); 5] = [
        (&["demo", "--seed", "one"], "invalid digit"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["bench", "stall"], "unknown benchmark `stall`; valid: "),
        (&["bench", "links", "--trials", "0"], "0 is not in 1..=1000"),
        (
            &["bench", "links", "--policy", "fastest"],
            "unknown policy `fastest`; valid: tcp:<link>, tcp-best",
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
fn a_reader_that_leaves_is_no_failure() {
    use std::process::Stdio;
    let mut child = common::program()
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

//! What a narrow terminal and one without colours and cursor movement see.

mod common;
#[path = "common/pty.rs"]
mod pty;

use common::{Scratch, program, slowhand};
use pty::shown;
use std::process::Command;

fn play(more: &[&str], term: &str) -> Command {
    let mut command = program();
    command.args([
        "play",
        "scenarios/shared-air.toml",
        "--world",
        "sim",
        "--set",
        "duration_s=1",
    ]);
    command.args(more).env("TERM", term).env_remove("NO_COLOR");
    command
}

/// Without colours.
fn stripped(text: &str) -> String {
    let codes = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m"];
    codes
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(code, ""))
}

/// The columns of the widest piece that is written without moving the cursor. Progress fills each of its rows
/// to the last column, where the terminal begins the next one.
fn widest(text: &str) -> usize {
    let moves = ["\x1b[1A", "\x1b[1B", "\x1b[2K", "\r"];
    let rows = moves
        .iter()
        .fold(stripped(text), |text, code| text.replace(code, "\n"));
    rows.lines().map(|row| row.chars().count()).max().unwrap()
}

#[test]
fn tables_of_a_host_fit_the_terminal() {
    // The last one counts sockets, which come and go.
    for (arguments, lasts) in [
        (&["doctor"][..], true),
        (&["cc", "list"], true),
        (&["cc", "status"], false),
    ] {
        let piped = slowhand(arguments).out;
        for (columns, term) in [(20, "xterm"), (40, "xterm"), (60, "dumb"), (80, "xterm")] {
            let mut command = program();
            command.args(arguments).env("TERM", term);
            let text = shown(command, columns);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(
                widest <= columns.into(),
                "{arguments:?} {columns}: {widest}\n{text}"
            );
            assert!(!text.contains('\x1b'), "{term}: {text}");
            // What a terminal cannot show beside each other it shows below each other.
            let squeezed: String = text.split_whitespace().collect();
            let rows = piped.lines().skip(1).filter(|_| lasts);
            for cell in rows.flat_map(|row| row.split("  ")) {
                let cell: String = cell.split_whitespace().collect();
                assert!(
                    squeezed.contains(&cell),
                    "{arguments:?} {columns}: {cell}\n{text}"
                );
            }
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for columns in [20, 33, 60] {
        for more in [&[][..], &["--seeds", "1..3"]] {
            let text = stripped(&shown(play(more, "xterm"), columns));
            let widest = widest(&text);
            assert!(widest <= columns.into(), "{columns}: {widest}\n{text}");
            let squeezed: String = text.split_whitespace().collect();
            assert!(
                squeezed.contains("Mb/s") && squeezed.contains("slowhand"),
                "{text}"
            );
        }
    }
    let wide = stripped(&shown(play(&[], "xterm"), 200));
    assert!(wide.contains("\npolicy  ") && wide.contains("████"), "{wide}");
}

#[test]
fn a_dumb_terminal_gets_text_only() {
    for term in ["dumb", ""] {
        let text = shown(play(&[], term), 200);
        assert!(
            !text.contains('\x1b') && text.contains("\npolicy  "),
            "{term}: {text}"
        );
    }
    let mut plain = play(&[], "xterm-256color");
    plain.env("NO_COLOR", "1");
    let plain = shown(plain, 200);
    assert!(
        !plain.contains("\x1b[1m") && plain.contains("\npolicy  "),
        "{plain}"
    );
    let colours = shown(play(&[], "xterm-256color"), 200);
    assert!(colours.contains("\x1b[1m"), "{colours}");
}

#[test]
fn progress_moves_no_cursor_on_a_dumb_terminal_and_fits_a_narrow_one() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let scratch = Scratch::new("terminal-progress");
    let text = "sentence = \"x\"\nduration_s = 2\n[cables.near]\nrate_mbps = 20\nrtt_ms = 10\n[flows.f]\ndirection = \"down\"\n";
    std::fs::write(scratch.path("x.toml"), text).unwrap();
    let lab = |term: &str| {
        let mut command = program();
        command.arg("play").arg(scratch.path("x.toml")).env("TERM", term);
        shown(command, 30)
    };
    let dumb = lab("dumb");
    assert!(
        !dumb.contains('\x1b') && dumb.contains("slowhand: runs, seed 1\n"),
        "{dumb}"
    );
    let drawn = lab("xterm");
    assert!(
        drawn.contains("\x1b[1A") && !drawn.contains("runs, seed"),
        "{drawn}"
    );
    // Two rows: the run, and the bar.
    let widest = widest(&drawn);
    assert!(widest <= 2 * 30, "{widest}: {drawn}");
}

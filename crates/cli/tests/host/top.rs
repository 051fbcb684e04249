//! `slowhand top` on a terminal, as its user sees it.

use crate::connections::Download;
use crate::pty::terminal;
use crate::rig::{Host, words};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::process::Child;

/// Reads what the program shows until `until` says that it is enough.
fn shows(terminal: &mut File, until: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    let mut piece = [0; 4096];
    while !until(&text) {
        let length = terminal.read(&mut piece).unwrap_or(0);
        assert!(length > 0, "it ended early: {text}");
        text += &String::from_utf8_lossy(&piece[..length]);
    }
    text
}

fn top(host: &Host) -> (File, Child) {
    let (ours, theirs) = terminal(100);
    let mut command = host.command("top");
    command.args(["--every", "0.2"]).env("TERM", "xterm");
    let [input, output] = [(); 2].map(|()| theirs.try_clone().unwrap());
    let child = command
        .stdin(input)
        .stdout(output)
        .stderr(theirs)
        .spawn()
        .unwrap();
    (ours, child)
}

#[test]
fn top_shows_what_links_carry_and_gives_the_terminal_back() {
    let Some(host) = Host::new("top") else { return };
    let mut up = host.up();
    let download = Download::start(&host);
    let (mut terminal, mut child) = top(&host);
    let carries = |page: &str| {
        let mut rows = page.lines().filter(|line| line.contains("desk"));
        rows.any(|row| row.contains(" Mb/s"))
    };
    let text = shows(&mut terminal, carries);
    assert!(text.starts_with("\u{1b}[?1049h"), "{text:?}");
    terminal.write_all(b"q").unwrap();
    shows(&mut terminal, |text| text.contains("\u{1b}[?1049l"));
    assert!(child.wait().unwrap().success());
    drop(download);
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn top_ends_with_its_daemon_and_is_refused_without_a_terminal() {
    let Some(host) = Host::new("top-end") else { return };
    let (code, text) = words(&host.ask("top", &[]));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("needs a terminal; use `slowhand status`"), "{text}");
    let mut up = host.up();
    let (mut terminal, mut child) = top(&host);
    shows(&mut terminal, |page| page.contains("desk"));
    assert_eq!(words(&host.ask("down", &[])).0, Some(0));
    assert!(up.child.wait().unwrap().success());
    let text = shows(&mut terminal, |text| {
        text.contains("slowhand is not running here")
    });
    assert!(text.contains("\u{1b}[?1049l"), "{text:?}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_daemon_that_ends_while_top_asks_has_ended() {
    let Some(host) = Host::new("top-asks") else { return };
    let mut up = host.up();
    let (mut terminal, mut child) = top(&host);
    shows(&mut terminal, |page| page.contains("desk"));
    let (control, other) = (host.run_path("control.sock"), host.run_path("other.sock"));
    let listener = UnixListener::bind(&other).unwrap();
    std::fs::rename(&other, &control).unwrap();
    let (question, _) = listener.accept().unwrap();
    std::fs::remove_file(&control).unwrap();
    drop(question);
    shows(&mut terminal, |text| {
        text.contains("slowhand is not running here")
    });
    assert_eq!(child.wait().unwrap().code(), Some(1));
    up.kill();
}

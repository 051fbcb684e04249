//! Programs inside a network namespace.
//!
//! The tests of whole hosts share this file.

use anyhow::Context as _;
use linux::netns::Netns;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Runs a program with this text on its standard input, and gives back what it prints.
///
/// # Errors
/// If it does not run, or ends with another exit code than 0.
pub fn feed(netns: &Netns, words: &[&str], text: &str) -> anyhow::Result<String> {
    let line = words.join(" ");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A thread that is there already: a hook between fork and exec would have the kernel copy this process first.
    let spawned = netns.run(|| command.spawn())?;
    let mut child = spawned.with_context(|| format!("`{line}` does not start; is it installed?"))?;
    let mut stdin = child.stdin.take().context("its standard input was taken")?;
    let output = std::thread::scope(|scope| {
        // What it prints and what it reads may both be more than a pipe holds.
        scope.spawn(move || drop(stdin.write_all(text.as_bytes())));
        child.wait_with_output()
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "`{line}`: {said}\n{text}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs lines of `ip`; in rules without addresses they mean IPv4.
pub fn ip(netns: &Netns, lines: &str) -> anyhow::Result<String> {
    feed(netns, &["ip", "-batch", "-"], &format!("{lines}\n"))
}

/// The same, where rules and tables mean IPv6.
pub fn ip6(netns: &Netns, lines: &str) -> anyhow::Result<String> {
    feed(netns, &["ip", "-6", "-batch", "-"], &format!("{lines}\n"))
}

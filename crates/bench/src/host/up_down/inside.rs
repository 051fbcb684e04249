//! Runs programs inside a network namespace.
//!
//! The tests of whole hosts share this file.

use anyhow::Context as _;
use linux::netns::Netns;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Runs a program with this text on its standard input, and returns what it prints.
///
/// # Errors
/// If it does not start, or exits with another code than 0.
pub fn feed(netns: &Netns, words: &[&str], text: &str) -> anyhow::Result<String> {
    let line = words.join(" ");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Uses an existing thread: a hook between fork and exec would make the kernel copy this process first.
    let spawned = netns.run(|| command.spawn())?;
    let mut child = spawned.with_context(|| format!("`{line}` does not start; is it installed?"))?;
    let mut stdin = child.stdin.take().context("its standard input was taken")?;
    let output = std::thread::scope(|scope| {
        // Both its input and its output may exceed a pipe's capacity.
        scope.spawn(move || drop(stdin.write_all(text.as_bytes())));
        child.wait_with_output()
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "`{line}`: {said}\n{text}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs lines of `ip`. Rules without addresses mean IPv4.
pub fn ip(netns: &Netns, lines: &str) -> anyhow::Result<String> {
    feed(netns, &["ip", "-batch", "-"], &format!("{lines}\n"))
}

/// Runs lines of `ip -6`. Rules and tables mean IPv6.
pub fn ip6(netns: &Netns, lines: &str) -> anyhow::Result<String> {
    feed(netns, &["ip", "-6", "-batch", "-"], &format!("{lines}\n"))
}

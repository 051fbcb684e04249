//! The files of the repository: what git tracks, and what it would track.

use std::process::Command;

use anyhow::Context;

/// Paths relative to the root, sorted.
pub fn listed() -> anyhow::Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .output()
        .context("cannot run git")?;
    anyhow::ensure!(
        output.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut paths: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The text of every listed file whose name passes; files that are gone or no text are left out.
pub fn texts(wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<(String, String)>> {
    let read = |path: String| std::fs::read_to_string(&path).ok().map(|text| (path, text));
    Ok(listed()?
        .into_iter()
        .filter(|path| wanted(path))
        .filter_map(read)
        .collect())
}

/// Whether the name ends in one of these.
pub fn ends_in(path: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| path.ends_with(ending))
}

//! Reads the check that NetworkManager makes on this host from its configuration files.
//!
//! # Sources
//! - NetworkManager.conf(5), "FILE FORMAT", `[connectivity]`: `uri`, `response` and `enabled`. A file in
//!   `/etc` replaces one of the same name in `/run`, which replaces one in `/usr/lib`.
//!
//! # Where we differ, and why
//! 1. If the check is disabled there (`enabled=false` or an empty `uri`), there is no check here either.
//!
//! # Checked by
//! `portal::tests`.

use super::{Check, Url, UrlError};
use crate::resolvers::contents;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Later directories take precedence.
const DIRECTORIES: [&str; 3] = [
    "usr/lib/NetworkManager/conf.d",
    "run/NetworkManager/conf.d",
    "etc/NetworkManager/conf.d",
];
const FILE: &str = "etc/NetworkManager/NetworkManager.conf";
/// Expected response unless the configuration sets one.
const RESPONSE: &str = "NetworkManager is online";

/// Values of `[connectivity]` read so far.
#[derive(Debug, Default)]
struct Section {
    uri: Option<String>,
    response: Option<String>,
    off: bool,
}

/// Reads the check from NetworkManager's configuration. `None` if it has none or disables it. `root` is `/`
/// on a host.
///
/// # Errors
/// If the URL cannot be checked here.
pub fn from_network_manager(root: &Path) -> Result<Option<Check>, UrlError> {
    let mut section = Section::default();
    for file in files(root) {
        section.read(&contents(&file));
    }
    let Some(uri) = section.uri.filter(|uri| !uri.is_empty() && !section.off) else {
        return Ok(None);
    };
    Ok(Some(Check {
        url: uri.parse::<Url>()?,
        response: section.response.unwrap_or_else(|| RESPONSE.to_owned()),
    }))
}

/// The configuration files, in the order in which they are read.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut by_name: BTreeMap<OsString, (usize, PathBuf)> = BTreeMap::new();
    for (rank, directory) in DIRECTORIES.iter().enumerate() {
        let entries = std::fs::read_dir(root.join(directory));
        for entry in entries.into_iter().flatten().flatten() {
            if entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "conf")
            {
                by_name.insert(entry.file_name(), (rank, entry.path()));
            }
        }
    }
    let mut files: Vec<(usize, PathBuf)> = by_name.into_values().collect();
    files.push((1, root.join(FILE)));
    // A stable sort keeps the files of a directory in the order of their names.
    files.sort_by_key(|(rank, _)| *rank);
    files.into_iter().map(|(_, path)| path).collect()
}

impl Section {
    fn read(&mut self, text: &str) {
        let mut inside = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                inside = line == "[connectivity]";
                continue;
            }
            let Some((key, value)) = line.split_once('=').filter(|_| inside) else {
                continue;
            };
            let value = value.trim();
            match key.trim() {
                "uri" => self.uri = Some(value.to_owned()),
                "response" => self.response = Some(value.to_owned()),
                "enabled" => self.off = matches!(value, "false" | "no" | "off" | "0"),
                _ => {}
            }
        }
    }
}

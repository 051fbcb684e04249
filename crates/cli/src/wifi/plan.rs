//! What an import adds to the configuration, and how it is written.
//!
//! # Where we differ, and why
//! 1. Networks are appended to the file as text, so that the user's comments and order stay.
//! 2. The new file must be a whole configuration before it takes the place of the old one.

use super::saved::{Protection, Saved};
use anyhow::Context as _;
use host::config::{Asked, Config, ConfigError};
use host::trusted::{self, Keeping};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use trace::Shown;

/// Most files of one name.
const MOST: u32 = 1_000;

/// What is to be added.
#[derive(Debug, Default)]
pub struct Plan {
    /// Networks that are new.
    added: Vec<Added>,
    /// Names of networks that the configuration has.
    present: BTreeSet<String>,
    /// Files that are not taken over, and why.
    left_out: Vec<(PathBuf, String)>,
}

#[derive(Debug)]
struct Added {
    saved: Saved,
    /// The file of its secret, and whether it has to be written.
    file: Option<(PathBuf, bool)>,
}

impl std::fmt::Debug for Saved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}", self.ssid, self.protection)
    }
}

impl Plan {
    /// Begins with the networks that the configuration has.
    ///
    /// # Errors
    /// If the configuration is wrong.
    pub fn beside(config: &Path) -> Result<Self, ConfigError> {
        let networks = match config.exists() {
            true => Config::read(config, Asked::ByName)?
                .wifi
                .map(|wifi| wifi.networks),
            false => None,
        };
        let names = networks.into_iter().flatten().map(|network| network.ssid);
        Ok(Self {
            present: names.collect(),
            ..Self::default()
        })
    }

    /// A file that is not taken over.
    pub fn leave_out(&mut self, file: PathBuf, why: String) {
        self.left_out.push((file, why));
    }

    /// A saved network. Its secret goes into a file of `directory`.
    pub fn add(&mut self, saved: Saved, directory: &Path, from: &Path) {
        if self.added.iter().any(|added| added.saved.ssid == saved.ssid) {
            let why = "another file has a network of this name".to_owned();
            return self.leave_out(from.to_owned(), why);
        }
        if self.present.contains(&saved.ssid) {
            return;
        }
        let taken = |path: &Path| {
            self.added
                .iter()
                .any(|added| matches!(&added.file, Some((of, _)) if of == path))
        };
        let file = match secret(&saved) {
            Some((ending, text)) => match place(directory, &saved.ssid, ending, &text, taken) {
                Some(file) => Some(file),
                None => return self.leave_out(from.to_owned(), "no free name for its secret".to_owned()),
            },
            None => None,
        };
        self.added.push(Added { saved, file });
    }

    /// Whether there is nothing to write.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty()
    }

    /// What it does, a line for each network and file.
    pub fn words(&self) -> String {
        let mut text = String::new();
        for Added { saved, file } in &self.added {
            let (ssid, words) = (Shown(&saved.ssid), saved.protection.words());
            // Writing to a string cannot fail.
            let _ = write!(text, "added {ssid}: {words}");
            let _ = match file {
                Some((path, _)) => writeln!(text, ", secret in {}", path.display()),
                None => writeln!(text),
            };
        }
        for ssid in &self.present {
            let _ = writeln!(text, "kept {}: it is in the configuration", Shown(ssid));
        }
        for (path, why) in &self.left_out {
            let path = path.display().to_string();
            let _ = writeln!(text, "left out {}: {why}", Shown(&path));
        }
        text
    }

    /// The tables that are appended to the configuration.
    pub fn tables(&self) -> String {
        self.added.iter().map(Added::table).collect()
    }

    /// Writes the secrets, then the configuration.
    ///
    /// # Errors
    /// If a file cannot be written, or the configuration would be wrong. The old one stays then.
    pub fn write(&self, config: &Path) -> anyhow::Result<()> {
        let mut written = Vec::new();
        let outcome = self
            .write_secrets(&mut written)
            .and_then(|()| self.extend(config));
        if outcome.is_err() {
            for path in written {
                let _ = fs::remove_file(path);
            }
        }
        outcome
    }

    fn write_secrets<'p>(&'p self, written: &mut Vec<&'p Path>) -> anyhow::Result<()> {
        for Added { saved, file } in &self.added {
            let Some((path, true)) = file else { continue };
            let text = secret(saved).map(|(_, text)| text).unwrap_or_default();
            write_new(path, &text, 0o600).with_context(|| format!("writing {}", path.display()))?;
            written.push(path);
        }
        Ok(())
    }

    fn extend(&self, config: &Path) -> anyhow::Result<()> {
        let old = match config.exists() {
            true => trusted::read(config, Keeping::Public)?,
            false => String::new(),
        };
        let gap = if old.is_empty() || old.ends_with("\n\n") {
            ""
        } else {
            "\n"
        };
        let end = if old.is_empty() || old.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let new = config.with_extension("new");
        let _ = fs::remove_file(&new);
        let text = format!("{old}{end}{gap}{}", self.tables());
        write_new(&new, &text, 0o644).with_context(|| format!("writing {}", new.display()))?;
        let outcome = self.check(&new).and_then(|()| {
            if let Ok(found) = fs::metadata(config) {
                fs::set_permissions(&new, found.permissions())?;
            }
            Ok(fs::rename(&new, config)?)
        });
        if outcome.is_err() {
            let _ = fs::remove_file(&new);
        }
        outcome.with_context(|| format!("{} stays as it is", config.display()))
    }

    /// Whether the new file has all networks, with their secrets.
    fn check(&self, new: &Path) -> anyhow::Result<()> {
        let wifi = Config::read(new, Asked::ByName)?.wifi.unwrap_or_default();
        let lost = self.added.iter().find(|added| {
            let is_it = |network: &host::config::WifiNetwork| network.ssid == added.saved.ssid;
            !wifi.networks.iter().any(is_it)
        });
        if let Some(added) = lost {
            anyhow::bail!(
                "a file in conf.d has [wifi], too, and hides {}; add the networks to that file with --config",
                added.saved.ssid
            );
        }
        wifi.networks().map(drop).map_err(anyhow::Error::msg)
    }
}

impl Added {
    fn table(&self) -> String {
        let Saved {
            ssid,
            hidden,
            metered,
            protection,
        } = &self.saved;
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let file = self
            .file
            .as_ref()
            .map(|(path, _)| quoted(&path.to_string_lossy()));
        let file = file.unwrap_or_default();
        let mut lines = vec!["[[wifi.network]]".to_owned(), format!("ssid = {}", quoted(ssid))];
        match protection {
            Protection::Open => lines.push("open = true".to_owned()),
            Protection::Owe => lines.push("open = true\nsecurity = \"owe\"".to_owned()),
            Protection::Key { wpa3, .. } => {
                lines.push(format!("psk_file = {file}"));
                lines.extend(wpa3.then(|| "security = \"wpa3\"".to_owned()));
            }
            Protection::Login(_) => lines.push(format!("login_file = {file}")),
        }
        lines.extend(hidden.then(|| "hidden = true".to_owned()));
        lines.extend(metered.then(|| "metered = true".to_owned()));
        lines.join("\n") + "\n\n"
    }
}

/// How the file of a secret ends, and its text. `None`: the network has no secret.
fn secret(saved: &Saved) -> Option<(&'static str, String)> {
    match &saved.protection {
        Protection::Open | Protection::Owe => None,
        Protection::Key { secret, .. } => Some(("psk", format!("{secret}\n"))),
        Protection::Login(lines) => Some(("login", lines.clone())),
    }
}

/// A file for a secret: one that has it already, or a new one. No secret of another network is overwritten.
fn place(
    directory: &Path,
    ssid: &str,
    ending: &str,
    text: &str,
    taken: impl Fn(&Path) -> bool,
) -> Option<(PathBuf, bool)> {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_".contains(c) {
            c
        } else {
            '-'
        }
    };
    let stem: String = ssid.chars().map(plain).collect();
    (1..MOST).find_map(|number| {
        let name = match number {
            1 => format!("{stem}.{ending}"),
            _ => format!("{stem}-{number}.{ending}"),
        };
        let path = directory.join(name);
        if taken(&path) {
            return None;
        }
        match fs::read_to_string(&path) {
            Ok(found) if found == text => Some((path, false)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some((path, true)),
            _ => None,
        }
    })
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

//! Resolves and downloads the packages of the guest, in a private apt root: the host's own list of packages
//! is neither used nor changed. apt checks every file against the signed lists.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` boots what comes out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use crate::tool::{self, KEYRING, ToolError};

/// The programs of the guest. apt adds what they need. `usr-is-merged` satisfies a dependency that would
/// otherwise pull in Perl.
pub const PROGRAMS: [&str; 22] = [
    "bash",
    "busybox-static",
    "coreutils",
    "dbus-daemon",
    "dnsmasq-base",
    "grep",
    "hostapd",
    "iproute2",
    "iw",
    "iwd",
    "kmod",
    "network-manager",
    "nftables",
    "openssl",
    "procps",
    "sed",
    "systemd-resolved",
    "tcpdump",
    "usr-is-merged",
    "wireless-regdb",
    "wpasupplicant",
    "zlib1g",
];

/// The kernel: the metapackage names the newest one. tcx needs Linux 6.6.
const KERNEL: &str = "linux-image-amd64/bookworm-backports";

/// Where the packages come from.
const SOURCES: [(&str, &str); 4] = [
    ("http://deb.debian.org/debian", "bookworm"),
    ("http://deb.debian.org/debian", "bookworm-updates"),
    ("http://deb.debian.org/debian", "bookworm-backports"),
    ("http://deb.debian.org/debian-security", "bookworm-security"),
];

/// Why there are no packages.
#[derive(Debug, Error)]
pub enum PackagesError {
    /// The lists of packages could not be had.
    #[error("cannot download Debian's package lists; check that http://deb.debian.org can be reached")]
    Lists(#[source] ToolError),
    /// apt found no set of packages, or could not download it.
    #[error("apt cannot provide the packages of the virtual machine")]
    Apt(#[from] ToolError),
    /// The metapackage has an unexpected form.
    #[error("apt names no kernel for {KERNEL}; it printed:\n{0}")]
    NoKernel(String),
    /// A directory could not be used.
    #[error("cannot write {}; free some space or correct its permissions", path.display())]
    Io {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What the guest is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The package of the kernel.
    pub kernel: String,
    /// All packages as `name=version`, sorted, with the kernel's.
    pub packages: Vec<String>,
}

/// A private apt root.
pub struct Apt {
    root: PathBuf,
}

impl Apt {
    /// Creates it in this directory, or uses the one that is there.
    pub fn new(root: &Path) -> Result<Self, PackagesError> {
        for directory in ["lists/partial", "archives/partial", "empty"] {
            let path = root.join(directory);
            fs::create_dir_all(&path).map_err(|source| PackagesError::Io { path, source })?;
        }
        let sources: String = SOURCES
            .iter()
            .map(|(uri, suite)| format!("deb [arch=amd64 signed-by={KEYRING}] {uri} {suite} main\n"))
            .collect();
        for (file, content) in [("sources.list", sources.as_str()), ("status", "")] {
            let path = root.join(file);
            fs::write(&path, content).map_err(|source| PackagesError::Io { path, source })?;
        }
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// Resolves the packages with today's lists.
    pub fn resolve(&self) -> Result<Selection, PackagesError> {
        let mut update = self.command("apt-get");
        tool::run(update.args(["-qq", "-o", "APT::Update::Error-Mode=any", "update"]))
            .map_err(PackagesError::Lists)?;
        let depends = tool::run(self.command("apt-cache").args(["depends", KERNEL]))?;
        let kernel = kernel_of(&depends).ok_or(PackagesError::NoKernel(depends))?;
        let shown = tool::run(
            self.command("apt-cache")
                .args(["show", "--no-all-versions", &kernel]),
        )?;
        let version = shown
            .lines()
            .find_map(|line| line.strip_prefix("Version: "))
            .unwrap_or_default();
        let plan = tool::run(
            self.command("apt-get")
                .args(["-qq", "--simulate", "install"])
                .args(PROGRAMS),
        )?;
        let mut packages = planned(&plan);
        packages.push(format!("{kernel}={version}"));
        packages.sort();
        Ok(Selection { kernel, packages })
    }

    /// Downloads them into a directory, and returns the files.
    pub fn download(&self, selection: &Selection, into: &Path) -> Result<Vec<PathBuf>, PackagesError> {
        let io = |source| PackagesError::Io {
            path: into.to_owned(),
            source,
        };
        fs::create_dir_all(into).map_err(io)?;
        let mut download = self.command("apt-get");
        download.current_dir(into).args(["-qq", "download"]);
        tool::run(download.args(&selection.packages))?;
        let mut files = fs::read_dir(into)
            .and_then(|entries| {
                entries
                    .map(|entry| Ok(entry?.path()))
                    .collect::<io::Result<Vec<_>>>()
            })
            .map_err(io)?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "deb"));
        files.sort();
        Ok(files)
    }

    /// A command of apt that knows this root only. The host's settings for proxies stay in force.
    fn command(&self, program: &str) -> Command {
        let mut command = tool::command(program);
        let settings = [
            ("Dir::State::lists", self.root.join("lists")),
            ("Dir::State::status", self.root.join("status")),
            ("Dir::Cache", self.root.clone()),
            ("Dir::Cache::archives", self.root.join("archives")),
            ("Dir::Etc::sourcelist", self.root.join("sources.list")),
            ("Dir::Etc::sourceparts", self.root.join("empty")),
            ("Dir::Etc::preferences", self.root.join("empty/none")),
            ("Dir::Etc::preferencesparts", self.root.join("empty")),
        ];
        for (key, path) in settings {
            command.arg("-o").arg(format!("{key}={}", path.display()));
        }
        for setting in [
            "APT::Architecture=amd64",
            "APT::Architectures=amd64",
            "APT::Install-Recommends=false",
            // Only the owner can read the root, and the user that apt becomes otherwise is another one.
            "APT::Sandbox::User=root",
            "Acquire::Languages=none",
            "Acquire::Retries=5",
            "Acquire::http::Timeout=30",
        ] {
            command.args(["-o", setting]);
        }
        command
    }
}

/// The package on which the metapackage depends, from `apt-cache depends`.
fn kernel_of(depends: &str) -> Option<String> {
    depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .find(|name| name.starts_with("linux-image-"))
        .map(str::to_owned)
}

/// `name=version` of each package that a simulated installation would unpack, from lines such as
/// `Inst iw (5.19-1 Debian:12.11/oldstable [amd64])`.
fn planned(simulated: &str) -> Vec<String> {
    simulated
        .lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("Inst ")?.split_whitespace();
            let name = words.next()?;
            let version = words.find_map(|word| word.strip_prefix('('))?;
            Some(format!("{name}={version}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_simulated_installation() {
        let simulated = "\
NOTE: This is only a simulation!
Inst gcc-12-base (12.2.0-14+deb12u1 Debian:12.11/oldstable [amd64]) []
Inst libc6 (2.36-9+deb12u14 Debian:12.11/oldstable, Debian-Security:12 [amd64])
Conf libc6 (2.36-9+deb12u14 Debian:12.11/oldstable [amd64])
";
        assert_eq!(
            planned(simulated),
            ["gcc-12-base=12.2.0-14+deb12u1", "libc6=2.36-9+deb12u14"]
        );
    }

    #[test]
    fn the_metapackage_names_the_kernel() {
        let depends = "linux-image-amd64\n  Depends: linux-image-6.12.95+deb12-amd64\n";
        assert_eq!(
            kernel_of(depends).as_deref(),
            Some("linux-image-6.12.95+deb12-amd64")
        );
        assert_eq!(kernel_of("linux-image-amd64\n"), None);
    }
}

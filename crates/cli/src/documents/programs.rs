//! `scripts/setup.sh` installs every program that the build and the tests start.

use std::collections::BTreeSet;
use std::path::Path;

/// Programs of others, and the Debian package that each comes with.
const PACKAGES: [(&str, &str); 29] = [
    ("bpftool", "bpftool"),
    ("cc", "gcc"),
    ("chromium", "chromium"),
    ("clang", "clang"),
    ("curl", "curl"),
    ("dpkg-deb", "dpkg-dev"),
    ("dpkg-scanpackages", "dpkg-dev"),
    ("git", "git"),
    ("ip", "iproute2"),
    ("iperf3", "iperf3"),
    ("make", "make"),
    ("mount", "mount"),
    ("mptcpize", "mptcpize"),
    ("nft", "nftables"),
    ("nginx", "nginx-light"),
    ("nsenter", "util-linux"),
    ("pgrep", "procps"),
    ("pkg-config", "pkg-config"),
    ("setpriv", "util-linux"),
    ("setsid", "util-linux"),
    ("shellcheck", "shellcheck"),
    ("ss", "iproute2"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("sysctl", "procps"),
    ("systemd-analyze", "systemd"),
    ("tshark", "tshark"),
    ("unshare", "util-linux"),
    ("wireguard-go", "wireguard-go"),
];
/// Benches build a peer if its compiler and library are installed, and say so if they are not.
const WHERE_IT_IS: [&str; 1] = ["c++"];
/// Part of every system.
const EVERYWHERE: [&str; 7] = ["/bin/sh", "bash", "cp", "install", "mkfifo", "sh", "umount"];

/// Every `.rs` file below a folder.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

/// Names that are written where a program is started.
fn started() -> BTreeSet<String> {
    let mut texts = Vec::new();
    for folder in ["crates", "xtask"] {
        sources(&super::root().join(folder), &mut texts);
    }
    // In two halves, so that this line is not found.
    let start = concat!("Command::", "new(\"");
    let names = texts.iter().flat_map(|text| text.split(start).skip(1));
    names
        .filter_map(|rest| rest.split('"').next().map(str::to_owned))
        .collect()
}

#[test]
fn every_program_that_is_started_is_installed() {
    let setup = super::read("scripts/setup.sh");
    let lists = setup.lines().filter(|line| line.contains("_packages=\""));
    let installed: BTreeSet<&str> = lists.flat_map(|line| line.split(['"', ' '])).collect();
    for (program, package) in PACKAGES {
        assert!(
            installed.contains(package),
            "setup.sh does not install {package}, for {program}"
        );
    }
    let known: BTreeSet<&str> = PACKAGES
        .iter()
        .map(|(program, _)| *program)
        .chain(EVERYWHERE)
        .chain(WHERE_IT_IS)
        .collect();
    let unknown: Vec<String> = started()
        .into_iter()
        .filter(|name| !known.contains(name.as_str()))
        .collect();
    assert!(unknown.is_empty(), "not in the table of packages: {unknown:?}");
    assert!(started().len() > 5, "{:?}", started());
}

//! The Debian package in a clean Debian root: installation, upgrade, removal and purge leave the host as it
//! was, also while the daemon runs and after it was killed.

mod common;
#[path = "package/debian.rs"]
mod debian;
#[path = "../../linux/src/testing/patience.rs"]
mod patience;
#[path = "host/rig.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of it")]
mod rig;

use common::{Scratch, daemon, root};
use debian::{Debian, First, packages};
use rig::{Host, output, until, write};
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

const CONFIG: &str = "[[link]]\ninterface = \"w*\"\nkind = \"cable\"\n";

/// Routes, rules, MPTCP endpoints and packet filters of the client.
fn network(host: &Host) -> String {
    host.state() + &host.client.run(|| output("nft list ruleset")).unwrap()
}

/// Starts a daemon by hand, and waits until it answers.
fn up_by_hand(debian: &Debian) -> Child {
    configure(debian);
    let mut command = debian.command(&["slowhand", "up"]);
    let daemon = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("it answers", || {
        let asked = debian.command(&["slowhand", "status"]).output().unwrap();
        asked.status.success()
    });
    daemon
}

fn configure(debian: &Debian) {
    std::fs::create_dir_all(debian.path("/etc/slowhand")).unwrap();
    write(&debian.path("/etc/slowhand/slowhand.toml"), CONFIG, 0o644);
}

#[test]
fn the_package_starts_nothing_and_a_purge_leaves_no_file() {
    let Some(host) = Host::new("package-files") else {
        return;
    };
    let Some(debian) = Debian::start(&host, First::Sleep) else {
        return;
    };
    let before = network(&host);
    assert_eq!(debian.changes(), BTreeSet::new());

    let told = debian.install(&packages().old);
    assert!(told.contains("systemctl enable --now slowhand"), "{told}");
    for path in [
        "/usr/bin/slowhand",
        "/usr/bin/slowhandd",
        "/usr/bin/slowhand-relay",
        "/usr/lib/systemd/system/slowhand.service",
        "/usr/lib/systemd/system/slowhand-relay.service",
        "/usr/share/bash-completion/completions/slowhand",
        "/usr/share/doc/slowhand/changelog.gz",
        "/usr/share/doc/slowhand/changelog.Debian.gz",
        "/usr/share/doc/slowhand/copyright",
        "/usr/share/doc/slowhand/examples/slowhand.toml",
        "/usr/share/fish/vendor_completions.d/slowhand.fish",
        "/usr/share/man/man1/slowhand-up.1.gz",
        "/usr/share/man/man5/slowhand.toml.5.gz",
        "/usr/share/man/man7/slowhand.7.gz",
        "/usr/share/man/man8/slowhandd.8.gz",
        "/usr/share/man/man8/slowhand-relay.8.gz",
        "/usr/share/slowhand/scenarios/train.toml",
        "/usr/share/zsh/vendor-completions/_slowhand",
    ] {
        assert!(debian.has(path), "{path}");
    }
    assert!(!debian.has("/etc/systemd/system/multi-user.target.wants/slowhand.service"));
    assert!(!debian.has("/run/slowhand"), "the daemon was started");
    assert_eq!(debian.run(&["slowhandd", "--version"]), "slowhandd 0.1.0\n");
    assert_eq!(debian.run(&["dpkg", "--verify", "slowhand"]), "");

    debian.install(&packages().new);
    debian.run(&["dpkg", "--remove", "slowhand"]);
    debian.run(&["dpkg", "--purge", "slowhand"]);
    assert_eq!(debian.changes(), BTreeSet::new());
    assert_eq!(network(&host), before);
}

#[test]
fn an_upgrade_lets_a_daemon_run_and_a_removal_undoes_what_it_changed() {
    let Some(host) = Host::new("package-run") else {
        return;
    };
    let Some(debian) = Debian::start(&host, First::Sleep) else {
        return;
    };
    let before = network(&host);
    debian.install(&packages().old);
    let mut daemon = up_by_hand(&debian);
    let during = network(&host);
    assert_ne!(during, before);

    let told = debian.install(&packages().new);
    assert!(told.contains("is the daemon of the previous version"), "{told}");
    assert!(daemon.try_wait().unwrap().is_none(), "it has ended");
    assert_eq!(network(&host), during);

    debian.run(&["dpkg", "--remove", "slowhand"]);
    until("the daemon ends", || daemon.try_wait().unwrap().is_some());
    assert_eq!(network(&host), before);
    let configuration = ["/etc/slowhand", "/etc/slowhand/slowhand.toml"];
    let mut left = debian.changes();
    left.retain(|path| !path.starts_with("/var/lib/systemd"));
    assert_eq!(left, configuration.map(str::to_owned).into());

    debian.run(&["dpkg", "--purge", "slowhand"]);
    assert_eq!(debian.changes(), BTreeSet::new());
}

#[test]
fn a_removal_undoes_what_a_killed_daemon_left() {
    let Some(host) = Host::new("package-kill") else {
        return;
    };
    let Some(debian) = Debian::start(&host, First::Sleep) else {
        return;
    };
    let before = network(&host);
    debian.install(&packages().old);
    let mut daemon = up_by_hand(&debian);
    debian.run(&["sh", "-c", "kill -9 $(cat /run/slowhand/lock)"]);
    assert!(!daemon.wait().unwrap().success());
    assert_ne!(network(&host), before);

    let key = debian.path("/etc/slowhand/report.key");
    write(&key, "a secret", 0o600);
    debian.run(&["dpkg", "--purge", "slowhand"]);
    assert_eq!(network(&host), before);
    let of_the_user = ["/etc/slowhand", "/etc/slowhand/report.key"];
    assert_eq!(debian.changes(), of_the_user.map(str::to_owned).into());
}

#[test]
fn the_service_manager_restarts_the_daemon_for_an_upgrade_and_stops_it_for_a_removal() {
    let Some(host) = Host::new("package-unit") else {
        return;
    };
    let Some(debian) = Debian::start(&host, First::Systemd) else {
        return;
    };
    let (before, files) = (network(&host), debian.changes());
    debian.install(&packages().old);
    let unit = |verb: &str| {
        let asked = debian.command(&["systemctl", verb, "slowhand"]).output().unwrap();
        debian::text(&asked).trim().to_owned()
    };
    assert_eq!(
        (unit("is-enabled"), unit("is-active")),
        ("disabled".into(), "inactive".into())
    );

    configure(&debian);
    debian.run(&["systemctl", "enable", "--now", "slowhand"]);
    let during = network(&host);
    assert_ne!(during, before);
    let process = || debian.run(&["systemctl", "show", "--property=MainPID", "slowhand"]);
    let old = process();
    debian.install(&packages().new);
    assert_eq!(
        (unit("is-enabled"), unit("is-active")),
        ("enabled".into(), "active".into())
    );
    assert_ne!(process(), old);
    assert_eq!(network(&host), during);

    debian.run(&["dpkg", "--remove", "slowhand"]);
    assert_eq!(network(&host), before);
    assert_ne!(unit("is-active"), "active");
    debian.run(&["dpkg", "--purge", "slowhand"]);
    assert_eq!(debian.changes(), files);
}

#[test]
fn make_uninstall_removes_what_make_install_installs() {
    let scratch = Scratch::new("install");
    let make = |target: &str| {
        let mut command = Command::new("make");
        command.args(["--silent", target]).current_dir(root());
        command
            .env("DESTDIR", scratch.path("root"))
            .env("prefix", "/opt/slowhand");
        command.env("BUILT", daemon().parent().unwrap());
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", debian::text(&ran));
    };
    make("install");
    let unit = scratch.path("root/opt/slowhand/lib/systemd/system/slowhand.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    assert!(
        unit.contains("\nExecStart=/opt/slowhand/bin/slowhandd\n"),
        "{unit}"
    );
    make("uninstall");
    let find = format!("find {} -type f", scratch.path("root").display());
    assert_eq!(output(&find), "");
}

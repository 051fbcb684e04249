//! Two mobile hosts that meet, and programs of the distribution.

use crate::peer::Peer;
use crate::site::{self, Site, V4};
use crate::{content, opened, survives};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

const TOKEN: &str = "the token of this test";

#[test]
fn a_connection_of_two_mobile_hosts_survives_when_both_lose_a_link_at_once() {
    let Some(site) = Site::new("meet") else { return };
    let peer = Peer::of(&site);
    let _relay = site.relay();
    let (_ours, _theirs) = (site.up(&site.through_relay()), peer.up());
    let (port, _echo) = peer.echo();
    let _offers = peer.meet(&[TOKEN, "--offer", "--local", &port.to_string()]);
    let _asks = site.meet(&[TOKEN, "--local", "2222"]);
    let stream = site.connect((Ipv4Addr::LOCALHOST, 2222).into());
    let mut one = [0];
    (&stream).write_all(&[7]).unwrap();
    (&stream).read_exact(&mut one).unwrap();
    site::until("both hosts have two subflows to the relay", || {
        let two = |status: &serde_json::Value| {
            let connections = status["connections"].as_array().unwrap();
            connections
                .iter()
                .any(|row| row["subflows"].as_array().unwrap().len() == 2)
        };
        two(&site.status()) && two(&peer.status())
    });
    survives(&stream, || {
        site.cut("w0");
        peer.cut("v0");
    });
}

/// Whether this host has a program. If it has not, says that its part is skipped.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    if found.is_err() {
        println!("skipped: needs {program}; install it");
    }
    found.is_ok()
}

/// Serves this folder over HTTP on the Internet, until the result is dropped.
pub(crate) fn serve(site: &Site, folder: &std::path::Path) -> (SocketAddr, site::Running) {
    let server = SocketAddr::new(V4, 8080);
    let mut command = site.command_of_internet("python3");
    command.args(["-m", "http.server", "8080", "--bind", &V4.to_string()]);
    let child = command
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let running = site::Running(child.spawn().unwrap());
    site::until("the server listens", || site.reaches(server));
    (server, running)
}

#[test]
fn programs_of_the_distribution_fetch_over_the_relay() {
    let Some(site) = Site::new("interop") else { return };
    if !has("python3") {
        return;
    }
    let folder = site.folder().join("served");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("file"), content()).unwrap();
    let (server, _http) = serve(&site, &folder);
    let _relay = site.relay();
    let lines = format!(
        "{}way = \"always\"\nsocks = \"127.0.0.1:1080\"\n",
        site.through_relay()
    );
    let _daemon = site.up(&lines);
    let url = format!("http://{server}/file");
    let into = site.folder().join("fetched");
    let into = into.to_str().unwrap();
    let python = format!("import urllib.request; urllib.request.urlretrieve('{url}', '{into}')");
    let mut fetched = 0;
    for words in [
        &["curl", "--silent", "--show-error", "--output", into, &url][..],
        &[
            "curl",
            "--silent",
            "--show-error",
            "--socks5-hostname",
            "127.0.0.1:1080",
            "--output",
            into,
            &url,
        ],
        &["wget", "--quiet", "--output-document", into, &url],
        &["python3", "-c", &python],
    ] {
        if !has(words[0]) {
            continue;
        }
        let before = site.status()["agent"]["totals"]["relay"].as_u64().unwrap();
        let done = site.command(words[0]).args(&words[1..]).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        assert!(std::fs::read(into).unwrap() == content(), "{words:?}");
        std::fs::remove_file(into).unwrap();
        let after = site.status()["agent"]["totals"]["relay"].as_u64().unwrap();
        assert_eq!(after, before + 1, "{words:?}");
        fetched += 1;
    }
    assert!(fetched >= 1);
}

#[test]
fn git_clones_over_the_relay() {
    let Some(site) = Site::new("git") else { return };
    if !has("git") || !has("python3") {
        return;
    }
    let (source, clone) = (site.folder().join("source"), site.folder().join("clone"));
    let git = |folder: &std::path::Path, words: &[&str]| {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(folder)
            .args(["-c", "user.name=n", "-c", "user.email=e@example"]);
        let done = command.args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    };
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("file"), content()).unwrap();
    git(&source, &["init", "--quiet"]);
    git(&source, &["add", "file"]);
    git(&source, &["commit", "--quiet", "--message", "one"]);
    git(&source, &["update-server-info"]);
    let (server, _http) = serve(&site, &source);
    let _relay = site.relay();
    let _daemon = site.up(&format!("{}way = \"always\"\n", site.through_relay()));
    let url = format!("http://{server}/.git");
    let mut command = site.command("git");
    let done = command
        .args(["clone", "--quiet", &url])
        .arg(&clone)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(std::fs::read(clone.join("file")).unwrap() == content());
    assert!(site.status()["agent"]["totals"]["relay"].as_u64().unwrap() > 0);
}

#[test]
fn a_session_of_ssh_crosses_the_relay() {
    let Some(site) = Site::new("ssh") else { return };
    let sshd = std::path::Path::new("/usr/sbin/sshd");
    if !sshd.exists() || Command::new("ssh").arg("-V").output().is_err() {
        println!("skipped: needs ssh and sshd; install openssh-client and openssh-server");
        return;
    }
    let folder = site.folder().join("ssh");
    std::fs::create_dir_all(&folder).unwrap();
    let key = |name: &str| {
        let path = folder.join(name);
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path);
        assert!(command.status().unwrap().success());
        path
    };
    let (host_key, own_key) = (key("host"), key("own"));
    let config = folder.join("sshd_config");
    let text = format!(
        "Port 2222\nListenAddress {V4}\nHostKey {}\nAuthorizedKeysFile {}.pub\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n",
        host_key.display(),
        own_key.display()
    );
    std::fs::write(&config, text).unwrap();
    std::fs::create_dir_all("/run/sshd").unwrap();
    let mut command = site.command_of_internet(sshd);
    let child = command
        .arg("-D")
        .arg("-f")
        .arg(&config)
        .stderr(Stdio::null())
        .spawn();
    let _sshd = site::Running(child.unwrap());
    let server = SocketAddr::new(V4, 2222);
    site::until("the server listens", || site.reaches(server));
    let _relay = site.relay();
    let _daemon = site.up(&format!("{}way = \"always\"\n", site.through_relay()));
    let mut command = site.command("ssh");
    command.arg("-F").arg("/dev/null").arg("-i").arg(&own_key);
    command.args([
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "BatchMode=yes",
    ]);
    command.args(["-p", "2222", &format!("root@{V4}"), "cat"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&content()));
    // The server speaks first.
    let row = opened(&site, server);
    let done = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(done.stdout == content());
    assert_eq!(row["way"], "relay");
}

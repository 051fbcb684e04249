//! `slowhand wifi portal`: a program that reaches the link behind the portal alone.

use crate::common::{program, seeing, written};
use crate::names::say;
use crate::networks::{Echo, Flow, with_networks};
use crate::rig::{Host, Up, until, words};
use linux::netns::Netns;
use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

const SITE: [u8; 4] = [10, 255, 0, 1];
const NOBODY: u32 = 65_534;

/// A DNS server that gives every host this address. It runs until the process ends.
fn resolver(place: &Netns, own: &str, host: [u8; 4]) {
    let own: SocketAddr = format!("{own}:53").parse().unwrap();
    let socket = place.run(|| UdpSocket::bind(own).unwrap()).unwrap();
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut query) {
            // The question, without what may follow it.
            let name = query[12..length].iter().position(|&byte| byte == 0).unwrap();
            let end = 12 + name + 5;
            let is_ipv4 = query[end - 4..end - 2] == [0, 1];
            let mut reply = query[..end].to_vec();
            reply[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(is_ipv4), 0, 0, 0, 0]);
            if is_ipv4 {
                reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4]);
                reply.extend(host);
            }
            // Its link may have gone meanwhile.
            let _ = socket.send_to(&reply, from);
        }
    });
}

/// A site that redirects those who come over w1 to a login, whose page says where they come from.
fn site(place: &Netns) {
    let listener = place.run(|| TcpListener::bind("10.255.0.1:80").unwrap()).unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, from)) = listener.accept() {
            let mut request = [0; 1_024];
            let length = stream.read(&mut request).unwrap_or(0);
            let asks_login = String::from_utf8_lossy(&request[..length]).contains("Host: login.example");
            let is_captive = from.ip().to_string() == "10.0.1.1";
            let says = match (is_captive, asks_login) {
                (true, false) => {
                    "302 Found\r\nLocation: http://login.example/\r\nContent-Length: 0\r\n\r\n".to_owned()
                }
                (false, false) => "204 No Content\r\n\r\n".to_owned(),
                (_, true) => {
                    let page = format!("login for {}", from.ip());
                    format!(
                        "200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{page}",
                        page.len()
                    )
                }
            };
            let _ = stream.write_all(format!("HTTP/1.1 {says}").as_bytes());
        }
    });
}

/// A captive portal behind w1, where only w1's resolver knows the login's address.
fn cafe(test: &str) -> Option<Host> {
    let host = Host::new(test)?;
    site(&host.server);
    resolver(&host.server, "10.0.0.2", [10, 0, 0, 2]);
    resolver(&host.server, "10.0.1.2", SITE);
    say(&host, "w0", Some("10.0.0.2"));
    say(&host, "w1", Some("10.0.1.2"));
    let config = std::fs::read_to_string(host.two_links()).unwrap();
    host.config(&format!("portal_url = \"http://10.255.0.1/\"\n\n{config}"));
    Some(host)
}

fn portal(host: &Host, command: &[&str]) -> Command {
    let mut portal = program();
    portal
        .args(["wifi", "portal", "w1", "--config"])
        .arg(host.root.join("slowhand.toml"));
    portal.arg("--runtime-dir").arg(host.root.join("run"));
    portal.arg("--state-dir").arg(host.root.join("lib"));
    portal.arg("--").args(command);
    host.client.prepare(&mut portal);
    seeing(&mut portal, &host.root.join("files"), "/run");
    portal
}

fn up(host: &Host) -> Up {
    let config = host.root.join("slowhand.toml");
    host.up_with_config(host.command("up"), &config, &[], |command| {
        seeing(command, &host.root.join("files"), "/run");
    })
}

fn until_it_is_held_out(host: &Host) {
    until("the link is held out", || {
        let status = host.json("status");
        let links = status["links"].as_array().unwrap();
        links
            .iter()
            .any(|link| link["name"] == "w1" && link["state"] != "use")
    });
}

#[test]
fn a_flow_does_not_stay_behind_a_portal() {
    let Some(host) = cafe("portal-flows") else {
        return;
    };
    with_networks(&host, "[[flow]]\nport = 7001\nnetwork = \"w1\"\n");
    let _up = up(&host);
    let _echo = Echo::at(&host);
    until_it_is_held_out(&host);
    for port in [7000, 7001] {
        Flow::to(&host, port).comes_from("10.0.0.1");
    }
}

#[test]
fn a_program_reaches_the_portal_over_its_own_link() {
    let Some(host) = cafe("portal-reached") else {
        return;
    };
    let _up = up(&host);
    until_it_is_held_out(&host);
    // The host itself has another way, on which nobody knows the login.
    let mut curl = Command::new("curl");
    curl.args([
        "-s",
        "-m",
        "2",
        "--interface",
        "10.0.0.1",
        "http://login.example/",
    ]);
    host.client.prepare(&mut curl);
    assert!(!curl.status().unwrap().success());
    let output = portal(&host, &["curl", "-s", "-m", "5"]).output().unwrap();
    let expected = "http://login.example/\nlogin for 10.0.1.1";
    assert_eq!(words(&output), (Some(0), expected.to_owned()));
}

#[test]
fn below_sudo_a_program_runs_as_the_user_and_nothing_is_left() {
    let Some(host) = cafe("portal-sudo") else { return };
    let _up = up(&host);
    // As the folder of temporary files.
    std::fs::set_permissions(&host.root, Permissions::from_mode(0o1777)).unwrap();
    let script = host.root.join("who");
    let text = "#!/bin/sh\nid -u; echo $HOME; cat /etc/resolv.conf; grep hosts: /etc/nsswitch.conf; exit 3\n";
    written(&script, text);
    let before = std::fs::metadata("/etc/resolv.conf").unwrap().ino();
    let mut portal = portal(&host, &[script.to_str().unwrap()]);
    portal
        .env("SUDO_UID", NOBODY.to_string())
        .env("TMPDIR", &host.root);
    let output = portal.output().unwrap();
    let expected = "http://login.example/\n65534\n/nonexistent\nnameserver 10.0.1.2\nhosts: files dns\n";
    assert_eq!(words(&output), (Some(3), expected.to_owned()));
    assert_eq!(std::fs::metadata("/etc/resolv.conf").unwrap().ino(), before);
    let left = std::fs::read_dir(&host.root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let left = left.filter(|name| name.to_string_lossy().starts_with("slowhand-portal"));
    assert_eq!(left.count(), 0);
}

//! The commands of `docs/calls.md`: a WireGuard tunnel continues while links are lost.
//!
//! The tunnel is that of `wireguard-go` and `wg-quick`, on both hosts. It sends over the interface on which
//! the last reply came, as many programs do.

use crate::common::{root, written};
use crate::networks::{networks, nft, on_client, with_networks};
use crate::patience::Patience;
use crate::rig::{Host, until};
use linux::netns::Netns;
use std::cell::Cell;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) const LINKS: &str = "[[link]]\ninterface = \"w0\"\nname = \"wlan0\"\nkind = \"wifi\"\n\n\
                     [[link]]\ninterface = \"w1\"\nname = \"phone\"\nkind = \"cable\"\n";
/// The server's end of the tunnel.
const SERVER: &str = "callsrv0";

/// The blocks of the guide for this part.
fn blocks(part: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/calls.md")).unwrap();
    let begin = format!(" guide={part}\n");
    let blocks = text.split(&begin).skip(1);
    let blocks = Vec::from_iter(blocks.map(|rest| rest.split("```").next().unwrap().to_owned()));
    assert!(!blocks.is_empty(), "the guide has no block for {part}");
    blocks
}

/// A folder with `sudo` and `slowhand`, which asks the daemon of this host.
fn programs(host: &Host) -> PathBuf {
    let bin = host.root.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let place = format!("--runtime-dir {0}/run --state-dir {0}/lib", host.root.display());
    let slowhand = format!(
        "#!/bin/sh\nif [ \"$1\" = networks ]; then exec {0} \"$@\" {place}; fi\n\
         verb=$1; shift; exec {0} $verb {place} \"$@\"\n",
        env!("CARGO_BIN_EXE_slowhand")
    );
    written(&bin.join("sudo"), "#!/bin/sh\nexec \"$@\"\n");
    written(&bin.join("slowhand"), &slowhand);
    bin
}

/// Runs a script in a namespace, with `sudo` and `slowhand` as the reader has them. Returns what it prints.
fn run(host: &Host, netns: &Netns, script: &str) -> String {
    let bin = programs(host);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command
        .args(["-e", "-c", script])
        .env("PATH", path)
        .current_dir(&host.root);
    netns.prepare(&mut command);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &said
}

/// Both ends of the tunnel, which are taken down at last.
pub(crate) struct Tunnel<'a>(&'a Host);

impl<'a> Tunnel<'a> {
    pub(crate) fn between(host: &'a Host) -> Self {
        let keys = format!("umask 077; wg genkey >{SERVER}.key; wg pubkey <{SERVER}.key >server.pub");
        run(host, &host.server, &keys);
        let [make_keys, bring_up, show] = &blocks("client")[..] else {
            panic!("keys, a tunnel, and what shows it");
        };
        run(host, &host.client, make_keys);
        let server = format!(
            "umask 077; cat >{SERVER}.conf <<END\n[Interface]\nPrivateKey = $(cat {SERVER}.key)\n\
             Address = 10.77.0.1/24\nListenPort = 51820\n\n\
             [Peer]\nPublicKey = $(cat call0.pub)\nAllowedIPs = 10.77.0.2/32\nEND\nwg-quick up ./{SERVER}.conf"
        );
        let tunnel = Self(host);
        run(host, &host.server, &server);
        run(host, &host.client, bring_up);
        until("the flow of the tunnel is listed", || {
            run(host, &host.client, "echo >/dev/udp/10.77.0.1/9");
            run(host, &host.client, show).contains(":51820")
        });
        tunnel
    }

    /// When the peers last agreed on keys, in seconds since 1970. The session lasts for two minutes.
    pub(crate) fn session(&self) -> String {
        run(self.0, &self.0.client, "wg show call0 latest-handshakes")
    }

    /// The address from which the server receives.
    pub(crate) fn seen(&self) -> String {
        run(self.0, &self.0.server, &format!("wg show {SERVER} endpoints"))
    }
}

impl Drop for Tunnel<'_> {
    fn drop(&mut self) {
        // Both processes end with their interfaces.
        for (netns, name) in [(&self.0.client, "call0"), (&self.0.server, SERVER)] {
            let mut command = Command::new("ip");
            command.args(["link", "delete", name]);
            netns.prepare(&mut command);
            let _ = command.output();
        }
    }
}

/// A call: fifty packets a second through the tunnel, each with a reply.
pub(crate) struct Call {
    over: Arc<AtomicBool>,
    echo: Option<std::thread::JoinHandle<()>>,
    socket: UdpSocket,
    /// The number of the last packet.
    last: Cell<u32>,
}

impl Call {
    pub(crate) fn through_tunnel(host: &Host) -> Self {
        let bound = |netns: &Netns, at: &str| {
            let socket = netns.run(|| UdpSocket::bind(at).unwrap()).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            socket
        };
        let echo = bound(&host.server, "10.77.0.1:7000");
        let over = Arc::<AtomicBool>::default();
        let stop = Arc::clone(&over);
        let answers = std::thread::spawn(move || {
            let mut packet = [0; 256];
            while !stop.load(Ordering::Relaxed) {
                if let Ok((length, from)) = echo.recv_from(&mut packet) {
                    let _ = echo.send_to(&packet[..length], from);
                }
            }
        });
        let socket = bound(&host.client, "10.77.0.2:0");
        socket.connect("10.77.0.1:7000").unwrap();
        Self {
            over,
            echo: Some(answers),
            socket,
            last: Cell::default(),
        }
    }

    /// Talks for this long. Returns the number of replies.
    fn talk(&self, time: Duration) -> usize {
        let (mut left, mut replies) = (Patience::of(time), 0);
        while left.lasts() {
            replies += usize::from(self.is_on());
            std::thread::sleep(Duration::from_millis(20));
        }
        replies
    }

    /// Sends a packet. Whether its reply arrives: one to an earlier packet may have been on its way.
    pub(crate) fn is_on(&self) -> bool {
        self.last.set(self.last.get() + 1);
        let number = self.last.get().to_be_bytes();
        let mut packet = [7; 160];
        packet[..4].copy_from_slice(&number);
        let _ = self.socket.send(&packet);
        let mut reply = [0; 256];
        while self.socket.recv(&mut reply).is_ok() {
            if reply[..4] == number {
                return true;
            }
        }
        false
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.echo.take().map(std::thread::JoinHandle::join);
    }
}

pub(crate) fn has_wireguard() -> bool {
    Command::new("wireguard-go").arg("--version").output().is_ok()
}

#[test]
fn a_wireguard_tunnel_survives_lost_links_as_the_guide_says() {
    let Some(host) = Host::new("calls") else { return };
    if !has_wireguard() {
        println!("skipped: needs wireguard-go and wg-quick; install wireguard-go and wireguard-tools");
        return;
    }
    with_networks(&host, "");
    let _up = host.up_with_config(host.command("up"), &host.config(LINKS), &[], |_| {});
    let tunnel = Tunnel::between(&host);
    let call = Call::through_tunnel(&host);
    until("the call has begun", || call.is_on());
    assert!(call.talk(Duration::from_secs(1)) > 1);
    let session = tunnel.session();
    assert!(tunnel.seen().contains("10.0.0.1:"), "{}", tunnel.seen());
    // WiFi drops everything, and stays up.
    let cut = "add table inet cut; add chain inet cut in { type filter hook prerouting priority -300; }; \
               add rule inet cut in iifname w0 drop";
    host.server.run(|| nft(cut)).unwrap();
    assert!(!call.is_on(), "the link is cut");
    until("the call continues over the phone", || call.is_on());
    assert!(tunnel.seen().contains("10.0.1.1:"), "{}", tunnel.seen());
    assert_eq!(tunnel.session(), session, "the session has its keys");
    for script in blocks("lost") {
        assert!(run(&host, &host.client, &script).contains("phone"));
    }
    // WiFi is back, and goes down.
    host.server.run(|| nft("delete table inet cut")).unwrap();
    let back_on_wifi = || {
        // A link that is not known to work again gets no flow.
        networks(&host, &["move", "wlan0", "--from", "phone"]);
        call.is_on() && tunnel.seen().contains("10.0.0.1:")
    };
    until("the call is back on WiFi", back_on_wifi);
    on_client(&host, "ip link set w0 down");
    until("the call continues over the phone", || {
        call.is_on() && tunnel.seen().contains("10.0.1.1:")
    });
    on_client(&host, "ip link set w0 up");
    on_client(&host, "ip route add default via 10.0.0.2 dev w0 metric 100");
    until("the call is back on WiFi", back_on_wifi);
    for script in blocks("choose") {
        run(&host, &host.client, &script);
    }
    until("the call is on the phone", || {
        call.is_on() && tunnel.seen().contains("10.0.1.1:")
    });
    assert_eq!(tunnel.session(), session, "the session has its keys");
}

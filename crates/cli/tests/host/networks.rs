//! UDP behind the interface that never changes, while links come and go.

use crate::patience::Patience;
use crate::rig::{Host, output, until, words, write};
use linux::netns::Netns;
use serde_json::Value;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const STEADY: &str = "100.64.0.1";
const SERVER: &str = "10.255.0.1";

/// Answers every packet on its ports with the address it came from, until dropped.
pub(crate) struct Echo {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Echo {
    pub(crate) fn at(host: &Host) -> Self {
        Self::on(&host.server, &[7000, 7001])
    }

    /// Echoes on these ports of a server.
    pub(crate) fn on(server: &Netns, ports: &[u16]) -> Self {
        Self::of(server, ports.iter().map(|port| (SERVER.to_owned(), *port)))
    }

    /// Echoes at these addresses and ports of a server.
    pub(crate) fn of(server: &Netns, places: impl IntoIterator<Item = (String, u16)>) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let echo = |place: (String, u16)| {
            let socket = server.run(|| UdpSocket::bind(place).unwrap());
            let (socket, stop) = (socket.unwrap(), Arc::clone(&stop));
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            std::thread::spawn(move || {
                let mut packet = [0; 64];
                while !stop.load(Ordering::Relaxed) {
                    if let Ok((_, from)) = socket.recv_from(&mut packet) {
                        // Its link may have gone meanwhile.
                        let _ = socket.send_to(from.ip().to_string().as_bytes(), from);
                    }
                }
            })
        };
        Self {
            threads: places.into_iter().map(echo).collect(),
            stop,
        }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// A flow of a program.
pub(crate) struct Flow(pub(crate) UdpSocket);

impl Flow {
    pub(crate) fn to(host: &Host, port: u16) -> Self {
        Self::with(host, port, || UdpSocket::bind("0.0.0.0:0").unwrap())
    }

    /// A flow of a socket that `make` makes on the client.
    pub(crate) fn with(host: &Host, port: u16, make: impl FnOnce() -> UdpSocket + Send) -> Self {
        Self::between(host, make, (SERVER, port))
    }

    /// A flow of a socket that `make` makes on the client, to this place.
    pub(crate) fn between(host: &Host, make: impl FnOnce() -> UdpSocket + Send, to: (&str, u16)) -> Self {
        let socket = host.client.run(|| {
            let socket = make();
            socket.connect(to).unwrap();
            socket
        });
        let socket = socket.unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        Self(socket)
    }

    /// This host's address, as the program sees it.
    pub(crate) fn local(&self) -> String {
        self.0.local_addr().unwrap().ip().to_string()
    }

    /// This host's address as the server sees it. `None` if no reply arrives.
    pub(crate) fn seen(&self) -> Option<String> {
        let mut packet = [0; 64];
        // A link that is down refuses.
        self.0.send(b"ping").ok()?;
        let length = self.0.recv(&mut packet).ok()?;
        Some(String::from_utf8_lossy(&packet[..length]).into_owned())
    }

    /// The same of the first packet, which alone is sent.
    pub(crate) fn first_seen(&self) -> String {
        let mut packet = [0; 64];
        let mut length = 0;
        self.0.send(b"ping").unwrap();
        until("a reply to the first packet", || {
            length = self.0.recv(&mut packet).unwrap_or_default();
            length > 0
        });
        String::from_utf8_lossy(&packet[..length]).into_owned()
    }

    /// Sends until the server sees this address.
    pub(crate) fn comes_from(&self, address: &str) {
        until(&format!("the server sees {address}"), || {
            self.seen().as_deref() == Some(address)
        });
    }
}

pub(crate) fn with_networks(host: &Host, more: &str) {
    let additions = host.root.join("conf.d");
    std::fs::create_dir(&additions).unwrap();
    let text = format!("[networks]\n{more}");
    write(&additions.join("networks.toml"), &text, 0o644);
}

pub(crate) fn on_client(host: &Host, command: &str) {
    host.client.run(|| output(command)).unwrap();
}

/// Lets the client check strictly where packets arrive, as many distributions do.
fn check_reverse_paths(host: &Host) {
    for link in ["all", "w0", "w1"] {
        on_client(host, &format!("sysctl -q -w net.ipv4.conf.{link}.rp_filter=1"));
    }
}

#[test]
fn a_flow_keeps_its_address_when_its_link_goes() {
    let Some(host) = Host::new("networks-gone") else {
        return;
    };
    check_reverse_paths(&host);
    with_networks(&host, "");
    let before = host.state();
    let up = host.up();
    let _echo = Echo::at(&host);
    let flow = Flow::to(&host, 7000);
    flow.comes_from("10.0.0.1");
    assert_eq!(flow.local(), STEADY);
    until("the flow is known", || {
        flow.seen();
        host.json("status")["networks"]["flows"][0]["link"] == "desk"
    });
    let networks = &host.json("status")["networks"];
    assert_eq!(
        (&networks["address"], &networks["begins"][0]),
        (&STEADY.into(), &"desk".into())
    );
    on_client(&host, "ip link set w0 down");
    flow.comes_from("10.0.1.1");
    assert_eq!(flow.local(), STEADY);
    on_client(&host, "ip link set w0 up");
    on_client(&host, "ip route add default via 10.0.0.2 dev w0 metric 100");
    assert!(host.ask("down", &[]).status.success());
    drop(up);
    assert_eq!(sorted(&host.state()), sorted(&before));
    assert!(
        host.client
            .run(|| !output("ip -br link").contains("slow0"))
            .unwrap()
    );
    assert_eq!(host.client.run(|| output("nft list ruleset")).unwrap(), "");
}

#[test]
fn a_flow_leaves_a_link_that_is_silently_dead() {
    let Some(host) = Host::new("networks-dead") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let _echo = Echo::at(&host);
    let flow = Flow::to(&host, 7000);
    flow.comes_from("10.0.0.1");
    let rules = "add table inet cut; add chain inet cut in { type filter hook prerouting priority -300; }; \
                 add rule inet cut in iifname w0 drop";
    host.server.run(|| nft(rules)).unwrap();
    assert_eq!(flow.seen(), None, "the link is cut");
    flow.comes_from("10.0.1.1");
    assert_eq!(flow.local(), STEADY);
}

#[test]
fn flows_leave_a_dead_link_that_the_user_chose_and_begin_there_when_it_is_well() {
    let Some(host) = Host::new("networks-chosen") else {
        return;
    };
    with_networks(&host, "[[flow]]\nport = 7001\nnetwork = \"w1\"\n");
    let _up = host.up();
    let _echo = Echo::at(&host);
    done(&host, &["weight", "w1=1"]);
    let (by_share, by_rule) = (Flow::to(&host, 7000), Flow::to(&host, 7001));
    by_share.comes_from("10.0.1.1");
    by_rule.comes_from("10.0.1.1");
    let cut = "add table inet cut; add chain inet cut in { type filter hook prerouting priority -300; }; \
               add rule inet cut in iifname w1 drop";
    host.server.run(|| nft(cut)).unwrap();
    assert_eq!(by_rule.seen(), None, "the link is cut");
    by_share.comes_from("10.0.0.1");
    by_rule.comes_from("10.0.0.1");
    for port in [7000, 7001] {
        Flow::to(&host, port).comes_from("10.0.0.1");
    }
    host.server.run(|| nft("delete table inet cut")).unwrap();
    for port in [7000, 7001] {
        new_flows_come_from(&host, port, "10.0.1.1");
    }
}

/// Lines without their order: a link that was down gets its routes back after those of others.
fn sorted(state: &str) -> Vec<&str> {
    let mut lines = Vec::from_iter(state.lines());
    lines.sort_unstable();
    lines
}

pub(crate) fn nft(rules: &str) {
    let output = Command::new("nft").arg(rules).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_rule_gives_flows_a_network_while_it_is_there() {
    let Some(host) = Host::new("networks-rule") else {
        return;
    };
    with_networks(&host, "[[flow]]\nport = 7001\nnetwork = \"w1\"\n");
    let _up = host.up();
    let _echo = Echo::at(&host);
    let (common, by_rule) = (Flow::to(&host, 7000), Flow::to(&host, 7001));
    common.comes_from("10.0.0.1");
    by_rule.comes_from("10.0.1.1");
    on_client(&host, "ip link set w1 down");
    by_rule.comes_from("10.0.0.1");
    until("it is known to be on the other link", || {
        // A flow that was forgotten is known again with its next packet.
        by_rule.seen();
        let flows = host.json("status")["networks"]["flows"].clone();
        let mut flows = flows.as_array().unwrap().iter();
        flows.any(|flow| flow["rule"] == 1 && flow["link"] == "desk")
    });
    on_client(&host, "ip link set w1 up");
    on_client(&host, "ip route add default via 10.0.1.2 dev w1 metric 200");
    let anew = Flow::to(&host, 7001);
    anew.comes_from("10.0.1.1");
    // A flow stays.
    by_rule.comes_from("10.0.0.1");
}

/// A rule whose flows wait while their link is away.
const HELD_TO_W1: &str = "[[flow]]\nport = 7001\nnetwork = \"w1\"\nelse = \"hold\"\n";

/// Sends over a flow of the first rule until the rule has no link.
fn until_it_waits(host: &Host, flow: &Flow) {
    until("it waits", || {
        let _ = flow.seen();
        let rules = host.json("status")["networks"]["rules"].clone();
        rules[0]["holds"] == true && rules[0]["begins"] == serde_json::json!([])
    });
}

#[test]
fn flows_of_a_rule_that_holds_wait_for_their_link() {
    let Some(host) = Host::new("networks-hold") else {
        return;
    };
    with_networks(&host, HELD_TO_W1);
    let _up = host.up();
    let _echo = Echo::at(&host);
    let (common, by_rule) = (Flow::to(&host, 7000), Flow::to(&host, 7001));
    common.comes_from("10.0.0.1");
    by_rule.comes_from("10.0.1.1");
    on_client(&host, "ip link set w1 down");
    until_it_waits(&host, &by_rule);
    let anew = Flow::to(&host, 7001);
    for _ in 0..20 {
        assert_eq!(
            (by_rule.seen(), anew.seen()),
            (None, None),
            "no other link carries them"
        );
    }
    common.comes_from("10.0.0.1");
    on_client(&host, "ip link set w1 up");
    on_client(&host, "ip route add default via 10.0.1.2 dev w1 metric 200");
    by_rule.comes_from("10.0.1.1");
    anew.comes_from("10.0.1.1");
}

#[test]
fn flows_of_a_rule_wait_while_its_interface_has_another_name() {
    let Some(host) = Host::new("networks-renamed") else {
        return;
    };
    with_networks(&host, HELD_TO_W1);
    let before = host.state();
    let up = host.up();
    let _echo = Echo::at(&host);
    let (common, by_rule) = (Flow::to(&host, 7000), Flow::to(&host, 7001));
    common.comes_from("10.0.0.1");
    by_rule.comes_from("10.0.1.1");
    on_client(&host, "ip link set w1 name x1");
    until_it_waits(&host, &by_rule);
    for _ in 0..20 {
        assert_eq!(by_rule.seen(), None, "no other link carries it");
    }
    common.comes_from("10.0.0.1");
    on_client(&host, "ip link set x1 name w1");
    by_rule.comes_from("10.0.1.1");
    assert!(host.ask("down", &[]).status.success());
    drop(up);
    assert_eq!(sorted(&host.state()), sorted(&before));
}

#[test]
fn after_kill_9_flows_use_the_users_routes_at_once() {
    let Some(host) = Host::new("networks-killed") else {
        return;
    };
    with_networks(&host, "");
    let before = host.state();
    let mut up = host.up();
    let _echo = Echo::at(&host);
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    up.kill();
    let mut left = Patience::of(Duration::from_secs(10));
    let direct = Flow::to(&host, 7000);
    assert_eq!(direct.local(), "10.0.0.1");
    while direct.seen().as_deref() != Some("10.0.0.1") {
        assert!(left.lasts(), "the user's routes lead to the server");
    }
    assert!(host.ask("down", &[]).status.success());
    assert_eq!(host.state(), before);
    until("the table has gone with the daemon", || {
        host.client.run(|| output("nft list ruleset")).unwrap().is_empty()
    });
}

#[test]
fn a_table_whose_process_was_ended_comes_back() {
    let Some(host) = Host::new("networks-table") else {
        return;
    };
    with_networks(&host, "");
    let up = host.up();
    let _echo = Echo::at(&host);
    let flow = Flow::to(&host, 7000);
    flow.comes_from("10.0.0.1");
    let holder = output(&format!("pgrep -P {} nft", up.child.id()));
    output(&format!("kill -9 {}", holder.trim()));
    until("another process holds the table", || {
        let holders = Command::new("pgrep")
            .args(["-P", &up.child.id().to_string(), "nft"])
            .output();
        let holders = String::from_utf8(holders.unwrap().stdout).unwrap();
        !holders.is_empty() && !holders.contains(holder.trim())
    });
    flow.comes_from("10.0.0.1");
    assert_eq!(flow.local(), STEADY);
}

#[test]
fn an_address_on_the_network_of_a_link_is_refused() {
    let Some(host) = Host::new("networks-taken") else {
        return;
    };
    with_networks(&host, "address = \"10.0.1.77\"\n");
    let config = host.two_links();
    let output = host.command("up").arg("--config").arg(config).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let why = "address 10.0.1.77 is on the network 10.0.1.0/24 of another interface; choose another address";
    assert!(said.contains(why), "{said}");
}

/// A command of `slowhand networks`, and its exit code and text.
pub(crate) fn networks(host: &Host, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowhand"));
    command.arg("networks").args(arguments);
    command.arg("--runtime-dir").arg(host.root.join("run"));
    command.arg("--state-dir").arg(host.root.join("lib"));
    host.client.prepare(&mut command);
    words(&command.output().unwrap())
}

pub(crate) fn done(host: &Host, arguments: &[&str]) -> Value {
    let (code, said) = networks(host, &[arguments, &["--json"]].concat());
    assert_eq!(code, Some(0), "{arguments:?}: {said}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

pub(crate) fn refused(host: &Host, arguments: &[&str], why: &str) {
    let (code, said) = networks(host, arguments);
    assert_eq!(code, Some(2), "{arguments:?}: {said}");
    assert!(said.contains(why), "{arguments:?}: {said}");
}

/// The table may take a moment.
pub(crate) fn new_flows_come_from(host: &Host, port: u16, address: &str) {
    until(&format!("new flows to {port} come from {address}"), || {
        Flow::to(host, port).seen().as_deref() == Some(address)
    });
}

#[test]
fn the_user_moves_open_flows() {
    let Some(host) = Host::new("networks-move") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let _echo = Echo::at(&host);
    let (one, other) = (Flow::to(&host, 7000), Flow::to(&host, 7001));
    one.comes_from("10.0.0.1");
    other.comes_from("10.0.0.1");
    let list = done(&host, &["list"]);
    assert_eq!(list["schema"], "slowhand.networks/1");
    assert_eq!(list["networks"][0]["flows"], 2, "{list}");
    let flows = list["flows"]["flows"].as_array().unwrap();
    let of_one = |flow: &&Value| flow["remote"] == "10.255.0.1:7000";
    let id = flows.iter().find(of_one).unwrap()["id"].as_u64().unwrap();
    done(&host, &["move", "w1", "--flow", &id.to_string()]);
    one.comes_from("10.0.1.1");
    other.comes_from("10.0.0.1");
    assert_eq!(one.local(), STEADY);
    let why = host.json("why")["flows"].clone();
    let mut flows = why.as_array().unwrap().iter();
    let moved = flows.find(|flow| flow["id"] == id).unwrap();
    assert_eq!(moved["why"], "moves to this link, as the user asked");
    done(&host, &["move", "w1", "--from", "desk"]);
    other.comes_from("10.0.1.1");
    done(&host, &["move", "desk", "--from", "w1"]);
    one.comes_from("10.0.0.1");
    other.comes_from("10.0.0.1");
    // New flows begin where they did.
    new_flows_come_from(&host, 7001, "10.0.0.1");
    refused(&host, &["move", "w1", "--flow", "999"], "there is no flow 999");
    refused(
        &host,
        &["move", "moon", "--from", "desk"],
        "there is no link `moon`; the links are: desk, w1",
    );
    on_client(&host, "ip link set w1 down");
    until("the link is known to be gone", || {
        networks(&host, &["move", "w1", "--from", "desk"])
            .1
            .contains("cannot carry flows now")
    });
}

#[test]
fn the_user_adds_rules_and_shares_while_the_daemon_runs() {
    let Some(host) = Host::new("networks-change") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let _echo = Echo::at(&host);
    done(&host, &["add", "w1", "--port", "7001"]);
    new_flows_come_from(&host, 7001, "10.0.1.1");
    new_flows_come_from(&host, 7000, "10.0.0.1");
    refused(
        &host,
        &["add", "desk", "--port", "7001"],
        "rule 1 gives the same flows to w1; remove it first with `slowhand networks remove 1`",
    );
    refused(
        &host,
        &["add", "moon", "--port", "7002"],
        "there is no link `moon`",
    );
    let list = done(&host, &["remove", "1"]);
    assert_eq!(list["flows"]["rules"], serde_json::json!([]));
    refused(&host, &["remove", "1"], "there is no rule 1");
    new_flows_come_from(&host, 7001, "10.0.0.1");
    let list = done(&host, &["weight", "desk=0", "w1=3"]);
    assert_eq!(list["networks"][1]["weight"], 3, "{list}");
    new_flows_come_from(&host, 7000, "10.0.1.1");
    done(&host, &["weight", "desk=1", "w1=1"]);
    let seen = Vec::from_iter((0..40).map(|_| {
        let flow = Flow::to(&host, 7000);
        let mut address = None;
        until("the flow has a reply", || {
            address = flow.seen();
            address.is_some()
        });
        address
    }));
    for address in ["10.0.0.1", "10.0.1.1"] {
        let share = seen
            .iter()
            .filter(|seen| seen.as_deref() == Some(address))
            .count();
        assert!(share >= 5, "{seen:?}");
    }
    refused(&host, &["weight", "desk=0", "w1=0"], "all shares are 0");
    refused(&host, &["weight", "desk=1", "w0=1"], "has two shares");
    done(&host, &["weight", "--none"]);
    new_flows_come_from(&host, 7000, "10.0.0.1");
}

#[test]
fn without_the_table_networks_says_how_to_add_it() {
    let Some(host) = Host::new("networks-off") else {
        return;
    };
    let _up = host.up();
    let remedy = "add that table to its configuration and run `slowhand reload`";
    refused(&host, &["list"], remedy);
    refused(&host, &["remove", "1"], remedy);
}

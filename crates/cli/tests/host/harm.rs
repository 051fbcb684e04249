//! What may happen to the interface for flows: nothing is left behind, and no flow is lost for ever.

use crate::common::seeing;
use crate::networks::{Echo, Flow, STEADY, networks, new_flows_come_from, nft, on_client, with_networks};
use crate::patience::Patience;
use crate::rig::{Host, SERVER, furnish, output, until, write};
use linux::conntrack::Conntrack;
use linux::netns::Netns;
use linux::rtnl::{IfName, Mark, Rtnl, VethPeer};
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

/// Everything that the daemon changes for flows.
fn state(host: &Host) -> String {
    let more = "sysctl net.netfilter.nf_conntrack_acct net.ipv4.conf.w0.src_valid_mark net.ipv4.conf.w1.src_valid_mark";
    let interfaces = host.client.run(|| output("ip -br link show")).unwrap();
    host.state() + &host.client.run(|| output(more)).unwrap() + &interfaces
}

fn rules(host: &Host) -> String {
    host.client.run(|| output("nft list ruleset")).unwrap()
}

/// Connection tracking and its parameters exist from the first rule on that needs it.
fn track(host: &Host) {
    let rules = "add table inet first; add chain inet first in { type filter hook prerouting priority 0; }; \
                 add rule inet first in ct state invalid accept; delete table inet first";
    host.client.run(|| nft(rules)).unwrap();
}

#[test]
fn kill_9_at_any_moment_leaves_nothing_that_down_does_not_remove() {
    let Some(host) = Host::new("harm-kill") else {
        return;
    };
    with_networks(&host, "[[flow]]\nport = 7001\nnetwork = \"w1\"\n");
    track(&host);
    let before = state(&host);
    let _echo = Echo::at(&host);
    let mut rng = units::Rng::named(42, "kill");
    let mut started = 0;
    for trial in 0..8 {
        let moment = Duration::from_millis(rng.below(900));
        let mut command = host.command("up");
        command.arg("--config").arg(host.two_links());
        let mut daemon = command.spawn().unwrap();
        let mut life = Patience::of(moment);
        while life.lasts() {
            // Flows begin before, while and after the rules change.
            let flow = Flow::to(&host, 7000 + trial % 2);
            flow.seen();
            started += u32::from(flow.local() == STEADY);
        }
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        assert!(
            host.ask("down", &[]).status.success(),
            "trial {trial}, killed after {moment:?}"
        );
        until("the table has gone with its process", || rules(&host).is_empty());
        assert_eq!(state(&host), before, "trial {trial}, killed after {moment:?}");
        Flow::to(&host, 7000).comes_from("10.0.0.1");
    }
    assert!(
        started > 0,
        "some were killed only after flows had begun on the interface"
    );
}

#[test]
fn a_flow_continues_when_every_link_has_another_address_and_name() {
    let Some(host) = Host::new("harm-change") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let _echo = Echo::at(&host);
    let flow = Flow::to(&host, 7000);
    flow.comes_from("10.0.0.1");
    for (link, last) in [("w1", "1.9"), ("w0", "0.9")] {
        let network = &last[..1];
        on_client(&host, &format!("ip address flush dev {link}"));
        on_client(&host, &format!("ip address add 10.0.{last}/24 dev {link}"));
        let metric = if link == "w0" { 100 } else { 200 };
        on_client(
            &host,
            &format!("ip route add default via 10.0.{network}.2 dev {link} metric {metric}"),
        );
    }
    until("it comes from one of the new addresses", || {
        flow.seen()
            .is_some_and(|from| ["10.0.0.9", "10.0.1.9"].contains(&from.as_str()))
    });
    for link in ["w0", "w1"] {
        on_client(&host, &format!("ip link set {link} name {link}x"));
    }
    until("both links are known by their new names", || {
        let status = host.json("status");
        let links = status["links"].as_array().unwrap().iter();
        let names = Vec::from_iter(links.filter_map(|link| link["interface"].as_str().map(str::to_owned)));
        ["w0x", "w1x"]
            .iter()
            .all(|name| names.iter().any(|other| other == name))
    });
    until("it continues", || flow.seen().is_some());
    on_client(&host, "ip link set slow0 name steady0");
    until("it continues", || flow.seen().is_some());
    until("new flows begin", || Flow::to(&host, 7001).seen().is_some());
    assert_eq!(
        (flow.local(), Flow::to(&host, 7001).local()),
        (STEADY.into(), STEADY.into())
    );
    // The largest packet is that of the link with the smallest.
    on_client(&host, "ip link set w1x mtu 1300");
    until("the interface has the least of all", || {
        host.client
            .run(|| output("ip link show steady0"))
            .unwrap()
            .contains("mtu 1300")
    });
}

#[test]
fn packets_that_another_program_marks_leave_as_it_says() {
    let Some(host) = Host::new("harm-marks") else {
        return;
    };
    with_networks(&host, "");
    let theirs = "add table inet theirs; \
                  add chain inet theirs out { type route hook output priority -200; }; \
                  add rule inet theirs out udp dport 7001 meta mark set 0x10";
    host.client.run(|| nft(theirs)).unwrap();
    on_client(&host, "ip route add default via 10.0.1.2 dev w1 table 77");
    on_client(&host, "ip rule add fwmark 0x10 lookup 77 priority 100");
    // Replies come back by another link than the first route says.
    for link in ["all", "w0", "w1"] {
        on_client(&host, &format!("sysctl -q -w net.ipv4.conf.{link}.rp_filter=0"));
    }
    let before = rules(&host);
    let up = host.up();
    let _echo = Echo::at(&host);
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    let marked = Flow::to(&host, 7001);
    marked.comes_from("10.0.1.1");
    // None of them is a flow of ours.
    let status = host.json("status");
    let flows = status["networks"]["flows"].as_array().unwrap();
    assert!(
        flows.iter().all(|flow| flow["remote"] != "10.255.0.1:7001"),
        "{status}"
    );
    assert!(host.ask("down", &[]).status.success());
    drop(up);
    assert_eq!(rules(&host), before);
}

#[test]
fn flows_are_listed_anew_after_their_events_were_lost() {
    let Some(host) = Host::new("harm-overrun") else {
        return;
    };
    with_networks(&host, "");
    let mut up = host.up();
    let _echo = Echo::at(&host);
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    let pid = up.child.id();
    output(&format!("kill -STOP {pid}"));
    let begin = || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.send_to(b"?", "10.255.0.1:7000").unwrap();
        format!("{STEADY}:{}", socket.local_addr().unwrap().port())
    };
    let begun = host
        .client
        .run(|| BTreeSet::from_iter((0..12_000).map(|_| begin())));
    output(&format!("kill -CONT {pid}"));
    let mut missing = begun.unwrap();
    until("all flows are known", || {
        let status = host.json("status");
        let flows = status["networks"]["flows"].as_array().unwrap().iter();
        for flow in flows.filter_map(|flow| flow["local"].as_str()) {
            missing.remove(flow);
        }
        missing.is_empty()
    });
    Flow::to(&host, 7001).comes_from("10.0.0.1");
    up.kill();
    let log = up.log();
    assert!(
        log.contains("more flows than could be read in time"),
        "no event was lost: {log}"
    );
}

#[test]
fn an_interface_that_is_taken_or_removed_is_named() {
    let Some(host) = Host::new("harm-taken") else {
        return;
    };
    with_networks(&host, "[[flow]]\nport = 7001\nnetwork = \"moon\"\n");
    on_client(&host, "ip link add slow0 type veth peer name other0");
    let refused = |change: &dyn Fn(&mut Command)| {
        let mut command = host.command("up");
        command.arg("--config").arg(host.two_links());
        change(&mut command);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&|_| {});
    assert!(
        said.contains("an interface slow0 already exists in this namespace; remove it"),
        "{said}"
    );
    on_client(&host, "ip link delete slow0");
    let said = refused(&|command| {
        command.env("PATH", host.root.join("nothing"));
    });
    assert!(said.contains("`nft` cannot be started"), "{said}");
    assert!(said.contains("install nftables"), "{said}");
    let mut up = host.up();
    let _echo = Echo::at(&host);
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    on_client(&host, "ip link delete slow0");
    until("UDP follows the user's routes", || {
        Flow::to(&host, 7000).local() == "10.0.0.1"
    });
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    until("it is no part of the report", || {
        host.json("status")["networks"].is_null()
    });
    up.kill();
    let said = up.log();
    for sentence in [
        "rule 1 names `moon`, and there is no such link now; its flows begin as all others",
        "another program removed slow0; UDP follows your own routes until `slowhand reload`",
    ] {
        assert!(said.contains(sentence), "{said}");
    }
}

/// Only the kernel's report is made up: its limit is that of the whole machine.
#[test]
fn connection_tracking_without_room_is_named() {
    let Some(host) = Host::new("harm-full") else {
        return;
    };
    with_networks(&host, "");
    let kernel = host.root.join("netfilter");
    std::fs::create_dir(&kernel).unwrap();
    for (file, number) in [
        ("nf_conntrack_acct", "1"),
        ("nf_conntrack_count", "65530"),
        ("nf_conntrack_max", "65536"),
    ] {
        write(&kernel.join(file), &format!("{number}\n"), 0o644);
    }
    let mut up = host.up_with_config(host.command("up"), &host.two_links(), &[], |command| {
        seeing(command, &kernel, "/proc/sys/net/netfilter");
    });
    let _echo = Echo::at(&host);
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    up.kill();
    let log = up.log();
    let sentence = "connection tracking is full (65530 of 65536 entries), so the kernel drops packets of new \
                    flows; raise net.netfilter.nf_conntrack_max";
    assert_eq!(log.matches(sentence).count(), 1, "{log}");
}

#[test]
fn on_a_network_with_ipv6_alone_ipv4_is_unreachable_at_once() {
    let Some(host) = Host::new("harm-v6") else { return };
    with_networks(&host, "");
    let _up = host.up();
    let _echo = Echo::at(&host);
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    host.server.run(|| furnish("w0", "2001:db8::2/64")).unwrap();
    host.client.run(|| furnish("w0", "2001:db8::1/64")).unwrap();
    on_client(&host, "ip -6 route add default via 2001:db8::2 dev w0");
    for link in ["w0", "w1"] {
        on_client(&host, &format!("ip -4 address flush dev {link}"));
    }
    let reaches = || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect("10.255.0.1:7000").map_err(|error| error.kind())
    };
    until("IPv4 is unreachable", || {
        host.client.run(reaches).unwrap() == Err(std::io::ErrorKind::NetworkUnreachable)
    });
    let (_, said) = networks(&host, &["list"]);
    let sentence = "new ones use none: no link has IPv4, and programs are refused";
    assert!(said.contains(sentence), "{said}");
    on_client(&host, "ip address add 10.0.0.1/24 dev w0");
    on_client(&host, "ip route add default via 10.0.0.2 dev w0 metric 100");
    // The host's own routes are back a moment before slowhand's.
    until("flows begin on the interface again", || {
        Flow::to(&host, 7000).local() == STEADY
    });
    new_flows_come_from(&host, 7000, "10.0.0.1");
}

/// As two phones, or two routers of one maker, set up their networks.
#[test]
fn two_networks_with_the_same_addresses_both_carry_flows() {
    let Some(host) = Host::new("harm-same") else {
        return;
    };
    with_networks(&host, "[[flow]]\nport = 7001\nnetwork = \"w2\"\n");
    let other = Netns::new().unwrap();
    let name: IfName = "w2".parse().unwrap();
    let peer = VethPeer {
        name,
        netns: Some(&other),
    };
    host.client
        .run(|| Rtnl::open().unwrap().add_veth(name, peer).unwrap())
        .unwrap();
    host.client.run(|| furnish("w2", "10.0.0.1/24")).unwrap();
    other
        .run(|| {
            furnish("w2", "10.0.0.2/24");
            furnish("lo", "10.255.0.1/32");
        })
        .unwrap();
    on_client(&host, "ip route add default via 10.0.0.2 dev w2 metric 300");
    let _up = host.up();
    // Each port is open in one of the networks only.
    let _echoes = (Echo::on(&host.server, &[7000]), Echo::on(&other, &[7001]));
    let (one, two) = (Flow::to(&host, 7000), Flow::to(&host, 7001));
    one.comes_from("10.0.0.1");
    two.comes_from("10.0.0.1");
    assert_eq!((one.local(), two.local()), (STEADY.into(), STEADY.into()));
}

#[test]
fn a_late_reply_does_not_reach_a_program_past_the_interface() {
    let Some(host) = Host::new("harm-late") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let ours = Mark {
        value: 0x4e00_0000,
        mask: 0xff00_0000,
    };
    let bound = |netns: &Netns, at: &str| {
        let socket = netns.run(|| UdpSocket::bind(at).unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        socket
    };
    let (server, other) = (
        bound(&host.server, SERVER),
        bound(&host.server, "10.255.0.1:5002"),
    );
    // As the socket of WireGuard: it has no address of its own.
    let socket = bound(&host.client, "0.0.0.0:0");
    let mut packet = [0; 16];
    let mut heard = |by: &UdpSocket| {
        let (length, from) = by.recv_from(&mut packet).ok()?;
        Some((packet[..length].to_vec(), from))
    };
    let arrivals = "add table inet seen; add chain inet seen in { type filter hook prerouting priority -400; }; \
                    add rule inet seen in udp sport { 5001, 5002 } counter";
    host.client.run(|| nft(arrivals)).unwrap();
    let has_arrived = |packets: u32| {
        let seen = host.client.run(|| output("nft list table inet seen")).unwrap();
        seen.contains(&format!("packets {packets} "))
    };
    let mut kernel = host.client.run(|| Conntrack::open().unwrap()).unwrap();
    let mut seen = None;
    until("the flow uses the interface", || {
        socket.send_to(b"ping", SERVER).unwrap();
        seen = heard(&server).map(|(_, from)| from);
        kernel.flows_of(ours).unwrap().len() == 1
    });
    let seen = seen.unwrap();
    // Its entry goes while a reply is in flight, as when a flow moves.
    kernel.forget_marked(ours).unwrap();
    assert_eq!(kernel.flows_of(ours).unwrap(), []);
    server.send_to(b"late", seen).unwrap();
    until("the reply has arrived", || has_arrived(1));
    assert_eq!(heard(&socket), None, "it would show the address of a link");
    // What is no reply goes where it went.
    other.send_to(b"other", seen).unwrap();
    until("the packet has arrived", || has_arrived(2));
    assert_eq!(heard(&socket).map(|(text, _)| text), Some(b"other".to_vec()));
    // The flow begins anew.
    socket.send_to(b"ping", SERVER).unwrap();
    let (_, from) = heard(&server).unwrap();
    assert_eq!(kernel.flows_of(ours).unwrap().len(), 1);
    server.send_to(b"reply", from).unwrap();
    assert_eq!(heard(&socket).map(|(text, _)| text), Some(b"reply".to_vec()));
}

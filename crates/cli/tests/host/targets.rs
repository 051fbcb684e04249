//! What carries the flows of a rule: one link, several in proportion, or each server on one of them.

use crate::networks::{Echo, Flow, done, new_flows_come_from, nft, on_client, refused, with_networks};
use crate::rig::{Host, output, until};
use std::collections::BTreeMap;
use std::net::UdpSocket;

#[test]
fn the_configuration_shares_flows_of_a_rule_among_links() {
    let Some(host) = Host::new("targets-shares") else {
        return;
    };
    let rules = "[[flow]]\nport = 7000\nnetwork = { desk = 0, w1 = 3 }\n\
                 [[flow]]\nport = 7001\nnetwork = \"active\"\n";
    with_networks(&host, rules);
    let up = host.up();
    let _echo = Echo::at(&host);
    new_flows_come_from(&host, 7000, "10.0.1.1");
    let kept = Flow::to(&host, 7000);
    kept.comes_from("10.0.1.1");
    // Shares of flows without a rule leave both rules as they are.
    let list = done(&host, &["weight", "w1=1"]);
    let rules = &list["flows"]["rules"];
    assert_eq!(rules[0]["network"], "desk=0,w1=3", "{list}");
    assert_eq!(rules[0]["begins"], serde_json::json!(["w1"]), "{list}");
    assert_eq!(rules[1]["begins"], serde_json::json!(["desk"]), "{list}");
    new_flows_come_from(&host, 7001, "10.0.0.1");
    done(&host, &["weight", "--none"]);
    // While none of its links is there, they begin as all others.
    on_client(&host, "ip link set w1 down");
    kept.comes_from("10.0.0.1");
    new_flows_come_from(&host, 7000, "10.0.0.1");
    assert!(host.ask("down", &[]).status.success());
    drop(up);
}

#[test]
fn each_server_has_one_link_of_a_rule_that_spreads() {
    let Some(host) = Host::new("targets-spread") else {
        return;
    };
    with_networks(&host, "[[flow]]\nport = 7000\nnetwork = \"spread\"\n");
    let servers = Vec::from_iter((1..=16).map(|number| format!("10.255.0.{number}")));
    let add = |server: &String| {
        host.server
            .run(|| output(&format!("ip address add {server}/32 dev lo")))
            .unwrap()
    };
    servers[1..].iter().for_each(|server| drop(add(server)));
    let _up = host.up();
    let _echo = Echo::of(&host.server, servers.iter().map(|server| (server.clone(), 7000)));
    let bound = || UdpSocket::bind("0.0.0.0:0").unwrap();
    let flow = |server: &str| {
        let flow = Flow::between(&host, bound, (server, 7000));
        let mut address = None;
        until("the flow has a reply", || {
            address = flow.seen();
            address.is_some()
        });
        address.unwrap_or_default()
    };
    until("both links are used", || {
        let first = BTreeMap::from_iter(servers.iter().map(|server| (flow(server), ())));
        first.len() == 2
    });
    let link_of = |server: &String| (server.clone(), flow(server));
    let once = BTreeMap::from_iter(servers.iter().map(link_of));
    let twice = BTreeMap::from_iter(servers.iter().map(link_of));
    assert_eq!(once, twice);
    on_client(&host, "ip link set w1 down");
    until("all use the other link", || {
        servers.iter().all(|server| flow(server) == "10.0.0.1")
    });
}

/// The server's end of a link drops everything, and the link stays up.
fn cut(host: &Host, link: &str) {
    let rules = format!(
        "add table inet cut; add chain inet cut in {{ type filter hook prerouting priority -300; }}; \
         add rule inet cut in iifname {link} drop"
    );
    host.server.run(|| nft(&rules)).unwrap();
}

#[test]
fn new_flows_of_a_rule_never_begin_on_a_dead_link() {
    let Some(host) = Host::new("targets-dead") else {
        return;
    };
    with_networks(&host, "[[flow]]\nport = 7001\nnetwork = \"w1\"\n");
    let _up = host.up();
    let _echo = Echo::at(&host);
    let flow = Flow::to(&host, 7001);
    flow.comes_from("10.0.1.1");
    cut(&host, "w1");
    until("the rule has another link", || {
        let _ = flow.seen();
        host.json("status")["networks"]["rules"][0]["begins"] == serde_json::json!(["desk"])
    });
    for _ in 0..20 {
        assert_eq!(Flow::to(&host, 7001).first_seen(), "10.0.0.1", "its first packet");
    }
    refused(&host, &["move", "w1", "--from", "desk"], "nothing gets through");
    host.server.run(|| nft("delete table inet cut")).unwrap();
    until("the rule has its link back", || {
        host.json("status")["networks"]["rules"][0]["begins"] == serde_json::json!(["w1"])
    });
    new_flows_come_from(&host, 7001, "10.0.1.1");
}

/// The user moves a flow that waits for this link.
fn moves(test: &str, network: &str) {
    let Some(host) = Host::new(test) else {
        return;
    };
    let rule = format!("[[flow]]\nport = 7001\nnetwork = \"{network}\"\nelse = \"hold\"\n");
    with_networks(&host, &rule);
    let _up = host.up();
    let _echo = Echo::at(&host);
    on_client(&host, "ip link set w1 down");
    let flow = Flow::to(&host, 7001);
    let mut waits = None;
    until("it waits", || {
        let _ = flow.seen();
        let flows = host.json("status")["networks"]["flows"].clone();
        let waiting = flows
            .as_array()
            .unwrap()
            .iter()
            .find(|flow| flow["link"].is_null());
        waits = waiting.map(|flow| flow["id"].to_string());
        waits.is_some()
    });
    done(&host, &["move", "desk", "--flow", &waits.unwrap_or_default()]);
    flow.comes_from("10.0.0.1");
}

#[test]
fn the_user_moves_a_flow_that_waits() {
    moves("targets-waits", "w1");
}

#[test]
fn the_user_moves_a_flow_that_waits_for_a_link_that_is_not_there() {
    moves("targets-absent", "x9");
}

#[test]
fn shares_outlive_the_return_of_a_link() {
    let Some(host) = Host::new("targets-returns") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let _echo = Echo::at(&host);
    done(&host, &["weight", "w1=1"]);
    new_flows_come_from(&host, 7000, "10.0.1.1");
    on_client(&host, "ip link set w1 name x1");
    new_flows_come_from(&host, 7000, "10.0.0.1");
    on_client(&host, "ip link set x1 name w1");
    new_flows_come_from(&host, 7000, "10.0.1.1");
}

#[test]
fn what_cannot_carry_the_flows_of_a_rule_is_refused() {
    let Some(host) = Host::new("targets-refused") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let refuses = |network: &str, why: &str| refused(&host, &["add", network, "--port", "7001"], why);
    refuses("desk=0,w1=0", "with one above 0");
    refuses("desk=1,moon=2", "there is no link `moon`");
    refuses("desk=1,w0=2", "has two shares");
    refuses("desk=101", "from 0 to 100");
    let waits = ["add", "spread", "--port", "7001", "--hold"];
    refused(&host, &waits, "only flows of one link can wait for it");
    done(&host, &["add", "desk=1,w1=2", "--port", "7001"]);
    let same = "rule 1 gives the same flows to desk=1,w1=2";
    refuses("desk", same);
}

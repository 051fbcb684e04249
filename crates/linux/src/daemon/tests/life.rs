//! Start, stop and crash of the daemon, and link faults with the real engine.

use super::flow::{Download, Source};
use super::net::Net;
use super::rig::{self, PATIENCE, Record, Running, Seen, declared};
use crate::daemon::{DeclaredLink, SubflowReport};
use crate::testing::{furnish, output};
use policy::{Action, Input, LinkEvent, LinkId, Policy, SubflowEvent};

const MUCH: u64 = 500_000;
/// Tells the process that the crash test kills where its journal is.
const VICTIM: &str = "SLOWHAND_TEST_VICTIM_JOURNAL";

/// The number of subflows over a link that the engine was told about.
fn subflows_over(seen: &Seen, wanted: LinkId) -> usize {
    let over = |input: &&Input| matches!(input, Input::Subflow(_, SubflowEvent::Established { link, .. }) if *link == wanted);
    seen.told.iter().filter(over).count()
}

fn usable(seen: &Seen, link: LinkId) -> Vec<bool> {
    let of = |input: &Input| match *input {
        Input::Link(other, LinkEvent::Usable(usable)) if other == link => Some(usable),
        _ => None,
    };
    seen.told.iter().filter_map(of).collect()
}

/// Asserts that two texts are equal. Shows only the lines that differ.
fn same(before: &str, after: &str) {
    let missing = before.lines().filter(|line| !after.contains(line));
    let new = after.lines().filter(|line| !before.contains(line));
    let differences: Vec<String> = missing
        .map(|line| format!("- {line}"))
        .chain(new.map(|line| format!("+ {line}")))
        .collect();
    assert!(before == after, "{differences:#?}");
}

/// Makes link 0 the path of new connections, without a daemon.
fn plain_route(net: &Net) {
    net.in_client(|| output("ip route add default via 10.0.0.2 dev w0 metric 1000"));
}

fn with_running(links: u8, policy: Policy, test: impl FnOnce(&Net, &mut Running, &Download)) {
    let Some(net) = Net::with_links(links) else { return };
    let _source = Source::start(&net.server);
    let mut daemon = Running::start(&net, policy, links, None);
    let download = Download::start(&net);
    test(&net, &mut daemon, &download);
    download.expect_more(MUCH, PATIENCE);
}

#[test]
fn every_link_is_joined_and_a_stop_leaves_the_namespace_as_it_was() {
    let Some(net) = Net::with_links(3) else { return };
    let _source = Source::start(&net.server);
    plain_route(&net);
    let before = net.client_state();
    let mut daemon = Running::start(&net, Policy::Slowhand, 3, None);
    let download = Download::start(&net);
    for link in 0..3 {
        daemon.until("all links are joined", |seen| {
            subflows_over(seen, LinkId(link)) == 1
        });
    }
    download.expect_more(MUCH, PATIENCE);
    assert_ne!(net.client_state(), before);
    daemon.stop();
    same(&before, &net.client_state());
    download.expect_more(MUCH, PATIENCE);
}

#[test]
fn a_lost_carrier_moves_the_connection_and_its_return_brings_it_back() {
    with_running(3, Policy::Slowhand, |net, daemon, download| {
        daemon.until("link 1 is joined", |seen| subflows_over(seen, LinkId(1)) == 1);
        net.plug(1, false);
        daemon.until("it is told", |seen| usable(seen, LinkId(1)) == [true, false]);
        download.expect_more(MUCH, PATIENCE);
        net.plug(1, true);
        daemon.until("it is joined again", |seen| subflows_over(seen, LinkId(1)) >= 2);
        assert_eq!(usable(&daemon.seen(), LinkId(1)), [true, false, true]);
    });
}

#[test]
fn a_new_address_gets_routes_and_a_subflow() {
    with_running(2, Policy::Slowhand, |net, daemon, _| {
        daemon.until("link 1 is joined", |seen| subflows_over(seen, LinkId(1)) == 1);
        net.readdress(1, "10.0.1.1/24", "10.0.1.77/24");
        daemon.until("it is joined again", |seen| subflows_over(seen, LinkId(1)) >= 2);
        let report = daemon.inlet.report(PATIENCE).unwrap();
        let subflows = &report.conns[0].subflows;
        assert!(
            subflows
                .iter()
                .any(|subflow| subflow.local.ip().to_string() == "10.0.1.77"),
            "{subflows:?}"
        );
        let rules = net.in_client(|| output("ip rule"));
        assert!(
            rules.contains("from 10.0.1.77 iif lo lookup") && !rules.contains("from 10.0.1.1 iif lo lookup"),
            "{rules}"
        );
    });
}

#[test]
fn a_silently_dead_link_is_found_and_given_up() {
    with_running(2, Policy::Slowhand, |net, daemon, download| {
        daemon.until("link 1 is joined", |seen| subflows_over(seen, LinkId(1)) == 1);
        download.expect_more(4 * MUCH, PATIENCE);
        net.kill(1);
        daemon.until("it is withdrawn", |seen| {
            seen.done
                .iter()
                .any(|action| matches!(action, Action::Withdraw(_)))
        });
        download.expect_more(MUCH, PATIENCE);
        assert!(net.server_counter("RmAddr") >= 1);
    });
}

#[test]
fn the_place_of_a_silently_dead_link_at_a_stock_server_goes_to_a_link_that_had_none() {
    const LINKS: u8 = 4;
    let Some(net) = Net::whose_server_takes(2, LINKS) else {
        return;
    };
    let _source = Source::start(&net.server);
    let daemon = Running::with_stock_servers(&net, LINKS);
    let download = Download::start(&net);
    let joined = |seen: &Seen| -> Vec<u8> {
        let is_joined = |link: &u8| subflows_over(seen, LinkId((*link).into())) > 0;
        (0..LINKS).filter(is_joined).collect()
    };
    daemon.until("every place is taken", |seen| joined(seen).len() == 3);
    download.expect_more(4 * MUCH, PATIENCE);
    let taken = joined(&daemon.seen());
    assert_eq!(taken.len(), 3, "the server takes two beside the first");
    net.wait_for_server_subflows(&taken, PATIENCE);
    let spare = (0..LINKS).find(|link| !taken.contains(link)).unwrap();
    // A link that carries something, and is not the first one, whose place cannot be given to another.
    let report = daemon.inlet.report(PATIENCE).unwrap();
    let used = |subflow: &&SubflowReport| !subflow.initial && subflow.sample.bytes_received.get() > 0;
    let dies = report.conns[0].subflows.iter().find(used).unwrap().link;
    let dies = taken
        .into_iter()
        .find(|link| LinkId((*link).into()) == dies)
        .unwrap();
    net.kill(dies);
    daemon.until("the link without a place is joined", |seen| {
        joined(seen).contains(&spare)
    });
    daemon.until("the dead one is given up", |seen| {
        seen.given_up().next().is_some()
    });
    let given_up: Vec<LinkId> = daemon.seen().given_up().map(|(link, _)| link).collect();
    assert_eq!(given_up, [LinkId(dies.into())]);
    let left: Vec<u8> = (0..LINKS).filter(|link| *link != dies).collect();
    net.wait_for_server_subflows(&left, PATIENCE);
    download.expect_more(4 * MUCH, PATIENCE);
}

#[test]
fn two_links_that_die_at_once_are_withdrawn_over_the_third_and_joined_again() {
    with_running(3, Policy::Slowhand, |net, daemon, download| {
        let joined = |times| {
            for link in 0..3 {
                let times = if link == 2 { 1 } else { times };
                daemon.until("all links are joined", |seen| {
                    subflows_over(seen, LinkId(link)) >= times
                });
            }
        };
        joined(1);
        download.expect_more(4 * MUCH, PATIENCE);
        let heard = net.server_counter("RmAddr");
        net.kill_at_once(&[0, 1]);
        net.wait_for_withdrawals(heard + 2, PATIENCE);
        // Both addresses, not one of them twice.
        net.wait_for_server_subflows(&[2], PATIENCE);
        download.expect_more(MUCH, PATIENCE);
        net.revive(0);
        net.revive(1);
        joined(2);
        download.expect_more(MUCH, PATIENCE);
        net.wait_for_server_subflows(&[0, 1, 2], PATIENCE);
    });
}

#[test]
fn a_withdrawal_that_is_lost_is_said_again() {
    with_running(2, Policy::Slowhand, |net, daemon, download| {
        daemon.until("link 1 is joined", |seen| subflows_over(seen, LinkId(1)) == 1);
        download.expect_more(4 * MUCH, PATIENCE);
        assert_eq!(net.server_counter("RmAddr"), 0);
        net.lose_a_withdrawal();
        net.kill(1);
        net.wait_for_withdrawals(1, PATIENCE);
        assert!(net.has_lost_a_withdrawal(), "the first one was lost");
        assert!(net.client_counter("RmAddrTx") >= 2);
        let said = |action: &&Action| matches!(action, Action::Withdraw(_));
        // The server receives it a moment before the action is reported.
        daemon.until("it was said twice", |seen| {
            seen.done.iter().filter(said).count() >= 2
        });
        download.expect_more(MUCH, PATIENCE);
        net.wait_for_server_subflows(&[0], PATIENCE);
    });
}

#[test]
fn the_baseline_leaves_paths_to_the_kernel_and_takes_its_endpoints_out() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    plain_route(&net);
    let before = net.client_state();
    let mut daemon = Running::start(&net, Policy::Mptcp, 2, None);
    let download = Download::start(&net);
    daemon.until("the kernel joins link 1", |seen| {
        subflows_over(seen, LinkId(1)) == 1
    });
    assert!(net.client_state().contains("10.0.1.1 id"));
    download.expect_more(MUCH, PATIENCE);
    daemon.stop();
    same(&before, &net.client_state());
}

#[test]
fn a_second_daemon_finds_the_connections_of_the_first() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    plain_route(&net);
    let mut first = Running::start(&net, Policy::Slowhand, 2, None);
    let download = Download::start(&net);
    first.until("link 1 is joined", |seen| subflows_over(seen, LinkId(1)) == 1);
    first.stop();
    let second = Running::start(&net, Policy::Slowhand, 2, None);
    second.until("both subflows are known", |seen| {
        subflows_over(seen, LinkId(0)) == 1 && subflows_over(seen, LinkId(1)) == 1
    });
    download.expect_more(4 * MUCH, PATIENCE);
    net.kill(1);
    second.until("the dead one is withdrawn", |seen| {
        seen.done
            .iter()
            .any(|action| matches!(action, Action::Withdraw(_)))
    });
    download.expect_more(MUCH, PATIENCE);
}

#[test]
fn what_a_killed_daemon_left_is_put_back_by_the_next() {
    let Some(net) = Net::with_links(2) else { return };
    plain_route(&net);
    let before = net.client_state();
    let journal = Record::new("life-killed");
    let wish = (VICTIM, journal.0.as_os_str());
    let mut victim = rig::victim(&net, "daemon::tests::life::victim", &[wish]);
    net.wait_for_client("lookup 51831", PATIENCE);
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_ne!(net.client_state(), before);
    let mut next = Running::start(&net, Policy::Slowhand, 2, Some(journal.0.clone()));
    next.stop();
    same(&before, &net.client_state());
}

/// Not a test of its own: the process that [`what_a_killed_daemon_left_is_put_back_by_the_next`] kills.
#[test]
fn victim() {
    let Some(journal) = std::env::var_os(VICTIM) else {
        return;
    };
    let client = crate::netns::Netns::current().unwrap();
    let net = Net {
        server: client.try_clone().unwrap(),
        client,
    };
    let _running = Running::start(&net, Policy::Slowhand, 2, Some(journal.into()));
    rig::live_on();
}

#[test]
fn a_server_of_this_host_is_left_alone() {
    let Some(net) = Net::with_links(2) else { return };
    // The client's host serves, and the server's host connects.
    let _source = Source::start(&net.client);
    let daemon = Running::start(&net, Policy::Slowhand, 2, None);
    let turned = Net {
        client: net.server.try_clone().unwrap(),
        server: net.client.try_clone().unwrap(),
    };
    let download = Download::from(&turned, "10.0.0.1:5001".parse().unwrap());
    download.expect_more(MUCH, PATIENCE);
    assert_eq!(daemon.inlet.report(PATIENCE).unwrap().conns, []);
}

#[test]
fn both_links_may_have_the_same_private_subnet() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    // Both links lead to a home router 192.168.1.1 that has assigned 192.168.1.50 to us and hides it from the
    // server.
    net.in_client(|| {
        for link in ["w0", "w1"] {
            output(&format!("ip addr flush dev {link} scope global"));
            furnish(link, &["192.168.1.50/24"]);
        }
    });
    for link in [0, 1] {
        net.hide_behind_router(link, "192.168.1.50");
    }
    let router = |link: DeclaredLink| DeclaredLink {
        gateway: "192.168.1.1".parse().ok(),
        ..link
    };
    let links = declared(2).into_iter().map(router).collect();
    let daemon = Running::over(&net, Policy::Slowhand, links, None);
    let download = Download::start(&net);
    daemon.until("both links are joined", |seen| {
        subflows_over(seen, LinkId(0)) == 1 && subflows_over(seen, LinkId(1)) == 1
    });
    download.expect_more(MUCH, PATIENCE);
    let received = |link| {
        let report = daemon.inlet.report(PATIENCE).unwrap();
        let over = report.conns[0]
            .subflows
            .iter()
            .filter(|subflow| subflow.link == LinkId(link));
        over.map(|subflow| subflow.sample.bytes_received.get())
            .sum::<u64>()
    };
    download.expect_more(MUCH, PATIENCE);
    assert!(received(0) > 0 && received(1) > 0);
}

/// A download from `server` over both links, with these next hops.
fn joined_from(server: &str, gateways: [&str; 2]) {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    let links = declared(2).into_iter().zip(gateways);
    let links = links
        .map(|(link, gateway)| DeclaredLink {
            gateway: gateway.parse().ok(),
            ..link
        })
        .collect();
    let daemon = Running::over(&net, Policy::Slowhand, links, None);
    let download = Download::from(&net, server.parse().unwrap());
    daemon.until("both links are joined", |seen| {
        subflows_over(seen, LinkId(0)) == 1 && subflows_over(seen, LinkId(1)) == 1
    });
    download.expect_more(4 * MUCH, PATIENCE);
    net.kill(1);
    daemon.until("the dead one is withdrawn", |seen| {
        seen.done
            .iter()
            .any(|action| matches!(action, Action::Withdraw(_)))
    });
    download.expect_more(MUCH, PATIENCE);
    assert!(net.server_counter("RmAddr") >= 1);
}

#[test]
fn connections_over_ipv6_are_looked_after() {
    joined_from("[fd00:ff::1]:5001", ["fd00:0::2", "fd00:1::2"]);
}

#[test]
fn ipv4_connections_of_dual_stack_sockets_are_looked_after() {
    joined_from("[::ffff:10.255.0.1]:5001", ["10.0.0.2", "10.0.1.2"]);
}

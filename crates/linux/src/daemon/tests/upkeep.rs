//! Changes that other programs make under a running daemon.

use super::flow::{Download, Source};
use super::net::Net;
use super::rig::{Manual, PATIENCE, Running};
use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::links::managed::Managed;
use crate::rtnl::Rtnl;
use crate::testing::{furnish, index, output, plug};
use policy::{Action, ConnEvent, Family, Input, LinkId, Policy, SubflowEvent};

fn with_manual(policy: Policy, test: impl FnOnce(&Net, &mut Manual) + Send) {
    let Some(net) = Net::with_links(2) else { return };
    net.in_client(|| {
        let mut daemon = Manual::with_policy(2, policy);
        test(&net, &mut daemon);
    });
}

/// How often a text was reported.
fn reported(daemon: &Manual, words: &str) -> usize {
    daemon
        .failures()
        .iter()
        .filter(|told| told.contains(words))
        .count()
}

#[test]
fn the_path_manager_and_its_limits_are_restored_and_that_is_reported_once() {
    with_manual(Policy::Handover, |_, daemon| {
        let kernel = || output("sysctl -n net.mptcp.path_manager");
        for _ in 0..2 {
            output("sysctl -qw net.mptcp.path_manager=kernel");
            output("ip mptcp limits set subflows 2 add_addr_accepted 0");
            daemon.daemon.world.upkeep.look_now();
            daemon.until("both are restored", |_, _| {
                kernel().trim() == "userspace" && output("ip mptcp limits").contains("subflows 8")
            });
        }
        let told = "net.mptcp.path_manager and its limits: another program changed it; restored";
        assert_eq!(reported(daemon, told), 1);
    });
}

#[test]
fn endpoints_are_restored() {
    with_manual(Policy::Mptcp, |_, daemon| {
        daemon.until("both links have endpoints", |_, _| {
            output("ip mptcp endpoint").lines().count() == 2
        });
        output("ip mptcp endpoint flush");
        daemon.daemon.world.upkeep.look_now();
        daemon.until("they are back", |_, _| {
            output("ip mptcp endpoint").lines().count() == 2
        });
        assert_eq!(reported(daemon, "endpoints of the kernel's path manager"), 1);
    });
}

#[test]
fn removed_rules_and_routes_are_restored_and_that_is_reported_once() {
    with_manual(Policy::Handover, |_, daemon| {
        daemon
            .act(Action::DefaultRoute(Family::V4, Some(LinkId(1))))
            .unwrap();
        let state = || output("ip rule") + &output("ip route show table 51830");
        let before = state();
        assert!(before.contains("lookup 51830"), "{before}");
        for _ in 0..2 {
            output("ip rule flush");
            output("ip rule add pref 32766 lookup main");
            output("ip rule add pref 32767 lookup default");
            output("ip route flush table 51830");
            daemon.until("they are back", |_, _| state() == before);
        }
        assert_eq!(reported(daemon, "routing rules: another program removed"), 2);
        assert_eq!(reported(daemon, "routes: another program removed"), 2);
        let said = |told: &String| told.contains("another program removed 1 of them; restored");
        assert!(daemon.failures().iter().any(said), "{:?}", daemon.failures());
    });
}

/// Starts a full tunnel, as wg-quick does: it takes everything but its own packets.
fn full_tunnel() {
    plug("vpn0");
    furnish("vpn0", &["10.77.0.2/24"]);
    output("ip route add default via 10.77.0.1 dev vpn0 table 7077");
    output("ip rule add pref 32764 not fwmark 7 lookup 7077");
    output("ip rule add pref 32763 lookup main suppress_prefixlength 0");
}

#[test]
fn added_subflows_leave_their_links_when_a_tunnel_takes_everything() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    let daemon = Running::start(&net, Policy::Slowhand, 2, None);
    let download = Download::start(&net);
    let added = |input: &Input| match *input {
        Input::Subflow(id, SubflowEvent::Established { initial: false, .. }) => Some(id),
        _ => None,
    };
    let mut id = None;
    daemon.until("a subflow is added", |seen| {
        id = seen.told.iter().find_map(added);
        id.is_some()
    });
    download.expect_more(100_000, PATIENCE);
    net.in_client(full_tunnel);
    daemon.until("the connection is left alone", |seen| {
        seen.told
            .iter()
            .any(|input| matches!(input, Input::Conn(_, ConnEvent::Closed)))
    });
    let report = daemon.inlet.report(PATIENCE).unwrap();
    let conn = &report.conns[0];
    assert_eq!(conn.left_alone, Some(LeftAlone::Elsewhere));
    assert!(conn.subflows.iter().all(|subflow| subflow.initial), "{conn:?}");
}

#[test]
fn a_server_behind_a_tunnel_is_left_alone() {
    let Some(net) = Net::with_links(2) else { return };
    net.in_client(|| {
        output("ip route add default via 10.0.0.2 dev w0 metric 100");
        let mut daemon = Manual::deciding(2);
        daemon.until("both links are usable", |daemon, _| {
            daemon.world.links.iter().all(Managed::usable)
        });
        plug("vpn0");
        furnish("vpn0", &["10.77.0.2/24"]);
        output("ip route add 203.0.113.0/24 dev vpn0 table 52");
        output("ip rule add pref 5270 lookup 52");
        output("ip route add 198.51.100.0/24 via 10.0.0.2 dev w0");
        let world = &mut daemon.daemon.world;
        let mut elsewhere = |peer: &str| {
            world
                .host
                .routes
                .is_led_elsewhere(&world.links, peer.parse().unwrap())
        };
        assert!(elsewhere("203.0.113.9"), "behind a tunnel");
        assert!(elsewhere("198.51.100.9"), "an inner network behind one link");
        assert!(elsewhere("10.0.0.1"), "this host");
        assert!(!elsewhere("192.0.2.9"), "the Internet");
        output("ip route append 198.51.100.0/24 via 10.0.1.2 dev w1");
        assert!(!elsewhere("198.51.100.9"), "both links lead there");
        let leads_elsewhere = |daemon: &mut Manual, link: &str| {
            let ifindex = index(&mut Rtnl::open().unwrap(), link);
            let world = &mut daemon.daemon.world;
            world
                .host
                .routes
                .leads_elsewhere(&world.links, "198.51.100.9".parse().unwrap(), ifindex)
        };
        assert!(!leads_elsewhere(&mut daemon, "w1"));
        output("ip route del 198.51.100.0/24 via 10.0.1.2 dev w1");
        assert!(leads_elsewhere(&mut daemon, "w1") && !leads_elsewhere(&mut daemon, "w0"));
    });
}

//! What other programs change while a daemon is at work.

use super::flow::{Download, Source};
use super::net::Net;
use super::rig::{Manual, PATIENCE, Running};
use crate::testing::{furnish, output, plug};
use policy::{Action, Family, Input, JoinFailure, LinkId, Policy, SubflowEvent};

fn with_manual(policy: Policy, test: impl FnOnce(&Net, &mut Manual) + Send) {
    let Some(net) = Net::with_links(2) else { return };
    net.in_client(|| {
        let mut daemon = Manual::with_policy(2, policy);
        test(&net, &mut daemon);
    });
}

/// How often `words` were reported.
fn reported(daemon: &Manual, words: &str) -> usize {
    daemon
        .failures()
        .iter()
        .filter(|told| told.contains(words))
        .count()
}

#[test]
fn the_path_manager_and_its_limits_are_restored_and_that_is_told_once() {
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
        let told = "the choice of the path manager: another program changed it; it is restored";
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
fn rules_and_routes_that_are_swept_are_restored_and_that_is_told_once() {
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
        assert_eq!(reported(daemon, "routes and rules: another program removed"), 1);
    });
}

/// A full tunnel comes up, as wg-quick makes one: everything but its own packets goes there.
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
    let closed = Input::Subflow(id.unwrap(), SubflowEvent::Closed);
    daemon.until("it is ended", |seen| seen.told.contains(&closed));
    let elsewhere = |input: &Input| {
        matches!(
            input,
            Input::Conn(
                _,
                policy::ConnEvent::JoinFailed {
                    reason: JoinFailure::Elsewhere,
                    ..
                }
            )
        )
    };
    daemon.until("it is not added again", |seen| seen.told.iter().any(elsewhere));
}

//! Each action on its own.

use super::flow::{Download, Source};
use super::net::Net;
use super::rig::{Manual, PATIENCE};
use crate::daemon::flows::book::{Standing, Subflow};
use crate::diag::Diag;
use crate::mptcp_pm::Token;
use crate::testing::output;
use policy::{Action, Input, JoinFailure, LinkEvent, LinkId, RemoteId, SubflowEvent};
use std::time::{Duration, Instant};
use units::{Bytes, Ratio};

const MUCH: u64 = 500_000;
/// Longer than a link of this test needs to send what its queue holds.
const SILENCE: Duration = Duration::from_millis(300);

/// A download from a server that accepts joins over three links, and a daemon that joins none by itself.
fn with_download(test: impl FnOnce(&Net, &mut Manual, &Download) + Send) {
    let Some(net) = Net::with_links(3) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(3);
        let download = Download::start(&net);
        test(&net, &mut daemon, &download);
        download.expect_more(MUCH, PATIENCE);
    });
}

#[test]
fn a_joined_subflow_carries_data_over_its_link() {
    with_download(|_, daemon, _| {
        let (first, second, third) = (daemon.subflow(0), daemon.join(1), daemon.join(2));
        for subflow in [first, second, third] {
            daemon.until_received(subflow, MUCH);
        }
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_demoted_subflow_falls_silent_and_carries_data_once_promoted() {
    with_download(|net, daemon, download| {
        let second = daemon.join(1);
        daemon.until_received(second, MUCH);
        daemon
            .act(Action::SetBackup {
                subflow: second,
                backup: true,
            })
            .unwrap();
        daemon.until("the sample says backup", |daemon, _| {
            daemon.world.conns.flows.subflow(second).unwrap().sample.backup
        });
        daemon.until("the server is told", |_, _| net.server_counter("MPPrioRx") == 1);
        // Bytes in flight, and bytes that the server had assigned to it, still arrive.
        let mut last = daemon.received(second);
        let mut since = (Instant::now(), download.read());
        daemon.until(
            "nothing comes over it while the download continues",
            |daemon, _| {
                let now = daemon
                    .world
                    .conns
                    .flows
                    .subflow(second)
                    .unwrap()
                    .sample
                    .bytes_received
                    .get();
                if std::mem::replace(&mut last, now) != now {
                    since = (Instant::now(), download.read());
                }
                since.0.elapsed() >= SILENCE && download.read() > since.1 + MUCH
            },
        );
        daemon
            .act(Action::SetBackup {
                subflow: second,
                backup: false,
            })
            .unwrap();
        daemon.until_received(second, MUCH);
    });
}

/// The receive buffer of the subflow over this link, as `ss` prints it.
fn receive_buffer(link: u8) -> Option<u64> {
    let sockets = output("ss -tOmnH state established");
    let subflow = sockets
        .lines()
        .find(|line| line.contains(&format!("10.0.{link}.1")))?;
    let (_, buffer) = subflow.split_once(",rb")?;
    buffer.split(',').next()?.parse().ok()
}

#[test]
fn a_late_join_gets_the_receive_buffer_of_its_connection() {
    with_download(|_, daemon, _| {
        let settings = || output("sysctl -n net.ipv4.tcp_rmem");
        let before = settings();
        let default: u64 = before.split_whitespace().nth(1).unwrap().parse().unwrap();
        let (token, mut diag) = (Token(daemon.conn().0), Diag::open().unwrap());
        let mut has = Bytes::ZERO;
        daemon.until("the connection's buffer has grown", |_, _| {
            has = diag.mptcp(token).unwrap().unwrap().receive_buffer;
            has.get() > default
        });
        daemon.join(1);
        assert!(receive_buffer(1) >= Some(has.get()), "{:?}", receive_buffer(1));
        assert_eq!(settings(), before, "those of others begin as they did");
    });
}

#[test]
fn a_pending_priority_is_not_sent_over_a_suspect_link() {
    with_download(|net, daemon, _| {
        let second = daemon.join(1);
        daemon.until_received(second, MUCH);
        let backup = |daemon: &Manual| daemon.daemon.world.conns.flows.subflow(second).unwrap().backup;
        let (world, longest) = (&mut daemon.daemon.world, Duration::from_secs(1));
        let mut now = world.host.outlet.now;
        world.conns.priorities.later(now, second, true);
        // Longer than it would be retried.
        for _ in 0..100 {
            now += Duration::from_millis(20);
            world.conns.set_priorities(now, &[LinkId(1)], &mut world.host);
        }
        assert!(!backup(daemon) && net.client_counter("MPPrioTx") == 0);
        let world = &mut daemon.daemon.world;
        world
            .conns
            .set_priorities(now + longest, &[LinkId(2)], &mut world.host);
        assert!(backup(daemon));
        assert_eq!(daemon.daemon.world.conns.priorities.wake_at(), None);
        daemon.until("the server is told", |_, _| net.server_counter("MPPrioRx") == 1);
    });
}

#[test]
fn a_removed_subflow_can_be_joined_again_with_its_identifier() {
    with_download(|net, daemon, _| {
        let second = daemon.join(1);
        let id = daemon
            .daemon
            .world
            .conns
            .flows
            .subflow(second)
            .unwrap()
            .address_id;
        daemon.until_received(second, MUCH);
        daemon.act(Action::Withdraw(second)).unwrap();
        daemon.act(Action::Destroy(second)).unwrap();
        until_told(net, daemon, 1);
        let again = daemon.join(1);
        assert_ne!(again, second);
        assert_eq!(
            daemon.daemon.world.conns.flows.subflow(again).unwrap().address_id,
            id
        );
        daemon.until_received(again, MUCH);
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

/// The first subflow's address has the identifier 0, the second subflow's another, although the address is
/// the same.
#[test]
fn another_subflow_over_the_same_link_takes_over_from_the_first() {
    with_download(|net, daemon, _| {
        let (conn, first) = (daemon.conn(), daemon.subflow(0));
        daemon.until_received(first, MUCH);
        let again = Action::Join {
            conn,
            link: LinkId(0),
            remote: RemoteId::FIRST,
            backup: false,
        };
        daemon.act(again).unwrap();
        let mut second = None;
        daemon.until("there is another", |daemon, _| {
            let mut living = daemon.world.conns.flows.living();
            let fresh = |subflow: &&Subflow| subflow.id != first && subflow.standing == Standing::Proven;
            second = living.find(fresh).map(|subflow| subflow.id);
            second.is_some()
        });
        daemon.act(Action::Destroy(first)).unwrap();
        daemon.until_received(second.unwrap(), MUCH);
        assert_eq!(net.server_counter("RmAddr"), 0, "its address is in use");
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_refused_join_is_reported_as_such_and_never_as_a_subflow() {
    with_download(|net, daemon, _| {
        net.in_server(|| output("ip mptcp limits set subflows 1"));
        daemon.join(1);
        let conn = daemon.conn();
        daemon.request(conn, LinkId(2));
        assert_eq!(daemon.join_failure(), JoinFailure::Refused);
        let over_it = |input: &Input| {
            matches!(
                input,
                Input::Subflow(_, SubflowEvent::Established { link: LinkId(2), .. })
            )
        };
        assert!(!daemon.facts().iter().any(over_it));
    });
}

#[test]
fn a_join_without_a_reply_times_out_and_leaves_no_socket() {
    with_download(|net, daemon, _| {
        let conn = daemon.conn();
        net.kill(1);
        daemon.request(conn, LinkId(1));
        assert_eq!(daemon.join_failure(), JoinFailure::Timeout);
        assert!(!output("ss -tnH state syn-sent").contains("10.255.0.1"));
        net.revive(1);
        let subflow = daemon.join(1);
        daemon.until_received(subflow, MUCH);
    });
}

#[test]
fn a_join_over_a_link_that_is_gone_fails_at_once_and_is_no_refusal() {
    with_download(|_, daemon, _| {
        let conn = daemon.conn();
        let link = LinkId(9);
        daemon.request(conn, link);
        assert_eq!(daemon.join_failure(), JoinFailure::Untimely);
    });
}

/// Ends the dead subflows first, then withdraws their addresses, so that no RM_ADDR leaves on a dead path.
fn bury(net: &Net, daemon: &mut Manual, links: &[u8]) {
    let told = net.server_counter("RmAddr");
    let dead: Vec<_> = links.iter().map(|link| daemon.subflow(*link)).collect();
    links.iter().for_each(|link| net.kill(*link));
    daemon.for_a_while(Duration::from_millis(100));
    for subflow in &dead {
        daemon.act(Action::Destroy(*subflow)).unwrap();
    }
    for subflow in &dead {
        daemon.act(Action::Withdraw(*subflow)).unwrap();
    }
    until_told(net, daemon, told + links.len() as u64);
}

/// Waits until the server has received this many withdrawals.
fn until_told(net: &Net, daemon: &mut Manual, addresses: u64) {
    daemon.until("the server is told", |_, _| {
        net.server_counter("RmAddr") == addresses
    });
}

#[test]
fn the_first_address_is_withdrawn_and_joined_again() {
    with_download(|net, daemon, download| {
        daemon.join(1);
        bury(net, daemon, &[0]);
        download.expect_more(MUCH, PATIENCE);
        assert_eq!(net.server_counter("RmAddr"), 1);
        net.revive(0);
        let again = daemon.join(0);
        assert_ne!(
            daemon.daemon.world.conns.flows.subflow(again).unwrap().address_id,
            0
        );
        daemon.until_received(again, MUCH);
    });
}

#[test]
fn two_dead_links_at_once_are_both_withdrawn_over_the_third() {
    with_download(|net, daemon, download| {
        daemon.join(1);
        daemon.join(2);
        bury(net, daemon, &[0, 1]);
        download.expect_more(MUCH, PATIENCE);
        assert_eq!(net.server_counter("RmAddr"), 2);
        net.revive(0);
        net.revive(1);
        let (first, second) = (daemon.join(0), daemon.join(1));
        daemon.until_received(first, MUCH);
        daemon.until_received(second, MUCH);
    });
}

#[test]
fn a_withdrawal_can_be_repeated_but_not_once_the_address_is_joined_again() {
    with_download(|net, daemon, _| {
        let second = daemon.join(1);
        bury(net, daemon, &[1]);
        daemon.act(Action::Withdraw(second)).unwrap();
        net.revive(1);
        let again = daemon.join(1);
        let error = daemon.act(Action::Withdraw(second)).unwrap_err();
        assert!(error.to_string().contains("joined again"), "{error}");
        daemon.until_received(again, MUCH);
    });
}

#[test]
fn a_probe_gets_a_reply_over_a_living_link_only() {
    with_download(|net, daemon, _| {
        let conn = daemon.conn();
        net.kill(2);
        daemon
            .act(Action::Probe {
                link: LinkId(1),
                conn,
                probe: 41,
            })
            .unwrap();
        daemon
            .act(Action::Probe {
                link: LinkId(2),
                conn,
                probe: 42,
            })
            .unwrap();
        let answered = |input: &Input, name: u32| matches!(input, Input::Link(_, LinkEvent::ProbeAnswered { probe, .. }) if *probe == name);
        daemon.until("the living link answers", |_, seen| {
            seen.told.iter().any(|input| answered(input, 41))
        });
        daemon.for_a_while(Duration::from_millis(200));
        assert!(!daemon.facts().iter().any(|input| answered(input, 42)));
    });
}

#[test]
fn without_echo_replies_a_handshake_serves_as_probe() {
    with_download(|net, daemon, _| {
        net.in_server(|| output("sysctl -qw net.ipv4.icmp_echo_ignore_all=1"));
        let fresh = Download::start(net);
        let conn = daemon.conn();
        drop(fresh);
        daemon.daemon.world.probes.forget_peers();
        daemon
            .act(Action::Probe {
                link: LinkId(1),
                conn,
                probe: 7,
            })
            .unwrap();
        daemon.until("the handshake is answered", |_, seen| {
            let answered =
                |input: &Input| matches!(input, Input::Link(_, LinkEvent::ProbeAnswered { probe: 7, .. }));
            seen.told.iter().any(answered)
        });
    });
}

#[test]
fn new_connections_begin_on_the_default_link() {
    with_download(|net, daemon, _| {
        daemon.subflow(0);
        daemon
            .act(Action::DefaultRoute(policy::Family::V4, Some(LinkId(2))))
            .unwrap();
        let second = Download::start(net);
        daemon.until("a connection begins on link 2", |_, seen| {
            let began = |input: &Input| {
                matches!(
                    input,
                    Input::Subflow(
                        _,
                        SubflowEvent::Established {
                            link: LinkId(2),
                            initial: true,
                            ..
                        }
                    )
                )
            };
            seen.told.iter().any(began)
        });
        second.expect_more(MUCH, PATIENCE);
    });
}

#[test]
fn a_link_is_marked_at_the_requested_rate_and_released() {
    with_download(|_, daemon, _| {
        let mark = |daemon: &mut Manual, ppm| {
            let rate = Ratio::from_ppm(ppm);
            daemon.act(Action::Mark(LinkId(1), rate)).unwrap();
            daemon
                .daemon
                .world
                .conns
                .bounds
                .marks
                .arriving
                .of(LinkId(1))
                .map(|(rate, _)| rate)
        };
        assert_eq!(mark(daemon, 0), None, "what was never marked needs no program");
        assert_eq!(mark(daemon, 20_000), Some(Ratio::from_ppm(20_000)));
        let second = daemon.join(1);
        daemon.until_received(second, MUCH);
        let (_, counters) = daemon
            .daemon
            .world
            .conns
            .bounds
            .marks
            .arriving
            .of(LinkId(1))
            .unwrap();
        // The links of this test do not ask for ECN: the program sees all packets and marks none.
        assert!(counters.not_ect > 0 && counters.made == 0, "{counters:?}");
        assert_eq!(mark(daemon, 0), Some(Ratio::ZERO));
        output("ip link del w1");
        daemon.until("the interface is gone", |daemon, _| {
            daemon.world.conns.bounds.marks.arriving.of(LinkId(1)).is_none()
        });
        daemon.act(Action::Mark(LinkId(1), Ratio::ZERO)).unwrap();
        let refused = daemon.act(Action::Mark(LinkId(1), Ratio::ONE)).unwrap_err();
        assert!(refused.to_string().contains("the link is gone"), "{refused}");
    });
}

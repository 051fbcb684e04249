//! Marks in both directions on real connections: they are counted, the packets carry them, and the sender
//! learns of them.

use super::flow::{Download, Source, Upload};
use super::net::Net;
use super::rig::Manual;
use crate::bpf::{CountRunTime, MarkCounters};
use crate::diag::{Diag, States};
use crate::testing::output;
use policy::reason::{Choice, Queue};
use policy::{Action, LinkId, Note, Policy, Reason, Verb};
use units::{Duration, Ratio};

const LINK: LinkId = LinkId(0);
/// Two packets in a hundred: enough to see, and the sender continues.
const RATE: Ratio = Ratio::from_ppm(20_000);

/// Makes TCP on both hosts ask for ECN.
fn ask_for_ecn(net: &Net) {
    let ask = || output("sysctl -qw net.ipv4.tcp_ecn=1");
    net.in_client(ask);
    net.in_server(ask);
}

/// Marked packets that this namespace has received.
fn received_marked() -> u64 {
    let counted = output("nstat -asz IpExtInCEPkts");
    let line = counted
        .lines()
        .find(|line| line.starts_with("IpExtInCEPkts"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Segments of this namespace's senders that receivers reported as marked.
fn told_marked() -> u64 {
    let mut sum = 0;
    Diag::open()
        .unwrap()
        .each_tcp(States::CONNECTED, |socket| {
            sum += socket.info.map_or(0, |info| u64::from(info.delivered_ce));
        })
        .unwrap();
    sum
}

/// Loading the program takes longer than slow start needs to overflow a queue.
#[test]
fn links_whose_connections_ask_for_ecn_are_ready_before_the_first_mark() {
    let Some(net) = Net::with_links(1) else { return };
    for (policy, ready) in [(Policy::Slowhand, true), (Policy::SlowhandNoWindow, false)] {
        net.in_client(|| {
            let daemon = Manual::with_policy(1, policy);
            let world = &daemon.daemon.world;
            let are_ready = [&world.conns.bounds.marks.arriving, &world.conns.bounds.marks.sent]
                .map(|marks| marks.is_ready(LINK));
            assert_eq!(are_ready, [ready; 2], "{policy:?}");
            assert_eq!(
                [
                    world.conns.bounds.marks.arriving.of(LINK),
                    world.conns.bounds.marks.sent.of(LINK)
                ],
                [None; 2],
                "and nothing is marked"
            );
            assert_eq!(daemon.failures(), [""; 0]);
        });
    }
}

#[test]
fn sent_packets_leave_marked_and_the_report_counts_them() {
    let Some(net) = Net::with_links(1) else { return };
    ask_for_ecn(&net);
    net.in_client(|| {
        let _counting = CountRunTime::start().unwrap();
        let mut daemon = Manual::start(1);
        let sent = |daemon: &Manual| daemon.daemon.world.conns.bounds.marks.sent.of(LINK);
        assert_eq!(sent(&daemon), None, "nothing was asked for so far");
        daemon.act(Action::MarkSent(LINK, RATE)).unwrap();
        let _upload = Upload::start(&net);
        let conn = daemon.conn();
        daemon.until("the server receives what was marked", |_, _| {
            net.in_server(received_marked) > 0
        });
        let (rate, counters) = sent(&daemon).unwrap();
        assert_eq!(rate, RATE);
        let MarkCounters { ect, asked, made, .. } = counters;
        assert!(made > 0 && made == asked && made < ect / 10, "{counters:?}");
        assert_eq!(
            daemon.daemon.world.conns.bounds.marks.arriving.of(LINK),
            None,
            "nothing is marked on arrival"
        );
        let took = daemon.daemon.world.conns.bounds.marks.sent.run_time();
        assert!(took > Duration::ZERO, "{conn:?}");
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn received_packets_are_marked_and_their_sender_learns_it() {
    let Some(net) = Net::with_links(1) else { return };
    ask_for_ecn(&net);
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(1);
        daemon.act(Action::Mark(LINK, RATE)).unwrap();
        let _download = Download::start(&net);
        daemon.until("the server is told", |_, _| net.in_server(told_marked) > 0);
        let (rate, counters) = daemon.daemon.world.conns.bounds.marks.arriving.of(LINK).unwrap();
        assert_eq!(rate, RATE);
        assert!(
            counters.made > 0 && counters.made == counters.asked,
            "{counters:?}"
        );
        assert_eq!(daemon.daemon.world.conns.bounds.marks.sent.of(LINK), None);
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn the_last_reason_for_a_links_marks_is_remembered() {
    let Some(net) = Net::with_links(1) else { return };
    net.in_client(|| {
        let mut daemon = Manual::start(1);
        let mut note = |verb, reason: &Reason| {
            daemon
                .act(Action::Note(Note {
                    link: Some(LINK),
                    conn: None,
                    verb,
                    reason: reason.clone(),
                }))
                .unwrap();
            daemon.daemon.world.conns.bounds.marks.reasons.get(&LINK).cloned()
        };
        let healthy = Reason::Choice(Choice::Healthy);
        let queued = Reason::Queue(Queue::Marked {
            queue: Duration::from_millis(83),
            target: None,
            rate: RATE,
            sent: false,
        });
        assert_eq!(note(Verb::Use, &healthy), None);
        assert_eq!(note(Verb::Mark, &queued), Some(queued.clone()));
        assert_eq!(note(Verb::Demote, &healthy), Some(queued));
    });
}

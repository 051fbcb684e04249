//! TCP and MPTCP between two hosts over ideal links.

#[path = "common/cables.rs"]
mod cables;

use cables::{cable, links, mbps, stock, v4};
use links::{CableConfig, Codel, Fault, LinkId, QueueConfig, QueueLimit};
use policy::{Ahead, Family, JoinFailure, SubflowId};
use sim::hosts::{App, Exchange, OnOff, Pair};
use sim::mptcp::{Config, Event, Joins, Path, SchedulerKind};
use sim::tcp::Control;
use units::{Bytes, Duration, Instant, Ratio, Rng};

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

fn pair(cables: impl IntoIterator<Item = CableConfig>, config: Config) -> Pair {
    Pair::new(1, links(cables), config, config).unwrap()
}

/// An MPTCP download over all links.
fn download(cables: Vec<CableConfig>, config: Config) -> Pair {
    let count = cables.len() as u16;
    let mut pair = pair(cables, config);
    pair.start(0, v4(0), [App::Sink, App::Bulk]);
    join_all(&mut pair, 1..count);
    pair
}

fn join_all(pair: &mut Pair, links: impl IntoIterator<Item = u16>) {
    let now = pair.now();
    for link in links {
        pair.act(0, |connection, out| connection.join(now, v4(link), false, out));
    }
}

fn events(pair: &mut Pair) -> Vec<Event> {
    std::iter::from_fn(|| pair.client.poll_event()).collect()
}

/// The client's subflow over this link.
fn over(pair: &Pair, link: u16) -> Option<SubflowId> {
    let connection = pair.client.connection(0)?;
    let mut subflows = connection.subflows(pair.now());
    subflows
        .find(|subflow| subflow.path.link == LinkId(link))
        .map(|subflow| subflow.id)
}

#[test]
fn one_flow_fills_a_link_with_every_controller() {
    for control in ["reno", "cubic", "lia", "olia", "balia"] {
        for family in Family::ALL {
            let mut pair = pair([cable(20, 40, 100)], stock(control, false));
            pair.start(0, Path::over(LinkId(0), family), [App::Sink, App::Bulk]);
            pair.run_until(Instant::from_secs(4));
            let before = pair.read(0);
            pair.run_for(6 * S);
            let payload = if family == Family::V4 { 1_448.0 } else { 1_428.0 };
            let share = mbps(pair.read(0) - before, 6 * S) / (20.0 * payload / 1_500.0);
            assert!((0.97..1.005).contains(&share), "{control}, {family:?}: {share}");
        }
    }
}

#[test]
fn bbr_is_refused_with_its_reason() {
    let refused = Control::named("bbr").unwrap_err().to_string();
    assert!(refused.contains("no model in virtual time"), "{refused}");
    assert!(Control::named("vegas").is_err());
}

#[test]
fn cla_is_refused_with_its_reason() {
    let refused = Control::named("cla").unwrap_err().to_string();
    assert!(
        refused.contains("senders in virtual time do not know"),
        "{refused}"
    );
}

/// The handshake takes an RTT, the request half of one, and ten segments come back with the other half.
#[test]
fn an_object_of_one_window_takes_two_round_trips() {
    let sizes = [8_000, 14_000, 100_000];
    let exchange = Box::new(Exchange::new(sizes.into(), 200, 100 * MS));
    let mut pair = pair([cable(100, 40, 1_000)], stock("cubic", false));
    pair.start(
        0,
        v4(0),
        [App::Requests(exchange.clone()), App::Answers(exchange)],
    );
    pair.run_until(Instant::from_secs(5));
    let transfers = pair.client.app(0).unwrap().transfers();
    let took: Vec<_> = transfers
        .iter()
        .map(|transfer| (transfer.until - transfer.from).as_millis())
        .collect();
    assert_eq!(
        transfers[0].from,
        Instant::from_nanos(40_009_600),
        "SYN and SYN-ACK"
    );
    assert_eq!(took.len(), 3, "{took:?}");
    assert!(
        (40..43).contains(&took[0]) && (40..43).contains(&took[1]),
        "{took:?}"
    );
    // 70 segments: 10, 20, 40.
    assert!((120..135).contains(&took[2]), "{took:?}");
    assert!(
        pair.client.connection(0).unwrap().is_closed(),
        "both have finished"
    );
    assert!(pair.server.connection(0).unwrap().is_closed());
}

#[test]
fn two_subflows_carry_what_two_links_do() {
    for control in ["reno", "lia"] {
        let mut pair = download(vec![cable(25, 50, 100); 2], stock(control, true));
        pair.run_until(Instant::from_secs(5));
        let before = pair.read(0);
        pair.run_for(20 * S);
        let share = mbps(pair.read(0) - before, 20 * S) / (50.0 * 1_420.0 / 1_500.0);
        assert!((0.97..1.005).contains(&share), "{control}: {share}");
    }
}

/// Request, then data: the client may join once the server has answered, and the join costs two more RTTs
/// until the client's end may send.
#[test]
fn joins_wait_until_the_peer_has_confirmed_mptcp_unless_all_begin_at_once() {
    for (joins, opened) in [(Joins::Confirmed, 120), (Joins::AtOnce, 40)] {
        let config = Config {
            joins,
            ..stock("reno", true)
        };
        let mut pair = download(vec![cable(100, 40, 100); 2], config);
        let mut seen = Vec::new();
        while let Some(next) = pair.next().filter(|&next| next < Instant::from_millis(500)) {
            pair.step(next);
            let opened = |event| matches!(event, Event::SubflowOpened { initial: false, .. });
            if events(&mut pair).into_iter().any(opened) {
                seen.push((pair.now() - Instant::ZERO).as_millis());
            }
        }
        assert_eq!(seen, [opened], "{joins:?}");
    }
}

#[test]
fn a_server_accepts_two_joins_and_resets_the_third() {
    let mut pair = download(vec![cable(30, 20, 100); 4], stock("reno", true));
    let mut timeline = Vec::new();
    while let Some(next) = pair.next().filter(|&next| next < Instant::from_secs(1)) {
        pair.step(next);
        let now = pair.now();
        timeline.extend(events(&mut pair).into_iter().map(|event| (now, event)));
    }
    let at = |wanted: fn(&Event) -> bool| timeline.iter().find(|(_, event)| wanted(event)).unwrap().0;
    let last = LinkId(3);
    assert_eq!(over(&pair, 3), None);
    let opened = at(|event| matches!(event, Event::SubflowOpened { path, .. } if path.link == LinkId(3)));
    let closed = at(|event| matches!(event, Event::SubflowClosed { path, .. } if path.link == LinkId(3)));
    // One more RTT, plus the queue.
    assert!((20 * MS..100 * MS).contains(&(closed - opened)), "{last:?}");
    // RM_ADDR frees a place.
    pair.act(0, |connection, _| connection.withdraw(v4(1)));
    pair.run_for(S / 2);
    assert_eq!(over(&pair, 1), None);
    join_all(&mut pair, [3]);
    pair.run_for(S / 2);
    assert!(over(&pair, 3).is_some());
}

#[test]
fn a_join_over_a_dead_link_times_out_and_takes_no_place() {
    let mut pair = download(vec![cable(30, 20, 100); 2], stock("reno", true));
    pair.run_for(S);
    assert!(over(&pair, 1).is_some());
    events(&mut pair);
    pair.fault(LinkId(1), Fault::Blackhole(true));
    let subflow = over(&pair, 1).unwrap();
    let now = pair.now();
    pair.act(0, |connection, out| connection.destroy(now, subflow, out));
    join_all(&mut pair, [1]);
    pair.run_for(200 * S);
    let failed = Event::JoinFailed {
        conn: 0,
        path: v4(1),
        reason: JoinFailure::Timeout,
    };
    assert!(events(&mut pair).contains(&failed));
    // The server never hears that the first one is gone, and keeps its place.
    let server = pair.server.connection(0).unwrap();
    assert_eq!(server.subflows(pair.now()).count(), 2);
}

#[test]
fn a_server_without_mptcp_serves_tcp_and_joins_fail() {
    let (client, server) = (stock("reno", true), stock("reno", false));
    let mut pair = Pair::new(1, links(vec![cable(20, 20, 100); 2]), client, server).unwrap();
    pair.start(0, v4(0), [App::Sink, App::Object(1_000_000)]);
    join_all(&mut pair, [1]);
    pair.run_for(5 * S);
    assert_eq!(pair.read(0), 1_000_000);
    assert!(!pair.client.connection(0).unwrap().is_mptcp());
    let events = events(&mut pair);
    assert!(events.contains(&Event::Opened {
        conn: 0,
        mptcp: false
    }));
    assert!(events.contains(&Event::Closed { conn: 0 }));
    assert_eq!(over(&pair, 1), None);
}

#[test]
fn backup_subflows_carry_nothing_until_the_others_are_demoted() {
    let mut pair = download(vec![cable(20, 20, 100); 2], stock("reno", true));
    pair.run_for(2 * S);
    let received = |pair: &Pair, link: u16| {
        let connection = pair.client.connection(0).unwrap();
        let subflow = connection
            .subflows(pair.now())
            .find(|subflow| subflow.path.link == LinkId(link));
        subflow.unwrap().received.in_order
    };
    for (backup, used) in [(1, 0), (0, 1)] {
        for link in [0, 1] {
            let subflow = over(&pair, link).unwrap();
            pair.act(0, |connection, _| connection.set_backup(subflow, link == backup));
        }
        // What the server has already assigned still arrives.
        pair.run_for(4 * S);
        let before = [0, 1].map(|link| received(&pair, link));
        pair.run_for(2 * S);
        let after = [0, 1].map(|link| received(&pair, link));
        let moved = |link: u16| after[usize::from(link)] - before[usize::from(link)];
        assert_eq!(moved(backup), 0);
        assert!(mbps(moved(used), 2 * S) > 18.0);
    }
}

/// CoDel marks instead of dropping, and the sender reacts once per RTT.
#[test]
fn marks_take_the_place_of_losses() {
    let mut managed = cable(20, 40, 100);
    managed.down.queue = QueueConfig {
        aqm: Some(Codel {
            target: 5 * MS,
            interval: 100 * MS,
            ecn: true,
        }),
        ..QueueConfig::tail_drop(QueueLimit::Packets(1_000))
    };
    let config = Config {
        ecn: true,
        ..stock("reno", false)
    };
    let mut pair = pair([managed], config);
    pair.start(0, v4(0), [App::Sink, App::Bulk]);
    pair.run_until(Instant::from_secs(10));
    let server = pair.server.connection(0).unwrap();
    let sent = server.subflows(pair.now()).next().unwrap().sent;
    assert!(sent.congested > 3, "{sent:?}");
    assert_eq!((sent.retransmits, sent.timeouts), (0, 0));
    assert!(mbps(pair.read(0), 10 * S) > 15.0);
    let client = pair.client.connection(0).unwrap();
    let received = client.subflows(pair.now()).next().unwrap().received;
    assert!(received.marked >= sent.congested);
    // The client's own marks slow one link down.
    pair.client.mark_arriving(LinkId(0), Ratio::clamped(0.01));
    pair.run_for(2 * S);
    let before = pair.read(0);
    pair.run_for(10 * S);
    assert!(mbps(pair.read(0) - before, 10 * S) < 8.0);
}

#[test]
fn a_window_cap_ends_the_servers_backlog_and_lifting_it_restores_the_rate() {
    let mut pair = download(vec![cable(30, 20, 200), cable(30, 30, 200)], stock("reno", true));
    let backlog = |pair: &Pair| {
        let server = pair.server.connection(0).unwrap();
        let unsent = server.subflows(pair.now()).map(|subflow| subflow.sample.unsent);
        unsent.fold(Bytes::ZERO, |sum, bytes| sum + bytes)
    };
    pair.run_for(5 * S);
    let stock = backlog(&pair);
    assert!(stock > Bytes::from_kib(1_024), "{stock}");
    let cap = Ahead::from(Bytes::new(300_000));
    pair.act(0, |connection, _| connection.cap_window(Some(cap)));
    pair.run_for(3 * S);
    let capped = backlog(&pair);
    assert!(capped < Bytes::from_kib(64), "{capped}");
    let before = pair.read(0);
    pair.run_for(2 * S);
    let slow = mbps(pair.read(0) - before, 2 * S);
    pair.act(0, |connection, _| connection.cap_window(None));
    pair.run_for(2 * S);
    let before = pair.read(0);
    pair.run_for(2 * S);
    let fast = mbps(pair.read(0) - before, 2 * S);
    assert!(slow > 30.0 && fast > 54.0, "{slow}, {fast}");
}

/// An upload whose unsent bytes are capped keeps its rate.
#[test]
fn an_unsent_cap_keeps_queues_short() {
    let mut pair = pair(vec![cable(20, 20, 200), cable(20, 40, 200)], stock("reno", true));
    pair.start(0, v4(0), [App::Bulk, App::Sink]);
    join_all(&mut pair, [1]);
    pair.act(0, |connection, _| {
        connection.cap_unsent(Some(Bytes::from_kib(64)))
    });
    pair.run_for(4 * S);
    let client = pair.client.connection(0).unwrap();
    for subflow in client.subflows(pair.now()) {
        assert!(subflow.sample.unsent < Bytes::from_kib(140), "{subflow:?}");
    }
    let before = pair.server.connection(0).unwrap().read();
    pair.run_for(4 * S);
    let after = pair.server.connection(0).unwrap().read();
    assert!(mbps(after - before, 4 * S) > 35.0);
}

#[test]
fn a_source_that_pauses_begins_with_the_initial_window_again() {
    let config = stock("reno", false);
    let mut pair = pair([cable(50, 100, 1_000)], config);
    let turns = scenario::OnOff {
        on: 2 * S,
        off: 3 * S,
    };
    let source = OnOff::new(turns);
    pair.start(0, v4(0), [App::Sink, App::OnOff(source)]);
    let cwnd = |pair: &Pair| {
        let server = pair.server.connection(0).unwrap();
        server.subflows(pair.now()).next().unwrap().sample.cwnd
    };
    pair.run_until(Instant::from_secs(2));
    let busy = cwnd(&pair);
    assert!(busy > 100, "{busy}");
    // The connection is open, and the source on, after 0.1 s.
    pair.run_until(Instant::from_millis(5_180));
    let restarted = cwnd(&pair);
    assert!(restarted < 50, "{restarted}");
}

/// Loss, faults, joins, removals, priorities and caps at random: every object arrives whole, and both ends
/// close.
#[test]
fn everything_arrives_once_and_in_order_whatever_happens() {
    let schedulers = [
        SchedulerKind::LinuxDefault,
        SchedulerKind::LowestRtt,
        SchedulerKind::RoundRobin,
        SchedulerKind::Redundant,
        SchedulerKind::Blest,
        SchedulerKind::Ecf,
    ];
    for seed in 0..400 {
        let mut random = Rng::named(seed, "faults");
        let cables = (0..4).map(|_| {
            let mut cable = cable(1 + random.below(30), 1 + random.below(120), 20);
            cable.down.loss = Ratio::clamped(random.unit() * 0.03);
            cable.up.loss = Ratio::clamped(random.unit() * 0.03);
            cable.down.jitter = random.duration_up_to(5 * MS);
            cable
        });
        let cables: Vec<_> = cables.collect();
        let control = ["reno", "cubic", "lia", "olia", "balia"][random.below(5) as usize];
        let config = Config {
            scheduler: schedulers[random.below(6) as usize],
            ..stock(control, true)
        };
        let mut pair = Pair::new(seed, links(cables), config, config).unwrap();
        let bytes = 1 + random.below(4_000_000);
        pair.start(0, v4(0), [App::Sink, App::Object(bytes)]);
        join_all(&mut pair, 1..3);
        for _ in 0..40 {
            pair.run_for(random.duration_up_to(300 * MS));
            disturb(&mut pair, &mut random);
            assert!(pair.read(0) <= bytes, "seed {seed}");
        }
        for link in 0..4 {
            pair.fault(LinkId(link), Fault::Blackhole(false));
        }
        pair.act(0, |connection, _| connection.cap_window(None));
        join_all(&mut pair, 0..4);
        for _ in 0..300 {
            pair.run_for(S);
        }
        assert_eq!(
            pair.read(0),
            bytes,
            "seed {seed}, {control}, {:?}",
            config.scheduler
        );
        assert!(pair.client.connection(0).unwrap().is_at_end(), "seed {seed}");
    }
}

/// One random event. A link is never the only one left that is alive.
fn disturb(pair: &mut Pair, random: &mut Rng) {
    let (now, link) = (pair.now(), random.below(4) as u16);
    let subflow = over(pair, link);
    match (random.below(6), subflow) {
        (0, _) if link > 0 => pair.fault(LinkId(link), Fault::Blackhole(true)),
        (1, _) => pair.fault(LinkId(link), Fault::Blackhole(false)),
        (2, Some(subflow)) if link > 0 => {
            pair.act(0, |connection, out| connection.destroy(now, subflow, out))
        }
        (3, Some(_)) if link > 0 => pair.act(0, |connection, _| connection.withdraw(v4(link))),
        (4, Some(subflow)) => {
            let backup = random.below(2) == 0;
            pair.act(0, |connection, _| connection.set_backup(subflow, backup));
        }
        (5, None) => join_all(pair, [link]),
        _ => {
            let window = Ahead::from(Bytes::new(50_000 + random.below(1_000_000)));
            pair.act(0, |connection, _| connection.cap_window(Some(window)));
        }
    }
}

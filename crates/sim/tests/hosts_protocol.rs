//! Parts of TCP and MPTCP that a bulk transfer does not need: the close, probes, addresses, fallback, what
//! one connection leaves to the next.

#[path = "common/cables.rs"]
mod cables;

use cables::{cable, links, mbps, stock, v4};
use links::{Fault, LinkId};
use policy::{Ahead, Family};
use sim::hosts::{App, Pair};
use sim::mptcp::{Config, Connection, Event, Path, ReceiveBuffer, SchedulerKind, SubflowView};
use units::{Bytes, Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

/// Two links of 20 Mb/s with these RTTs in ms, and a connection over both with these applications.
fn two_paths(rtts: [u64; 2], config: Config, apps: [App; 2]) -> Pair {
    let cables = rtts.map(|rtt| cable(20, rtt, 100));
    let mut pair = Pair::new(1, links(cables), config, config).unwrap();
    pair.start(0, v4(0), apps);
    join(&mut pair, v4(1));
    pair
}

fn join(pair: &mut Pair, path: Path) {
    let now = pair.now();
    pair.act(0, |connection, out| connection.join(now, path, false, out));
}

fn server(pair: &Pair) -> &Connection {
    pair.server.connection(0).unwrap()
}

fn client(pair: &Pair) -> &Connection {
    pair.client.connection(0).unwrap()
}

fn subflows(connection: &Connection, pair: &Pair) -> Vec<SubflowView> {
    connection.subflows(pair.now()).collect()
}

fn events(pair: &mut Pair) -> Vec<Event> {
    std::iter::from_fn(|| pair.client.poll_event()).collect()
}

fn announced(pair: &mut Pair) -> usize {
    let is_announcement = |event: &Event| matches!(event, Event::Announced { .. });
    events(pair).iter().filter(|event| is_announcement(event)).count()
}

fn blackhole(pair: &mut Pair, on: bool) {
    for link in [0, 1] {
        pair.fault(LinkId(link), Fault::Blackhole(on));
    }
}

fn act_at_server(pair: &mut Pair, action: impl FnOnce(&mut Connection)) {
    let now = pair.now();
    pair.server.act(now, 0, |connection, _| action(connection));
    pair.run_for(Duration::ZERO);
}

/// DATA_FIN comes with the last data: the end of the data is known with its last byte, although FIN on the
/// subflows comes after another RTT.
#[test]
fn the_end_of_the_data_arrives_with_its_last_byte() {
    let bytes = 40_000;
    let mut pair = two_paths([40, 40], stock("reno", true), [App::Sink, App::Object(bytes)]);
    let (mut complete, mut ended) = (None, None);
    while let Some(next) = pair.next().filter(|&next| next < Instant::from_secs(5)) {
        pair.step(next);
        if pair.read(0) == bytes {
            complete = complete.or(Some(next));
        }
        if client(&pair).is_at_end() {
            ended = ended.or(Some(next));
        }
    }
    assert!(complete.is_some() && ended == complete, "{complete:?}, {ended:?}");
    assert!(client(&pair).is_closed() && server(&pair).is_closed());
}

#[test]
fn a_lost_data_fin_is_repeated_until_both_ends_close() {
    let mut pair = two_paths([20, 40], stock("reno", true), [App::Sink, App::Sink]);
    pair.run_for(S);
    assert_eq!(
        subflows(client(&pair), &pair).len(),
        1,
        "nothing has confirmed MPTCP"
    );
    blackhole(&mut pair, true);
    act_at_server(&mut pair, Connection::finish);
    pair.run_for(5 * S);
    assert!(!client(&pair).is_at_end());
    blackhole(&mut pair, false);
    // Repeated after 0.2, 0.6, 1.4, 3.0 and 6.2 s.
    pair.run_for(2 * S);
    assert!(client(&pair).is_at_end());
    assert!(client(&pair).is_closed() && server(&pair).is_closed());
}

/// One end has finished, the other has not: the subflows stay, and carry the rest.
#[test]
fn a_half_closed_connection_keeps_its_subflows() {
    let (up, down) = (6_000_000, 50_000);
    let mut pair = two_paths(
        [20, 40],
        stock("reno", true),
        [App::Object(up), App::Object(down)],
    );
    pair.run_for(S);
    assert!(client(&pair).is_at_end() && !server(&pair).is_at_end());
    assert_eq!(subflows(client(&pair), &pair).len(), 2);
    pair.run_for(3 * S);
    assert_eq!(server(&pair).read(), up);
    assert!(client(&pair).is_closed() && server(&pair).is_closed());
    assert_eq!(subflows(client(&pair), &pair).len(), 0);
}

/// The window closes, and opens without an ACK that says so. Probes find out, each after twice the interval.
#[test]
fn a_window_that_opens_silently_is_found_by_probes() {
    for mptcp in [false, true] {
        let config = Config {
            receive_buffer: ReceiveBuffer::Window(Bytes::from_kib(128)),
            ..stock("reno", mptcp)
        };
        let mut pair = Pair::new(1, links([cable(20, 40, 100)]), config, config).unwrap();
        pair.start(0, v4(0), [App::Sink, App::Bulk]);
        pair.run_for(2 * S);
        pair.act(0, |connection, _| {
            connection.cap_window(Some(Ahead::from(Bytes::ZERO)))
        });
        pair.run_for(S / 4);
        let (from, read) = (pair.now(), pair.read(0));
        let segments = |pair: &Pair| subflows(client(pair), pair)[0].received.segments;
        let (mut seen, mut probes) = (segments(&pair), Vec::new());
        while let Some(next) = pair.next().filter(|&next| next < from + 10 * S) {
            pair.step(next);
            if segments(&pair) > seen {
                seen = segments(&pair);
                probes.push(next);
            }
        }
        assert_eq!(pair.read(0), read, "{mptcp}: the window is closed");
        let gaps: Vec<_> = probes
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_millis())
            .collect();
        assert!(gaps.len() >= 3, "{mptcp}: {gaps:?}");
        for pair in gaps.windows(2) {
            assert!(pair[1].abs_diff(2 * pair[0]) <= 2, "{mptcp}: {gaps:?}");
        }
        pair.act(0, |connection, _| connection.cap_window(None));
        let wait = Duration::from_millis(2 * *gaps.last().unwrap() as u64);
        pair.run_until(*probes.last().unwrap() + wait + S);
        assert!(
            pair.read(0) > read + 500_000,
            "{mptcp}: {} of {read}",
            pair.read(0)
        );
    }
}

/// An address of another family, which the client learns from the server alone.
const SECOND: Path = Path {
    server: 1,
    ..Path::over(LinkId(1), Family::V6)
};

#[test]
fn an_announced_address_is_joined_and_a_removed_one_closed() {
    let mut pair = two_paths([20, 40], stock("reno", true), [App::Sink, App::Bulk]);
    pair.run_for(S);
    events(&mut pair);
    let now = pair.now();
    act_at_server(&mut pair, |connection| connection.announce(now, 1, Family::V6));
    pair.run_for(S / 4);
    let news = events(&mut pair);
    let [Event::Announced { address, family, .. }] = news[..] else {
        panic!("{news:?}");
    };
    join(
        &mut pair,
        Path {
            server: address,
            ..Path::over(LinkId(1), family)
        },
    );
    pair.run_for(2 * S);
    let over = |pair: &Pair| {
        let subflows = subflows(client(pair), pair).into_iter();
        subflows
            .map(|view| (view.path, view.received.in_order))
            .collect::<Vec<_>>()
    };
    let joined = over(&pair);
    assert_eq!(joined.len(), 3, "{joined:?}");
    assert!(joined[2].0 == SECOND && joined[2].1 > 100_000, "{joined:?}");
    act_at_server(&mut pair, |connection| connection.withdraw(SECOND));
    pair.run_for(S);
    assert!(over(&pair).iter().map(|(path, _)| *path).eq([v4(0), v4(1)]));
}

#[test]
fn an_announcement_is_repeated_until_it_is_echoed() {
    let mut pair = two_paths([20, 40], stock("reno", true), [App::Sink, App::Bulk]);
    pair.run_for(S);
    blackhole(&mut pair, true);
    let now = pair.now();
    act_at_server(&mut pair, |connection| connection.announce(now, 1, Family::V6));
    pair.run_for(S / 10);
    blackhole(&mut pair, false);
    assert_eq!(announced(&mut pair), 0);
    pair.run_for(5 * S);
    assert_eq!(announced(&mut pair), 1, "its echo has ended the repetition");
    // Nothing is echoed here: four in total, and no more.
    pair.fault(LinkId(0), Fault::Blackhole(true));
    pair.fault(LinkId(1), Fault::Blackhole(true));
    let now = pair.now();
    act_at_server(&mut pair, |connection| connection.announce(now, 2, Family::V6));
    pair.run_for(300 * S);
    blackhole(&mut pair, false);
    pair.run_for(300 * S);
    assert_eq!(announced(&mut pair), 0);
}

#[test]
fn probes_of_hosts_are_answered_in_a_round_trip_and_not_over_a_dead_link() {
    let mut pair = two_paths([20, 60], stock("reno", true), [App::Sink, App::Sink]);
    pair.run_for(S);
    events(&mut pair);
    pair.fault(LinkId(0), Fault::Blackhole(true));
    let now = pair.now();
    for (probe, link) in [(1, 0), (2, 1)] {
        pair.client.probe(now, LinkId(link), Family::V4, probe, true);
    }
    pair.run_for(S);
    let news = events(&mut pair);
    let [Event::ProbeAnswered { link, probe, rtt }] = news[..] else {
        panic!("{news:?}");
    };
    assert_eq!((link, probe), (LinkId(1), 2));
    assert!((60 * MS..61 * MS).contains(&rtt), "{rtt:?}");
    // Servers probe, too.
    let now = pair.now();
    pair.server.probe(now, LinkId(1), Family::V4, 3, false);
    pair.run_for(S);
    let news: Vec<_> = std::iter::from_fn(|| pair.server.poll_event()).collect();
    assert!(
        matches!(news.last(), Some(Event::ProbeAnswered { probe: 3, .. })),
        "{news:?}"
    );
}

/// With the cache, the second connection begins with the threshold that losses have left, and so loses less
/// in its slow start.
#[test]
fn a_cached_threshold_spares_the_next_connection_its_losses() {
    let config = stock("reno", false);
    let mut pair = Pair::new(1, links([cable(20, 50, 60)]), config, config).unwrap();
    pair.start(0, v4(0), [App::Sink, App::Object(10_000_000)]);
    let mut metrics = None;
    while !client(&pair).is_closed() {
        pair.run_for(100 * MS);
        metrics = server(&pair).metrics(v4(0)).or(metrics);
    }
    let metrics = metrics.unwrap();
    assert!(
        metrics.ssthresh.is_some() && metrics.srtt > 50 * MS,
        "{metrics:?}"
    );
    let mut losses = Vec::new();
    for (conn, cached) in [(1, None), (2, Some(metrics))] {
        let mut config = config;
        config.sender.metrics = cached;
        pair.server.configure(config);
        pair.start(conn, v4(0), [App::Sink, App::Object(3_000_000)]);
        let mut sent = Default::default();
        while !pair.client.connection(conn).unwrap().is_closed() {
            let server = pair.server.connection(conn);
            let views = server.into_iter().flat_map(|server| server.subflows(pair.now()));
            sent = views.map(|view| view.sent).last().unwrap_or(sent);
            pair.run_for(10 * MS);
        }
        losses.push(sent.retransmits);
    }
    assert!(losses[0] > 20 && losses[1] < losses[0] / 4, "{losses:?}");
}

/// The first SYNs are lost. The fourth, after 7 s, no longer asks for MPTCP.
#[test]
fn a_client_whose_syns_are_lost_falls_back_to_tcp() {
    let config = stock("reno", true);
    for (lost, is_mptcp) in [(2_000, true), (4_000, false)] {
        let mut pair = Pair::new(1, links([cable(20, 40, 100)]), config, config).unwrap();
        pair.fault(LinkId(0), Fault::Blackhole(true));
        pair.start(0, v4(0), [App::Sink, App::Object(1_000_000)]);
        pair.run_until(Instant::from_millis(lost));
        pair.fault(LinkId(0), Fault::Blackhole(false));
        pair.run_for(10 * S);
        assert_eq!(pair.read(0), 1_000_000);
        assert_eq!(
            (client(&pair).is_mptcp(), server(&pair).is_mptcp()),
            (is_mptcp, is_mptcp)
        );
        assert!(client(&pair).is_closed() && server(&pair).is_closed());
    }
}

/// A small receive window over a fast path and one of 2 Mb/s: the slow one holds the window's first bytes,
/// and the fast one waits for it, unless they are reinjected.
#[test]
fn opportunistic_retransmission_unblocks_a_small_window() {
    let goodput = |rescue: bool| {
        let config = Config {
            scheduler: SchedulerKind::LowestRtt,
            receive_buffer: ReceiveBuffer::Window(Bytes::from_kib(128)),
            rescue,
            ..stock("reno", true)
        };
        let cables = [cable(20, 20, 15), cable(2, 150, 100)];
        let mut pair = Pair::new(1, links(cables), config, config).unwrap();
        pair.start(0, v4(0), [App::Sink, App::Bulk]);
        join(&mut pair, v4(1));
        pair.run_for(20 * S);
        mbps(pair.read(0), 20 * S)
    };
    let (without, with) = (goodput(false), goodput(true));
    println!("{without} and {with} Mb/s");
    assert!(with > 2.5 * without, "{without}, {with}");
}

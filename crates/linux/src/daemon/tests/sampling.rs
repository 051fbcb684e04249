//! The two ways of sampling counters: few sockets are looked up one by one, many are listed at once.

use super::flow::{Download, Source};
use super::net::Net;
use super::rig::{Manual, PATIENCE};
use crate::diag::{Diag, States};
use policy::{LinkId, Reason, SubflowId};
use std::time::Duration;

const MUCH: u64 = 500_000;
/// Looks up everything, however much there is.
const LOOK_UP: (usize, usize) = (usize::MAX, usize::MAX);
/// Lists everything.
const LIST: (usize, usize) = (0, 0);
/// With two subflows each: more subflows than are looked up one by one, but fewer connections.
const MANY: usize = 80;
/// Few enough for the server's own queue. If the queue is full, the kernel lets a connection starve
/// (docs/kernel.md).
const SOME: usize = 20;

fn with_download(few: (usize, usize), test: impl FnOnce(&mut Manual, Download) + Send) {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(2);
        daemon.daemon.world.sampler.few = few;
        let download = Download::start(&net);
        test(&mut daemon, download);
    });
}

/// Samples this many times without reading any event.
fn read_only(daemon: &mut Manual, times: u32) {
    let world = &mut daemon.daemon.world;
    let start = world.sampler.wake_at().unwrap().max(world.host.outlet.now);
    for reading in 1..=times {
        world.sample(start + Duration::from_millis(100) * reading, false);
    }
}

/// Ends a subflow's socket. The daemon does not know until it reads events again.
fn end(daemon: &Manual, id: SubflowId) {
    let local = daemon.daemon.world.conns.flows.subflow(id).unwrap().ends.local;
    let mut found = None;
    let mut diag = Diag::open().unwrap();
    diag.each_tcp(States::CONNECTED, |socket| {
        if socket.local == local && socket.subflow.is_some() {
            found = Some(*socket);
        }
    })
    .unwrap();
    diag.end(&found.unwrap()).unwrap();
}

fn is_living(daemon: &Manual, id: SubflowId) -> bool {
    let subflow = daemon.daemon.world.conns.flows.subflow(id);
    subflow.is_some_and(|subflow| subflow.living())
}

fn counters_advance(few: (usize, usize)) {
    with_download(few, |daemon, download| {
        let (first, second) = (daemon.subflow(0), daemon.join(1));
        daemon.until_received(first, MUCH);
        daemon.until_received(second, MUCH);
        download.expect_more(MUCH, PATIENCE);
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn few_are_looked_up_and_their_counters_advance() {
    counters_advance(LOOK_UP);
}

#[test]
fn many_are_listed_and_their_counters_advance() {
    counters_advance(LIST);
}

fn a_lost_subflow_is_missed_at_the_third_reading(few: (usize, usize)) {
    with_download(few, |daemon, _download| {
        let second = daemon.join(1);
        daemon.until_received(second, MUCH);
        end(daemon, second);
        read_only(daemon, 2);
        assert!(is_living(daemon, second), "two misses are no proof");
        read_only(daemon, 1);
        assert!(!is_living(daemon, second), "three are");
    });
}

#[test]
fn a_subflow_that_is_gone_without_an_event_is_missed_by_look_ups() {
    a_lost_subflow_is_missed_at_the_third_reading(LOOK_UP);
}

#[test]
fn a_subflow_that_is_gone_without_an_event_is_missed_by_lists() {
    a_lost_subflow_is_missed_at_the_third_reading(LIST);
}

fn a_closed_connection_is_found_gone(few: (usize, usize)) {
    with_download(few, |daemon, download| {
        let conn = daemon.conn();
        daemon.subflow(0);
        drop(download);
        let mut until = crate::testing::Patience::of(PATIENCE);
        while daemon.daemon.world.conns.flows.conn(conn).is_some() {
            assert!(until.lasts(), "the connection is still on the books");
            read_only(daemon, 1);
        }
    });
}

#[test]
fn a_connection_that_is_gone_without_an_event_is_found_by_look_ups() {
    a_closed_connection_is_found_gone(LOOK_UP);
}

#[test]
fn a_connection_that_is_gone_without_an_event_is_found_by_lists() {
    a_closed_connection_is_found_gone(LIST);
}

#[test]
fn more_than_the_limit_are_listed_and_fewer_are_looked_up_again_at_once() {
    with_download(LOOK_UP, |daemon, download| {
        let second = daemon.join(1);
        daemon.until_received(second, MUCH);
        let ways = |daemon: &mut Manual, few| {
            daemon.daemon.world.sampler.few = few;
            read_only(daemon, 1);
            daemon.daemon.world.sampler.many()
        };
        // Two subflows of one connection.
        assert_eq!(ways(daemon, (2, 1)), (false, false));
        assert_eq!(ways(daemon, (1, 1)), (true, false));
        assert_eq!(ways(daemon, (1, 0)), (true, true));
        assert_eq!(ways(daemon, (2, 1)), (false, false));
        download.expect_more(MUCH, PATIENCE);
    });
}

/// This many downloads over two links, with all subflows listed.
fn listed(net: &Net, daemon: &mut Manual, connections: usize) -> Vec<Download> {
    let mut downloads = Vec::new();
    // The server's accept queue is short.
    for _ in 0..connections {
        downloads.push(Download::start(net));
        daemon.for_a_while(Duration::from_millis(10));
    }
    daemon.until("all go over both links and are listed", |daemon, _| {
        let subflows = daemon.world.conns.flows.living().count();
        subflows == 2 * connections && daemon.world.sampler.many() == (true, false)
    });
    daemon.for_a_while(Duration::from_secs(3));
    assert_eq!(daemon.given_up().first(), None, "both links live");
    downloads
}

/// Kills the second link and waits until nothing uses it.
fn lose_the_second(net: &Net, daemon: &mut Manual) {
    net.kill(1);
    daemon.until("the dead link is given up", |_, seen| {
        seen.given_up().any(|(link, _)| link == LinkId(1))
    });
    daemon.until("nothing goes over it any more", |daemon, _| {
        let mut living = daemon.world.conns.flows.living();
        living.all(|subflow| subflow.link == LinkId(0))
    });
}

fn assert_that_the_first_was_kept(net: &Net, daemon: &Manual) {
    let wrong = |(link, _): &(LinkId, Reason)| *link != LinkId(1);
    assert_eq!(daemon.given_up().into_iter().find(wrong), None, "it lives");
    assert!(net.server_counter("RmAddr") > 0);
}

#[test]
fn among_many_subflows_that_are_listed_a_link_that_dies_is_given_up_and_no_other() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::deciding(2);
        let _downloads = listed(&net, &mut daemon, MANY);
        lose_the_second(&net, &mut daemon);
        daemon.for_a_while(Duration::from_secs(3));
        assert_that_the_first_was_kept(&net, &daemon);
    });
}

#[test]
fn after_a_link_has_died_among_listed_subflows_every_download_continues() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::deciding(2);
        daemon.daemon.world.sampler.few = (2 * SOME - 1, SOME);
        let downloads = listed(&net, &mut daemon, SOME);
        lose_the_second(&net, &mut daemon);
        let read = || downloads.iter().map(Download::read);
        let before = Vec::from_iter(read());
        daemon.until("every download continues", |_, _| {
            read().zip(&before).all(|(now, before)| now > *before)
        });
        assert_that_the_first_was_kept(&net, &daemon);
    });
}

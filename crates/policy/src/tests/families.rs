//! One connection over IPv4 and IPv6: which of the peer's addresses a join takes, and what a join to an
//! announced address may cost.

use super::World;
use crate::*;
use units::{Duration, Instant};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const ANNOUNCED: RemoteId = RemoteId(5);
const CONN: ConnId = ConnId(1);

fn up(world: &mut World, id: u16, families: &[Family]) {
    world.add(id, LinkKind::Cable, Role::Primary, 50, 20);
    plug_in(world, id, families);
}

fn plug_in(world: &mut World, id: u16, families: &[Family]) {
    let addresses = families.iter().map(|family| LinkEvent::Address(*family, true));
    let events = [LinkEvent::Carrier(true)].into_iter().chain(addresses);
    for event in events.chain([LinkEvent::Usable(true)]) {
        world.tell(Input::Link(LinkId(id), event));
    }
}

/// A connection over link 0, which has IPv4 only, to a server whose IPv6 address is announced.
fn begun() -> World {
    let mut world = World::new(Policy::Slowhand);
    up(&mut world, 0, &[Family::V4]);
    world.open(1, 0);
    world.tell(Input::Conn(CONN, ConnEvent::Remote(RemoteId::FIRST, Family::V4)));
    world.tell(Input::Conn(CONN, ConnEvent::Remote(ANNOUNCED, Family::V6)));
    world.run(S);
    world
}

/// The peer's addresses to which joins over this link were requested, and when.
fn tried(world: &World, over: u16, since: Instant) -> Vec<(RemoteId, Instant)> {
    let join = |(at, action): &(Instant, Action)| match *action {
        Action::Join { link, remote, .. } if link == LinkId(over) && *at >= since => Some((remote, *at)),
        _ => None,
    };
    world.done.iter().filter_map(join).collect()
}

fn remotes(world: &World, over: u16) -> Vec<RemoteId> {
    let tried = tried(world, over, Instant::ZERO);
    tried.into_iter().map(|(remote, _)| remote).collect()
}

fn fail(world: &mut World, link: u16, reason: JoinFailure) {
    world.lose_joins();
    let link = LinkId(link);
    world.tell(Input::Conn(CONN, ConnEvent::JoinFailed { link, reason }));
}

#[test]
fn a_link_joins_at_an_address_of_a_family_that_it_has() {
    for (families, remote) in [
        (&[Family::V6][..], ANNOUNCED),
        (&[Family::V4], RemoteId::FIRST),
        (&Family::ALL, RemoteId::FIRST),
    ] {
        let mut world = begun();
        up(&mut world, 1, families);
        world.run(S);
        assert_eq!(remotes(&world, 1), [remote], "{families:?}");
        assert_eq!(world.joined(), [0, 1], "{families:?}: one subflow for each link");
    }
}

#[test]
fn an_address_announced_later_is_joined_at_once() {
    let mut world = World::new(Policy::Slowhand);
    up(&mut world, 0, &[Family::V6]);
    world.open(1, 0);
    world.tell(Input::Conn(CONN, ConnEvent::Remote(RemoteId::FIRST, Family::V6)));
    up(&mut world, 1, &[Family::V4]);
    world.run(MS * 10);
    assert_eq!(remotes(&world, 1), [RemoteId::FIRST], "the world says why not");
    fail(&mut world, 1, JoinFailure::NoAddress);
    assert_eq!(
        world.engine.explain()[1].why,
        "it has no address of the peer's family (IPv4 or IPv6)"
    );
    world.tell(Input::Conn(CONN, ConnEvent::Remote(ANNOUNCED, Family::V4)));
    world.run(MS * 100);
    assert_eq!(remotes(&world, 1), [RemoteId::FIRST, ANNOUNCED]);
    assert_eq!(world.joined(), [0, 1]);
}

#[test]
fn a_join_that_fails_in_one_family_tries_the_other_at_once_and_then_waits() {
    let mut world = begun();
    up(&mut world, 1, &Family::ALL);
    let since = world.now;
    for _ in 0..2 {
        world.run(MS * 10);
        fail(&mut world, 1, JoinFailure::Timeout);
    }
    world.run(MS * 10);
    let both = tried(&world, 1, since);
    assert_eq!([both[0].0, both[1].0], [RemoteId::FIRST, ANNOUNCED]);
    assert!(both[1].1 - both[0].1 < MS * 100, "{both:?}");
    assert_eq!(both.len(), 2, "neither is tried again so soon");
    world.run(S * 3);
    let third = tried(&world, 1, since)[2];
    assert_eq!(third.0, RemoteId::FIRST, "it failed longest ago");
    assert!(third.1 - both[1].1 >= S * 2, "{third:?}");
    assert_eq!(world.joined(), [0, 1]);
}

#[test]
fn the_address_that_worked_over_a_link_is_preferred_there() {
    let mut world = begun();
    up(&mut world, 1, &Family::ALL);
    world.run(MS * 10);
    fail(&mut world, 1, JoinFailure::Timeout);
    world.run(S);
    assert_eq!(remotes(&world, 1), [RemoteId::FIRST, ANNOUNCED]);
    assert_eq!(world.joined(), [0, 1]);
    world.tell(Input::Link(LinkId(1), LinkEvent::Usable(false)));
    world.run(S);
    plug_in(&mut world, 1, &Family::ALL);
    world.run(S);
    assert_eq!(remotes(&world, 1)[2..], [ANNOUNCED]);
}

/// Runs for a while, and fails every join over this link at once. Returns the joins.
fn run_in_vain(world: &mut World, link: u16, lasts: Duration) -> Vec<(RemoteId, Instant)> {
    let since = world.now;
    let mut failed = 0;
    while world.now - since < lasts {
        while tried(world, link, since).len() > failed {
            failed += 1;
            fail(world, link, JoinFailure::Timeout);
        }
        world.run(MS * 10);
    }
    tried(world, link, since)
}

/// The peer has two places. Links 1 and 2 have them, and link 3 is preferred but has IPv6 only.
#[test]
fn an_announced_address_that_cannot_be_reached_ends_a_subflow_once_at_most() {
    let mut world = begun();
    for link in [1, 2] {
        world.add(link, LinkKind::Cable, Role::Secondary, 50, 20);
        plug_in(&mut world, link, &[Family::V4]);
    }
    world.run(3 * S);
    assert_eq!(world.joined(), [0, 1, 2]);
    up(&mut world, 3, &[Family::V6]);
    let tried = run_in_vain(&mut world, 3, S * 200);
    assert_eq!(world.joined(), [0, 1, 2]);
    assert_eq!(tried.len(), 1, "the places are taken");
    world.tell(Input::Link(LinkId(1), LinkEvent::Usable(false)));
    world.run(S);
    assert_eq!(world.joined(), [0, 2, 3], "a place is free");
}

/// Joins to an announced address that never answers become ever rarer.
#[test]
fn an_announced_address_that_never_answers_is_tried_ever_more_rarely() {
    let mut world = begun();
    up(&mut world, 1, &[Family::V6]);
    let tried = run_in_vain(&mut world, 1, S * 300);
    assert!((7..=10).contains(&tried.len()), "{tried:?}");
    assert!(tried[1].1 - tried[0].1 < S * 3, "{tried:?}");
}

/// Without an address of its family, a link can have no subflow, so it keeps no place from others.
#[test]
fn a_link_that_cannot_reach_the_peer_takes_no_place() {
    let mut world = World::new(Policy::Slowhand);
    up(&mut world, 0, &[Family::V4]);
    world.open(1, 0);
    world.tell(Input::Conn(CONN, ConnEvent::Remote(RemoteId::FIRST, Family::V4)));
    for link in [1, 2] {
        up(&mut world, link, &[Family::V6]);
        world.run(MS * 10);
        fail(&mut world, link, JoinFailure::NoAddress);
    }
    for link in [3, 4] {
        up(&mut world, link, &[Family::V4]);
    }
    world.run(S);
    assert_eq!(world.joined(), [0, 3, 4]);
}

#[test]
fn an_address_that_the_peer_withdraws_is_joined_no_more() {
    let mut world = begun();
    world.tell(Input::Conn(CONN, ConnEvent::RemoteGone(ANNOUNCED)));
    up(&mut world, 1, &[Family::V6]);
    world.run(S);
    assert_eq!(remotes(&world, 1), [RemoteId::FIRST]);
}

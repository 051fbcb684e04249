//! Links that are polled rarely or late: time in which nobody polled does not count as silence.

use super::World;
use crate::*;
use units::{Bitrate, Duration, Instant, Rng};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
/// More than the daemon polls one by one, with two subflows each.
const CONNECTIONS: u32 = 80;
/// The queue on each link, which its minimum round trip does not show.
const QUEUE: Duration = Duration::from_millis(42);

/// Two full links, each shared by all connections, with a queue on each.
fn two_full_links(policy: Policy) -> World {
    let mut world = World::new(policy);
    for id in 0..2 {
        world.up(id, LinkKind::Cable, Role::Primary, 1, 1);
        let link = world.links.get_mut(&LinkId(id)).unwrap();
        link.rate = Bitrate::from_kbps(500);
        (link.queue, link.answers_after) = (QUEUE, link.rtt + QUEUE);
    }
    world.counts = true;
    for conn in 1..=CONNECTIONS {
        world.open(conn, 0);
    }
    world.run(3 * S);
    assert_eq!(world.joined().len(), 2 * CONNECTIONS as usize);
    world
}

/// From now on counters are read 30 to 200 ms after the last time.
fn read_seldom(world: &mut World, seed: u64) {
    let mut rng = Rng::named(seed, "readings");
    world.pauses = (0..64).map(|_| 30 * MS + rng.duration_up_to(170 * MS)).collect();
}

fn given_up(world: &World, since: Instant) -> Vec<String> {
    let proof = |(at, action): &(Instant, Action)| match action {
        Action::Note(note) if note.verb == Verb::Remove && *at >= since => {
            Some(format!("{at}: link {:?}: {:?}", note.link, note.reason))
        }
        _ => None,
    };
    world.done.iter().filter_map(proof).collect()
}

fn is_given_up(world: &World, since: Instant, link: u16) -> bool {
    let proof = |action: &Action| matches!(action, Action::Note(note) if note.verb == Verb::Remove && note.link == Some(LinkId(link)));
    !world.asked(since, proof).is_empty()
}

fn longest_pause(world: &World) -> Duration {
    let pauses = world.readings.windows(2).map(|pair| pair[1] - pair[0]);
    pauses.max().unwrap()
}

/// One connection after the other stops, while its neighbours continue.
fn let_some_stand_still(world: &mut World, times: u32) {
    for turn in 0..times {
        let last = CONNECTIONS - turn % 4;
        world.idle = Some(ConnId(last));
        world.run(400 * MS);
        world.idle = None;
        world.run(200 * MS);
    }
}

#[test]
fn full_links_that_are_polled_rarely_are_not_removed() {
    for policy in [Policy::Slowhand, Policy::SlowhandNoWindow] {
        for seed in 0..4 {
            let mut world = two_full_links(policy);
            world.glances = seed % 2 == 1;
            read_seldom(&mut world, seed);
            let since = world.now;
            let_some_stand_still(&mut world, 30);
            let wrong = given_up(&world, since);
            assert!(wrong.is_empty(), "{policy:?}, seed {seed}: {wrong:#?}");
            let longest = longest_pause(&world);
            assert!(longest >= 150 * MS && longest <= 210 * MS, "{longest:?}");
        }
    }
}

/// All senders pause for a moment, so that one poll finds nothing new, and the next one comes late.
#[test]
fn links_that_pause_while_polled_rarely_are_not_removed() {
    let mut asked = 0;
    for seed in 0..8 {
        let mut world = two_full_links(Policy::SlowhandNoWindow);
        world.glances = seed % 2 == 1;
        read_seldom(&mut world, seed);
        let since = world.now;
        for _ in 0..20 {
            world.demand = 0.0;
            world.run(300 * MS);
            world.demand = 1.0;
            world.run(300 * MS);
        }
        asked += world
            .asked(since, |action| matches!(action, Action::Probe { .. }))
            .len();
        let wrong = given_up(&world, since);
        assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
    }
    assert!(asked > 0, "no link was ever suspect");
}

/// Two live links have been suspect for this long.
fn in_doubt_for(time: Duration) -> World {
    let mut world = World::new(Policy::Slowhand);
    world.glances = true;
    for (id, rtt) in [(0, 30), (1, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 50, rtt);
    }
    world.counts = true;
    world.open(1, 0);
    world.run(3 * S);
    world.demand = 0.0;
    while world.state_of(0) != "in-doubt" || world.state_of(1) != "in-doubt" {
        world.run(5 * MS);
    }
    world.run(time);
    world
}

#[test]
fn a_doubt_is_not_proven_while_the_engine_does_not_run() {
    for phase in 0..=12 {
        for late in [20, 50, 100, 500, 10_000] {
            let mut world = in_doubt_for(phase * 5 * MS);
            let since = world.now;
            world.starve(late * MS);
            world.run(2 * S);
            let wrong = given_up(&world, since);
            assert!(wrong.is_empty(), "{late} ms late after {}: {wrong:#?}", phase * 5);
        }
    }
}

#[test]
fn a_host_that_was_frozen_removes_no_link_afterwards() {
    for phase in 0..=12 {
        for frozen in [S / 2, S, 10 * S] {
            let mut world = in_doubt_for(phase * 5 * MS);
            let since = world.now;
            world.freeze(frozen);
            world.run(2 * S);
            let wrong = given_up(&world, since);
            assert!(
                wrong.is_empty(),
                "frozen for {frozen:?} after {} ms: {wrong:#?}",
                phase * 5
            );
        }
    }
}

#[test]
fn a_host_that_was_suspended_removes_no_link_afterwards() {
    for phase in 0..=12 {
        let mut world = in_doubt_for(phase * 5 * MS);
        let since = world.now;
        world.lose_answers();
        world.tell(Input::Resumed);
        world.run(2 * S);
        let wrong = given_up(&world, since);
        assert!(wrong.is_empty(), "suspended after {} ms: {wrong:#?}", phase * 5);
    }
}

#[test]
fn a_low_traffic_path_in_a_neighbours_queue_is_not_removed() {
    for queue in [40, 80, 120] {
        let mut world = World::new(Policy::SlowhandNoWindow);
        for id in 0..2 {
            world.up(id, LinkKind::Cable, Role::Primary, 50, 10);
            let link = world.links.get_mut(&LinkId(id)).unwrap();
            link.queue = queue * MS;
            link.answers_after = link.rtt + link.queue;
        }
        world.demand = 0.003;
        world.open(1, 0);
        let since = world.now;
        for _ in 0..20 {
            world.demand = 0.003;
            world.run(S);
            world.demand = 0.0;
            world.run(S / 2);
        }
        let probed = world.asked(since, |action| matches!(action, Action::Probe { .. }));
        assert!(!probed.is_empty(), "no link was ever suspect");
        let wrong = given_up(&world, since);
        assert!(wrong.is_empty(), "{queue} ms: {wrong:#?}");
    }
}

/// The time until the dead one of two full links is found.
fn known_after(seed: u64, dies_after: Duration) -> Duration {
    let mut world = two_full_links(Policy::SlowhandNoWindow);
    world.glances = true;
    read_seldom(&mut world, seed);
    world.run(S + dies_after);
    let cut = world.now;
    world.set_alive(1, false);
    while !is_given_up(&world, cut, 1) {
        world.run(5 * MS);
        assert!(world.now - cut <= 5 * S, "not found");
    }
    assert!(!is_given_up(&world, cut, 0));
    world.now - cut
}

#[test]
fn a_full_link_that_is_polled_rarely_and_dies_is_found() {
    let mut took: Vec<Duration> = (0..40)
        .map(|trial| known_after(trial, 7 * trial as u32 * MS))
        .collect();
    took.sort_unstable();
    println!("found after {:?} (median), {:?} (longest)", took[20], took[39]);
    // The first poll may find what arrived before the cut, 200 ms later. The next one that finds 150 ms of
    // silence may be another 350 ms later, and a reply is given 73 ms.
    assert!(took[39] <= 630 * MS, "{took:?}");
}

/// A short and a long cable, both busy. Those named deliver nothing for this long.
fn silent_for(links: &[u16], time: Duration) -> (World, Instant) {
    let mut world = World::new(Policy::Slowhand);
    world.counts = true;
    for (id, mbps, rtt) in [(0, 30, 20), (1, 10, 100)] {
        world.up(id, LinkKind::Cable, Role::Primary, mbps, rtt);
    }
    world.open(1, 0);
    world.run(3 * S);
    assert_eq!(world.in_use(), [0, 1]);
    let since = world.now;
    links.iter().for_each(|&link| world.set_alive(link, false));
    world.lose_answers();
    world.run(time);
    links.iter().for_each(|&link| world.set_alive(link, true));
    (world, since)
}

#[test]
fn links_that_are_silent_together_for_a_moment_are_not_removed() {
    for time in [40, 70, 100, 120] {
        let (mut world, since) = silent_for(&[0, 1], time * MS);
        assert!(
            world.state_of(0) == "in-doubt" && world.state_of(1) == "in-doubt",
            "{time} ms: {} {}",
            world.state_of(0),
            world.state_of(1)
        );
        world.run(S);
        let wrong = given_up(&world, since);
        assert!(wrong.is_empty(), "{time} ms: {wrong:#?}");
    }
    // The control: a link that is silent while the other continues is found dead.
    let (world, since) = silent_for(&[0], 100 * MS);
    assert!(is_given_up(&world, since, 0) && !is_given_up(&world, since, 1));
}

#[test]
fn links_that_die_together_are_removed_together() {
    let (world, since) = silent_for(&[0, 1], 400 * MS);
    let proofs = world.asked(
        since,
        |action| matches!(action, Action::Note(note) if note.verb == Verb::Remove),
    );
    assert_eq!(proofs.len(), 2);
    assert_eq!(proofs[0], proofs[1]);
    assert!(proofs[0] - since <= 200 * MS, "{:?}", proofs[0] - since);
}

//! Which links are joined, and in which role.

use super::{World, spec};
use crate::reason::Choice;
use crate::*;
use units::{Bitrate, Duration, Instant};

const S: Duration = Duration::from_secs(1);

/// Five access points of one channel in a row, passed at a steady pace, and a mobile network.
fn walk(policy: Policy) -> (World, usize) {
    let mut world = World::new(policy);
    world.up(9, LinkKind::Cellular, Role::Primary, 12, 60);
    for id in 0..5 {
        world.add(id, LinkKind::Wifi, Role::Primary, 20, 10);
    }
    world.open(1, 9);
    let (mut changes, mut last) = (0, Vec::new());
    for tenth in 0..600_u32 {
        for id in 0..5_u16 {
            let distance = (f64::from(tenth) / 120.0 - f64::from(id) - 0.5).abs();
            world.set_signal(id, -40.0 - 45.0 * distance);
        }
        world.run(S / 10);
        if world.in_use() != last {
            (changes, last) = (changes + 1, world.in_use());
        }
    }
    (world, changes)
}

#[test]
fn a_walk_uses_the_best_access_point_and_the_mobile_network_all_the_way() {
    let (world, changes) = walk(Policy::Slowhand);
    assert_eq!(world.in_use(), [4, 9]);
    assert!((5..=20).contains(&changes), "{changes} changes");
}

#[test]
fn never_more_subflows_than_the_peer_has_places_for() {
    let (world, _) = walk(Policy::Slowhand);
    assert!(world.joined().len() <= 3);
    let refused = world.asked(
        Instant::ZERO,
        |action| matches!(action, Action::Note(note) if note.verb == Verb::Refuse),
    );
    assert!(refused.is_empty(), "{refused:?}");
}

fn joins(world: &World, since: Instant) -> Vec<Instant> {
    world.asked(since, |action| matches!(action, Action::Join { .. }))
}

/// Two cables, and a peer that accepts no second subflow.
fn refused() -> World {
    let mut world = World::new(Policy::Slowhand);
    world.places = 0;
    for id in 0..2 {
        world.up(id, LinkKind::Cable, Role::Primary, 50, 20);
    }
    world.open(1, 0);
    world
}

#[test]
fn a_refused_join_is_not_repeated_until_a_place_may_be_free() {
    let mut world = refused();
    let since = world.now;
    world.run(100 * S);
    assert_eq!(joins(&world, since).len(), 1, "{:?}", joins(&world, since));
    world.run(500 * S);
    let tried = joins(&world, since);
    let pauses: Vec<_> = tried.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(tried.len(), 5, "{tried:?}");
    assert!(
        pauses.iter().all(|&pause| pause >= 120 * S && pause <= 121 * S),
        "{pauses:?}"
    );
    world.places = 2;
    world.run(121 * S);
    assert_eq!(world.joined(), [0, 1], "the peer's limit has changed");
}

#[test]
fn a_link_that_was_refused_is_tried_with_another_address() {
    let mut world = refused();
    world.run(10 * S);
    let readdressed = world.now;
    world.tell(Input::Link(LinkId(1), LinkEvent::Usable(false)));
    world.tell(Input::Link(LinkId(1), LinkEvent::Usable(true)));
    world.run(60 * S);
    assert_eq!(joins(&world, readdressed), [readdressed]);
}

#[test]
fn a_refused_link_is_tried_ever_more_rarely_while_nothing_else_is_left() {
    let mut world = refused();
    world.run(10 * S);
    let cut = world.now;
    world.set_alive(0, false);
    world.run(60 * S);
    let tried = joins(&world, cut);
    assert!(tried[0] - cut <= S / 2, "{tried:?}");
    assert!((5..=8).contains(&tried.len()), "{tried:?}");
    let pauses: Vec<_> = tried.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.windows(2).all(|pair| pair[1] > pair[0]), "{pauses:?}");
    world.places = 1;
    world.run(33 * S);
    assert_eq!(world.joined(), [1], "the peer has given up what was dead");
}

#[test]
fn a_place_that_comes_free_is_filled_at_once_although_a_join_was_refused() {
    let mut world = World::new(Policy::Slowhand);
    world.places = 1;
    for id in 0..3 {
        world.up(id, LinkKind::Cable, Role::Primary, 50, 20 + 10 * u64::from(id));
    }
    world.open(1, 0);
    world.run(20 * S);
    assert_eq!(world.joined().len(), 2, "the peer takes one");
    let victim = world.joined()[1];
    let cut = world.now;
    world.set_alive(victim, false);
    world.run(S);
    let told = world.withdrawn(cut)[0];
    let filled = world.asked(told, |action| matches!(action, Action::Join { .. }));
    assert!(filled[0] - told <= S / 10, "{:?}", filled[0] - told);
    assert_eq!(world.joined().len(), 2);
    assert!(!world.joined().contains(&victim));
}

#[test]
fn a_link_whose_role_is_never_is_never_touched() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 50, 20);
    world.up(1, LinkKind::Cable, Role::Never, 50, 20);
    world.open(1, 0);
    world.run(5 * S);
    assert_eq!(world.joined(), [0]);
    assert_eq!(world.state_of(1), "never");
}

/// The last decision about a link itself.
fn last_reason(world: &World, id: u16) -> Option<(Verb, Reason)> {
    world.done.iter().rev().find_map(|(_, action)| match action {
        Action::Note(note) if note.link == Some(LinkId(id)) && note.conn.is_none() => {
            Some((note.verb, note.reason.clone()))
        }
        _ => None,
    })
}

#[test]
fn a_secondary_is_used_because_the_primary_is_full() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 10, 20);
    world.up(1, LinkKind::Cable, Role::Secondary, 10, 20);
    world.open(1, 0);
    world.run(4 * S);
    assert_eq!(world.in_use(), [0, 1]);
    let opened = last_reason(&world, 1);
    let Some((Verb::Use, Reason::Choice(Choice::PrimariesFull { goodput, capacity }))) = opened else {
        panic!("{opened:?}")
    };
    assert!(goodput > Bitrate::ZERO && goodput >= capacity.percent(90));
    let secondary = &world.engine.explain()[1];
    let why = format!("the primaries are full: they carry {goodput} of {capacity}");
    assert_eq!((secondary.state, secondary.why.as_str()), ("use", why.as_str()));
    world.demand = 0.3;
    world.run(8 * S);
    assert_eq!((world.in_use(), world.joined()), (vec![0], vec![0, 1]));
    let role = Reason::Choice(Choice::Role(Role::Secondary));
    assert_eq!(last_reason(&world, 1), Some((Verb::Demote, role)));
}

#[test]
fn a_fading_access_point_is_made_backup_and_drained_before_it_is_left() {
    let mut world = World::new(Policy::Slowhand);
    world.up(9, LinkKind::Cellular, Role::Primary, 12, 60);
    world.add(0, LinkKind::Wifi, Role::Primary, 20, 10);
    world.set_signal(0, -50.0);
    world.open(1, 9);
    world.run(3 * S);
    assert_eq!(world.in_use(), [0, 9]);
    let since = world.now;
    for tenth in 0..60 {
        world.set_signal(0, -50.0 - 0.8 * f64::from(tenth));
        world.run(S / 10);
    }
    let demoted = world.asked(since, |action| {
        matches!(action, Action::SetBackup { backup: true, .. })
    });
    let ended = world.withdrawn(since);
    assert!(!demoted.is_empty() && !ended.is_empty());
    assert!(
        ended[0] - demoted[0] >= Duration::from_millis(300),
        "demoted {} ended {}",
        demoted[0],
        ended[0]
    );
    assert_eq!(world.in_use(), [9]);
}

#[test]
fn a_new_connection_begins_on_the_steadiest_link() {
    let mut world = World::new(Policy::Slowhand);
    world.up(3, LinkKind::Wifi, Role::Primary, 20, 10);
    world.up(4, LinkKind::Cellular, Role::Primary, 12, 60);
    let route = world.asked(Instant::ZERO, |action| {
        matches!(action, Action::DefaultRoute(Family::V4, Some(LinkId(3))))
    });
    assert_eq!(route.len(), 1, "until there is another, the only link");
    world.tell(Input::Link(LinkId(3), LinkEvent::Carrier(false)));
    world.tell(Input::Link(LinkId(3), LinkEvent::Carrier(true)));
    assert!(
        world
            .done
            .iter()
            .any(|(_, action)| *action == Action::DefaultRoute(Family::V4, Some(LinkId(4))))
    );
}

#[test]
fn every_link_is_explained_in_a_sentence() {
    let (world, _) = walk(Policy::Slowhand);
    for explanation in world.engine.explain() {
        assert!(explanation.why.len() > 10, "{explanation:?}");
    }
    assert_eq!(spec("x", LinkKind::Wifi, Role::Primary).channel, Some(6));
}

#[test]
fn the_window_follows_the_links_in_use() {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 20), (1, 30), (2, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 50, rtt);
    }
    world.open(1, 0);
    world.run(4 * S);
    let windows = || {
        world.done.iter().filter_map(|(_, action)| {
            if let Action::Window(_, Some(ahead)) = action {
                Some(ahead.window.get())
            } else {
                None
            }
        })
    };
    let last = windows().next_back().unwrap();
    assert!((1_100_000..1_400_000).contains(&last), "{last}");
    let mut bare = World::new(Policy::SlowhandNoWindow);
    bare.up(0, LinkKind::Cable, Role::Primary, 50, 20);
    bare.open(1, 0);
    bare.run(5 * S);
    assert!(
        bare.asked(Instant::ZERO, |action| matches!(action, Action::Window(..)))
            .is_empty()
    );
}

#[test]
fn access_points_whose_channels_are_not_known_are_used_together() {
    let mut world = World::new(Policy::Slowhand);
    world.up_without_channel(0, 20, 20);
    world.up_without_channel(1, 20, 20);
    world.up(9, LinkKind::Cellular, Role::Primary, 12, 60);
    world.open(1, 0);
    world.run(10 * S);
    assert_eq!(world.in_use(), [0, 1, 9]);
    let why = &world.engine.explain()[1].why;
    assert_eq!(why, "it is up and healthy");
}

#[test]
fn an_access_point_whose_channel_is_not_known_is_not_compared_by_its_signal() {
    let mut world = World::new(Policy::Slowhand);
    world.up_without_channel(0, 20, 20);
    world.up_without_channel(1, 20, 20);
    world.up(2, LinkKind::Wifi, Role::Primary, 20, 20);
    world.set_signal(0, -50.0);
    world.set_signal(1, -65.0);
    world.set_signal(2, -60.0);
    world.run(S);
    world.tell(Input::Link(LinkId(1), LinkEvent::Usable(false)));
    world.tell(Input::Link(LinkId(1), LinkEvent::Usable(true)));
    world.open(1, 0);
    world.run(10 * S);
    assert_eq!(
        world.in_use(),
        [0, 1, 2],
        "neither with each other nor with channel 6"
    );
    let why = &world.engine.explain()[1].why;
    assert_eq!(
        why,
        "signal -65.00 dBm, about 19.1 Mb/s expected; its channel is unknown, so it is not compared with other access points"
    );
}

#[test]
fn an_access_point_without_a_known_signal_is_tried_where_all_places_are_taken() {
    let mut world = World::new(Policy::Slowhand);
    for id in 0..3 {
        world.up(id, LinkKind::Cable, Role::Primary, 10, 20);
    }
    world.up_without_channel(3, 100, 20);
    world.open(1, 0);
    world.run(40 * S);
    assert!(world.joined().contains(&3), "{:?}", world.joined());
}

//! The limits on a connection's queues, as requested from the world.

use super::World;
use crate::reason::Choice;
use crate::*;
use units::{Bitrate, Bytes, Duration, Instant};

const S: Duration = Duration::from_secs(1);

fn beside_a_slow_one() -> World {
    let mut world = World::new(Policy::Slowhand);
    for (id, mbps, rtt) in [(0, 30, 20), (1, 30, 30), (2, 3, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, mbps, rtt);
    }
    world.open(1, 0);
    world
}

#[test]
fn a_blocking_link_is_demoted_and_explained() {
    let mut world = beside_a_slow_one();
    world.run_blocked(3 * S);
    assert_eq!(world.in_use(), [0, 1]);
    assert_eq!(world.joined(), [0, 1, 2]);
    let explained = world.engine.explain();
    let slow = explained.iter().find(|why| why.link == LinkId(2)).unwrap();
    assert_eq!(slow.state, "demote");
    assert!(slow.why.starts_with("head-of-line blocking"), "{}", slow.why);
    let told = world.engine.explain_connections();
    let roles = |conn: u32| &told.iter().find(|told| told.conn == ConnId(conn)).unwrap().roles;
    let told_of = |conn| {
        roles(conn)
            .iter()
            .map(|role| (role.link, role.verb))
            .collect::<Vec<_>>()
    };
    assert_eq!(told_of(1), [(LinkId(2), Verb::Demote)]);
    assert_eq!(roles(1)[0].why, slow.why);
}

#[test]
fn a_link_demoted_by_one_connection_is_explained_while_no_other_uses_it() {
    let mut world = beside_a_slow_one();
    world.run_blocked(3 * S);
    assert_eq!(world.state_of(2), "demote");
    world.tell(Input::Conn(ConnId(1), ConnEvent::Closed));
    assert_eq!(world.state_of(2), "use", "{:?}", world.engine.explain());
}

#[test]
fn a_refusal_is_dropped_with_its_connection() {
    let mut world = World::new(Policy::Slowhand);
    for id in [0, 1] {
        world.up(id, LinkKind::Cable, Role::Primary, 30, 20);
    }
    world.open(1, 0);
    world.run(S);
    let refused = ConnEvent::JoinFailed {
        link: LinkId(1),
        reason: JoinFailure::Refused,
    };
    world.tell(Input::Conn(ConnId(1), refused));
    assert_eq!(world.state_of(1), "refuse");
    world.tell(Input::Conn(ConnId(1), ConnEvent::Closed));
    assert_eq!(world.state_of(1), "use", "{:?}", world.engine.explain());
}

#[test]
fn a_refusal_is_dropped_once_the_join_succeeds() {
    let mut world = World::new(Policy::Slowhand);
    for id in [0, 1] {
        world.up(id, LinkKind::Cable, Role::Primary, 30, 20);
    }
    world.places = 0;
    world.open(1, 0);
    world.run(S);
    assert_eq!(world.state_of(1), "refuse", "{:?}", world.engine.explain());
    world.places = 1;
    world.run(130 * S);
    assert_eq!(world.joined(), [0, 1]);
    assert_eq!(world.state_of(1), "use", "{:?}", world.engine.explain());
}

#[test]
fn a_demoted_link_is_used_as_soon_as_the_others_are_gone() {
    let mut world = beside_a_slow_one();
    world.run_blocked(3 * S);
    for id in [0, 1] {
        world.set_alive(id, false);
        world.tell(Input::Link(LinkId(id), LinkEvent::Carrier(false)));
    }
    let lost = world.now;
    world.run(S / 10);
    let used = world.asked(lost, |action| {
        matches!(action, Action::SetBackup { backup: false, .. })
    });
    assert!(!used.is_empty(), "{:?}", world.in_use());
}

#[test]
fn without_the_window_no_link_is_demoted_for_blocking() {
    let mut world = World::new(Policy::SlowhandNoWindow);
    for (id, mbps) in [(0, 30), (1, 30), (2, 3)] {
        world.up(id, LinkKind::Cable, Role::Primary, mbps, 30);
    }
    world.open(1, 0);
    world.run_blocked(3 * S);
    assert_eq!(world.in_use(), [0, 1, 2]);
    assert!(world.engine.explain_connections().is_empty());
}

#[test]
fn a_window_is_explained_with_its_numbers() {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 20), (1, 30), (2, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 30, rtt);
    }
    world.open(7, 0);
    world.run(3 * S);
    let told = world.engine.explain_connections();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].conn, ConnId(7));
    let why = told[0].window.as_ref().unwrap();
    // Three links of 30 Mb/s and 50 ms at most, and 6 MB are 0.53 s of that.
    let asked = window(&world);
    let tenths = (asked.get() as f64 * 10.0 / 562_500.0).round();
    assert!((12.0..=16.0).contains(&tenths), "{asked}");
    let factor = tenths / 10.0;
    assert_eq!(
        *why,
        format!("{asked} = {factor:.1} × 90.0 Mb/s × 50 ms; 6.0 MB at the server would be 0.5 s of queue")
    );
}

/// The last window requested.
fn window(world: &World) -> Bytes {
    let mut windows = world.done.iter().filter_map(|(_, action)| match action {
        Action::Window(_, ahead) => ahead.map(|ahead| ahead.window),
        _ => None,
    });
    windows.next_back().expect("a window was asked for")
}

#[test]
fn a_starved_link_keeps_its_capacity_and_one_with_a_queue_does_not() {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 20), (1, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 30, rtt);
    }
    world.open(1, 0);
    world.run(15 * S);
    let before = window(&world);
    world.links.get_mut(&LinkId(1)).unwrap().rate = Bitrate::from_mbps(15);
    world.run(60 * S);
    let given_less = window(&world);
    assert!(given_less >= before * 7 / 8, "{given_less} after {before}");
    world.links.get_mut(&LinkId(1)).unwrap().queue = Duration::from_millis(60);
    world.run(60 * S);
    let refuted = window(&world);
    assert!(refuted <= before * 7 / 8, "{refuted} after {before}");
}

#[test]
fn unsent_bytes_are_capped_once_there_are_many() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 30, 20);
    world.demand = 0.0;
    world.open(1, 0);
    let asked = |world: &World| {
        world
            .asked(Instant::ZERO, |action| matches!(action, Action::Unsent(..)))
            .len()
    };
    for (kib, times) in [(100, 0), (300, 1), (4_000, 1)] {
        let sample = SubflowSample {
            unsent: Bytes::from_kib(kib),
            ..SubflowSample::default()
        };
        world.tell(Input::Subflow(SubflowId(0), SubflowEvent::Sample(sample)));
        world.now += S / 10;
        world.engine.tick(world.now);
        world.tell(Input::Subflow(SubflowId(0), SubflowEvent::Sample(sample)));
        assert_eq!(asked(&world), times, "{kib} KiB unsent");
    }
}

#[test]
fn the_cap_on_unsent_bytes_is_explained_with_its_numbers() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 30, 20);
    world.demand = 0.0;
    world.open(7, 0);
    assert!(world.engine.explain_connections().is_empty());
    // 100 segments in 40 ms are 29 Mb/s: the unsent bytes are another 331 ms.
    let sample = SubflowSample {
        unsent: Bytes::new(1_200_000),
        unacked: 100,
        srtt: Duration::from_millis(40),
        ..SubflowSample::default()
    };
    world.tell(Input::Subflow(SubflowId(0), SubflowEvent::Sample(sample)));
    world.now += S / 10;
    world.engine.tick(world.now);
    world.tell(Input::Subflow(SubflowId(0), SubflowEvent::Sample(sample)));
    let told = world.engine.explain_connections();
    assert_eq!((told.len(), told[0].conn, &told[0].window), (1, ConnId(7), &None));
    let why = told[0].unsent.as_ref().unwrap();
    assert!(
        why == "64 KiB on each path: 1.2 MB waited unsent, and would be delayed by 0.3 s if a path died",
        "{why}"
    );
    let said = |action: &Action| matches!(action, Action::Note(note) if note.verb == Verb::Unsent && world.engine.sentence(&note.reason) == *why);
    assert_eq!(world.asked(Instant::ZERO, said).len(), 1);
    world.tell(Input::Conn(ConnId(7), ConnEvent::Closed));
    assert!(world.engine.explain_connections().is_empty());
}

#[test]
fn low_traffic_is_explained_for_every_link_while_it_lasts() {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 20), (1, 30), (2, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 30, rtt);
    }
    world.open(1, 0);
    world.run(3 * S);
    let states = |world: &World| [0, 1, 2].map(|id| world.state_of(id));
    assert_eq!(states(&world), ["use"; 3]);
    world.demand = 0.001;
    let since = world.now;
    world.run(20 * S);
    assert_eq!(world.in_use(), [0]);
    assert_eq!(states(&world), ["use", "demote", "demote"]);
    let explained = world.engine.explain();
    assert!(
        explained.iter().all(|link| link.why.starts_with("low traffic: ")),
        "{explained:?}"
    );
    let said =
        |action: &Action| matches!(action, Action::Note(note) if note.reason.id() == Choice::LOW_TRAFFIC);
    assert_eq!(
        world.asked(since, said).len(),
        3,
        "once of each, not at every look"
    );
    world.demand = 1.0;
    world.run(3 * S);
    assert_eq!((world.in_use(), states(&world)), (vec![0, 1, 2], ["use"; 3]));
    world.demand = 0.001;
    world.run(5 * S);
    world.tell(Input::Conn(ConnId(1), ConnEvent::Closed));
    assert_eq!(
        states(&world),
        ["use"; 3],
        "nothing is left that would want it otherwise"
    );
}

#[test]
fn out_of_order_bytes_have_room_until_a_link_falls_silent() {
    let mut world = World::new(Policy::Slowhand);
    for id in [0, 1, 2] {
        world.up(id, LinkKind::Cable, Role::Primary, 30, 20 + 5 * u64::from(id));
    }
    world.links.get_mut(&LinkId(1)).unwrap().loses = true;
    world.open(1, 0);
    world.run(10 * S);
    let usual = window(&world);
    world.held = Bytes::from_kib(800);
    world.run(Duration::from_millis(30));
    assert_eq!(window(&world), usual + world.held);
    let why = world.engine.explain_connections();
    assert!(
        why[0].window.as_deref().unwrap().contains("plus room for losses"),
        "{why:?}"
    );
    world.set_alive(0, false);
    world.run(Duration::from_millis(25));
    world.held = Bytes::from_kib(2_000);
    world.run(Duration::from_millis(25));
    assert_eq!(world.engine.doubted().collect::<Vec<_>>(), [LinkId(0)]);
    assert_eq!(window(&world), usual + Bytes::from_kib(800), "it may be dead");
    world.run(Duration::from_millis(100));
    assert_eq!(world.state_of(0), "dead");
    assert!(
        window(&world) <= usual + Bytes::from_kib(800),
        "what was lost has not come"
    );
}

//! Captive portals, and links that lead only to the next hop.

use super::World;
use crate::flow::FlowId;
use crate::reason::Access;
use crate::*;
use units::{Duration, Instant};

const S: Duration = Duration::from_secs(1);

fn about(world: &mut World, id: u16, event: LinkEvent) {
    world.tell(Input::Link(LinkId(id), event));
}

fn checked(world: &mut World, id: u16, checked: Checked) {
    about(world, id, LinkEvent::Checked(checked));
    world.run(S);
}

/// Cables that can be checked, the first of which carries new connections.
fn checkable(links: u16) -> World {
    let mut world = World::new(Policy::Slowhand);
    for id in 0..links {
        world.up(id, LinkKind::Cable, Role::Primary, 50, 20);
        about(&mut world, id, LinkEvent::Checkable);
    }
    world.run(S);
    world
}

fn checks(world: &World, id: u16, since: Instant) -> Vec<Instant> {
    world.asked(since, |action| *action == Action::Check(LinkId(id)))
}

fn route(world: &World) -> Option<LinkId> {
    world.done.iter().rev().find_map(|(_, action)| match action {
        Action::DefaultRoute(Family::V4, link) => *link,
        _ => None,
    })
}

fn why(world: &World, id: u16) -> (&'static str, String) {
    let told = world
        .engine
        .explain()
        .into_iter()
        .find(|told| told.link == LinkId(id));
    told.map(|told| (told.state, told.why)).unwrap()
}

#[test]
fn a_portal_is_held_out_and_used_again_when_it_opens() {
    let mut world = checkable(2);
    assert_eq!(
        checks(&world, 0, Instant::ZERO).len(),
        1,
        "as soon as it can be used"
    );
    checked(&mut world, 1, Checked::Passed);
    checked(&mut world, 0, Checked::Portal);
    assert_eq!(route(&world), Some(LinkId(1)));
    assert_eq!(
        why(&world, 0),
        (
            "held-out",
            "a captive portal blocks it: log in over this link; it is checked every 30 s".into()
        )
    );
    world.open(1, 1);
    let held = world.now;
    world.run(29 * S);
    assert_eq!(world.joined(), [1], "it is not joined either");
    assert_eq!(checks(&world, 0, held).len(), 1);
    checked(&mut world, 0, Checked::Passed);
    assert_eq!(world.joined(), [0, 1]);
    let notes: Vec<(Verb, Reason)> = world
        .done
        .iter()
        .filter_map(|(_, action)| match action {
            Action::Note(note) if note.link == Some(LinkId(0)) => Some((note.verb, note.reason.clone())),
            _ => None,
        })
        .collect();
    let back = (Verb::Retry, Reason::Access(Access::Passes));
    assert!(notes.contains(&back), "{notes:?}");
}

#[test]
fn a_check_that_shows_nothing_holds_no_link_out() {
    let mut world = checkable(2);
    checked(&mut world, 1, Checked::Passed);
    for _ in 0..3 {
        checked(&mut world, 0, Checked::Unknown);
        assert_eq!(why(&world, 0).0, "use");
    }
    world.open(1, 1);
    world.run(S);
    assert_eq!(world.joined(), [0, 1]);
    checked(&mut world, 0, Checked::Portal);
    assert_eq!(why(&world, 0).0, "held-out");
    let since = world.now;
    world.run(31 * S);
    assert_eq!(checks(&world, 0, since).len(), 1);
    checked(&mut world, 0, Checked::Unknown);
    assert_eq!(why(&world, 0).0, "held-out", "a reply may be lost");
    let since = world.now;
    world.run(5 * S);
    assert_eq!(checks(&world, 0, since).len(), 1);
    checked(&mut world, 0, Checked::Unknown);
    assert_eq!(why(&world, 0).0, "use");
    let since = world.now;
    world.run(298 * S);
    assert_eq!(checks(&world, 0, since), [], "as rarely as if it had passed");
    let given = world.done.iter().rev().find_map(|(_, action)| match action {
        Action::Note(note) if note.link == Some(LinkId(0)) && note.verb == Verb::Retry => Some(&note.reason),
        _ => None,
    });
    assert_eq!(given, Some(&Reason::Access(Access::NotKnown)));
}

#[test]
fn names_are_resolved_over_links_whose_check_has_passed_if_there_is_one() {
    let leading_out = |world: &World| Vec::from_iter(world.engine.leading_out().map(|link| link.0));
    let mut world = checkable(3);
    assert_eq!(leading_out(&world), [0, 1, 2], "no result yet");
    checked(&mut world, 0, Checked::Failed);
    assert_eq!(leading_out(&world), [0, 1, 2], "no other one is better");
    checked(&mut world, 1, Checked::Passed);
    assert_eq!(leading_out(&world), [1]);
    checked(&mut world, 2, Checked::Portal);
    checked(&mut world, 0, Checked::Passed);
    assert_eq!(leading_out(&world), [0, 1]);
    let mut alone = checkable(1);
    checked(&mut alone, 0, Checked::Portal);
    assert_eq!(leading_out(&alone), [0], "there is no other way");
}

#[test]
fn a_link_that_passes_is_checked_rarely() {
    let mut world = checkable(1);
    checked(&mut world, 0, Checked::Passed);
    let since = world.now;
    world.run(298 * S);
    assert_eq!(checks(&world, 0, since), []);
    world.run(3 * S);
    assert_eq!(checks(&world, 0, since).len(), 1);
}

#[test]
fn a_check_without_a_reply_counts_only_beside_one_that_passes() {
    let mut world = checkable(2);
    for _ in 0..3 {
        checked(&mut world, 0, Checked::Failed);
    }
    assert_eq!(why(&world, 0).0, "use", "the URL may be what is down");
    checked(&mut world, 1, Checked::Passed);
    let told = why(&world, 0);
    assert_eq!(
        told,
        (
            "held-out",
            "the check for the Internet gets no reply over it, but passes over link1; it is checked every 30 s".into()
        )
    );
}

#[test]
fn one_lost_check_holds_nothing_out_and_is_repeated_soon() {
    let mut world = checkable(2);
    checked(&mut world, 1, Checked::Passed);
    checked(&mut world, 0, Checked::Passed);
    checked(&mut world, 0, Checked::Failed);
    assert_eq!(why(&world, 0).0, "use");
    let since = world.now;
    world.run(5 * S);
    assert_eq!(checks(&world, 0, since).len(), 1);
}

/// A third link, which comes after the check has passed over the first two. These events precede its use.
fn newcomer_with(events: &[LinkEvent]) -> World {
    newcomer_in(checkable(2), events)
}

fn newcomer_in(mut world: World, events: &[LinkEvent]) -> World {
    checked(&mut world, 0, Checked::Passed);
    checked(&mut world, 1, Checked::Passed);
    world.open(1, 0);
    world.add(2, LinkKind::Cable, Role::Primary, 50, 20);
    about(&mut world, 2, LinkEvent::Carrier(true));
    for event in events {
        about(&mut world, 2, event.clone());
    }
    about(&mut world, 2, LinkEvent::Checkable);
    about(&mut world, 2, LinkEvent::Usable(true));
    world.run(S);
    world
}

fn newcomer() -> World {
    newcomer_with(&[])
}

#[test]
fn the_wait_for_the_first_check_does_not_end_when_another_link_passes_again() {
    let mut world = newcomer();
    for other in [0, 1] {
        checked(&mut world, other, Checked::Passed);
    }
    assert_eq!(why(&world, 2).0, "held-out");
}

#[test]
fn a_link_that_has_passed_is_not_held_out_when_it_gets_another_address() {
    let mut world = newcomer();
    checked(&mut world, 2, Checked::Passed);
    let since = world.now;
    about(&mut world, 2, LinkEvent::Checkable);
    about(&mut world, 2, LinkEvent::Usable(true));
    world.run(S);
    assert_ne!(why(&world, 2).0, "held-out");
    assert_eq!(checks(&world, 2, since).len(), 1, "it is checked again");
}

#[test]
fn a_new_link_that_the_users_routes_prefer_in_one_family_is_used_at_once() {
    let newcomer = |v6| {
        let mut world = checkable(2);
        for id in [0, 1] {
            for family in Family::ALL {
                about(&mut world, id, LinkEvent::Uplink(family, Uplink::Metric(600)));
            }
        }
        world.run(10 * S);
        let ranked = [
            LinkEvent::Uplink(Family::V4, Uplink::Metric(700)),
            LinkEvent::Uplink(Family::V6, v6),
        ];
        why(&newcomer_in(world, &ranked), 2).0
    };
    assert_ne!(newcomer(Uplink::Metric(100)), "held-out", "IPv4 leads elsewhere");
    assert_eq!(newcomer(Uplink::Metric(700)), "held-out");
}

#[test]
fn a_metered_newcomer_is_used_without_a_check() {
    let world = newcomer_with(&[LinkEvent::Tariff(Tariff::Metered { cap: None })]);
    assert_ne!(why(&world, 2).0, "held-out");
    assert_eq!(checks(&world, 2, Instant::ZERO), []);
}

#[test]
fn a_link_that_comes_later_is_used_when_its_first_check_has_passed() {
    let mut world = newcomer();
    let waits = "the check for the Internet has not passed over it yet, but passes over link0";
    assert_eq!(why(&world, 2), ("held-out", waits.into()));
    assert_eq!(world.joined(), [0, 1]);
    checked(&mut world, 2, Checked::Failed);
    assert_eq!(why(&world, 2).0, "held-out", "it has never passed");
    checked(&mut world, 2, Checked::Passed);
    assert_eq!(world.joined(), [0, 1, 2]);
    checked(&mut world, 2, Checked::Failed);
    assert_ne!(why(&world, 2).0, "held-out", "one may be lost");
    let notes = world.done.iter().filter(|(_, action)| match action {
        Action::Note(note) => note.link == Some(LinkId(2)) && matches!(note.reason, Reason::Access(_)),
        _ => false,
    });
    assert_eq!(notes.count(), 0, "waiting for a result is no news");
}

#[test]
fn a_portal_is_reported_after_the_wait_for_its_first_check() {
    let mut world = newcomer();
    checked(&mut world, 2, Checked::Portal);
    let told = world.done.iter().any(|(_, action)| match action {
        Action::Note(note) => note.verb == Verb::Refuse && note.link == Some(LinkId(2)),
        _ => false,
    });
    assert!(told);
    assert_eq!(world.joined(), [0, 1]);
}

#[test]
fn a_link_without_a_result_is_used_once_no_other_is_sound() {
    let mut world = newcomer();
    about(&mut world, 0, LinkEvent::Carrier(false));
    about(&mut world, 1, LinkEvent::Carrier(false));
    world.run(S);
    assert_eq!(why(&world, 2).0, "use");
    assert_eq!(route(&world), Some(LinkId(2)));
}

#[test]
fn the_last_link_is_not_held_out() {
    let mut world = checkable(2);
    checked(&mut world, 1, Checked::Passed);
    checked(&mut world, 0, Checked::Portal);
    about(&mut world, 1, LinkEvent::Carrier(false));
    world.run(S);
    assert_ne!(why(&world, 0).0, "held-out");
    assert_eq!(route(&world), Some(LinkId(0)));
    let note = world.done.iter().rev().find_map(|(_, action)| match action {
        Action::Note(note) if note.verb == Verb::Retry => Some(&note.reason),
        _ => None,
    });
    assert_eq!(note, Some(&Reason::Access(Access::NoAlternative)));
    let mut world = checkable(2);
    checked(&mut world, 0, Checked::Portal);
    checked(&mut world, 1, Checked::Portal);
    assert_ne!(why(&world, 0).0, "held-out", "all of them: the URL has changed");
}

#[test]
fn a_metered_link_is_checked_when_it_is_needed() {
    let mut world = checkable(1);
    world.up(1, LinkKind::Cable, Role::Backup, 50, 20);
    let metered = Tariff::Metered { cap: None };
    about(&mut world, 1, LinkEvent::Tariff(metered));
    about(&mut world, 1, LinkEvent::Checkable);
    world.run(400 * S);
    assert_eq!(checks(&world, 1, Instant::ZERO), []);
    about(&mut world, 0, LinkEvent::Carrier(false));
    world.run(S);
    assert_eq!(checks(&world, 1, Instant::ZERO).len(), 1);
    checked(&mut world, 1, Checked::Passed);
    world.run(400 * S);
    assert_eq!(checks(&world, 1, Instant::ZERO).len(), 1);
}

#[test]
fn without_a_world_that_checks_nothing_is_requested() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 50, 20);
    world.run(10 * S);
    assert_eq!(checks(&world, 0, Instant::ZERO), []);
}

#[test]
fn flows_leave_a_portal_and_begin_there_only_if_nothing_else_carries_them() {
    const FLOWS: [FlowId; 3] = [FlowId(1), FlowId(2), FlowId(3)];
    let begins = |world: &mut World, flow| {
        let began = FlowEvent::Began(Wish::Network(LinkId(0)));
        world.tell(Input::Flow(flow, began));
        world.done.iter().rev().find_map(|(_, action)| match action {
            Action::Assign(assigned, link) if *assigned == flow => Some(*link),
            _ => None,
        })
    };
    let mut world = checkable(2);
    assert_eq!(begins(&mut world, FLOWS[0]), Some(LinkId(0)));
    checked(&mut world, 1, Checked::Passed);
    checked(&mut world, 0, Checked::Portal);
    let ended = |(_, action): &(Instant, Action)| *action == Action::EndFlow(FLOWS[0]);
    assert!(world.done.iter().any(ended));
    assert_eq!(
        begins(&mut world, FLOWS[1]),
        Some(LinkId(1)),
        "its rule names the portal"
    );
    about(&mut world, 1, LinkEvent::Usable(false));
    world.run(S);
    assert_eq!(begins(&mut world, FLOWS[2]), Some(LinkId(0)));
}

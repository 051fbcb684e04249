//! Trust and cost through the engine: links that the user has not allowed stay untouched, and a cap holds.

mod world;

use policy::{Action, Input, LinkEvent, LinkId, LinkKind, Policy, Tariff, Trust, Verb};
use units::{Bytes, Duration};
use world::{Step, World};

const S: Duration = Duration::from_secs(1);
const CAP: Bytes = Bytes::new(2_000_000);

const fn about(link: u16, event: LinkEvent) -> Step {
    Step::Tell(Input::Link(LinkId(link), event))
}

/// A cable, and an open access point.
const CAFE: &[Step] = &[
    Step::Wire {
        id: 0,
        kind: LinkKind::Cable,
        mbps: 10,
    },
    Step::AccessPoint {
        id: 1,
        channel: 1,
        mbps: 54,
        loss_percent: 5,
    },
    about(1, LinkEvent::Trust(Trust::Open)),
    Step::Signal {
        id: 1,
        dbm: -50,
        db_per_s: 0.0,
    },
    Step::Up(0, true),
    Step::Open(0),
    Step::Run(S),
];

/// A modem with a cap, beside a cable.
const METERED: &[Step] = &[
    Step::Wire {
        id: 0,
        kind: LinkKind::Cable,
        mbps: 10,
    },
    Step::Wire {
        id: 1,
        kind: LinkKind::Cellular,
        mbps: 20,
    },
    about(1, LinkEvent::Tariff(Tariff::Metered { cap: Some(CAP) })),
    about(1, LinkEvent::Carried(Bytes::new(7_000_000))),
    Step::Up(0, true),
    Step::Up(1, true),
    Step::Open(0),
    Step::Run(S),
];

#[test]
fn an_open_network_is_used_only_if_the_user_allows_open_ones() {
    for policy in [
        Policy::Slowhand,
        Policy::Mptcp,
        Policy::HandoverWarm,
        Policy::WifiFirst,
    ] {
        let mut world = World::after(policy, CAFE);
        assert!(!world.link(1).asked, "{policy:?}");
        let explanation = world.explanation(1);
        assert_eq!(explanation.state, "refused");
        assert!(explanation.why.contains("open network"), "{}", explanation.why);
        world.tell(Input::Allow(Trust::Open, true));
        world.follow(&[Step::Run(S)]);
        assert!(world.link(1).asked, "{policy:?}");
    }
}

#[test]
fn allowing_open_networks_does_not_allow_unknown_ones() {
    let mut world = World::after(Policy::Slowhand, CAFE);
    world.follow(&[about(1, LinkEvent::Trust(Trust::Unknown))]);
    world.tell(Input::Allow(Trust::Open, true));
    world.follow(&[Step::Run(S)]);
    assert!(!world.link(1).asked);
    world.tell(Input::Allow(Trust::Unknown, true));
    world.follow(&[Step::Run(S)]);
    assert!(world.link(1).asked);
    assert_eq!(world.in_use(), [0, 1]);
}

#[test]
fn what_is_forbidden_again_is_left() {
    let mut world = World::after(Policy::Slowhand, CAFE);
    world.tell(Input::Allow(Trust::Open, true));
    world.follow(&[Step::Run(2 * S)]);
    assert_eq!(world.joined(), [0, 1]);
    world.tell(Input::Allow(Trust::Open, false));
    world.follow(&[Step::Run(S)]);
    assert_eq!(world.joined(), [0]);
    let left = world
        .done
        .iter()
        .any(|(_, action)| *action == Action::Leave(LinkId(1)));
    assert!(left, "the link is still associated");
}

#[test]
fn at_the_cap_a_metered_link_is_given_up_until_the_next_period() {
    let mut world = World::after(Policy::Slowhand, METERED);
    assert_eq!(world.in_use(), [0, 1]);
    world.follow(&[about(1, LinkEvent::Carried(Bytes::new(8_999_999))), Step::Run(S)]);
    assert_eq!(world.joined(), [0, 1], "one byte is left under the cap");
    world.follow(&[about(1, LinkEvent::Carried(Bytes::new(9_000_000))), Step::Run(S)]);
    assert_eq!(world.joined(), [0]);
    let why = world.explanation(1);
    assert_eq!(why.state, "refused");
    assert!(why.why.contains("2.0 MB of 2.0 MB are used"), "{}", why.why);
    assert_eq!(world.notes(Verb::Refuse).len(), 1);
    world.follow(&[about(1, LinkEvent::Period { used: Bytes::ZERO }), Step::Run(S)]);
    assert_eq!(world.in_use(), [0, 1]);
}

#[test]
fn the_cap_holds_for_the_last_link_too() {
    let mut world = World::after(Policy::Slowhand, METERED);
    world.follow(&[
        Step::Up(0, false),
        Step::Run(S),
        about(1, LinkEvent::Carried(Bytes::new(10_000_000))),
        Step::Run(S),
    ]);
    assert!(
        !world.joined().contains(&1),
        "the cap is used up, and nothing is billed"
    );
    world.follow(&[Step::Up(0, true), Step::Run(2 * S)]);
    assert_eq!(world.in_use(), [0], "the connection continues over the free link");
}

#[test]
fn earlier_use_counts_towards_the_cap() {
    let mut world = World::after(Policy::Slowhand, METERED);
    world.follow(&[about(1, LinkEvent::Period { used: CAP }), Step::Run(S)]);
    assert_eq!(world.joined(), [0]);
}

#[test]
fn with_few_subflows_free_links_come_first() {
    let wire = |id| Step::Wire {
        id,
        kind: LinkKind::Cable,
        mbps: 10,
    };
    let mut world = World::after(Policy::Slowhand, &[wire(0), wire(1), wire(2), wire(3)]);
    world.follow(&[about(1, LinkEvent::Tariff(Tariff::Metered { cap: None }))]);
    world.follow(&[0, 1, 2, 3].map(|id| Step::Up(id, true)));
    world.follow(&[Step::Open(0), Step::Run(S)]);
    assert_eq!(world.joined(), [0, 2, 3]);
}

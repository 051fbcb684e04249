//! Selection in a whole world: which access point of a channel, which channels, which modems.

mod world;

use policy::{Input, LinkEvent, LinkId, LinkKind, Policy, Tariff};
use units::Duration;
use world::{Step, World};

const S: Duration = Duration::from_secs(1);

const fn access_point(id: u16, channel: u16) -> Step {
    Step::AccessPoint {
        id,
        channel,
        mbps: 54,
        loss_percent: 5,
    }
}

const fn signal(id: u16, dbm: i32) -> Step {
    Step::Signal {
        id,
        dbm,
        db_per_s: 0.0,
    }
}

const fn modem(id: u16, mbps: u64) -> Step {
    Step::Wire {
        id,
        kind: LinkKind::Cellular,
        mbps,
    }
}

const METERED: LinkEvent = LinkEvent::Tariff(Tariff::Metered { cap: None });

#[test]
fn one_access_point_of_each_channel_is_used_and_every_channel() {
    let mut world = World::new(Policy::Slowhand);
    world.monitor = false;
    world.follow(&[
        access_point(0, 1),
        access_point(1, 1),
        access_point(2, 11),
        signal(0, -75),
        signal(1, -55),
        signal(2, -60),
        Step::Run(2 * S),
        Step::Open(1),
        Step::Run(3 * S),
    ]);
    assert_eq!(
        world.in_use(),
        [1, 2],
        "the stronger access point of channel 1, and channel 11"
    );
    assert_eq!(
        world.joined(),
        [0, 1, 2],
        "the weaker one stays joined as a backup"
    );
}

#[test]
fn with_few_subflows_the_better_channels_are_used() {
    let mut world = World::new(Policy::Slowhand);
    let points: Vec<Step> = (0..5).map(|id| access_point(id, 36 + 4 * id)).collect();
    world.follow(&points);
    // Two places beside the initial subflow: the two strongest of the others.
    let signals = [-60, -78, -50, -70, -55];
    let signals: Vec<Step> = (0..).zip(signals).map(|(id, dbm)| signal(id, dbm)).collect();
    world.follow(&signals);
    world.follow(&[Step::Run(2 * S), Step::Open(0), Step::Run(3 * S)]);
    assert_eq!(world.joined(), [0, 2, 4]);
    assert_eq!(world.in_use(), [0, 2, 4]);
}

#[test]
fn a_channel_is_left_for_a_better_one_only_when_that_lasts() {
    let mut world = World::new(Policy::Slowhand);
    world.monitor = false;
    world.follow(&[
        access_point(0, 6),
        access_point(1, 6),
        signal(0, -60),
        signal(1, -75),
        Step::Run(2 * S),
        Step::Open(0),
        Step::Run(2 * S),
    ]);
    assert_eq!(world.in_use(), [0]);
    world.follow(&[
        signal(1, -40),
        Step::Run(S / 10),
        signal(1, -75),
        Step::Run(2 * S),
    ]);
    assert_eq!(world.in_use(), [0], "one strong beacon is no reason to change");
    world.follow(&[signal(0, -78), signal(1, -50), Step::Run(3 * S)]);
    assert_eq!(world.in_use(), [1]);
}

#[test]
fn among_modems_the_free_and_then_the_faster_one_comes_first() {
    let mut world = World::new(Policy::Slowhand);
    world.follow(&[modem(0, 2), modem(1, 3), modem(2, 9), modem(3, 5)]);
    world.tell(Input::Link(LinkId(1), METERED));
    world.follow(&[0, 1, 2, 3].map(|id| Step::Up(id, true)));
    world.follow(&[Step::Open(0), Step::Run(3 * S)]);
    assert_eq!(
        world.joined(),
        [0, 2, 3],
        "two added subflows, neither over the metered link"
    );
    // The slow one keeps its place. The metered one is joined when another is gone.
    world.follow(&[Step::Up(3, false), Step::Run(3 * S)]);
    assert_eq!(world.joined(), [0, 1, 2]);
    world.follow(&[Step::Up(3, true), Step::Run(5 * S)]);
    assert_eq!(
        world.joined(),
        [0, 2, 3],
        "the metered link is left when the other is back"
    );
}

//! Access points that have faded are left once others of their channel carry the data.

mod world;

use policy::{Action, LinkKind, Policy};
use units::Duration;
use world::{Step, World};

const S: Duration = Duration::from_secs(1);

const fn access_point(id: u16, channel: u16) -> Step {
    Step::AccessPoint {
        id,
        channel,
        mbps: 54,
        loss_percent: 0,
    }
}

const fn signal(id: u16, dbm: i32) -> Step {
    Step::Signal {
        id,
        dbm,
        db_per_s: 0.0,
    }
}

/// Link 0 is an access point that the engine has joined and that has faded for some seconds, beside link 1.
fn faded(beside: &[Step], seconds: u32) -> World {
    let joined = [signal(0, -60), Step::Run(S), Step::Open(0), Step::Run(2 * S)];
    let fades = [signal(0, -90), Step::Run(S * seconds)];
    World::after(
        Policy::Slowhand,
        &[&[access_point(0, 6)], beside, &joined, &fades].concat(),
    )
}

fn left(world: &World) -> Vec<u16> {
    let link = |(_, action): &(_, Action)| match action {
        Action::Leave(link) => Some(link.0),
        _ => None,
    };
    world.done.iter().filter_map(link).collect()
}

#[test]
fn a_faded_access_point_is_left_once_another_one_of_the_channel_carries() {
    let beside = [access_point(1, 6), signal(1, -55)];
    let world = faded(&beside, 8);
    assert_eq!((left(&world), world.joined()), (vec![], vec![1]), "not at once");
    let mut world = faded(&beside, 15);
    assert_eq!((left(&world), world.joined()), (vec![0], vec![1]));
    world.follow(&[Step::Run(20 * S)]);
    assert_eq!(left(&world), [0], "once");
    world.follow(&[signal(0, -60), Step::Run(2 * S)]);
    assert!(
        world.links[&policy::LinkId(0)].up,
        "it is joined again when it is back"
    );
}

#[test]
fn it_stays_where_only_another_channel_or_a_cable_carries() {
    let cable = Step::Wire {
        id: 1,
        kind: LinkKind::Cable,
        mbps: 50,
    };
    for beside in [
        vec![access_point(1, 11), signal(1, -55)],
        vec![cable, Step::Up(1, true)],
    ] {
        assert_eq!(left(&faded(&beside, 20)), [], "{beside:?}");
    }
}

#[test]
fn an_association_of_the_users_stays() {
    let world = World::after(
        Policy::Slowhand,
        &[
            access_point(0, 6),
            access_point(1, 6),
            Step::Up(0, true),
            signal(0, -60),
            signal(1, -55),
            Step::Run(S),
            Step::Open(0),
            Step::Run(2 * S),
            signal(0, -90),
            Step::Run(20 * S),
        ],
    );
    assert_eq!((left(&world), world.joined()), (vec![], vec![1]));
}

//! Flows that cannot use several links. The world asks the engine at the first packet of each, and ends flows
//! whose network is gone.

mod world;

use policy::flow::{FlowId, PeerId, Skip, Stripe};
use policy::{Action, FlowEvent, HostId, Input, LinkId, LinkKind, Policy, Wish};
use std::collections::BTreeMap;
use units::{Duration, Instant};
use world::{Step, World};

const S: Duration = Duration::from_secs(1);

const fn wire(id: u16) -> Step {
    Step::Wire {
        id,
        kind: LinkKind::Cable,
        mbps: 10,
    }
}

const fn began(flow: u64, wish: Wish) -> Step {
    Step::Tell(Input::Flow(FlowId(flow), FlowEvent::Began(wish)))
}

const TWO: &[Step] = &[
    wire(0),
    wire(1),
    Step::Up(0, true),
    Step::Up(1, true),
    Step::Run(S),
];

/// Link of each flow.
fn assigned(world: &World) -> BTreeMap<u64, u16> {
    let assigned = |(_, action): &(Instant, Action)| match action {
        Action::Assign(flow, link) => Some((flow.0, link.0)),
        _ => None,
    };
    world.done.iter().filter_map(assigned).collect()
}

fn was_asked(world: &World, wanted: &Action) -> bool {
    world.done.iter().any(|(_, action)| action == wanted)
}

#[test]
fn a_flow_uses_the_requested_link_or_the_active_one() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[
        began(1, Wish::Active),
        began(2, Wish::Network(LinkId(1))),
        began(3, Wish::Network(LinkId(9))),
    ]);
    assert_eq!(assigned(&world), BTreeMap::from([(1, 0), (2, 1), (3, 0)]));
}

#[test]
fn a_flow_waits_for_the_first_network() {
    let mut world = World::after(Policy::Slowhand, &[wire(0), wire(1), began(1, Wish::Active)]);
    assert!(was_asked(&world, &Action::Hold(FlowId(1))));
    world.follow(&[Step::Up(1, true), Step::Run(S)]);
    assert_eq!(assigned(&world), BTreeMap::from([(1, 1)]));
}

#[test]
fn a_flow_that_may_use_one_link_only_waits_for_it() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[
        Step::Up(1, false),
        Step::Run(S),
        began(1, Wish::Only(LinkId(1))),
        Step::Run(S),
    ]);
    let held = world
        .done
        .iter()
        .filter(|(_, action)| *action == Action::Hold(FlowId(1)));
    assert_eq!(held.count(), 1, "it is held once");
    assert_eq!(assigned(&world), BTreeMap::new());
    world.follow(&[Step::Up(1, true), Step::Run(S)]);
    assert_eq!(assigned(&world), BTreeMap::from([(1, 1)]));
    world.follow(&[Step::Up(1, false), Step::Run(S)]);
    assert!(was_asked(&world, &Action::EndFlow(FlowId(1))));
}

#[test]
fn flows_of_a_lost_network_are_ended_and_not_moved() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[
        began(1, Wish::Network(LinkId(0))),
        began(2, Wish::Network(LinkId(1))),
        Step::Up(0, false),
        Step::Run(S),
    ]);
    assert!(was_asked(&world, &Action::EndFlow(FlowId(1))));
    assert!(!was_asked(&world, &Action::EndFlow(FlowId(2))));
    world.follow(&[began(3, Wish::Network(LinkId(0)))]);
    assert_eq!(assigned(&world)[&3], 1, "new flows use the remaining link");
}

#[test]
fn an_ended_flow_may_begin_anew_elsewhere() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[
        began(1, Wish::Network(LinkId(0))),
        Step::Tell(Input::Flow(FlowId(1), FlowEvent::Ended)),
        began(1, Wish::Network(LinkId(1))),
    ]);
    assert_eq!(assigned(&world), BTreeMap::from([(1, 1)]));
}

#[test]
fn a_silent_flow_moves_and_its_user_moves_it_back() {
    let mut world = World::after(Policy::Slowhand, TWO);
    let host = HostId(1);
    let tell = |event| Step::Tell(Input::Flow(FlowId(1), event));
    world.follow(&[
        began(1, Wish::Active),
        tell(FlowEvent::Answered(host)),
        Step::Run(S),
        tell(FlowEvent::Silent {
            host,
            silence: S,
            usual: Duration::from_millis(20),
        }),
        Step::Run(S),
    ]);
    let moved = |to| Action::Move(FlowId(1), LinkId(to));
    assert!(was_asked(&world, &moved(1)) && !was_asked(&world, &moved(0)));
    world.follow(&[tell(FlowEvent::Wanted(LinkId(0)))]);
    assert!(was_asked(&world, &moved(0)));
}

#[test]
fn peers_of_a_swarm_are_spread_evenly() {
    let mut world = World::after(Policy::Slowhand, TWO);
    for peer in 0..10 {
        world.follow(&[began(u64::from(peer), Wish::Peer(PeerId(peer)))]);
    }
    // Another flow to a peer uses the link of the first.
    world.follow(&[began(100, Wish::Peer(PeerId(3)))]);
    let links = assigned(&world);
    let over = |link: u16| (0..10).filter(|flow| links[flow] == link).count();
    assert_eq!((over(0), over(1)), (5, 5));
    assert_eq!(links[&100], links[&3]);
}

/// juggler §6.2.2 from an application's view: one flow per link, assigned by the engine, and blocks by
/// [`Stripe`].
#[test]
fn a_file_is_striped_over_the_links_that_the_engine_assigned() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[
        began(1, Wish::Network(LinkId(0))),
        began(2, Wish::Network(LinkId(1))),
    ]);
    let links: Vec<LinkId> = assigned(&world).values().map(|link| LinkId(*link)).collect();
    let mut stripe = Stripe::new(60, &links, Skip::Finish);
    let took = [Duration::from_millis(10), Duration::from_millis(40)];
    let mut due: Vec<(Instant, usize)> = vec![(world.now, 0), (world.now, 1)];
    let (mut fetched, mut end) = ([0; 2], world.now);
    while let Some(at) = (0..due.len()).min_by_key(|at| due[*at]) {
        let (now, link) = due.swap_remove(at);
        end = now;
        if stripe.next(now, links[link]).is_some() {
            fetched[link] += 1;
            due.push((now + took[link], link));
        }
    }
    assert_eq!(fetched[0] + fetched[1], 60);
    assert!(
        (44..=50).contains(&fetched[0]),
        "expected four to one: {fetched:?}"
    );
    assert!(
        end - world.now < Duration::from_millis(560),
        "{:?}",
        end - world.now
    );
}

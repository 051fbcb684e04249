//! Every verb and state that explains a decision really occurs, has a sentence, and is documented.

mod world;

use policy::flow::FlowId;
use policy::slot::Rules;
use policy::steer::Form;
use policy::{
    Action, Checked, ConnEvent, ConnId, Division, Explanation, Family, FlowEvent, Input, LinkEvent, LinkId,
    LinkKind, LinkSpec, Policy, RadioEvent, RadioId, Role, SubflowEvent, SubflowId, SubflowSample, Tariff,
    Uplink, Verb, Wish,
};
use std::collections::BTreeSet;
use units::{Bytes, Duration};
use world::{Step, World};

const S: Duration = Duration::from_secs(1);
const DECISIONS: &str = include_str!("../../../docs/decisions.md");

const fn access_point(id: u16, mbps: u64) -> Step {
    Step::AccessPoint {
        id,
        channel: 6,
        mbps,
        loss_percent: 5,
    }
}

const fn signal(id: u16, dbm: i32, db_per_s: f64) -> Step {
    Step::Signal { id, dbm, db_per_s }
}

const fn about(link: u16, event: LinkEvent) -> Step {
    Step::Tell(Input::Link(LinkId(link), event))
}

const MODEM: Step = Step::Wire {
    id: 2,
    kind: LinkKind::Cellular,
    mbps: 10,
};

/// A good and a poor access point on one channel, and a modem with a cap.
const STREET: &[Step] = &[
    access_point(0, 54),
    access_point(1, 6),
    MODEM,
    signal(0, -50, 0.0),
    signal(1, -76, 0.0),
    Step::Up(0, true),
    Step::Up(1, true),
    Step::Up(2, true),
    Step::Open(2),
    Step::Run(Duration::from_secs(6)),
];

/// The client walks away from the only access point.
const LEAVING: &[Step] = &[
    access_point(0, 54),
    MODEM,
    signal(0, -60, 0.0),
    Step::Up(0, true),
    Step::Up(2, true),
    Step::Open(2),
    Step::Run(Duration::from_secs(3)),
    signal(0, -60, -5.0),
    Step::Run(Duration::from_secs(6)),
];

/// A fast link dies beside one that takes half a second for what a peer assigns to it at a time.
fn a_slow_link_is_left() -> World {
    let wire = |id, mbps| Step::Wire {
        id,
        kind: LinkKind::Cable,
        mbps,
    };
    let mut world = World::after(
        Policy::Slowhand,
        &[
            wire(0, 4),
            wire(1, 1),
            Step::Up(0, true),
            Step::Up(1, true),
            Step::Open(0),
            Step::Run(3 * S),
        ],
    );
    world.held = Bytes::from_kib(20);
    world.link(0).up = false;
    world.follow(&[Step::Run(S)]);
    world
}

/// Verbs of all decisions. Checks that every decision has a sentence.
fn said(world: &World) -> BTreeSet<Verb> {
    let notes = world.done.iter().filter_map(|(_, action)| match action {
        Action::Note(note) => Some(note),
        _ => None,
    });
    notes
        .inspect(|note| assert!(world.engine.sentence(&note.reason).len() > 10, "{note:?}"))
        .map(|note| note.verb)
        .collect()
}

/// States of all links. Checks that every state has a sentence.
fn states(world: &World) -> BTreeSet<&'static str> {
    let links = world.engine.explain().into_iter();
    links
        .inspect(|link| assert!(link.why.len() > 10, "{link:?}"))
        .map(|link| link.state)
        .collect()
}

/// A link that dies silently, and comes back.
fn dies_and_returns(world: &mut World) -> BTreeSet<&'static str> {
    let mut seen = BTreeSet::new();
    world.link(2).up = false;
    for _ in 0..150 {
        world.follow(&[Step::Run(S / 100)]);
        seen.extend(states(world));
    }
    world.link(2).up = true;
    world.follow(&[Step::Run(3 * S)]);
    seen
}

fn mentioned(word: &str) -> bool {
    DECISIONS.contains(&format!("`{word}`"))
}

fn an_upload_starts() -> World {
    let wire = Step::Wire {
        id: 0,
        kind: LinkKind::Cable,
        mbps: 10,
    };
    let fills = SubflowSample {
        unacked: 100,
        srtt: S / 10,
        min_rtt: S / 50,
        ..SubflowSample::default()
    };
    let told = Step::Tell(Input::Subflow(SubflowId(0), SubflowEvent::Sample(fills)));
    World::after(
        Policy::Slowhand,
        &[wire, Step::Up(0, true), Step::Open(0), Step::Run(S / 2), told],
    )
}

#[test]
fn every_verb_is_said_by_somebody() {
    let mut street = World::after(Policy::Slowhand, STREET);
    let uploads = SubflowSample {
        unsent: Bytes::from_kib(1_024),
        ..SubflowSample::default()
    };
    // A new connection triggers an evaluation at once.
    street.follow(&[
        Step::Tell(Input::Subflow(SubflowId(0), SubflowEvent::Sample(uploads))),
        Step::Tell(Input::Conn(ConnId(99), ConnEvent::Opened)),
    ]);
    dies_and_returns(&mut street);
    street.follow(&[
        about(
            2,
            LinkEvent::Tariff(Tariff::Metered {
                cap: Some(Bytes::new(1)),
            }),
        ),
        about(2, LinkEvent::Period { used: Bytes::new(1) }),
        Step::Run(S),
        about(2, LinkEvent::Period { used: Bytes::ZERO }),
        signal(0, -55, -5.0),
        signal(1, -60, 0.0),
        Step::Run(9 * S),
        Step::Tell(Input::Flow(FlowId(1), FlowEvent::Began(Wish::Active))),
        Step::Tell(Input::Radio(
            RadioId(0),
            RadioEvent::Appeared(Division::Adaptive(Rules::NSDI15)),
        )),
        Step::Tell(Input::Radio(
            RadioId(0),
            RadioEvent::Serves {
                link: LinkId(0),
                weight: 1,
            },
        )),
    ]);
    let mut verbs = said(&street);
    // The kernel joins over every link that gets an address while there is a connection.
    let mut marked = World::after(Policy::Ecn(Form::DEFAULT), STREET);
    let again = [0, 1]
        .map(|id| [Step::Up(id, false), Step::Up(id, true)])
        .concat();
    marked.follow(&again);
    marked.follow(&[Step::Run(6 * S)]);
    verbs.extend(said(&marked));
    verbs.extend(said(&World::after(Policy::Slowhand, LEAVING)));
    verbs.extend(said(&an_upload_starts()));
    verbs.extend(said(&a_slow_link_is_left()));
    let missing: Vec<&str> = Verb::ALL
        .iter()
        .filter(|verb| !verbs.contains(verb))
        .map(|verb| verb.id())
        .collect();
    assert!(missing.is_empty(), "never said: {missing:?}");
}

#[test]
fn every_state_is_reached_by_some_link() {
    let mut world = World::after(Policy::Slowhand, STREET);
    let mut seen = dies_and_returns(&mut world);
    let spec = |role| LinkSpec {
        name: "other".into(),
        kind: LinkKind::Cable,
        role,
        channel: None,
    };
    world.follow(&[
        about(2, LinkEvent::Checkable),
        about(2, LinkEvent::Checked(Checked::Portal)),
    ]);
    seen.extend(states(&world));
    let appears = |id, role| about(id, LinkEvent::Appeared(spec(role)));
    world.follow(&[
        appears(7, Role::Never),
        appears(8, Role::Primary),
        appears(9, Role::Primary),
        about(9, LinkEvent::Carrier(true)),
        appears(10, Role::Primary),
        about(10, LinkEvent::Carrier(true)),
        about(10, LinkEvent::Uplink(Family::V4, Uplink::None)),
        about(10, LinkEvent::Uplink(Family::V6, Uplink::None)),
        about(
            2,
            LinkEvent::Tariff(Tariff::Metered {
                cap: Some(Bytes::ZERO),
            }),
        ),
    ]);
    seen.extend(states(&world));
    let idle = World::after(Policy::Omniscient, &[MODEM, Step::Up(2, true), Step::Run(S)]);
    seen.extend(states(&idle));
    let missing: Vec<&str> = Explanation::STATES
        .into_iter()
        .filter(|state| !seen.contains(state))
        .collect();
    assert!(missing.is_empty(), "never reached: {missing:?}, of {seen:?}");
}

#[test]
fn every_verb_and_state_is_a_distinct_documented_word() {
    let words: Vec<&str> = Verb::ALL
        .iter()
        .map(|verb| verb.id())
        .chain(Explanation::STATES)
        .collect();
    let kebab = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    assert!(words.iter().all(kebab), "{words:?}");
    let different: BTreeSet<&str> = words.iter().copied().collect();
    assert_eq!(different.len(), words.len(), "{words:?}");
    let silent: Vec<&&str> = words.iter().filter(|word| !mentioned(word)).collect();
    assert!(
        silent.is_empty(),
        "docs/decisions.md does not explain these words: {silent:?}"
    );
}

/// The baselines explain their choices, too.
#[test]
fn every_policy_explains_its_choice() {
    for policy in [
        Policy::Tcp(LinkId(0)),
        Policy::Mptcp,
        Policy::Handover,
        Policy::HandoverWarm,
        Policy::HandoverCell,
        Policy::WifiFirst,
        Policy::OneAtATime,
        Policy::Slowhand,
        Policy::SlowhandNoWindow,
    ] {
        let world = World::after(policy, STREET);
        assert!(
            said(&world).contains(&Verb::Use),
            "{policy:?}: {:?}",
            said(&world)
        );
    }
}

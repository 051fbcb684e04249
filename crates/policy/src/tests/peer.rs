//! Signals to the peer about links that die: their order, and the path on which they are sent.

use super::World;
use crate::*;
use units::{Duration, Instant};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn three_cables(rtts: [u64; 3]) -> World {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in (0..).zip(rtts) {
        world.up(id, LinkKind::Cable, Role::Primary, 50, rtt);
    }
    world.open(1, 0);
    world.run(3 * S);
    assert_eq!(world.in_use(), [0, 1, 2]);
    world
}

/// The positions of picked actions in `done`.
fn places(done: &[(Instant, Action)], pick: impl Fn(&Action) -> bool) -> Vec<usize> {
    (0..done.len()).filter(|&at| pick(&done[at].1)).collect()
}

/// The subflows closed in `done`.
fn ended(done: &[(Instant, Action)]) -> Vec<(usize, SubflowId)> {
    let end = |(at, (_, action)): (usize, &(Instant, Action))| match action {
        Action::Destroy(subflow) => Some((at, *subflow)),
        _ => None,
    };
    done.iter().enumerate().filter_map(end).collect()
}

#[test]
fn two_links_that_die_together_are_both_closed_before_rm_addr() {
    // The first two are found dead in one decision, or one after the other.
    for (rtts, at_once) in [([20, 20, 50], true), ([20, 30, 50], false)] {
        let mut world = three_cables(rtts);
        let from = world.done.len();
        world.set_alive(0, false);
        world.set_alive(1, false);
        world.run(S);
        assert_eq!(world.in_use(), [2]);
        let done = &world.done[from..];
        let [first, second] = ended(done)[..] else {
            panic!("{rtts:?}: {:?}", ended(done))
        };
        let both_ended = done[second.0].0;
        assert_eq!(done[first.0].0 == both_ended, at_once, "{rtts:?}");
        for (_, subflow) in [first, second] {
            let told = places(done, |action| *action == Action::Withdraw(subflow));
            let after: Vec<usize> = told.iter().copied().filter(|&at| at > second.0).collect();
            // At once, not when RM_ADDR is repeated 150 ms later.
            assert_eq!(done[after[0]].0, both_ended, "{rtts:?}: {subflow:?}");
            assert!(!at_once || told == after, "{rtts:?}: {subflow:?} {told:?}");
            let heard = world.heard.iter().find(|(_, gone)| *gone == subflow);
            assert_eq!(
                heard.unwrap().0,
                both_ended,
                "{rtts:?}: the peer heard of {subflow:?}"
            );
        }
    }
}

#[test]
fn a_link_that_dies_later_is_closed_before_rm_addr_is_repeated_for_the_first() {
    for apart in [15, 40, 100] {
        let mut world = three_cables([20, 30, 50]);
        let from = world.done.len();
        world.set_alive(0, false);
        world.run(apart * MS);
        world.set_alive(1, false);
        world.run(S);
        let done = &world.done[from..];
        let ends = places(done, |action| matches!(action, Action::Destroy(_)));
        let [
            (first_at, Action::Destroy(first)),
            (second_at, Action::Destroy(second)),
        ] = [done[ends[0]].clone(), done[ends[1]].clone()]
        else {
            panic!("{ends:?}")
        };
        assert!(second_at - first_at >= 15 * MS, "{first_at} and {second_at}");
        let told = |subflow| (0..done.len()).filter(move |&at| done[at].1 == Action::Withdraw(subflow));
        assert!(told(second).all(|at| at > ends[1]));
        let again: Vec<usize> = told(first).filter(|&at| done[at].0 >= second_at).collect();
        assert!(!again.is_empty(), "{apart} ms: said again at the second death");
        assert_eq!(done[again[0]].0, second_at);
        assert!(
            again.iter().all(|&at| at > ends[1]),
            "{apart} ms: {again:?}, {ends:?}"
        );
    }
}

/// All places are taken, a slower cable waits for one, and a place is freed while this many RM_ADDRs are
/// lost. Returns the time until the cable has it.
fn place_filled_after(lose_words: usize, word_takes: Duration) -> (World, Duration) {
    let mut world = World::new(Policy::Slowhand);
    for (id, mbps) in (0..).zip([50, 40, 30, 20]) {
        world.up(id, LinkKind::Cable, Role::Primary, mbps, 20);
    }
    world.open(1, 0);
    world.run(3 * S);
    assert_eq!(world.joined(), [0, 1, 2]);
    let cut = world.now;
    world.set_alive(1, false);
    (world.lose_words, world.word_takes) = (lose_words, word_takes);
    while world.joined() != [0, 2, 3] && world.now - cut < 2 * S {
        world.run(5 * MS);
    }
    assert_eq!((world.joined(), world.lost_words), (vec![0, 2, 3], lose_words));
    let told = world.withdrawn(cut)[0];
    let filled = world.now - told;
    (world, filled)
}

#[test]
fn a_place_is_filled_soon_after_a_lost_rm_addr_is_repeated() {
    let (_, filled) = place_filled_after(0, Duration::ZERO);
    assert!(filled <= 50 * MS, "{filled:?}: nothing was lost");
    let (world, filled) = place_filled_after(1, Duration::ZERO);
    assert!(filled >= 150 * MS && filled < 400 * MS, "{filled:?}");
    // The join made with the lost RM_ADDR, and the one made with its repetition.
    let joins = world.asked(Instant::from_secs(4), |action| {
        matches!(action, Action::Join { .. })
    });
    assert_eq!(joins.len(), 2, "{joins:?}");
}

#[test]
fn an_rm_addr_slower_than_the_join_costs_a_moment_and_few_joins() {
    for (word_takes, most) in [(100 * MS, 400 * MS), (600 * MS, 2 * S)] {
        let (mut world, filled) = place_filled_after(0, word_takes);
        assert!(
            filled >= word_takes && filled <= most,
            "{word_takes:?}: {filled:?}"
        );
        world.run(60 * S);
        let joins = world.asked(Instant::from_secs(4), |action| {
            matches!(action, Action::Join { .. })
        });
        assert!(joins.len() <= 5, "{word_takes:?}: {joins:?}");
    }
}

#[test]
fn rm_addr_is_sent_for_every_dead_link_before_a_backup_is_promoted() {
    let sets: [&[(u64, u64)]; 2] = [&[(50, 20), (6, 50)], &[(30, 20), (30, 20), (3, 50)]];
    for links in sets {
        let mut world = World::new(Policy::Slowhand);
        for (id, &(mbps, rtt)) in (0..).zip(links) {
            world.up(id, LinkKind::Cable, Role::Primary, mbps, rtt);
        }
        world.open(1, 0);
        world.run_blocked(3 * S);
        let slow = links.len() as u16 - 1;
        assert_eq!(
            world.in_use(),
            (0..slow).collect::<Vec<_>>(),
            "the slow one is demoted"
        );
        let from = world.done.len();
        (0..slow).for_each(|id| world.set_alive(id, false));
        world.run(S);
        assert_eq!(world.in_use(), [slow]);
        let done = &world.done[from..];
        let raised = places(done, |action| matches!(action, Action::SetBackup { .. }));
        let told = places(done, |action| matches!(action, Action::Withdraw(_)));
        let in_one = |at: &&usize| done[**at].0 == done[raised[0]].0;
        assert_eq!(
            (raised.len(), told.iter().filter(in_one).count()),
            (1, links.len() - 1)
        );
        assert!(
            told.iter().filter(in_one).all(|at| *at < raised[0]),
            "{told:?}, {raised:?}"
        );
    }
}

#[test]
fn a_dead_link_is_withdrawn_a_round_trip_later_at_most_where_the_others_are_silent() {
    let told_after = |silent_after: Option<Duration>| {
        let mut world = three_cables([20, 30, 50]);
        let cut = world.now;
        world.set_alive(0, false);
        if let Some(time) = silent_after {
            world.run(time);
            world.demand = 0.0;
        }
        world.run(S);
        let proof = |action: &Action| matches!(action, Action::Note(note) if note.verb == Verb::Remove);
        let proven = world.asked(cut, proof);
        assert_eq!(proven.len(), 1, "{silent_after:?}: {proven:?}");
        world.withdrawn(cut)[0] - cut
    };
    let usual = told_after(None);
    let silent = (0..=12).map(|later| told_after(Some(later * 5 * MS)));
    let waited = silent.max().unwrap().saturating_sub(usual);
    // The nearest of the others replies within 30 ms. A step of the world takes 5.
    assert!(waited > Duration::ZERO && waited <= 35 * MS, "{waited:?}");
}

/// Reports about failed joins since then.
fn refusals(world: &World, since: Instant) -> Vec<Reason> {
    let said = world.done.iter().filter(|(at, _)| *at >= since);
    let refusal = said.filter_map(|(_, action)| match action {
        Action::Note(note) if note.verb == Verb::Refuse => Some(note.reason.clone()),
        _ => None,
    });
    refusal.collect()
}

#[test]
fn a_join_that_overtakes_rm_addr_is_not_reported_as_refused() {
    for word_takes in [300, 900] {
        let mut world = three_cables([20, 30, 50]);
        world.word_takes = word_takes * MS;
        world.up(3, LinkKind::Cable, Role::Primary, 50, 20);
        let cut = world.now;
        world.set_alive(1, false);
        world.run(4 * S);
        let asked = world.asked(cut, |action| {
            matches!(action, Action::Join { link: LinkId(3), .. })
        });
        assert!(asked.len() >= 2, "the first was refused: {asked:?}");
        assert_eq!(world.joined(), [0, 2, 3]);
        assert_eq!(refusals(&world, cut), []);
    }
}

#[test]
fn a_peer_that_refuses_for_longer_than_rm_addr_takes_is_reported() {
    let mut world = three_cables([20, 30, 50]);
    world.places = 1;
    world.up(3, LinkKind::Cable, Role::Primary, 50, 20);
    let cut = world.now;
    world.set_alive(1, false);
    world.run(10 * S);
    assert_eq!(refusals(&world, cut), [Reason::Join(JoinFailure::Refused)]);
}

/// Two cables, and the result of the join over the second.
fn failing(reason: JoinFailure, times: usize) -> (World, Instant) {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 50, 20);
    world.open(1, 0);
    world.run(S);
    let since = world.now;
    world.up(1, LinkKind::Cable, Role::Primary, 50, 20);
    let joins = |world: &World| {
        world
            .asked(since, |action| matches!(action, Action::Join { .. }))
            .len()
    };
    for time in 1..=times {
        while joins(&world) < time {
            world.run(10 * MS);
        }
        world.lose_joins();
        let link = LinkId(1);
        world.tell(Input::Conn(ConnId(1), ConnEvent::JoinFailed { link, reason }));
    }
    (world, since)
}

#[test]
fn an_untimely_join_is_retried_soon_and_not_reported_as_refused() {
    let (mut world, since) = failing(JoinFailure::Untimely, 3);
    world.run(3 * S);
    assert_eq!(world.joined(), [0, 1]);
    assert_eq!(refusals(&world, since), []);
    assert!(world.now - since < 6 * S);
}

#[test]
fn joins_that_are_always_untimely_are_retried_ever_more_rarely() {
    let (world, since) = failing(JoinFailure::Untimely, 9);
    let tried = world.asked(since, |action| matches!(action, Action::Join { .. }));
    let pauses: Vec<_> = tried.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses[0] <= S / 2 && pauses[7] >= 16 * S, "{pauses:?}");
}

#[test]
fn the_kernels_refusal_is_reported_when_repeated() {
    let (world, since) = failing(JoinFailure::Local, 1);
    assert_eq!(refusals(&world, since), []);
    let (world, since) = failing(JoinFailure::Local, 2);
    assert_eq!(refusals(&world, since), [Reason::Join(JoinFailure::Local)]);
}

#[test]
fn a_link_without_an_address_of_the_peers_family_says_so() {
    let (world, since) = failing(JoinFailure::NoAddress, 1);
    let why = "it has no address of the peer's family (IPv4 or IPv6)";
    assert_eq!(refusals(&world, since), [Reason::Join(JoinFailure::NoAddress)]);
    assert_eq!(world.engine.explain()[1].why, why);
}

#[test]
fn an_address_of_the_peers_family_that_comes_later_is_joined_at_once() {
    let (mut world, since) = failing(JoinFailure::NoAddress, 1);
    world.tell(Input::Link(LinkId(1), LinkEvent::Usable(true)));
    world.run(100 * MS);
    let tried = world.asked(since, |action| matches!(action, Action::Join { .. }));
    assert_eq!(tried.len(), 2);
}

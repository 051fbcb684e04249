//! Peers of ad hoc networks that walkers carry: where they are, how their links move, and what is refused.

use links::{LinkId, Step};
use scenario::{Plan, Point, Problems, models, parse};
use units::Duration;

/// A peer on the way from 90 m to 0 m, from the second to the fifth second.
fn read(peer: &str, walkers: &str) -> Result<Plan, Problems> {
    let text = format!(
        "sentence = \"x\"\nduration_s = 6\nmedium = \"exact\"\n\
         [aps.hall]\nat_m = [0, 0]\nchannel = 1\nbackhaul = {{ rate_mbps = 4, rtt_ms = 8 }}\n\
         [aps.peer]\nchannel = 11\n{peer}\n\
         [walkers.client]\nat_m = [0, 5]\n[flows.file]\ndirection = \"down\"\n{walkers}"
    );
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    parse("peer.toml", text.as_bytes(), &[], &no_files)
}

const PORTER: &str =
    "[walkers.porter]\nspeed_m_per_s = 30\nstart_s = 2\nway = [{ at_m = [90, 5] }, { at_m = [0, 5] }]\n";

fn carried(more: &str) -> Plan {
    let peer = format!("mode = \"ad-hoc\"\ncarried_by = \"porter\"\n{more}");
    read(&peer, PORTER).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_peer_begins_where_its_walker_does_and_moves_with_it() {
    let plan = carried("");
    let (_, peer) = plan.access_points().nth(1).unwrap();
    assert_eq!((peer.at, peer.carried_by), (Point::from_m(90, 5), Some(1)));
    let drawn = plan.to_trace().links.pop().unwrap();
    assert_eq!((drawn.x_m, drawn.y_m), (Some(90.0), Some(5.0)));
    let moves: Vec<(u64, i64)> = models::script(&plan, 1)
        .into_iter()
        .map(|scheduled| match scheduled.step {
            Step::Carry(LinkId(1), there) => (scheduled.at.as_millis(), there.x_mm),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(moves.len(), 30);
    assert_eq!((moves[0], moves[29]), ((2_100, 87_000), (5_000, 0)));
}

#[test]
fn a_peer_without_a_backhaul_is_as_fast_as_the_air() {
    let fastest = |more: &str| {
        let plan = carried(more);
        let none = |_, _| Vec::new();
        let network = models::network(&plan, 1);
        let rates = models::alone(&plan, &network, 1, Duration::from_secs(6), none);
        (plan, rates)
    };
    let (plan, free) = fastest("");
    let drawn = plan.to_trace().links.pop().unwrap();
    assert_eq!((drawn.rate_mbps, drawn.delay_ms), (None, Some(0.0)));
    // From 90 m to 0 m, the rate of the air grows.
    let (far, near) = (free[0].as_mbps_f64(), free[59].as_mbps_f64());
    assert!(free.is_sorted() && far < 20.0 && near > 20.0, "{far} to {near}");
    let (plan, slow) = fastest("backhaul = { rate_mbps = 4, rtt_ms = 8 }");
    assert_eq!(plan.to_trace().links.pop().unwrap().rate_mbps, Some(4.0));
    assert!(slow.iter().all(|rate| rate.as_mbps_f64() < 4.0), "{slow:?}");
    let network = models::network(&plan, 1);
    let sum = models::optimal(&plan, &network, Duration::from_secs(6), |_, _| Vec::new());
    // Both links carry their 4 Mb/s.
    assert!((7.5..8.0).contains(&sum.as_mbps_f64()), "{sum}");
}

#[test]
fn a_scattered_walker_takes_its_peer_along() {
    let porter = "[walkers.visitor]\ncount = 2\nscatter = { from_m = [10, 0], to_m = [40, 30] }\n";
    let peer = "mode = \"ad-hoc\"\ncarried_by = \"visitor-2\"\n";
    let plan = read(peer, porter).unwrap_or_else(|problems| panic!("{problems}"));
    for seed in [1, 2] {
        let plan = plan.clone().with_seed(seed);
        let (_, peer) = plan.access_points().nth(1).unwrap();
        assert_eq!(peer.at, plan.walkers[2].position(Duration::ZERO));
        assert_ne!(peer.at, plan.walkers[1].position(Duration::ZERO));
    }
}

#[test]
fn what_nobody_can_carry_is_refused_with_place_and_remedy() {
    let table = [
        (
            "mode = \"ad-hoc\"\ncarried_by = \"porter\"\nat_m = [1, 1]",
            "12:8: `at_m` contradicts `carried_by`; keep one of them",
        ),
        (
            "mode = \"ad-hoc\"\ncarried_by = \"portre\"",
            "11:14: there is no walker \"portre\"; did you mean \"porter\"?",
        ),
        (
            "carried_by = \"porter\"\nbackhaul = { rate_mbps = 4, rtt_ms = 8 }",
            "10:14: only a peer of an ad hoc network can be carried; add `mode = \"ad-hoc\"`, \
             or give it one place, `at_m = [x, y]`",
        ),
        (
            "mode = \"ad-hoc\"\ncarried_by = \"client\"",
            "11:14: the client cannot carry a peer of its own; give the name of another walker",
        ),
        (
            "mode = \"ad-hoc\"\ncarried_by = \"porter\"\ncount = 2\ngrid = { from_m = [0, 0], columns = 2, step_m = [1, 1] }",
            "11:14: `carried_by` contradicts the places of the group; keep `grid` or `scatter`, or this key",
        ),
        (
            "at_m = [1, 1]",
            "8:6: access point \"peer\" has no `backhaul`; add `backhaul = { rate_mbps = 100, rtt_ms = 20 }`: \
             the link from the access point to the server",
        ),
    ];
    for (peer, expected) in table {
        let problems = read(peer, PORTER).expect_err(peer);
        let said: Vec<String> = problems
            .iter()
            .map(|problem| {
                let at = format!("{}:{}", problem.spot.line, problem.spot.column);
                format!("{at}: {}; {}", problem.what, problem.instead)
            })
            .collect();
        assert_eq!(said, [expected], "{peer}");
    }
}

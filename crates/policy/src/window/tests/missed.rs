//! Room for what waits for lost bytes.

use super::*;

/// A connection that has settled, of which a link loses, while so much waits.
fn losing(held_kib: u64) -> Need {
    Need {
        repair: Duration::from_millis(40),
        held: Bytes::from_kib(held_kib),
        links: 2,
        ..need(90, 50)
    }
}

fn settled_and_losing() -> (Window, Instant) {
    let (mut window, mut now) = (Window::default(), Instant::ZERO);
    for _ in 0..200 {
        now += LOOK;
        window.update(now, losing(0));
    }
    (window, now)
}

#[test]
fn what_waits_for_lost_bytes_has_room_for_as_long_as_it_waits() {
    let (mut window, mut now) = settled_and_losing();
    let usual = losing(0).target(trial::DEFAULT);
    assert_eq!(window.bound(), Some(usual));
    for held in [400, 1_200, 2_400, 300, 0] {
        now += Duration::from_millis(10);
        assert!(window.is_due(now));
        assert_eq!(
            window.update(now, losing(held)),
            Some(usual + Bytes::from_kib(held))
        );
    }
    let calm = Need {
        repair: Duration::ZERO,
        ..losing(400)
    };
    window.update(now, calm);
    now += Duration::from_millis(10);
    assert!(!window.is_due(now), "nothing loses any more");
    assert!(window.bound() <= Some(usual), "and what waits has no room");
}

#[test]
fn while_a_link_may_be_dead_the_room_for_what_waits_grows_no_more() {
    let (mut window, mut now) = settled_and_losing();
    let usual = losing(0).target(trial::DEFAULT);
    let mut bound = |held: u64, doubted: bool, links: usize| {
        now += Duration::from_millis(10);
        window.update(
            now,
            Need {
                doubted,
                links,
                ..losing(held)
            },
        );
        (window.bound().unwrap() - usual).get() / 1_024
    };
    assert_eq!(bound(600, false, 2), 600);
    assert_eq!(bound(1_800, true, 2), 600, "it is silent");
    assert_eq!(bound(300, true, 2), 300, "what has come in order needs none");
    assert_eq!(bound(1_800, false, 2), 1_800, "it lives");
    assert_eq!(bound(2_400, true, 2), 1_800);
    assert_eq!(bound(3_000, false, 1), 1_800, "it was dead");
    assert_eq!(bound(3_000, false, 1), 1_800, "what was lost is still missing");
    assert_eq!(bound(1_200, false, 1), 1_200);
    assert_eq!(bound(2_000, false, 1), 2_000, "it has come");
}

#[test]
fn the_room_for_what_waits_is_not_worth_a_word() {
    let (mut window, mut now) = settled_and_losing();
    assert!(window.is_news() && !window.is_news());
    for held in [400, 1_200, 0] {
        now += Duration::from_millis(10);
        assert!(window.update(now, losing(held)).is_some());
        assert!(!window.is_news());
    }
    now += Duration::from_millis(10);
    let faster = Need {
        links: 2,
        ..need(120, 50)
    };
    assert!(
        window
            .update(
                now,
                Need {
                    repair: losing(0).repair,
                    ..faster
                }
            )
            .is_some()
    );
    assert!(window.is_news());
}

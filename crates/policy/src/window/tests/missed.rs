//! Room for out-of-order bytes behind a loss.

use super::*;

/// A settled connection with one lossy link and this many KiB of out-of-order data.
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
fn out_of_order_bytes_have_room_for_as_long_as_they_wait() {
    let (mut window, mut now) = settled_and_losing();
    let usual = losing(0).target(USUAL);
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
        ..losing(1_200)
    };
    assert_eq!(
        window.update(now + Duration::from_millis(10), losing(1_200)),
        Some(usual + Bytes::from_kib(1_200))
    );
    for _ in 0..20 {
        now += LOOK;
        window.update(now, calm);
    }
    assert!(!window.is_due(now + LOOK), "nothing loses any more");
    assert!(window.bound() <= Some(usual), "and what waits has no room");
    assert_eq!(window.ahead().unwrap().missed, Bytes::ZERO);
}

#[test]
fn the_room_stops_growing_while_a_signal_falls() {
    let (mut window, now) = settled_and_losing();
    let sinking = |held| Need {
        sinking: true,
        ..losing(held)
    };
    let mut missed = |ms: u64, need: Need| {
        window.update(now + Duration::from_millis(ms), need);
        window.ahead().unwrap().missed
    };
    assert_eq!(missed(10, losing(400)), Bytes::from_kib(400));
    assert_eq!(missed(20, sinking(2_000)), Bytes::from_kib(400));
    assert_eq!(missed(30, losing(2_000)), Bytes::from_kib(2_000));
}

/// What was lost with a link has arrived once everything assigned before has. Later out-of-order bytes wait
/// for something else.
#[test]
fn the_room_returns_after_a_lost_link_though_some_bytes_always_wait() {
    let (mut window, mut now) = settled_and_losing();
    let first = losing(0).received;
    // Including the hundred out of order at that time, rounded up.
    let ahead = window.bound().unwrap().get() / 1_024 + 101;
    let mut missed = |links: usize, held: u64, received: u64| {
        now += Duration::from_millis(10);
        let need = Need {
            links,
            received: first + Bytes::from_kib(received),
            ..losing(held)
        };
        window.update(now, need);
        window.ahead().unwrap().missed
    };
    assert_eq!(missed(2, 100, 0), Bytes::from_kib(100));
    for (held, received) in [(300, 0), (600, 0), (500, 200), (700, ahead - 2)] {
        assert_eq!(missed(1, held, received), Bytes::from_kib(100));
    }
    assert_eq!(missed(1, 400, ahead), Bytes::from_kib(400));
    assert_eq!(missed(1, 900, ahead + 10), Bytes::from_kib(900));
}

/// The link's end is reported before any byte waits for it.
#[test]
fn bytes_that_wait_for_a_lost_link_get_no_room() {
    let (mut window, now) = settled_and_losing();
    let usual = window.bound();
    for (ms, held) in [(10, 0), (20, 300), (30, 900)] {
        let need = Need {
            links: 1,
            ..losing(held)
        };
        window.update(now + Duration::from_millis(ms), need);
        assert_eq!(window.bound(), usual);
    }
}

#[test]
fn a_narrow_window_keeps_the_room_for_out_of_order_bytes() {
    let (mut window, mut now) = settled_and_losing();
    let usual = losing(0).target(USUAL);
    now += Duration::from_millis(10);
    window.update(now, losing(3_000));
    let narrow = window.narrow(now).unwrap();
    assert_eq!(narrow.missed, Bytes::from_kib(3_000));
    assert_eq!(narrow.usual(), usual / NARROW);
    let settled = window.narrowed(now).unwrap() - now;
    let own = losing(0).rate.time_for(usual - usual / NARROW).unwrap() + losing(0).rtt;
    assert!(
        settled <= own,
        "{settled:?} for {own:?}: what waits is not in flight"
    );
    for held in [1_000, 0] {
        now += Duration::from_millis(10);
        window.update(now, losing(held));
        assert_eq!(window.ahead().unwrap().missed, Bytes::from_kib(held));
        assert_eq!(window.ahead().unwrap().usual(), narrow.usual());
        assert!(!window.is_news());
    }
}

/// A state that may hold for ten milliseconds: KiB out of order, KiB received, links in use, whether one is
/// suspect or falling, and whether none loses.
fn any_moment() -> impl Strategy<Value = (u64, u64, usize, [bool; 3])> {
    (0u64..4_000, 0u64..400, 1usize..4, any::<[bool; 3]>())
}

proptest! {
    #[test]
    fn the_room_never_exceeds_the_out_of_order_bytes_and_ends_with_them(moments in prop::collection::vec(any_moment(), 1..200)) {
        let (mut window, mut now) = settled_and_losing();
        let mut received = losing(0).received;
        let (mut room, mut links_before) = (Bytes::ZERO, losing(0).links);
        for (held, came, links, [doubted, sinking, calm]) in moments {
            now += Duration::from_millis(10);
            received += Bytes::from_kib(came);
            let fewer = links < core::mem::replace(&mut links_before, links);
            let repair = if calm { Duration::ZERO } else { losing(0).repair };
            let need = Need { received, links, doubted, sinking, repair, ..losing(held) };
            window.update(now, need);
            let (before, after) = (room, window.missed.room());
            prop_assert!(after <= need.held && !(calm && after > Bytes::ZERO));
            prop_assert!(!(doubted || sinking || fewer) || after <= before);
            let ahead = window.ahead().unwrap();
            prop_assert!((LEAST..=MOST).contains(&ahead.window));
            // What is not worth a change stays.
            prop_assert!(ahead.usual() <= losing(0).target(USUAL) * 17 / 16);
            // While nothing loses it is not sampled.
            room = if calm { need.held } else { after };
        }
        // However it went: once everything has arrived, out-of-order bytes have room.
        for held in [0, 0, 800] {
            now += Duration::from_secs(1);
            received += MOST;
            window.update(now, Need { received, ..losing(held) });
            prop_assert_eq!(window.missed.room(), Bytes::from_kib(held));
        }
    }
}

#[test]
fn the_room_stops_growing_while_a_link_may_be_dead() {
    let (mut window, mut now) = settled_and_losing();
    let usual = losing(0).target(USUAL);
    let mut received = losing(0).received;
    let mut bound = |held: u64, doubted: bool, links: usize, came: u64| {
        now += Duration::from_millis(10);
        received += Bytes::from_kib(came);
        let need = Need {
            doubted,
            links,
            received,
            ..losing(held)
        };
        window.update(now, need);
        (window.bound().unwrap() - usual).get() / 1_024
    };
    assert_eq!(bound(600, false, 2, 0), 600);
    assert_eq!(bound(1_800, true, 2, 0), 600, "it is silent");
    assert_eq!(bound(300, true, 2, 0), 300, "what has come in order needs none");
    assert_eq!(bound(1_800, false, 2, 0), 1_800, "it lives");
    assert_eq!(bound(2_400, true, 2, 0), 1_800);
    assert_eq!(bound(3_000, false, 1, 0), 1_800, "it was dead");
    assert_eq!(bound(3_000, false, 1, 0), 1_800, "what was lost is still missing");
    assert_eq!(bound(1_200, false, 1, 1_800), 1_200, "some of it");
    assert_eq!(bound(2_000, false, 1, 0), 1_200);
    assert_eq!(bound(2_000, false, 1, 1_200), 2_000, "all has come");
}

#[test]
fn the_room_is_not_reported() {
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

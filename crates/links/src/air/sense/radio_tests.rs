use super::*;
use units::wifi::Standard;

const US: u64 = 1_000;

fn timing() -> Timing {
    Timing::of(Standard::A, false)
}

fn counting(slots: u16) -> Radio {
    let mut radio = Radio::new(0, 0);
    radio.resume(0, &timing());
    radio.slots = slots;
    radio
}

#[test]
fn is_small() {
    assert_eq!(size_of::<Radio>(), 32);
}

#[test]
fn the_countdown_freezes_while_the_medium_is_busy_and_goes_on_after_difs() {
    let mut radio = counting(10);
    // Four whole slots and a bit after DIFS.
    radio.freeze((34 + 4 * 9 + 3) * US, &timing(), Countdown::Standard);
    assert_eq!(radio.slots, 6);
    radio.resume(500 * US, &timing());
    assert_eq!(radio.access(&timing()), (500 + 34 + 6 * 9) * US);
    radio.freeze(510 * US, &timing(), Countdown::Standard);
    assert_eq!(radio.slots, 6, "nothing counts within DIFS");
}

#[test]
fn a_busy_period_counts_as_one_slot_only_where_bianchi_is_asked_for() {
    let (mut standard, mut bianchi) = (counting(10), counting(10));
    standard.freeze((34 + 27) * US, &timing(), Countdown::Standard);
    bianchi.freeze((34 + 27) * US, &timing(), Countdown::BusyCountsAsSlot);
    assert_eq!((standard.slots, bianchi.slots), (7, 6));
    bianchi.resume(100 * US, &timing());
    bianchi.freeze(120 * US, &timing(), Countdown::BusyCountsAsSlot);
    assert_eq!(bianchi.slots, 6, "SIFS belongs to the busy period");
}

#[test]
fn eifs_follows_a_broken_frame_once() {
    let mut radio = counting(0);
    radio.broken = true;
    radio.resume(0, &timing());
    assert_eq!(radio.from, 94 * US);
    radio.resume(0, &timing());
    assert_eq!(radio.from, 34 * US);
}

#[test]
fn a_reservation_is_waited_for() {
    let mut radio = counting(0);
    radio.nav = 60 * US;
    radio.resume(10 * US, &timing());
    assert_eq!(radio.from, (60 + 34) * US);
}

#[test]
fn a_backoff_on_an_idle_medium_begins_at_the_boundary_of_a_slot() {
    let mut radio = counting(0);
    radio.begin_backoff(45 * US, 3, &timing());
    // Boundaries at 34, 43, 52, …
    assert_eq!(radio.access(&timing()), (52 + 27) * US);
    radio.begin_backoff(52 * US, 0, &timing());
    assert_eq!(radio.access(&timing()), 52 * US);
}

#[test]
fn what_began_a_moment_ago_goes_unnoticed() {
    let mut radio = counting(1);
    radio.wants = true;
    let access = radio.access(&timing());
    assert!(radio.is_committed(access, &timing()));
    assert!(radio.is_committed(access - 5 * US, &timing()));
    assert!(!radio.is_committed(access - 6 * US, &timing()));
}

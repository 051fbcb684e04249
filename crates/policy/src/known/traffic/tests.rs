use super::*;

const MS: Duration = Duration::from_millis(1);
const A: LinkId = LinkId(1);
const B: LinkId = LinkId(2);

/// Looks every 50 ms for `lasts`, with `each` bytes moved in each step. Returns the last result.
fn looks(traffic: &mut Traffic, now: &mut Instant, moved: &mut Bytes, lasts: Duration, each: Bytes) -> bool {
    let end = *now + lasts;
    let mut is_low = false;
    while *now < end {
        *now += 50 * MS;
        *moved += each;
        is_low = traffic.look(*now, *moved, Bytes::ZERO);
    }
    is_low
}

#[test]
fn requests_are_low_traffic_a_download_is_not_and_idle_changes_nothing() {
    let (mut traffic, mut now, mut moved) = (Traffic::default(), Instant::ZERO, Bytes::ZERO);
    let mut go = |lasts, each| looks(&mut traffic, &mut now, &mut moved, lasts, Bytes::new(each));
    assert!(!go(3_000 * MS, 0), "idle");
    assert!(go(1_500 * MS, 1_000), "a request now and then");
    assert!(go(60_000 * MS, 0), "and idle again");
    assert!(!go(300 * MS, 50_000), "8 Mb/s");
    assert!(!go(800 * MS, 0), "it has only just ended");
    assert!(go(2_000 * MS, 1_000));
}

#[test]
fn a_download_that_waits_for_a_timeout_is_not_low_traffic() {
    let (mut traffic, mut now, mut moved) = (Traffic::default(), Instant::ZERO, Bytes::ZERO);
    looks(&mut traffic, &mut now, &mut moved, 2_000 * MS, Bytes::new(20_000));
    let mut wait = |traffic: &mut Traffic, held| {
        (0..40).any(|_| {
            now += 50 * MS;
            moved += Bytes::new(500);
            traffic.look(now, moved, held)
        })
    };
    assert!(!wait(&mut traffic, Bytes::from_kib(100)));
    assert!(wait(&mut traffic, Bytes::ZERO), "the control");
}

#[test]
fn a_new_connection_uses_all_links() {
    let (mut traffic, mut now, mut moved) = (Traffic::default(), Instant::ZERO, Bytes::ZERO);
    assert!(!looks(
        &mut traffic,
        &mut now,
        &mut moved,
        950 * MS,
        Bytes::new(500)
    ));
}

#[test]
fn a_link_must_be_clearly_quicker() {
    let mut traffic = Traffic::default();
    assert_eq!(traffic.choose(&[]), None);
    assert_eq!(traffic.choose(&[(A, 30 * MS), (B, 20 * MS)]), Some(B));
    assert_eq!(
        traffic.choose(&[(A, 20 * MS), (B, 26 * MS)]),
        Some(B),
        "nearly as quick"
    );
    assert_eq!(traffic.choose(&[(A, 20 * MS), (B, 27 * MS)]), Some(A));
    assert_eq!(traffic.choose(&[(B, 90 * MS)]), Some(B), "the other one is gone");
}

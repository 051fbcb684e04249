use super::*;
use crate::config::{self, QueueConfig, QueueLimit};
use crate::queue::exits::Exits;
use crate::queue::{Entry, Queue};
use crate::{Direction, DropReason, LinkId, Output, Packet};
use units::Bitrate;

const MS: Duration = Duration::from_millis(1);

fn law() -> Codel {
    Codel::new(config::Codel {
        target: MS * 5,
        interval: MS * 100,
        ecn: false,
    })
}

fn queue(ecn: bool) -> Queue {
    let config = QueueConfig {
        limit: QueueLimit::Packets(10_000),
        ..QueueConfig::codel(ecn)
    };
    Queue::new(config, Bitrate::from_mbps(12), MS)
}

fn entry(token: u64, ect: bool) -> Entry {
    Entry {
        packet: Packet {
            link: LinkId(0),
            direction: Direction::Down,
            bytes: 1_500,
            ect,
            flow: 0,
            token,
        },
        ce: false,
        without_air: false,
        since: Instant::ZERO,
    }
}

/// Times of drops and of marks for a source of one packet per `every` and a server of one packet per
/// millisecond.
fn play(ect: bool, ecn: bool, packets: u64, every: Duration) -> (Vec<Instant>, Vec<Instant>) {
    let (mut queue, mut exits) = (queue(ecn), Exits::new(1));
    let (mut arrival, mut now, mut sent, mut marks) = (Instant::ZERO, Instant::ZERO, 0, Vec::new());
    while sent < packets || !queue.is_empty() {
        while sent < packets && arrival <= now {
            queue.push(arrival, entry(sent, ect), &mut exits);
            (sent, arrival) = (sent + 1, arrival + every);
        }
        if queue.pop(now, &mut exits).is_some_and(|entry| entry.ce) {
            marks.push(now);
        }
        now += MS;
    }
    let drops = std::iter::from_fn(|| exits.pop()).map(|(at, output)| {
        assert!(matches!(
            output,
            Output::Dropped {
                reason: DropReason::Aqm,
                ..
            }
        ));
        at
    });
    (drops.collect(), marks)
}

#[test]
fn a_short_queue_is_left_alone() {
    // A packet every millisecond into a server of one per millisecond: no standing queue.
    assert_eq!(play(false, false, 1_000, MS), (vec![], vec![]));
}

#[test]
fn a_burst_that_drains_within_an_interval_is_left_alone() {
    // 100 packets at once drain in 100 ms. Only the last few wait that long.
    let (drops, _) = play(false, false, 100, Duration::ZERO);
    assert_eq!(drops, []);
}

#[test]
fn a_standing_queue_is_dropped_from_at_the_control_laws_times() {
    let mut law = law();
    let mut drops = Vec::new();
    let mut now = Instant::ZERO;
    while drops.len() < 10 {
        let mut verdict = law.head(now, MS * 20, false);
        while verdict == Verdict::Signal {
            drops.push(now.as_secs_f64() * 1e3);
            verdict = law.after_drop(now, MS * 20, false);
        }
        now += Duration::from_micros(10);
    }
    // The first drop comes one interval after the delay rose, then interval / √1, / √2, / √3, …
    let mut expected = 100.0;
    for (count, drop) in (1..).zip(&drops) {
        assert!(
            (drop - expected).abs() < 0.02,
            "drop {count} at {drop} ms, not {expected}"
        );
        expected += 100.0 / f64::from(count).sqrt();
    }
}

#[test]
fn the_drop_rate_is_remembered_for_a_while() {
    let restart = |pause: Duration| {
        let mut law = law();
        let mut now = Instant::ZERO;
        let mut drop_for = |from: Instant, time: Duration, law: &mut Codel| {
            now = from;
            let mut count = 0;
            while now < from + time {
                let mut verdict = law.head(now, MS * 20, false);
                while verdict == Verdict::Signal {
                    count += 1;
                    verdict = law.after_drop(now, MS * 20, false);
                }
                now += MS;
            }
            count
        };
        drop_for(Instant::ZERO, MS * 2_000, &mut law);
        assert_eq!(law.head(Instant::from_secs(2), MS, false), Verdict::Pass);
        drop_for(Instant::from_secs(2) + pause, MS * 600, &mut law)
    };
    // After 16 intervals the rate is forgotten (RFC 8289 §4.4): one drop per interval again.
    assert!(restart(MS * 100) > 3 * restart(MS * 5_000) / 2);
    assert_eq!(restart(MS * 5_000), 10);
}

#[test]
fn the_last_full_packet_is_never_dropped() {
    let mut law = law();
    for ms in 0..1_000 {
        assert_eq!(law.head(Instant::from_millis(ms), MS * 500, true), Verdict::Pass);
    }
}

#[test]
fn senders_that_understand_ecn_are_marked_and_lose_nothing() {
    let (drops, marks) = play(true, true, 4_000, MS * 9 / 10);
    assert_eq!(drops, []);
    assert!(marks.len() > 10, "{}", marks.len());
    // At least as many marks as drops elsewhere: a mark does not shorten the queue.
    let (drops, none) = play(false, true, 4_000, MS * 9 / 10);
    assert_eq!(none, []);
    assert!(drops.len() > 10 && drops[0] == marks[0]);
    assert_eq!(
        play(true, false, 4_000, MS * 9 / 10).1,
        [],
        "without ECN everybody is dropped"
    );
}

#[test]
fn drops_bring_a_persistent_overload_back_to_the_target() {
    // Twice the server's rate for 20 s. The control law raises the drop rate slowly until it controls the
    // queue.
    let (drops, _) = play(false, false, 40_000, MS / 2);
    let late = drops
        .windows(2)
        .rev()
        .take(100)
        .map(|pair| pair[1] - pair[0])
        .sum::<Duration>()
        / 100;
    let early = drops
        .windows(2)
        .take(10)
        .map(|pair| pair[1] - pair[0])
        .sum::<Duration>()
        / 10;
    assert!(late * 10 < early, "{early:?} then {late:?}");
}

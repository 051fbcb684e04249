use super::accuracy::pair;
use super::*;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;
use units::{MacAddr, SeqNum};

const FAST: Bitrate = Bitrate::from_mbps(54);
const SLOW: Bitrate = Bitrate::from_mbps(6);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn frame(number: u16, retry: bool) -> Frame {
    Frame {
        receiver: Receiver::Us,
        tid: Some(0),
        number: SeqNum::new(number),
        retry,
        rate: FAST,
        bytes: 1_536,
        aggregate: None,
    }
}

fn to(receiver: Receiver, number: u16, rate: Bitrate) -> Frame {
    Frame {
        receiver,
        tid: None,
        rate,
        ..frame(number, false)
    }
}

const OTHER: Receiver = Receiver::Other(MacAddr::local(7));

/// Hears the frames one millisecond after another, from 1 ms on.
fn heard(config: Config, frames: &[Frame]) -> (Delivery, Instant) {
    let mut delivery = Delivery::new(config);
    let mut now = Instant::ZERO;
    for frame in frames {
        now += Duration::from_millis(1);
        delivery.hear(now, frame);
    }
    (delivery, now)
}

fn counts(config: Config, frames: &[Frame]) -> [u32; KINDS] {
    heard(config, frames).0.ring.sums.frames
}

/// N0, N1, Nlost of frames to us with a counter of their own.
fn own(frames: &[Frame]) -> (u32, u32, u32) {
    let counts = counts(Config::LEGACY, frames);
    (counts[0], counts[1], counts[2])
}

#[test]
fn a_hole_is_lost_when_the_window_has_passed_it() {
    let mut frames = vec![frame(0, false)];
    frames.extend((2..65).map(|number| frame(number, false)));
    assert_eq!(own(&frames), (64, 0, 0), "1 may still come: 64 is the highest");
    frames.push(frame(65, false));
    assert_eq!(own(&frames), (65, 0, 1));
}

#[test]
fn a_hole_that_is_filled_late_is_a_retry() {
    let mut frames: Vec<_> = (0..40).filter(|&n| n != 5).map(|n| frame(n, false)).collect();
    frames.push(frame(5, true));
    frames.extend((40..200).map(|n| frame(n, false)));
    assert_eq!(own(&frames), (199, 1, 0));
}

#[test]
fn numbers_wrap_after_4095() {
    let frames: Vec<_> = (4_000..4_300).map(|n| frame(n, false)).collect();
    assert_eq!(own(&frames), (300, 0, 0));
    let with_holes: Vec<_> = (4_000..4_300)
        .filter(|n| n % 100 != 50)
        .map(|n| frame(n, false))
        .collect();
    // 4,250 is still inside the window that ends at 4,299.
    assert_eq!(own(&with_holes), (297, 0, 2));
}

#[test]
fn duplicates_do_not_count() {
    let frames = [
        frame(1, false),
        frame(1, true),
        frame(2, true),
        frame(2, true),
        frame(1, true),
    ];
    assert_eq!(own(&frames), (1, 1, 0));
}

#[test]
fn a_jump_past_the_window_loses_all_between() {
    // 0, then 1,000: 1..=936 are out of the window (937..=1,000).
    assert_eq!(own(&[frame(0, false), frame(1_000, false)]), (2, 0, 936));
}

#[test]
fn a_counter_that_begins_anew_is_followed_at_its_second_frame() {
    let mut frames: Vec<_> = (3_000..3_100).map(|n| frame(n, false)).collect();
    frames.extend((2_000..2_100).map(|n| frame(n, false)));
    assert_eq!(own(&frames), (199, 0, 0));
}

#[test]
fn one_old_frame_does_not_move_the_window() {
    let mut frames: Vec<_> = (3_000..3_100).map(|n| frame(n, false)).collect();
    frames.push(frame(2_900, true));
    frames.extend((3_100..3_200).map(|n| frame(n, false)));
    frames.push(frame(2_901, true));
    frames.extend((3_200..3_300).map(|n| frame(n, false)));
    assert_eq!(own(&frames), (300, 0, 0));
}

#[test]
fn each_tid_has_its_own_counter() {
    let both = (0..200).flat_map(|n| {
        let voice = Frame {
            tid: Some(6),
            number: SeqNum::new(n * 7),
            ..frame(0, false)
        };
        [frame(n, false), voice]
    });
    let (first, retry, lost) = own(&both.collect::<Vec<_>>());
    assert_eq!((first, retry), (400, 0));
    // The window of the second stream spans 64 of its 1,394 numbers, 9 of which were heard.
    assert_eq!(lost, 1_394 - 200 - (64 - 10));
}

#[test]
fn frames_to_others_do_not_tear_holes_into_our_counter() {
    let frames: Vec<_> = (0..100)
        .flat_map(|n| {
            [
                frame(n, false),
                Frame {
                    receiver: OTHER,
                    number: SeqNum::new(n * 30),
                    ..frame(0, true)
                },
            ]
        })
        .collect();
    assert_eq!(own(&frames), (100, 0, 0));
}

#[test]
fn everybodys_frames_count_if_asked_for_with_their_own_counters() {
    let config = Config {
        scope: Scope::Everybody,
        ..Config::LEGACY
    };
    let station = |n: u32| Receiver::Other(MacAddr::local(n));
    let frames: Vec<_> = (0..149)
        .flat_map(|n| {
            (0..3).map(move |who| Frame {
                receiver: station(who),
                ..frame(n, false)
            })
        })
        .filter(|frame| frame.number.get() % 50 != 49)
        .collect();
    // 99 is still inside the windows that end at 148.
    assert_eq!(counts(config, &frames)[..3], [147 * 3, 0, 3]);
}

#[test]
fn more_receivers_than_there_is_room_for_lose_holes_not_sense() {
    let config = Config {
        scope: Scope::Everybody,
        ..Config::HT
    };
    let frames: Vec<_> = (0..2)
        .flat_map(|n| {
            (0..200).map(move |who| Frame {
                receiver: Receiver::Other(MacAddr::local(who)),
                ..frame(n * 1_000, false)
            })
        })
        .collect();
    let counts = counts(config, &frames);
    assert_eq!(counts[Kind::First as usize], 400);
    let most = 64 * 936;
    assert!(counts[Kind::Lost as usize] <= most, "{counts:?}");
}

#[test]
fn missing_numbers_of_the_shared_counter_are_ours_if_we_are_alone() {
    let frames: Vec<_> = (0..200)
        .filter(|n| n % 10 != 3)
        .map(|n| to(Receiver::Us, n, FAST))
        .collect();
    let (mut delivery, now) = heard(Config::LEGACY, &frames);
    // 14 of the 20 missing numbers lie before the window that ends at 199.
    let Estimate::Known { delivered, frames } = delivery.estimate(now) else {
        panic!()
    };
    assert_eq!((delivered, frames), (Ratio::from_fraction(180, 194), 194));
}

#[test]
fn missing_numbers_beside_others_at_another_rate_are_nobodys() {
    let receiver = |n: u16| if n.is_multiple_of(2) { Receiver::Us } else { OTHER };
    let rate = |n: u16| if n.is_multiple_of(2) { FAST } else { SLOW };
    let frames: Vec<_> = (0..200)
        .filter(|n| n % 10 != 3)
        .map(|n| to(receiver(n), n, rate(n)))
        .collect();
    let (mut delivery, now) = heard(Config::LEGACY, &frames);
    let estimate = delivery.estimate(now);
    let expected = Estimate::Unattributable {
        at_least: Ratio::from_fraction(100, 114),
        at_most: Ratio::ONE,
        missing: 14,
    };
    assert_eq!(
        (estimate, estimate.confidence(), estimate.loss(0)),
        (expected, 0, None)
    );
}

#[test]
fn nothing_missing_needs_no_attribution() {
    let receiver = |n: u16| if n.is_multiple_of(2) { Receiver::Us } else { OTHER };
    let rate = |n: u16| if n.is_multiple_of(2) { FAST } else { SLOW };
    let frames: Vec<_> = (0..200).map(|n| to(receiver(n), n, rate(n))).collect();
    let (mut delivery, now) = heard(Config::LEGACY, &frames);
    assert_eq!(
        delivery.estimate(now),
        Estimate::Known {
            delivered: Ratio::ONE,
            frames: 100
        }
    );
}

#[test]
fn others_at_our_rate_share_our_losses() {
    let receiver = |n: u16| if n.is_multiple_of(2) { Receiver::Us } else { OTHER };
    let frames: Vec<_> = (0..200)
        .filter(|n| n % 10 != 3)
        .map(|n| to(receiver(n), n, FAST))
        .collect();
    let (mut delivery, now) = heard(Config::LEGACY, &frames);
    assert_eq!(
        delivery.estimate(now),
        Estimate::Known {
            delivered: Ratio::from_fraction(180, 194),
            frames: 194
        }
    );
}

#[test]
fn beacons_fill_their_numbers_and_count_for_nothing() {
    let receiver = |n: u16| {
        if n.is_multiple_of(20) {
            Receiver::Group
        } else {
            Receiver::Us
        }
    };
    let rate = |n: u16| if n.is_multiple_of(20) { SLOW } else { FAST };
    let frames: Vec<_> = (0..200).map(|n| to(receiver(n), n, rate(n))).collect();
    let (mut delivery, now) = heard(Config::LEGACY, &frames);
    assert_eq!(
        delivery.estimate(now),
        Estimate::Known {
            delivered: Ratio::ONE,
            frames: 190
        }
    );
}

#[test]
fn missed_beacons_are_not_frames_of_ours() {
    let mut frames: Vec<_> = (0..100)
        .filter(|n| n % 3 == 0)
        .map(|n| to(Receiver::Group, n, SLOW))
        .collect();
    frames.extend((0..100).map(|n| frame(n, n % 4 == 0)));
    let (mut delivery, now) = heard(Config::LEGACY, &frames);
    let expected = Estimate::Known {
        delivered: Ratio::from_fraction(3, 4),
        frames: 100,
    };
    assert_eq!(delivery.estimate(now), expected);
}

#[test]
fn with_numbers_of_our_own_a_doubtful_shared_counter_is_left_aside() {
    let mut frames: Vec<_> = (0..100)
        .filter(|n| n % 10 != 3)
        .map(|n| to(OTHER, n, SLOW))
        .collect();
    frames.extend((0..100).map(|n| frame(n, n % 4 == 0)));
    let (mut delivery, now) = heard(Config::LEGACY, &frames);
    assert_eq!(
        delivery.estimate(now),
        Estimate::Known {
            delivered: Ratio::from_fraction(75, 100),
            frames: 100
        }
    );
}

#[test]
fn what_passes_while_the_radio_is_away_is_not_lost() {
    let mut delivery = Delivery::new(Config::LEGACY);
    delivery.hear(ms(1), &frame(0, false));
    delivery.away();
    delivery.hear(ms(100), &frame(1_000, false));
    assert_eq!(delivery.estimate(ms(100)).confidence(), 2);
}

#[test]
fn a_silent_window_is_forgotten() {
    let (mut delivery, now) = heard(Config::LEGACY, &[frame(0, false), frame(1, false)]);
    assert_eq!(
        delivery.estimate(now + Duration::from_millis(499)).confidence(),
        2
    );
    assert_eq!(
        delivery.estimate(now + Duration::from_millis(501)),
        Estimate::Silent
    );
    // The records' clock comes round every 4,295 s.
    let (mut delivery, now) = heard(Config::LEGACY, &[frame(0, false)]);
    assert_eq!(
        delivery.estimate(now + Duration::from_nanos(4_294_967_296_000)),
        Estimate::Silent
    );
    delivery.hear(Instant::from_secs(9_000), &frame(900, false));
    assert_eq!(delivery.estimate(Instant::from_secs(9_000)).confidence(), 1);
}

#[test]
fn traffic_says_what_the_frames_were_like() {
    let slow = |number| Frame {
        rate: Bitrate::from_mbps(27),
        bytes: 736,
        aggregate: Some(9),
        ..frame(number, false)
    };
    let alone = [frame(0, false), frame(1, false)];
    let (mut delivery, now) = heard(Config::HT, &[&alone[..], &[slow(2), slow(3)]].concat());
    let traffic = delivery.traffic(now).unwrap();
    // Harmonic mean of 54 and 27 is 36; four frames came in three aggregates.
    assert!(
        (35_990_000..36_010_000).contains(&traffic.rate.as_bps()),
        "{traffic:?}"
    );
    assert_eq!(
        (traffic.mpdu_bytes, traffic.heard_per_aggregate_milli),
        (1_136, 1_333)
    );
}

#[test]
fn the_length_of_an_aggregate_is_known_although_only_a_part_is_heard() {
    for (length, q) in [(1, 0.4), (2, 0.5), (8, 0.3), (32, 0.6), (64, 0.1)] {
        let (mut delivery, mut sender) = pair(3, length, q, 1_000);
        let mut sum = 0.0;
        for window in 3..103 {
            let until = ms(500 * window);
            sender.run(until, |now, frame| delivery.hear(now, frame));
            let Estimate::Known { delivered, .. } = delivery.estimate(until) else {
                panic!()
            };
            sum += f64::from(
                delivery
                    .traffic(until)
                    .unwrap()
                    .sent_per_aggregate_milli(delivered),
            ) / 1e3;
        }
        // At high loss the block-ack window holds the sender back from filling its aggregates.
        let sent = sender.truth.frames as f64 / sender.truth.aggregates as f64;
        let mean = sum / 100.0;
        assert!((mean - sent).abs() < 0.05 * sent, "{mean} for {sent} at loss {q}");
    }
}

/// A token of `golden/delivery.csv`: who (u: us, o: another at our rate, s: another at a slow one, b: everybody), number or range, `r` for the retry bit.
fn token(text: &str, tid: Option<u8>) -> Vec<Frame> {
    let (receiver, rate) = match &text[..1] {
        "u" => (Receiver::Us, FAST),
        "o" => (OTHER, FAST),
        "s" => (OTHER, SLOW),
        "b" => (Receiver::Group, SLOW),
        who => panic!("{who} is nobody"),
    };
    let retry = text.ends_with('r');
    let (from, to) = text[1..]
        .trim_end_matches('r')
        .split_once('-')
        .unwrap_or((&text[1..], ""));
    let from: u16 = from.trim_end_matches('r').parse().unwrap();
    let to = if to.is_empty() { from } else { to.parse().unwrap() };
    (from..=to)
        .map(|n| Frame {
            receiver,
            rate,
            tid,
            ..frame(n, retry)
        })
        .collect()
}

#[test]
fn golden_vectors_hold() {
    let rows = include_str!("../../../../../golden/delivery.csv")
        .lines()
        .filter(|line| !line.starts_with(['#', 'c']));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        let tid = (cells[0] == "own").then_some(0);
        let frames: Vec<Frame> = cells[1]
            .split_whitespace()
            .flat_map(|text| token(text, tid))
            .collect();
        let (mut delivery, now) = heard(
            Config {
                records: 4_096,
                ..Config::LEGACY
            },
            &frames,
        );
        let answer = match delivery.estimate(now) {
            Estimate::Silent => "silent,0,0".into(),
            Estimate::Known { delivered, frames } => format!("known,{},{frames}", delivered.as_raw()),
            Estimate::Unattributable { missing, .. } => format!("unattributable,0,{missing}"),
        };
        assert_eq!(answer, cells[2..].join(","), "{row}");
        count += 1;
    }
    assert!(count >= 15, "only {count} vectors");
}

/// Keeps every number in a set: what [`sequence::Sequence`] must do in constant memory.
#[derive(Debug, Default)]
struct Reference {
    head: i64,
    heard: BTreeMap<i64, ()>,
    first: Option<i64>,
    stray: Option<SeqNum>,
}

impl Reference {
    fn hear(&mut self, number: SeqNum, window: i64) -> Heard {
        let Some(first) = self.first else {
            *self = Self {
                head: number.get().into(),
                first: Some(number.get().into()),
                ..Self::default()
            };
            self.heard.insert(self.head, ());
            return Heard::New { lost: 0 };
        };
        let ahead = i64::from(number.distance_from(SeqNum::new(self.head.rem_euclid(4_096) as u16)));
        let at = if ahead < 2_048 {
            self.head + ahead
        } else {
            self.head + ahead - 4_096
        };
        if self.head - at >= window {
            let follows = |stray: SeqNum| (1..=window).contains(&i64::from(number.distance_from(stray)));
            if self.stray.is_some_and(follows) {
                *self = Self::default();
                return self.hear(number, window);
            }
            self.stray = Some(number);
            return Heard::Again;
        }
        self.stray = None;
        if at <= first && at != self.head || self.heard.insert(at, ()).is_some() {
            return Heard::Again;
        }
        let passed = self.head - window + 1..=at - window;
        let lost = passed
            .filter(|n| *n > first && !self.heard.contains_key(n))
            .count();
        self.head = self.head.max(at);
        Heard::New { lost: lost as u16 }
    }
}

/// Mostly the next number; sometimes a small step either way; seldom a jump.
fn steps() -> impl Strategy<Value = Vec<u16>> {
    let step = prop_oneof![8 => Just(1_u16), 4 => 1_u16..6, 4 => 4_000_u16..4_096, 2 => 0_u16..400, 1 => 0_u16..4_096];
    proptest::collection::vec(step, 1..600)
}

/// Any frame at all, with few numbers so that they meet.
fn any_frame() -> impl Strategy<Value = (u64, Frame)> {
    let receiver = prop_oneof![
        4 => Just(Receiver::Us),
        2 => (0_u32..200).prop_map(|n| Receiver::Other(MacAddr::local(n))),
        1 => Just(Receiver::Group)
    ];
    let tid = prop_oneof![Just(None), (0_u8..18).prop_map(Some)];
    let numbers = prop_oneof![0_u16..100, 0_u16..4_096];
    (
        0_u64..300,
        receiver,
        tid,
        numbers,
        any::<bool>(),
        any::<u64>(),
        any::<u16>(),
    )
        .prop_map(|(later_ms, receiver, tid, number, retry, rate, bytes)| {
            let rate = Bitrate::from_bps(rate);
            (
                later_ms,
                Frame {
                    receiver,
                    tid,
                    rate,
                    bytes,
                    ..frame(number, retry)
                },
            )
        })
}

proptest! {
    #[test]
    fn numbers_are_judged_as_a_set_would(start in 0_u16..4_096, steps in steps(), window in 1_u16..=256) {
        let (mut sequence, mut reference) = (sequence::Sequence::new(), Reference::default());
        let mut number = SeqNum::new(start);
        for step in steps {
            number = SeqNum::new(number.get() + step);
            prop_assert_eq!(sequence.hear(number, window), reference.hear(number, window.into()));
        }
    }

    #[test]
    fn a_repetition_more_never_makes_it_better(retries in proptest::collection::vec(any::<bool>(), 1..300), at: prop::sample::Index) {
        let delivered = |retries: &[bool]| {
            let frames: Vec<Frame> = (0..).zip(retries).map(|(n, retry)| frame(n, *retry)).collect();
            let (mut delivery, now) = heard(Config::LEGACY, &frames);
            let Estimate::Known { delivered, frames } = delivery.estimate(now) else { panic!() };
            (delivered, frames)
        };
        let (before, frames) = delivered(&retries);
        prop_assert_eq!(frames as usize, retries.len());
        let mut worse = retries.clone();
        worse[at.index(retries.len())] = true;
        prop_assert!(delivered(&worse).0 <= before);
    }

    #[test]
    fn only_the_order_counts_where_the_window_is_as_much_longer(
        frames in proptest::collection::vec(any_frame(), 1..200), factor in 2_u32..100,
    ) {
        let estimate = |factor: u32| {
            let mut delivery = Delivery::new(Config { window: Config::HT.window * factor, ..Config::HT });
            let mut now = Instant::ZERO;
            for (later_ms, frame) in &frames {
                now += Duration::from_millis(*later_ms) * factor;
                delivery.hear(now, frame);
            }
            delivery.estimate(now)
        };
        prop_assert_eq!(estimate(1), estimate(factor));
    }

    #[test]
    fn nothing_that_is_heard_breaks_it(frames in proptest::collection::vec(any_frame(), 1..400), everybody: bool) {
        let scope = if everybody { Scope::Everybody } else { Scope::Ours };
        let mut delivery = Delivery::new(Config { scope, records: 50, ..Config::LEGACY });
        let mut now = Instant::ZERO;
        for (later, frame) in frames {
            now += Duration::from_millis(later);
            delivery.hear(now, &frame);
            match delivery.estimate(now) {
                Estimate::Known { delivered, frames } => prop_assert!(delivered <= Ratio::ONE && frames > 0),
                Estimate::Unattributable { at_least, at_most, missing } => prop_assert!(at_least <= at_most && missing > 0),
                Estimate::Silent => {}
            }
            let _ = delivery.traffic(now).map(|traffic| traffic.sent_per_aggregate_milli(Ratio::from_ppm(300_000)));
        }
        prop_assert_eq!(delivery.estimate(now + Duration::from_secs(1)), Estimate::Silent);
        prop_assert_eq!(delivery.ring.sums, Sums::default());
    }
}

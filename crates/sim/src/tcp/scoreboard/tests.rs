use super::*;
use crate::tcp::packet::Sacks;
use units::{Duration, Rng};

const MS: Duration = Duration::from_millis(1);

/// Ten segments, one per millisecond.
fn ten() -> (Scoreboard, Vec<Segment>) {
    let mut board = Scoreboard::default();
    let sent = (0..10)
        .map(|at| board.send_new(Instant::ZERO + at * MS, Payload::default()))
        .collect();
    (board, sent)
}

/// The segment arrives 20 ms after it was sent.
fn arrives(board: &mut Scoreboard, segment: Segment) -> Arrival {
    board.arrive(segment.sent + 20 * MS, segment)
}

#[test]
fn arrivals_in_order_are_acknowledged() {
    let (mut board, sent) = ten();
    assert_eq!((board.first(), board.end(), board.in_flight()), (0, 10, 10));
    for segment in &sent[..4] {
        assert_eq!(arrives(&mut board, *segment), Arrival::New);
    }
    assert_eq!((board.first(), board.end(), board.in_flight()), (4, 10, 6));
    assert!(board.in_order() && !board.seen_reordering());
}

#[test]
fn duplicates_and_segments_never_sent_change_nothing() {
    let (mut board, sent) = ten();
    for at in [0, 5] {
        assert_eq!(arrives(&mut board, sent[at]), Arrival::New);
        assert_eq!(arrives(&mut board, sent[at]), Arrival::Duplicate);
    }
    for number in [10, u64::MAX] {
        let never_sent = Segment { number, ..sent[9] };
        assert_eq!(arrives(&mut board, never_sent), Arrival::NeverSent);
    }
    assert_eq!((board.first(), board.end(), board.in_flight()), (1, 10, 8));
}

#[test]
fn an_ack_counts_what_arrived_in_order_and_what_its_blocks_name() {
    let (mut board, sent) = ten();
    let now = sent[5].sent + 20 * MS;
    let mut heard = Heard {
        next: 2,
        sacks: Sacks::default(),
        echo: sent[1].sent,
        congested: false,
    };
    heard.sacks.push(2, (4, 6));
    for again in [false, true] {
        let acked = board.acknowledge(now, &heard, None).unwrap();
        assert_eq!(acked.segments, if again { 0 } else { 4 });
        assert_eq!(acked.advanced, !again);
        // Times of the segments in order only.
        assert_eq!(acked.once, (!again).then_some((sent[0].sent, sent[1].sent)));
        assert_eq!((board.first(), board.end(), board.in_flight()), (2, 10, 6));
    }
    heard.next = 11;
    assert!(board.acknowledge(now, &heard, None).is_none(), "never sent");
}

/// The echo tells which transmission of a repeated segment has arrived.
#[test]
fn an_ack_of_a_repeated_segment_measures_nothing_and_shows_a_late_first_transmission() {
    for (late, reordered) in [(true, true), (false, false)] {
        let (mut board, sent) = ten();
        board.mark_all(sent[9].sent, false);
        let again = sent[9].sent + 100 * MS;
        let (repeated, _) = board.send_lost(again).unwrap();
        let heard = Heard {
            next: 1,
            sacks: Sacks::default(),
            echo: if late { sent[0].sent } else { repeated.sent },
            congested: false,
        };
        let acked = board.acknowledge(again + 5 * MS, &heard, None).unwrap();
        assert_eq!((acked.segments, acked.once), (1, None));
        assert_eq!(board.seen_reordering(), reordered, "{late}");
    }
}

/// RACK waits a quarter of the minimum RTT for a segment that may only be late, unless three segments
/// overtook it.
#[test]
fn an_overtaken_segment_is_lost_after_the_reordering_window() {
    let (mut board, sent) = ten();
    arrives(&mut board, sent[1]);
    let now = sent[1].sent + 20 * MS;
    let window = board.reordering_window(false, Some(20 * MS), 20 * MS);
    assert_eq!(window, 5 * MS);
    // Sent at 0. It is late 20 ms plus 5 ms later.
    assert_eq!(board.mark_late(now, window), (0, Some(sent[0].sent + 25 * MS)));
    assert_eq!(board.mark_late(now + 4 * MS, window), (1, None));
    assert_eq!(board.in_flight(), 8);
    let (again, _) = board.send_lost(now + 4 * MS).unwrap();
    assert!(again.retransmission && again.number == 0);
    assert_eq!(board.send_lost(now + 4 * MS), None);
}

#[test]
fn a_segment_overtaken_by_three_is_lost_at_once() {
    let (mut board, sent) = ten();
    for segment in &sent[1..4] {
        arrives(&mut board, *segment);
    }
    let window = board.reordering_window(false, Some(20 * MS), 20 * MS);
    assert_eq!(window, Duration::ZERO);
    assert_eq!(board.mark_late(sent[3].sent + 20 * MS, window), (1, None));
}

#[test]
fn without_rack_a_loss_takes_three_duplicates() {
    let (mut board, sent) = ten();
    for (behind, lost) in [(1, 0), (2, 0), (3, 1), (4, 0)] {
        arrives(&mut board, sent[behind]);
        assert_eq!(board.mark_behind(), lost, "{behind}");
    }
    board.send_lost(sent[4].sent + 20 * MS).unwrap();
    arrives(&mut board, sent[5]);
    assert_eq!(
        board.mark_behind(),
        0,
        "segments sent before a retransmission do not make it lost"
    );
}

/// After reordering, three overtaking segments are no sign of loss, and duplicate arrivals widen the window.
#[test]
fn detected_reordering_widens_the_window() {
    let (mut board, sent) = ten();
    for at in [1, 2, 3, 0, 5, 6, 7] {
        arrives(&mut board, sent[at]);
    }
    assert!(board.seen_reordering());
    let window = |board: &Scoreboard| board.reordering_window(true, Some(20 * MS), 20 * MS);
    assert_eq!(window(&board), 5 * MS);
    board.arrived_twice();
    board.arrived_twice();
    assert_eq!(window(&board), 10 * MS, "at most once per RTT");
    (0..16).for_each(|_| board.recovered());
    assert_eq!(window(&board), 5 * MS);
}

#[test]
fn a_time_out_marks_all_segments_older_than_an_rtt_as_lost() {
    for (rack, in_flight) in [(true, 4), (false, 0)] {
        let (mut board, sent) = ten();
        // The RTT is 20 ms, so segments sent after 5 ms may still arrive.
        arrives(&mut board, sent[2]);
        board.mark_all(Instant::from_millis(25), rack);
        assert_eq!(board.in_flight(), in_flight, "rack: {rack}");
        board.unmark();
        assert_eq!(board.in_flight(), 9);
        assert!(!board.in_order(), "one segment arrived out of order");
    }
}

/// The counters match the segments after any sequence of events.
#[test]
fn counters_match_the_segments() {
    let mut random = Rng::named(1, "scoreboard");
    for _ in 0..200 {
        let (mut board, mut sent) = ten();
        let mut now = Instant::from_millis(20);
        for _ in 0..200 {
            now += random.duration_up_to(5 * MS);
            match random.below(8) {
                0 => sent.push(board.send_new(now, Payload::default())),
                1 => sent.extend(board.send_lost(now).map(|(segment, _)| segment)),
                2 => {
                    board.mark_late(now, random.duration_up_to(10 * MS));
                }
                3 => {
                    board.mark_behind();
                }
                4 => board.mark_all(now, random.below(2) == 0),
                5 => board.unmark(),
                _ => {
                    let at = random.below(sent.len() as u64) as usize;
                    board.arrive(now, sent[at]);
                }
            }
            let count = |state| board.slots.iter().filter(|slot| slot.state == state).count();
            assert_eq!(count(State::Out), board.in_flight as usize);
            assert_eq!(count(State::Lost), board.lost as usize);
            assert_eq!(count(State::Arrived), board.arrived as usize);
        }
    }
}

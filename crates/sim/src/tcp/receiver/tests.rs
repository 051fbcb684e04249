use super::order::Order;
use super::*;
use units::Rng;

const MS: Duration = Duration::from_millis(1);

fn packet(number: u64) -> Packet {
    Packet {
        ecn: Ecn::Ect,
        bytes: 1_448,
        number,
        sent: Instant::from_millis(number + 1),
        data: number * 1_448,
        ..Packet::EMPTY
    }
}

/// A receiver whose quick ACKs are used up.
fn settled() -> (Receiver, u64) {
    let mut receiver = Receiver::new();
    for number in 0..16 {
        receiver.receive(Instant::ZERO, &packet(number), |_| {});
        assert!(receiver.must_acknowledge(Instant::ZERO), "{number}");
        receiver.acknowledged(false, false);
    }
    (receiver, 16)
}

#[test]
fn the_first_segments_are_acknowledged_at_once_and_later_every_second_one() {
    let (mut receiver, next) = settled();
    let now = Instant::from_millis(500);
    receiver.receive(now, &packet(next), |_| {});
    assert!(!receiver.must_acknowledge(now));
    assert_eq!(receiver.acknowledge_at(), Some(now + 40 * MS));
    assert!(receiver.must_acknowledge(now + 40 * MS));
    receiver.receive(now, &packet(next + 1), |_| {});
    assert!(receiver.must_acknowledge(now));
    receiver.acknowledged(false, false);
    assert_eq!(receiver.acknowledge_at(), None);
}

#[test]
fn segments_out_of_order_are_reported_at_once_the_latest_first() {
    let (mut receiver, next) = settled();
    for number in [next + 2, next + 5, next + 3] {
        assert_eq!(
            receiver.receive(Instant::ZERO, &packet(number), |_| {}),
            Some(Arrived::Early)
        );
        assert!(receiver.must_acknowledge(Instant::ZERO));
    }
    let sacks = receiver.acknowledged(false, false);
    let blocks: Vec<_> = sacks.blocks(next).collect();
    assert_eq!(blocks, [(next + 2, next + 4), (next + 5, next + 6)]);
    // Beside a data ACK there is room for one.
    receiver.receive(Instant::ZERO, &packet(next + 5), |_| {});
    let again = receiver.acknowledged(true, false);
    assert!(again.duplicate && again.blocks(next).next().is_none());
    assert_eq!(receiver.counts().duplicates, 1);
}

#[test]
fn a_mark_is_echoed_until_the_sender_has_reacted() {
    let (mut receiver, next) = settled();
    let marked = Packet {
        ecn: Ecn::Ce,
        ..packet(next)
    };
    receiver.receive(Instant::ZERO, &marked, |_| {});
    assert!(receiver.echoes_congestion() && receiver.must_acknowledge(Instant::ZERO));
    receiver.receive(Instant::ZERO, &packet(next + 1), |_| {});
    assert!(receiver.echoes_congestion());
    let cwr = Packet {
        cwr: true,
        ..packet(next + 2)
    };
    receiver.receive(Instant::ZERO, &cwr, |_| {});
    assert!(!receiver.echoes_congestion());
    assert_eq!(receiver.counts().marked, 1);
}

/// The timestamp of the segment that fills the hole is echoed, not that of an early one (RFC 7323 §4.3).
#[test]
fn the_echo_is_of_the_last_segment_in_order() {
    let (mut receiver, next) = settled();
    receiver.receive(Instant::ZERO, &packet(next + 1), |_| {});
    assert_eq!(receiver.echo(), packet(next - 1).sent);
    let repaired = Packet {
        sent: Instant::from_secs(1),
        ..packet(next)
    };
    receiver.receive(Instant::from_secs(2), &repaired, |_| {});
    assert_eq!(
        (receiver.echo(), receiver.next()),
        (Instant::from_secs(1), next + 2)
    );
}

/// Everything is delivered once, in order, whatever arrives when. Blocks name only segments that arrived.
#[test]
fn any_order_of_arrivals_is_put_in_order() {
    let mut random = Rng::named(1, "order");
    for _ in 0..200 {
        let mut order = Order::default();
        let (mut delivered, mut seen) = (Vec::new(), [false; 64]);
        while order.next() < 60 {
            let number = (order.next() + random.below(12)).min(63);
            let payload = Payload {
                data: number,
                bytes: 1,
                fin: false,
            };
            let arrived = order.take(number, payload, |payload| delivered.push(payload.data));
            assert_eq!(arrived == Arrived::Duplicate, seen[number as usize], "{number}");
            seen[number as usize] = true;
            for (from, until) in order.blocks() {
                assert!(order.next() < from && from < until);
                assert!((from..until).all(|number| seen[number as usize]));
            }
            assert_eq!(
                order.has_early(),
                seen[order.next() as usize..].iter().any(|&seen| seen)
            );
        }
        assert!(delivered.iter().copied().eq(0..order.next()));
    }
}

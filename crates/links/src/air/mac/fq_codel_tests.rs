use super::*;
use crate::air::StationId;
use units::Duration;

const CODEL: crate::Codel = crate::Codel {
    target: Duration::from_millis(5),
    interval: Duration::from_millis(100),
    ecn: false,
};

fn packet(to: u32, flow: u32, token: u64) -> Packet {
    Packet {
        flow,
        ..Packet::new(Destination::Station(StationId(to)), 1_500, token)
    }
}

fn taken(queue: &mut FqCodel, now: u64, count: usize) -> Vec<u64> {
    (0..count)
        .filter_map(|_| queue.take_if(now, |_| true))
        .map(|packet| packet.token)
        .collect()
}

#[test]
fn flows_take_turns() {
    let mut queue = FqCodel::new(CODEL);
    (0..4).for_each(|token| queue.push(0, packet(1, 7, token)));
    (10..12).for_each(|token| queue.push(0, packet(1, 8, token)));
    // 14 bytes of the first quantum are left after a full packet, so a second one may follow.
    let order = taken(&mut queue, 0, 9);
    assert_eq!(order.len(), 6);
    let last_of_8 = order.iter().position(|&token| token == 11).unwrap();
    assert!(
        last_of_8 < 5,
        "the short flow does not wait for the long one: {order:?}"
    );
    let of_7: Vec<_> = order.iter().filter(|&&token| token < 10).collect();
    assert_eq!(of_7, [&0, &1, &2, &3], "a flow keeps its order");
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_flow_that_was_empty_goes_first() {
    let mut queue = FqCodel::new(CODEL);
    (0..20).for_each(|token| queue.push(0, packet(1, 7, token)));
    taken(&mut queue, 0, 4);
    queue.push(0, packet(1, 9, 100));
    let next = taken(&mut queue, 0, 2);
    assert!(next.contains(&100), "{next:?}");
}

#[test]
fn an_aggregate_takes_only_what_it_can_use() {
    let mut queue = FqCodel::new(CODEL);
    (0..3).for_each(|token| queue.push(0, packet(1, 1, token)));
    (10..13).for_each(|token| queue.push(0, packet(2, 2, token)));
    let to = |receiver: u32| move |packet: &Packet| packet.to == Destination::Station(StationId(receiver));
    let second: Vec<_> = core::iter::from_fn(|| queue.take_if(0, to(2)))
        .map(|packet| packet.token)
        .collect();
    assert_eq!(second, [10, 11, 12]);
    assert_eq!(queue.first(0).map(|packet| packet.token), Some(0));
    assert_eq!(queue.len(), 3);
}

#[test]
fn a_full_queue_drops_from_the_flow_that_holds_most() {
    let mut queue = FqCodel::new(CODEL);
    queue.push(0, packet(1, 1, 0));
    (10..15).for_each(|token| queue.push(0, packet(1, 2, token)));
    assert_eq!(queue.drop_of_fattest().map(|packet| packet.token), Some(10));
    assert_eq!(queue.len(), 5);
}

/// A flow of 1,000 packets a second through a link that takes 900. CoDel keeps its delay near its target, not
/// at seconds.
#[test]
fn a_standing_queue_is_kept_short() {
    let mut queue = FqCodel::new(CODEL);
    let (mut sent, mut next_out) = (0, 0);
    let mut waits = Vec::new();
    for millisecond in 0..20_000_u64 {
        let now = millisecond * 1_000_000;
        // It backs off after a drop, as a sender does: it pauses for a while.
        let pause = queue.dropped.len() as u64 * 30;
        if sent + pause <= millisecond {
            queue.push(now, packet(1, 1, now));
            sent += 1;
        }
        if next_out <= now {
            next_out = now + 1_100_000;
            if let Some(packet) = queue.take_if(now, |_| true) {
                waits.push((now - packet.token) / 1_000_000);
            }
        }
    }
    waits.sort_unstable();
    let median = waits[waits.len() / 2];
    // Without it, the backlog would be two seconds.
    assert!(median < 100, "{median} ms");
    assert!(!queue.dropped.is_empty());
}

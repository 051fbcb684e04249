use super::super::medium::{AnyMedium, Media};
use super::*;
use crate::{HEADERS, Tally, World};
use links::air::AirConfig;
use links::{CableConfig, CellConfig, LinkConfig, QueueConfig, QueueLimit};
use units::wifi::Standard;
use units::{Bitrate, Duration};

/// Payload of a full packet.
const PAYLOAD: u32 = 1_500 - HEADERS;

fn cable(queue: QueueLimit) -> CableConfig {
    let mut cable = CableConfig::symmetric("dsl", Bitrate::from_mbps(12), Duration::from_millis(10));
    (cable.up.queue, cable.down.queue) = (QueueConfig::tail_drop(queue), QueueConfig::tail_drop(queue));
    cable
}

fn flow(direction: Direction, payload: u32, pace: Pace) -> Flow {
    let [far, near] = ends(0, 0);
    let (from, to) = match direction {
        Direction::Down => (far, near),
        Direction::Up => (near, far),
    };
    Flow {
        from,
        to: Destination::Station(to),
        payload,
        pace,
        start: Instant::ZERO,
    }
}

/// Results of the flows over one link in that time.
fn ran(link: LinkConfig, flows: &[Flow], time: Duration) -> Vec<Tally> {
    let media = Media {
        air: AnyMedium::Nothing,
        wires: Some(Box::new(Wires::new(1, vec![link].into(), 0, flows).unwrap())),
    };
    let nobody = AirConfig::new(Standard::G, Vec::new());
    let mut world = World::on(media, &nobody, flows.to_vec());
    world.run_for(time);
    world.tallies().to_vec()
}

#[test]
fn a_saturated_flow_fills_the_wire_without_loss() {
    for packets in [1, 100] {
        let link = || LinkConfig::Cable(cable(QueueLimit::Packets(packets)));
        for direction in DIRECTIONS {
            let flows = [flow(direction, PAYLOAD, Pace::Saturated)];
            let tally = ran(link(), &flows, Duration::from_secs(1))[0];
            // 1 ms each, the first one 11 ms after the start. Ten are on the wire, two in the bottleneck and
            // its queue.
            assert_eq!((tally.received, tally.lost), (990, 0), "{packets} {direction:?}");
            assert_eq!(tally.offered, 1_002);
        }
    }
}

#[test]
fn a_flow_above_the_rate_loses_the_excess_once_the_queue_is_full() {
    let link = LinkConfig::Cable(cable(QueueLimit::Packets(10)));
    let flows = [flow(
        Direction::Down,
        PAYLOAD,
        Pace::Constant(Duration::from_micros(500)),
    )];
    let tally = ran(link, &flows, Duration::from_secs(1))[0];
    assert_eq!(tally.offered, 2_001);
    assert_eq!(tally.received, 990);
    // 10 are queued, one is in transmission, 10 are on the wire.
    assert!((985..=991).contains(&tally.lost), "{tally:?}");
}

#[test]
fn a_saturated_flow_and_a_small_one_share_a_queue() {
    let link = LinkConfig::Cable(cable(QueueLimit::Packets(2)));
    let flows = [
        flow(Direction::Down, PAYLOAD, Pace::Saturated),
        flow(Direction::Down, 100, Pace::Constant(Duration::from_millis(10))),
    ];
    let tallies = ran(link, &flows, Duration::from_secs(1));
    assert_eq!(tallies[0].lost, 0, "a flow that waits for room loses nothing");
    let wire = tallies[0].received * 1_500 + tallies[1].received * u64::from(100 + HEADERS);
    let most = 12_000_000 / 8;
    assert!((most * 98 / 100..=most).contains(&wire), "{tallies:?}");
}

/// One opportunity of 1,500 bytes per millisecond.
#[test]
fn small_datagrams_fill_every_opportunity_of_a_trace() {
    let trace = vec![Duration::from_millis(1)];
    let cell = CellConfig::traced("lte", trace.clone(), trace, Duration::from_millis(20));
    let flows = [flow(Direction::Down, 100 - HEADERS, Pace::Saturated)];
    let tally = ran(LinkConfig::Cell(cell), &flows, Duration::from_secs(1))[0];
    assert!((14_650..=14_700).contains(&tally.received), "{tally:?}");
}

#[test]
fn a_saturated_flow_replaces_lost_packets() {
    let mut lossy = cable(QueueLimit::Packets(10));
    lossy.down.loss = units::Ratio::from_ppm(200_000);
    let flows = [flow(Direction::Down, PAYLOAD, Pace::Saturated)];
    let tally = ran(LinkConfig::Cable(lossy), &flows, Duration::from_secs(10))[0];
    // A lost packet is done at once, any other is on the wire for 10 ms.
    let through = tally.received + tally.lost;
    assert!((9_990..=10_000).contains(&through), "{tally:?}");
    assert!((1_850..2_150).contains(&tally.lost), "{tally:?}");
}

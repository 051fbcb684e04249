use super::*;
use crate::{Direction, Packet, QueueLimit};

const LINK: LinkId = LinkId(0);

fn entry(bytes: u32) -> Entry {
    Entry {
        packet: Packet {
            link: LINK,
            direction: Direction::Down,
            bytes,
            ect: false,
            flow: 0,
            token: 0,
        },
        ce: false,
        without_air: false,
        since: Instant::ZERO,
    }
}

fn traced(times_ms: &[u64]) -> Port {
    let trace = CellRate::Trace(times_ms.iter().map(|&at| Duration::from_millis(at)).collect());
    let queue = QueueConfig::tail_drop(QueueLimit::Packets(10));
    Port::cellular(
        &trace,
        Duration::ZERO,
        queue,
        Holes::new(&crate::config::Holes::default()),
    )
}

#[test]
fn the_rest_of_an_opportunity_goes_to_the_next_packet() {
    let (mut port, mut exits) = (traced(&[1, 2]), Exits::new(1));
    for bytes in [1_000, 1_000] {
        port.push(Instant::ZERO, entry(bytes), &mut exits);
    }
    let at = Instant::from_millis(1);
    assert_eq!(port.due(), Some(at));
    assert!(port.serve(at, &mut exits).is_some());
    assert!(
        port.serve(at, &mut exits).is_none(),
        "500 of 1,000 bytes are not a packet"
    );
    assert_eq!(port.due(), Some(Instant::from_millis(2)));
    assert!(port.serve(Instant::from_millis(2), &mut exits).is_some());
    assert_eq!(port.due(), None);
}

#[test]
fn an_idle_trace_asks_for_nothing_and_loses_what_passes() {
    let (mut port, mut exits) = (traced(&[1, 2, 7]), Exits::new(1));
    assert_eq!(port.due(), None);
    // At 16 ms the third period (14..21) has passed its opportunities at 15 and 16.
    port.push(Instant::from_millis(16), entry(100), &mut exits);
    assert_eq!(port.due(), Some(Instant::from_millis(21)));
}

#[test]
fn a_fault_takes_the_packet_in_service_and_frees_the_server() {
    let (mut port, mut exits) = (
        Port::at_rate(Bitrate::from_mbps(12), Duration::ZERO, QueueConfig::default()),
        Exits::new(1),
    );
    port.push(Instant::ZERO, entry(1_500), &mut exits);
    port.push(Instant::ZERO, entry(1_500), &mut exits);
    port.purge(Instant::ZERO, LINK, DropReason::Fault, &mut exits);
    assert_eq!(exits.counters(LINK).dropped, 2);
    assert_eq!(port.due(), None);
}

use links::air::{FrameKind, Input, Medium as _, Overheard, Packet, Subtype};
use units::{Duration, Instant};

use super::super::cast::Cast;
use super::super::common::plan;
use super::super::medium::AnyMedium;
use crate::{HEADERS, World};

const PLAN: &str = r#"sentence = "A client that saves power."
duration_s = 10

[aps.near]
at_m = [0, 0]
standard = "a"
channel = 36
rate_mbps = 54
backhaul = { rate_mbps = 100, rtt_ms = 20 }

[walkers.client]
at_m = [5, 0]
power_save = true

[walkers.other]
at_m = [0, 5]

[flows.down]
transport = "udp"
over = "near"
direction = "down"
payload_bytes = 200
every_ms = 20

[flows.up]
transport = "udp"
over = "near"
direction = "up"
payload_bytes = 200
every_ms = 50

[flows.rival]
transport = "udp"
over = "near"
by = "other"
direction = "down"
payload_bytes = 200
every_ms = 20
"#;

const LENGTH: Duration = Duration::from_secs(10);

fn world(settings: &[&str]) -> (Cast, World<AnyMedium>) {
    let plan = plan(PLAN, settings);
    let cast = Cast::of(&plan).unwrap();
    let mut medium = cast.medium(&plan, 1).unwrap().air;
    cast.client_radios().for_each(|station| medium.monitor(station));
    let world = World::on(medium, &cast.air, cast.flows.clone()).with_under_way(&cast.under_way);
    (cast, world)
}

fn subtype(frame: &Overheard) -> Option<(Subtype, bool)> {
    match frame.kind {
        FrameKind::Data { subtype, asleep, .. } => Some((subtype, asleep)),
        _ => None,
    }
}

#[test]
fn buffered_frames_follow_a_beacon_and_are_polled_one_by_one() {
    let (cast, mut world) = world(&["flows.rival.every_ms=5000", "flows.up.every_ms=5000"]);
    let radio = cast.client_radios().next().unwrap();
    world.run_for(LENGTH);
    let frames: Vec<Overheard> = std::iter::from_fn(|| world.medium_mut().overheard()).collect();
    let polls = frames
        .iter()
        .filter(|frame| subtype(frame) == Some((Subtype::PsPoll, true)))
        .count();
    // One per 20 ms, except those of the last beacon interval and the few before the radio slept.
    assert!((480..=500).contains(&polls), "{polls}");
    assert!((490..=500).contains(&world.tallies()[0].received));
    // Datagrams come within 20 ms of a beacon: the radio listens no longer than that.
    let mut beacon = None;
    for frame in frames.iter().filter(|frame| frame.from != radio) {
        match subtype(frame) {
            Some((Subtype::Beacon, _)) => beacon = Some(frame.end),
            Some((Subtype::Data, _)) if frame.to == Some(radio) && frame.start.as_millis() > 200 => {
                let since = frame.start.since(beacon.unwrap());
                assert!(
                    since < Duration::from_millis(20),
                    "{since:?} at {:?}",
                    frame.start
                );
            }
            _ => {}
        }
    }
}

#[test]
fn all_datagrams_arrive_and_an_awake_radio_gets_its_own_at_once() {
    let (_, mut world) = world(&[]);
    world.run_for(LENGTH);
    let [down, up, rival] = [0, 1, 2].map(|flow| world.tallies()[flow]);
    assert!(down.received >= 490 && down.lost == 0, "{down:?}");
    assert!(up.received >= 198 && up.lost == 0, "{up:?}");
    // Only those within half a round trip on the wire are missing.
    assert!(rival.received >= 499 && rival.lost == 0, "{rival:?}");
}

#[test]
fn a_saturated_flow_to_a_sleeping_radio_is_slow_but_does_not_hang() {
    let (_, mut world) =
        world(&["flows.down={ transport = \"udp\", over = \"near\", direction = \"down\" }"]);
    world.run_for(LENGTH);
    let mbps = world.tallies()[0].mbps(LENGTH);
    assert!((0.1..25.0).contains(&mbps), "{mbps}");
}

#[test]
fn a_radio_that_leaves_and_returns_is_associated_again() {
    let (cast, mut world) = world(&[]);
    let radio = cast.client_radios().next().unwrap();
    let put = |world: &mut World<AnyMedium>, x_mm| {
        let there = links::Position { x_mm, y_mm: 0 };
        world.handle(links::air::Input::Move(radio, there));
    };
    world.run_for(Duration::from_secs(2));
    put(&mut world, 900_000);
    world.run_for(Duration::from_secs(3));
    let away = world.tallies()[0].received;
    put(&mut world, 5_000);
    world.run_for(Duration::from_secs(5));
    let back = world.tallies()[0].received - away;
    // Two seconds, and what is left of five after a beacon and 1.04 s of joining, at 50 datagrams per second.
    assert!(
        (95..=101).contains(&away) && (180..=196).contains(&back),
        "{away} {back}"
    );
}

/// Cells and cables have deadlines of their own, and advance the air up to these.
#[test]
fn time_does_not_advance_until_all_outputs_are_taken() {
    let (cast, mut world) = world(&[]);
    let (flow, medium) = (&cast.flows[2], world.medium_mut());
    let datagram = Packet::new(flow.to, flow.payload + HEADERS, 2);
    medium.handle(Instant::ZERO, Input::Send(flow.from, datagram));
    let [soon, later] = [500, 600].map(Instant::from_millis);
    let arrived = medium.advance(soon);
    assert!(arrived < soon);
    assert_eq!(medium.advance(later), arrived);
    while medium.poll_due().is_some() {}
    assert_eq!(medium.advance(later), later);
}

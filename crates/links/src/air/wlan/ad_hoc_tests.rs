//! A client in turns between an access point and a peer of an ad hoc network.

use super::tests::{ms, station, until};
use super::*;
use units::Duration;

const CLIENT: StationId = StationId(2);
const PRIMARY: InterfaceId = InterfaceId(0);
const PEER: InterfaceId = InterfaceId(1);

/// An access point on channel 36, and on channel 48 another one or a peer, with a client between them.
fn wlan(ad_hoc: bool) -> Wlan {
    let stations = Vec::from([
        station("ap", 0, 36),
        station("peer", 20_000, 48),
        station("client", 10_000, 36),
    ]);
    let config = WlanConfig {
        air: AirConfig::new(units::wifi::Standard::A, stations),
        access_points: Vec::from([
            AccessPointConfig::new(StationId(0), "wire-1"),
            AccessPointConfig {
                ad_hoc,
                ..AccessPointConfig::new(StationId(1), "wire-2")
            },
        ]),
        clients: Vec::from([ClientConfig {
            interfaces: 2,
            ..ClientConfig::new(CLIENT)
        }]),
    };
    let mut wlan = Wlan::new(1, &config).unwrap();
    wlan.admit(PRIMARY, StationId(0));
    let slot = |channel, time| Slot::new(channel, Duration::from_millis(time));
    let plan = Vec::from([slot(36, 180), slot(48, 120)]);
    wlan.handle(Instant::ZERO, WlanInput::Slots(CLIENT, plan));
    wlan.handle(Instant::ZERO, WlanInput::Associate(PEER, StationId(1)));
    wlan
}

/// The packets of one every 20 ms that arrive and that are lost, after the client has joined both.
fn arrived_and_lost(ad_hoc: bool, interface: InterfaceId) -> (usize, usize) {
    let mut wlan = wlan(ad_hoc);
    until(&mut wlan, ms(4_000));
    assert_eq!(wlan.state(interface), LinkState::Up);
    let mut outputs = Vec::new();
    for step in 0..150 {
        let now = ms(4_000 + step * 20);
        outputs.extend(until(&mut wlan, now));
        wlan.handle(now, WlanInput::Down(interface, Load::new(1_000, step)));
    }
    outputs.extend(until(&mut wlan, ms(8_000)));
    let (mut arrived, mut lost) = (0, 0);
    for (_, output) in outputs {
        match output {
            WlanOutput::Delivered { .. } => arrived += 1,
            WlanOutput::Dropped { .. } => lost += 1,
            _ => {}
        }
    }
    (arrived, lost)
}

#[test]
fn a_peer_is_joined_once_it_is_heard_without_asking_it() {
    let mut peer = wlan(true);
    let mut states = until(&mut peer, ms(2_000));
    states.retain(|(_, output)| matches!(output, WlanOutput::State(PEER, _)));
    let seen: Vec<LinkState> = states
        .iter()
        .filter_map(|(_, output)| match output {
            WlanOutput::State(_, state) => Some(*state),
            _ => None,
        })
        .collect();
    assert_eq!(seen, [LinkState::Joining, LinkState::Up]);
    // An access point there still has to give an address at that time.
    let up = states.last().map(|(at, _)| *at).unwrap();
    let mut access_point = wlan(false);
    until(&mut access_point, up + Duration::from_millis(300));
    assert_ne!(access_point.state(PEER), LinkState::Up);
}

#[test]
fn a_peer_loses_what_it_sends_while_the_client_is_on_another_channel() {
    let (arrived, lost) = arrived_and_lost(true, PEER);
    // The client is there for less than 120 of 300 ms.
    assert!((40..=75).contains(&arrived), "{arrived}");
    assert!(lost >= 75, "{lost}");
    let (arrived, lost) = arrived_and_lost(false, PEER);
    assert_eq!((arrived, lost), (150, 0));
}

#[test]
fn the_access_point_beside_a_peer_buffers_as_before() {
    assert_eq!(arrived_and_lost(true, PRIMARY), (150, 0));
}

use super::*;
use crate::Position;
use crate::air::{StationConfig, Subtype};
use units::Duration;
use units::wifi::Standard;

pub(super) fn station(name: &str, x_mm: i64, channel: u8) -> StationConfig {
    StationConfig {
        channel,
        ..StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 })
    }
}

/// Two access points on different channels, and a client with two interfaces between them.
fn config() -> WlanConfig {
    let stations = Vec::from([
        station("ap-1", 0, 36),
        station("ap-2", 20_000, 48),
        station("client", 10_000, 36),
    ]);
    WlanConfig {
        air: AirConfig::new(Standard::A, stations),
        access_points: Vec::from([
            AccessPointConfig::new(StationId(0), "wire-1"),
            AccessPointConfig::new(StationId(1), "wire-2"),
        ]),
        clients: Vec::from([ClientConfig {
            interfaces: 2,
            ..ClientConfig::new(StationId(2))
        }]),
    }
}

const CLIENT: StationId = StationId(2);
const FIRST: InterfaceId = InterfaceId(0);
const SECOND: InterfaceId = InterfaceId(1);

fn wlan() -> Wlan {
    Wlan::new(1, &config()).unwrap()
}

pub(super) fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

pub(super) fn until(wlan: &mut Wlan, end: Instant) -> Vec<(Instant, WlanOutput)> {
    wlan.tick(end);
    core::iter::from_fn(|| wlan.poll()).collect()
}

fn states(outputs: &[(Instant, WlanOutput)], of: InterfaceId) -> Vec<(u64, LinkState)> {
    let states = outputs.iter().filter_map(|&(at, output)| match output {
        WlanOutput::State(interface, state) if interface == of => Some((at.as_millis(), state)),
        _ => None,
    });
    states.collect()
}

fn delivered(outputs: &[(Instant, WlanOutput)]) -> Vec<u64> {
    let tokens = outputs.iter().filter_map(|(_, output)| match output {
        WlanOutput::Delivered { token, .. } => Some(*token),
        _ => None,
    });
    tokens.collect()
}

/// The first interface is up at the first access point.
fn joined() -> Wlan {
    let mut wlan = wlan();
    wlan.handle(Instant::ZERO, WlanInput::Associate(FIRST, StationId(0)));
    let outputs = until(&mut wlan, ms(2_000));
    assert_eq!(wlan.state(FIRST), LinkState::Up, "{outputs:?}");
    wlan
}

#[test]
fn joining_takes_a_scan_four_frames_and_an_address() {
    let mut wlan = wlan();
    wlan.handle(ms(5), WlanInput::Associate(FIRST, StationId(0)));
    let outputs = until(&mut wlan, ms(2_000));
    let states = states(&outputs, FIRST);
    let names: Vec<_> = states.iter().map(|&(_, state)| state).collect();
    assert_eq!(names, [LinkState::Joining, LinkState::Carrier, LinkState::Up]);
    // 30 ms of scan and 10 ms of association, with their frames; then 1 s for DHCP.
    assert!((45..50).contains(&states[1].0), "{states:?}");
    assert!(
        (1_000..1_020).contains(&(states[2].0 - states[1].0)),
        "{states:?}"
    );
}

#[test]
fn packets_pass_both_ways_once_it_is_up() {
    let mut wlan = joined();
    wlan.handle(ms(2_000), WlanInput::Down(FIRST, Load::new(1_500, 7)));
    wlan.handle(ms(2_000), WlanInput::Up(FIRST, Load::new(1_500, 8)));
    wlan.handle(ms(2_000), WlanInput::Down(SECOND, Load::new(1_500, 9)));
    let outputs = until(&mut wlan, ms(2_100));
    let mut tokens = delivered(&outputs);
    tokens.sort_unstable();
    assert_eq!(tokens, [7, 8]);
    let lost = outputs.iter().any(|(_, output)| {
        matches!(
            output,
            WlanOutput::Dropped {
                token: 9,
                reason: DropReason::Detached,
                ..
            }
        )
    });
    assert!(lost);
}

#[test]
fn beacons_come_every_hundred_time_units() {
    let mut wlan = wlan();
    let outputs = until(&mut wlan, ms(10_240));
    let beacons: Vec<_> = outputs
        .iter()
        .filter(|(_, output)| {
            matches!(
                output,
                WlanOutput::Beacon {
                    from: StationId(0),
                    ..
                }
            )
        })
        .collect();
    assert!((98..=101).contains(&beacons.len()), "{}", beacons.len());
    // The other access point is on another channel.
    assert!(!outputs.iter().any(|(_, output)| {
        matches!(
            output,
            WlanOutput::Beacon {
                from: StationId(1),
                ..
            }
        )
    }));
}

#[test]
fn an_access_point_out_of_reach_is_given_up() {
    let mut config = config();
    config.air.stations[0].position.x_mm = -900_000;
    let mut wlan = Wlan::new(1, &config).unwrap();
    wlan.handle(Instant::ZERO, WlanInput::Associate(FIRST, StationId(0)));
    let states = states(&until(&mut wlan, ms(5_000)), FIRST);
    assert_eq!(states.last().map(|&(_, state)| state), Some(LinkState::Down));
}

/// Moves the client out of reach, and checks that it notices this many milliseconds later.
fn assert_notices_within(wlan: &mut Wlan, from: Instant, after_ms: core::ops::Range<u64>) {
    let away = Position {
        x_mm: 800_000,
        y_mm: 0,
    };
    wlan.handle(from, WlanInput::Move(CLIENT, away));
    let states = states(&until(wlan, from + Duration::from_secs(2)), FIRST);
    assert_eq!(states.len(), 1);
    assert!(after_ms.contains(&(states[0].0 - from.as_millis())), "{states:?}");
    assert_eq!(states[0].1, LinkState::Down);
}

#[test]
fn who_walks_away_notices_by_missing_beacons() {
    let mut wlan = joined();
    // Seven beacons and the probes.
    assert_notices_within(&mut wlan, ms(2_000), 600..950);
}

#[test]
fn who_is_out_of_reach_probes_with_five_null_frames() {
    let mut wlan = joined();
    wlan.monitor(CLIENT);
    assert_notices_within(&mut wlan, ms(2_000), 600..950);
    let mut probes = Vec::new();
    while let Some(frame) = wlan.poll_overheard() {
        if let FrameKind::Data {
            number,
            subtype: Subtype::Null,
            ..
        } = frame.kind
            && !probes.contains(&number)
        {
            probes.push(number);
        }
    }
    assert_eq!(probes.len(), 5, "{probes:?}");
}

#[test]
fn a_deauthentication_ends_it_at_once() {
    let mut wlan = joined();
    wlan.handle(ms(2_000), WlanInput::Deauthenticate(FIRST));
    let states = states(&until(&mut wlan, ms(2_010)), FIRST);
    assert_eq!(
        states.iter().map(|&(_, state)| state).collect::<Vec<_>>(),
        [LinkState::Down]
    );
    wlan.handle(ms(2_020), WlanInput::Associate(FIRST, StationId(0)));
    until(&mut wlan, ms(4_000));
    assert_eq!(wlan.state(FIRST), LinkState::Up);
    wlan.handle(ms(4_000), WlanInput::Leave(FIRST));
    wlan.handle(ms(4_010), WlanInput::Down(FIRST, Load::new(1_500, 1)));
    assert!(delivered(&until(&mut wlan, ms(4_100))).is_empty());
}

#[test]
fn one_radio_keeps_two_associations_in_slots_and_loses_nothing() {
    let mut wlan = joined();
    let slot = |channel| Slot::new(channel, SLOT);
    wlan.handle(
        ms(2_000),
        WlanInput::Slots(CLIENT, Vec::from([slot(36), slot(48)])),
    );
    wlan.handle(ms(2_000), WlanInput::Associate(SECOND, StationId(1)));
    until(&mut wlan, ms(12_000));
    assert_eq!(wlan.state(SECOND), LinkState::Up);
    assert_eq!(
        wlan.state(FIRST),
        LinkState::Up,
        "missing beacons while away is no reason to leave"
    );
    // One packet every 5 ms to each interface. Access points buffer packets while the radio is away.
    let mut outputs = Vec::new();
    for step in 0..400_u64 {
        let now = ms(12_000 + 5 * step);
        wlan.handle(now, WlanInput::Down(FIRST, Load::new(1_000, step * 2)));
        wlan.handle(now, WlanInput::Down(SECOND, Load::new(1_000, step * 2 + 1)));
        outputs.extend(until(&mut wlan, now));
    }
    outputs.extend(until(&mut wlan, ms(15_000)));
    let mut tokens = delivered(&outputs);
    assert_eq!(tokens.len(), 800, "none is lost");
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 800, "and none comes twice");
}

#[test]
fn what_a_radio_in_slots_sends_waits_for_the_channel_of_its_access_point() {
    let mut wlan = joined();
    let slot = |channel| Slot::new(channel, SLOT);
    wlan.handle(
        ms(2_000),
        WlanInput::Slots(CLIENT, Vec::from([slot(36), slot(48)])),
    );
    wlan.handle(ms(2_000), WlanInput::Associate(SECOND, StationId(1)));
    until(&mut wlan, ms(12_000));
    assert_eq!(wlan.state(SECOND), LinkState::Up);
    let before = wlan.air().counters(CLIENT).given_up;
    let mut outputs = Vec::new();
    for step in 0..400_u64 {
        let now = ms(12_000 + 5 * step);
        wlan.handle(now, WlanInput::Up(FIRST, Load::new(1_000, step * 2)));
        wlan.handle(now, WlanInput::Up(SECOND, Load::new(1_000, step * 2 + 1)));
        outputs.extend(until(&mut wlan, now));
    }
    outputs.extend(until(&mut wlan, ms(15_000)));
    let tokens = delivered(&outputs);
    for parity in 0..2 {
        let of_one: Vec<u64> = tokens
            .iter()
            .copied()
            .filter(|token| token % 2 == parity)
            .collect();
        assert_eq!(
            of_one,
            Vec::from_iter((parity..800).step_by(2)),
            "all of them, in order"
        );
    }
    assert_eq!(
        wlan.air().counters(CLIENT).given_up,
        before,
        "nothing is said to nobody"
    );
}

/// A cycle of 40 ms, of which the radio listens to each channel for a few. An answer of an access point takes
/// 5 ms.
#[test]
fn a_radio_joins_in_slots_that_hold_one_answer_and_gives_up_in_shorter_ones() {
    let joined = |stays: u64| {
        let mut wlan = wlan();
        let slot = |channel| Slot {
            switch: Some(Duration::from_millis(20 - stays)),
            ..Slot::new(channel, Duration::from_millis(stays))
        };
        let plan = Vec::from([slot(36), slot(48)]);
        wlan.handle(ms(0), WlanInput::Slots(CLIENT, plan));
        wlan.handle(ms(0), WlanInput::Associate(FIRST, StationId(0)));
        wlan.handle(ms(0), WlanInput::Associate(SECOND, StationId(1)));
        until(&mut wlan, ms(6_000));
        [FIRST, SECOND].map(|interface| wlan.state(interface))
    };
    for stays in [7, 10, 15] {
        assert_eq!(joined(stays), [LinkState::Up; 2], "{stays} ms");
    }
    assert_eq!(joined(4), [LinkState::Down; 2]);
}

/// Times in slots: when the radio left a channel (its sleep was acknowledged), and when it announced on its
/// return that it is awake.
fn turns(switch: Duration) -> Vec<(Instant, Instant)> {
    let mut wlan = in_slots(switch);
    wlan.monitor(CLIENT);
    wlan.tick(ms(4_000));
    let (mut turns, mut farewell, mut away) = (Vec::new(), false, None);
    while let Some(frame) = wlan.poll_overheard() {
        match frame.kind {
            FrameKind::Data {
                subtype: Subtype::Null,
                asleep,
                ..
            } if frame.from == CLIENT => {
                if let Some(away) = away.take().filter(|_| !asleep) {
                    turns.push((away, frame.start));
                }
                farewell = asleep;
            }
            FrameKind::Ack if frame.to == Some(CLIENT) && farewell => away = Some(frame.end),
            _ => {}
        }
    }
    turns
}

/// Joined at the first access point. From 2 s on, half of the time on the other one's channel, without an
/// association there.
fn in_slots(switch: Duration) -> Wlan {
    let mut config = config();
    config.clients[0].switch = switch;
    let mut wlan = Wlan::new(1, &config).unwrap();
    wlan.handle(Instant::ZERO, WlanInput::Associate(FIRST, StationId(0)));
    until(&mut wlan, ms(2_000));
    let slot = |channel| Slot::new(channel, SLOT);
    wlan.handle(
        ms(2_000),
        WlanInput::Slots(CLIENT, Vec::from([slot(36), slot(48)])),
    );
    wlan
}

const SLOT: Duration = Duration::from_millis(100);

#[test]
fn a_radio_is_away_for_as_long_as_turning_costs() {
    for switch in [0, 2_000, 20_000].map(Duration::from_micros) {
        let turns = turns(switch);
        // The first slot is on the radio's own channel, so that it stays. Then it is away for a slot, and
        // switches twice.
        let away: Vec<_> = turns.iter().map(|&(away, back)| back.since(away)).collect();
        assert!(away.len() >= 7, "{turns:?}");
        // On its return the medium may be busy with a beacon, and the radio waits for the rest of its
        // backoff.
        let late = Duration::from_micros(34 + 15 * 9 + 500);
        for away in away {
            let least = SLOT + switch * 2;
            assert!((least..least + late).contains(&away), "{switch:?}: {away:?}");
        }
    }
}

/// Datagrams that arrive in 10 s, when more are offered than fit.
fn delivered_in_slots(switch: Duration) -> usize {
    let mut wlan = in_slots(switch);
    let mut count = 0;
    for step in 0..10_000_u64 {
        let now = ms(2_000 + step);
        (0..4)
            .for_each(|packet| wlan.handle(now, WlanInput::Down(FIRST, Load::new(1_000, step * 4 + packet))));
        count += delivered(&until(&mut wlan, now)).len();
    }
    count
}

#[test]
fn what_turning_costs_is_missing_from_the_goodput() {
    let free = delivered_in_slots(Duration::ZERO) as f64;
    for switch_ms in [5, 20] {
        let kept = delivered_in_slots(Duration::from_millis(switch_ms)) as f64 / free;
        // One slot of 100 ms in a round of two slots and two switches.
        let expected = 200.0 / (200.0 + 2.0 * switch_ms as f64);
        assert!(
            (kept / expected - 1.0).abs() < 0.01,
            "{switch_ms}: {kept} {expected}"
        );
    }
}

#[test]
fn a_sleeping_client_polls_what_is_held_for_it() {
    let mut wlan = joined();
    wlan.handle(ms(2_000), WlanInput::PowerSave(CLIENT, true));
    until(&mut wlan, ms(3_000));
    for token in 0..3 {
        wlan.handle(ms(3_000), WlanInput::Down(FIRST, Load::new(500, token)));
    }
    let outputs = until(&mut wlan, ms(3_300));
    assert_eq!(delivered(&outputs), [0, 1, 2]);
    let first = outputs
        .iter()
        .find(|(_, output)| matches!(output, WlanOutput::Delivered { .. }));
    // After the next beacon, which comes at most an interval later.
    assert!(first.unwrap().0 <= ms(3_110), "{first:?}");
    // If the client is awake again, a packet arrives at once.
    wlan.handle(ms(4_000), WlanInput::PowerSave(CLIENT, false));
    until(&mut wlan, ms(4_010));
    wlan.handle(ms(4_010), WlanInput::Down(FIRST, Load::new(500, 9)));
    assert_eq!(delivered(&until(&mut wlan, ms(4_013))), [9]);
}

#[test]
fn who_sleeps_and_is_carried_away_notices_by_the_beacons_for_which_it_wakes() {
    let mut wlan = joined();
    wlan.handle(ms(2_000), WlanInput::PowerSave(CLIENT, true));
    until(&mut wlan, ms(3_000));
    assert_eq!(wlan.state(FIRST), LinkState::Up, "sleeping is no reason to leave");
    // Not all five null frames fit into the time for which it wakes.
    assert_notices_within(&mut wlan, ms(3_000), 600..1_250);
}

#[test]
fn who_comes_back_gets_nothing_that_was_held_for_who_it_was() {
    let mut wlan = joined();
    wlan.handle(ms(2_000), WlanInput::PowerSave(CLIENT, true));
    until(&mut wlan, ms(3_000));
    let [away, back] = [800_000, 10_000].map(|x_mm| Position { x_mm, y_mm: 0 });
    wlan.handle(ms(3_000), WlanInput::Move(CLIENT, away));
    for token in 0..5 {
        wlan.handle(ms(3_200), WlanInput::Down(FIRST, Load::new(500, token)));
    }
    until(&mut wlan, ms(5_000));
    assert_eq!(wlan.state(FIRST), LinkState::Down);
    wlan.handle(ms(5_000), WlanInput::Move(CLIENT, back));
    wlan.handle(ms(5_000), WlanInput::PowerSave(CLIENT, false));
    wlan.handle(ms(5_000), WlanInput::Associate(FIRST, StationId(0)));
    let outputs = until(&mut wlan, ms(7_000));
    assert_eq!(wlan.state(FIRST), LinkState::Up);
    assert_eq!(delivered(&outputs), []);
    let lost = outputs
        .iter()
        .filter(|(_, output)| matches!(output, WlanOutput::Dropped { .. }));
    assert_eq!(lost.count(), 5);
}

#[test]
fn what_is_queued_is_sent_before_a_client_sleeps() {
    let mut wlan = joined();
    for token in 0..3 {
        wlan.handle(ms(2_000), WlanInput::Up(FIRST, Load::new(500, token)));
    }
    wlan.handle(ms(2_000), WlanInput::PowerSave(CLIENT, true));
    wlan.handle(ms(2_000), WlanInput::Up(FIRST, Load::new(500, 3)));
    assert_eq!(delivered(&until(&mut wlan, ms(2_200))), [0, 1, 2, 3]);
    // The access point knows that it sleeps and sends it nothing.
    for token in 10..20 {
        wlan.handle(ms(2_200), WlanInput::Down(FIRST, Load::new(500, token)));
    }
    let outputs = until(&mut wlan, ms(2_500));
    assert_eq!(delivered(&outputs), Vec::from_iter(10..20), "{outputs:?}");
    assert_eq!(wlan.air().counters(StationId(0)).given_up, 0);
}

#[test]
fn a_sleeping_client_still_sends() {
    let mut wlan = joined();
    wlan.handle(ms(2_000), WlanInput::PowerSave(CLIENT, true));
    until(&mut wlan, ms(3_000));
    wlan.handle(ms(3_000), WlanInput::Up(FIRST, Load::new(500, 5)));
    assert_eq!(delivered(&until(&mut wlan, ms(3_005))), [5]);
}

#[test]
fn a_plan_that_cannot_be_is_refused_with_a_remedy() {
    let refused = |change: fn(&mut WlanConfig)| {
        let mut config = config();
        change(&mut config);
        Wlan::new(1, &config).unwrap_err().to_string()
    };
    assert!(refused(|config| config.clients[0].interfaces = 0).contains("client client has no interface"));
    assert!(refused(|config| config.access_points.clear()).contains("add one"));
    assert!(refused(|config| config.access_points[1].station = CLIENT).contains("at most one role"));
    assert!(refused(|config| config.clients[0].station = StationId(9)).contains("not in the plan"));
    assert!(refused(|config| config.access_points[0].beacon = Some(Duration::ZERO)).contains("interval"));
}

#[test]
fn a_slot_for_one_access_point_leaves_the_others_of_its_channel_asleep() {
    let mut config = config();
    config.air.stations[1].channel = 36;
    let mut wlan = Wlan::new(1, &config).unwrap();
    let slot = |whom| Slot {
        whom: Whom::One(StationId(whom)),
        switch: Some(Duration::from_micros(381)),
        ..Slot::new(36, SLOT)
    };
    wlan.handle(
        Instant::ZERO,
        WlanInput::Slots(CLIENT, Vec::from([slot(0), slot(1)])),
    );
    wlan.handle(Instant::ZERO, WlanInput::Associate(FIRST, StationId(0)));
    wlan.handle(Instant::ZERO, WlanInput::Associate(SECOND, StationId(1)));
    until(&mut wlan, ms(8_000));
    assert_eq!(
        [wlan.state(FIRST), wlan.state(SECOND)],
        [LinkState::Up, LinkState::Up]
    );
    let mut outputs = Vec::new();
    for step in 0..400_u64 {
        let now = ms(8_000 + 5 * step);
        wlan.handle(now, WlanInput::Down(FIRST, Load::new(1_000, step * 2)));
        wlan.handle(now, WlanInput::Down(SECOND, Load::new(1_000, step * 2 + 1)));
        outputs.extend(until(&mut wlan, now));
    }
    outputs.extend(until(&mut wlan, ms(11_000)));
    assert_eq!(delivered(&outputs).len(), 800, "none is lost");
    // Packets of one access point come together, and then those of the other one.
    let tokens = delivered(&outputs);
    let changes = tokens
        .windows(2)
        .filter(|pair| pair[0] % 2 != pair[1] % 2)
        .count();
    assert!((15..40).contains(&changes), "{changes} changes in ten cycles");
}

#[test]
fn a_plan_that_comes_at_the_end_of_a_cycle_applies_to_the_next_one() {
    let mut wlan = joined();
    let slots = |first: u64, second: u64| {
        let slot = |channel, time| Slot::new(channel, Duration::from_millis(time));
        WlanInput::Slots(CLIENT, Vec::from([slot(36, first), slot(48, second)]))
    };
    wlan.handle(ms(2_000), slots(50, 50));
    let (mut ends, mut turned) = (Vec::new(), Vec::new());
    while ends.len() < 4 {
        let at = wlan.wake_at().expect("the radio takes turns").0;
        wlan.tick(at);
        while let Some((at, output)) = wlan.poll() {
            match output {
                WlanOutput::CycleEnded(CLIENT) => {
                    ends.push(at);
                    wlan.handle(at, slots(20, 100));
                }
                WlanOutput::Turned { channel, .. } => turned.push((at, channel)),
                _ => {}
            }
        }
    }
    let channels: Vec<u8> = turned.iter().map(|&(_, channel)| channel).collect();
    assert_eq!(channels, [48, 36, 48, 36, 48, 36, 48]);
    // The client's switch takes 5 ms, and each null frame less than one.
    let third = ends[2].since(ends[1]).as_millis();
    assert!((130..134).contains(&third), "{third} ms");
}

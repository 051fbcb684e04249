//! Which sleeping clients beacons announce, which identifiers joining clients get, and who is thrown out.

use super::tests::ms;
use super::*;
use crate::Position;
use crate::air::{StationConfig, Subtype};
use alloc::format;
use units::Duration;
use units::wifi::Standard;

const AP: StationId = StationId(0);
/// Enough clients that the map of the last ones does not begin with the first octet.
const CLIENTS: u32 = 20;

/// An access point with clients around it, all associated from the start, and one station that only listens.
fn wlan() -> Wlan {
    let place = |number: u32| Position {
        x_mm: 3_000,
        y_mm: i64::from(number) * 100,
    };
    let station = |name: &str, at| StationConfig::new(name, Standard::A, at);
    let mut stations = Vec::from([station("ap", Position::default())]);
    stations.extend((0..CLIENTS).map(|number| station(&format!("c{number}"), place(number))));
    stations.push(station("ear", place(CLIENTS)));
    let clients = (0..CLIENTS).map(|number| ClientConfig::new(StationId(1 + number)));
    let config = WlanConfig {
        air: AirConfig::new(Standard::A, stations),
        access_points: Vec::from([AccessPointConfig {
            patience: Some(Patience::default()),
            ..AccessPointConfig::new(AP, "wire")
        }]),
        clients: clients.collect(),
    };
    let mut wlan = Wlan::new(1, &config).unwrap();
    (0..CLIENTS as usize).for_each(|place| wlan.admit(InterfaceId(place), AP));
    wlan.monitor(StationId(1 + CLIENTS));
    wlan
}

fn heard(wlan: &mut Wlan, end: Instant) -> Vec<Overheard> {
    wlan.tick(end);
    core::iter::from_fn(|| wlan.poll_overheard()).collect()
}

fn subtype(frame: &Overheard) -> Option<Subtype> {
    match frame.kind {
        FrameKind::Data { subtype, .. } => Some(subtype),
        _ => None,
    }
}

/// Identifiers that each beacon announces.
fn announced(frames: &[Overheard]) -> Vec<Vec<u16>> {
    let maps = frames.iter().filter_map(|frame| match &frame.says {
        Says::Held(map) => Some(
            (1..=2_007)
                .filter(|&number| map.holds(Aid::new(number).unwrap()))
                .collect(),
        ),
        _ => None,
    });
    maps.collect()
}

#[test]
fn beacons_say_for_whom_packets_are_held_and_polls_who_asks() {
    let mut wlan = wlan();
    for number in 0..CLIENTS {
        wlan.handle(ms(0), WlanInput::PowerSave(StationId(1 + number), true));
    }
    heard(&mut wlan, ms(500));
    // Identifiers are assigned from 1 on: these clients have 3, 18 and 20.
    for place in [2, 17, 19] {
        wlan.handle(ms(500), WlanInput::Down(InterfaceId(place), Load::new(500, 7)));
    }
    let frames = heard(&mut wlan, ms(720));
    let announced = announced(&frames);
    assert_eq!(announced[0], [3, 18, 20]);
    assert!(
        announced[1..].iter().all(Vec::is_empty) && announced.len() >= 2,
        "{announced:?}"
    );
    let beacon = frames
        .iter()
        .find(|frame| subtype(frame) == Some(Subtype::Beacon))
        .unwrap();
    // Two octets more than a beacon with a map of one.
    assert_eq!(beacon.bytes, 252);
    let polls = frames
        .iter()
        .filter(|frame| subtype(frame) == Some(Subtype::PsPoll));
    let mut asked: Vec<Says> = polls.map(|frame| frame.says.clone()).collect();
    asked.sort_by_key(|says| format!("{says:?}"));
    let says = |number| Says::Association(Aid::new(number).unwrap());
    assert_eq!(asked, [says(18), says(20), says(3)]);
}

#[test]
fn what_comes_after_a_beacon_was_made_is_announced_by_the_next_one() {
    let mut wlan = wlan();
    wlan.handle(ms(0), WlanInput::PowerSave(StationId(1), true));
    heard(&mut wlan, ms(300));
    // At the moment a beacon is due, after it was made.
    let due = core::iter::from_fn(|| {
        let before = wlan.beacons(AP);
        let at = wlan.wake_at()?.0;
        wlan.tick(at);
        Some((at, wlan.beacons(AP) > before))
    });
    let due = { due }.find(|&(_, made)| made).unwrap().0;
    while wlan.poll_overheard().is_some() {}
    wlan.handle(due, WlanInput::Down(InterfaceId(0), Load::new(500, 1)));
    let frames = heard(&mut wlan, due + Duration::from_millis(110));
    assert_eq!(announced(&frames), [Vec::new(), Vec::from([1])]);
}

#[test]
fn who_joins_is_given_the_least_number_that_is_free() {
    let mut wlan = wlan();
    wlan.handle(ms(100), WlanInput::Leave(InterfaceId(4)));
    wlan.handle(ms(100), WlanInput::Leave(InterfaceId(9)));
    heard(&mut wlan, ms(200));
    wlan.handle(ms(200), WlanInput::Associate(InterfaceId(9), AP));
    let frames = heard(&mut wlan, ms(400));
    let answers = frames
        .iter()
        .filter(|frame| subtype(frame) == Some(Subtype::AssociationResponse));
    let given: Vec<&Says> = answers.map(|frame| &frame.says).collect();
    assert_eq!(given, [&Says::Association(Aid::new(5).unwrap())]);
}

#[test]
fn who_does_not_answer_any_more_is_thrown_out() {
    let mut wlan = wlan();
    heard(&mut wlan, ms(290));
    wlan.handle(ms(290), WlanInput::Down(InterfaceId(0), Load::new(500, 1_000)));
    heard(&mut wlan, ms(300));
    let beyond = Position {
        x_mm: 900_000,
        y_mm: 0,
    };
    wlan.handle(ms(300), WlanInput::Move(StationId(1), beyond));
    let mut frames = Vec::new();
    for step in 0..200_u64 {
        let now = ms(300 + 10 * step);
        wlan.handle(now, WlanInput::Down(InterfaceId(0), Load::new(500, step)));
        frames.extend(heard(&mut wlan, now));
    }
    let to_it = |frame: &&Overheard| frame.from == AP && frame.to == Some(StationId(1));
    let ends = frames
        .iter()
        .filter(to_it)
        .find(|frame| subtype(frame) == Some(Subtype::Deauthentication));
    // One packet every 10 ms: the fiftieth was given up after half a second, but the limit of one second
    // decides.
    let at = ends.unwrap().start;
    assert!((ms(1_290)..ms(1_340)).contains(&at), "{at:?}");
    let later = frames.iter().filter(to_it).filter(|frame| {
        subtype(frame) == Some(Subtype::Data) && frame.start > at + Duration::from_millis(20)
    });
    assert_eq!(later.count(), 0, "nothing is sent to who is gone");
    // The other clients stay associated.
    wlan.handle(ms(2_400), WlanInput::Down(InterfaceId(1), Load::new(500, 1)));
    assert!(
        heard(&mut wlan, ms(2_410))
            .iter()
            .any(|frame| frame.to == Some(StationId(2)))
    );
}

#[test]
fn who_sends_without_being_associated_is_told() {
    let mut wlan = wlan();
    heard(&mut wlan, ms(300));
    // The access point throws the client out while the client is out of reach.
    let [beyond, back] = [900_000, 3_000].map(|x_mm| Position { x_mm, y_mm: 0 });
    wlan.handle(ms(300), WlanInput::Move(StationId(1), beyond));
    wlan.handle(ms(300), WlanInput::Deauthenticate(InterfaceId(0)));
    heard(&mut wlan, ms(350));
    wlan.handle(ms(350), WlanInput::Move(StationId(1), back));
    assert_eq!(wlan.state(InterfaceId(0)), LinkState::Up, "it does not know");
    wlan.handle(ms(400), WlanInput::Up(InterfaceId(0), Load::new(500, 1)));
    heard(&mut wlan, ms(420));
    assert_eq!(wlan.state(InterfaceId(0)), LinkState::Down);
}

#[test]
fn one_more_access_point_does_not_move_the_others_beacons() {
    let beacons = |names: &[&str]| {
        let station =
            |(name, x_mm): (&&str, i64)| StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 });
        // Out of range of each other.
        let stations: Vec<StationConfig> = names.iter().zip((0..).step_by(9_000_000)).map(station).collect();
        let all =
            (0..stations.len() as u32).map(|ap| AccessPointConfig::new(StationId(ap), &format!("wire-{ap}")));
        let config = WlanConfig {
            access_points: all.collect(),
            air: AirConfig::new(Standard::A, stations),
            clients: Vec::new(),
        };
        let mut wlan = Wlan::new(7, &config).unwrap();
        wlan.monitor(StationId(0));
        let frames = heard(&mut wlan, ms(1_000));
        frames.iter().map(|frame| frame.start).collect::<Vec<_>>()
    };
    let alone = beacons(&["hall"]);
    assert!(alone.len() >= 9);
    assert_eq!(alone, beacons(&["hall", "attic", "cellar"]));
    assert_ne!(alone, beacons(&["attic"]));
}

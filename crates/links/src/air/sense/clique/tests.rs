use alloc::format;
use proptest::prelude::*;

use super::*;
use crate::Position;
use crate::air::{
    Air, AirConfig, Destination, Eifs, Input, NoiseConfig, Output, Overheard, Packet, StationConfig,
    StationId,
};
use crate::wifi::Fading;
use units::wifi::Standard;
use units::{Db, Duration, Instant};

/// Frames enter in this many first microseconds.
const BUSY_US: u64 = 60_000;
const END_US: u64 = 200_000;

/// What a driver saw during a run.
type Seen = (Vec<(u64, Output)>, Vec<Overheard>, u64);

fn play(air: &mut Air, inputs: &[(u64, Input)]) -> Seen {
    air.monitor(StationId(1));
    for (at, input) in inputs {
        air.handle(Instant::from_micros(*at), *input);
    }
    air.tick(Instant::from_micros(END_US));
    let outputs = core::iter::from_fn(|| air.poll_due());
    let outputs = outputs.map(|(at, output)| (at.as_nanos(), output)).collect();
    let overheard = core::iter::from_fn(|| air.poll_overheard()).collect();
    (outputs, overheard, air.transmissions())
}

/// Stations in two groups: the distance of the groups, and the extent of each around its centre, in metres.
fn stations(count: u32, apart_m: i64, around_m: i64) -> impl Strategy<Value = Vec<StationConfig>> {
    let place = (0..2_i64, 0..=around_m * 1_000, 0..=around_m * 1_000);
    let one = (
        place,
        prop::option::weighted(0.2, Just(500)),
        prop::bool::weighted(0.1),
    );
    prop::collection::vec(one, count as usize).prop_map(move |all| {
        let station = |(number, ((group, x, y), rts, elsewhere))| {
            let position = Position {
                x_mm: group * apart_m * 1_000 + x,
                y_mm: y,
            };
            StationConfig {
                rts,
                also: [36, 40].into(),
                channel: if elsewhere { 40 } else { 36 },
                ..StationConfig::new(&format!("station {number}"), Standard::A, position)
            }
        };
        all.into_iter().enumerate().map(station).collect()
    })
}

/// An input to the air. `calm`: no station moves.
fn input(count: u32, calm: bool) -> impl Strategy<Value = (u64, Input)> {
    let station = move || (0..count).prop_map(StationId);
    let packet = (
        prop::option::weighted(0.95, station()),
        50..1_500_u32,
        any::<u64>(),
    );
    let packet = packet.prop_map(|(to, bytes, token)| {
        Packet::new(
            to.map_or(Destination::Everyone, Destination::Station),
            bytes,
            token,
        )
    });
    let place = (-20_000..200_000_i64, 0..20_000_i64);
    let place = place.prop_map(|(x_mm, y_mm)| Position { x_mm, y_mm });
    let channel = prop::option::of(prop::sample::select(&[36, 40][..]));
    let moves = if calm { 0 } else { 1 };
    let input = prop_oneof![
        300 => (station(), packet).prop_map(|(from, packet)| Input::Send(from, packet)),
        3 => (station(), channel).prop_map(|(of, channel)| Input::Tune(of, channel)),
        3 => (station(), station()).prop_map(|(of, to)| Input::Withdraw(of, to)),
        moves => (station(), place).prop_map(|(of, place)| Input::Move(of, place)),
        moves => (station(), station()).prop_filter_map("two of them", |(one, other)| {
            (one != other).then_some(Input::Attenuate(one, other, Db::from_db(20)))
        }),
    ];
    (0..BUSY_US, input)
}

/// An air and its inputs.
fn case() -> impl Strategy<Value = (AirConfig, Vec<(u64, Input)>)> {
    let size = (
        2..40_u32,
        prop::sample::select(&[0, 100, 400, 2_000][..]),
        0..25_i64,
        any::<bool>(),
    );
    let rules = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    (size, rules).prop_flat_map(|((count, apart, around, calm), (slot, eifs, noise, fading))| {
        let inputs = prop::collection::vec(input(count, calm), 0..400);
        (stations(count, apart, around), inputs).prop_map(move |(stations, mut inputs)| {
            let mut config = AirConfig::new(Standard::A, stations);
            if slot {
                config.rules.countdown = Countdown::BusyCountsAsSlot;
            }
            config.rules.eifs = if eifs {
                Eifs::AfterAnyError
            } else {
                config.rules.eifs
            };
            config.noise.extend(noise.then(oven));
            config.propagation.fading = fading.then_some(Fading {
                k_factor: None,
                coherence: Duration::from_millis(20),
            });
            inputs.sort_by_key(|(at, _)| *at);
            (config, inputs)
        })
    })
}

fn oven() -> NoiseConfig {
    NoiseConfig {
        channel: 36,
        ..NoiseConfig::microwave("oven", Position { x_mm: 3_000, y_mm: 0 }, 6)
    }
}

proptest! {
    #[test]
    fn together_they_do_what_each_would_do_alone((config, inputs) in case(), seed in 0..100_u64) {
        let mut together = Air::new(seed, &config).unwrap();
        let (radios, audiences) = (&together.radios, &mut together.audiences);
        together.cliques = Cliques::form(radios, together.first_noise, audiences, 3);
        let mut alone = Air::new(seed, &config).unwrap();
        alone.dissolve_cliques();
        let (together, alone) = (play(&mut together, &inputs), play(&mut alone, &inputs));
        let differ = together.0.iter().zip(&alone.0).find(|(one, other)| one != other);
        prop_assert_eq!(differ, None);
        prop_assert!(together == alone, "more came out, or other frames were overheard");
    }
}

/// Saturated stations in a square of that many metres, around their access point.
fn crowded(count: u32, square_m: i64) -> Air {
    let station = |number: u32| {
        let place = |prime: i64| i64::from(number) * prime % (square_m * 1_000);
        let position = Position {
            x_mm: place(7_919),
            y_mm: place(6_007),
        };
        StationConfig::new(&format!("station {number}"), Standard::A, position)
    };
    let stations = (0..=count).map(station).collect();
    let mut air = Air::new(1, &AirConfig::new(Standard::A, stations)).unwrap();
    let packet = Packet::new(Destination::Station(StationId(0)), 1_500, 0);
    for from in (1..=count).map(StationId) {
        (0..20).for_each(|_| air.handle(Instant::ZERO, Input::Send(from, packet)));
    }
    air
}

/// Number of stations in step, averaged over the times at which anything happens.
fn mean_in_step(air: &mut Air) -> f64 {
    let (mut sum, mut moments) = (0, 0);
    while let Some((at, _)) = air.wake_at().filter(|_| moments < 2_000) {
        air.tick(at);
        sum += air
            .cliques
            .all
            .iter()
            .map(|clique| clique.in_step.count_ones())
            .sum::<u32>();
        moments += 1;
    }
    f64::from(sum) / f64::from(moments)
}

#[test]
fn most_are_in_step_most_of_the_time() {
    for (count, square_m) in [(20, 1), (50, 10)] {
        let mut air = crowded(count, square_m);
        let mean = mean_in_step(&mut air);
        assert!(mean > 0.75 * f64::from(count), "{mean} of {count}");
    }
    // Numbers in one clique are within 64. The other stations have a clique of their own.
    let mut air = crowded(150, 10);
    assert_eq!(air.cliques.all.len(), 3);
    assert!(mean_in_step(&mut air) > 100.0);
}

#[test]
fn a_clock_that_is_set_back_changes_nobodys_turn() {
    let mut clique = Clique::new(100, Radio::new(0, 0));
    (clique.passed, clique.members) = (LATE + 5, 0x3ff);
    (clique.due[3], clique.due[4], clique.due[9]) = (LATE + 30, LATE + 4, LATE + 12);
    let slots = |clique: &Clique| [100, 103, 104, 109].map(|station| clique.slots(station));
    let before = slots(&clique);
    assert_eq!(before, [0, 25, 0, 7]);
    clique.set_back();
    assert_eq!((slots(&clique), clique.passed), (before, 0));
    clique.choose();
    assert_eq!(clique.next, Some(104));
}

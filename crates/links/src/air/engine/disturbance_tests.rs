use alloc::vec::Vec;

use crate::Position;
use crate::air::*;
use units::wifi::Standard;
use units::{Db, Dbm, Duration, Instant};

const fn at(x_mm: i64) -> Position {
    Position { x_mm, y_mm: 0 }
}

fn station(name: &str, x_mm: i64) -> StationConfig {
    StationConfig::new(name, Standard::G, at(x_mm))
}

/// Counters of a saturated sender of 1,500-byte packets after 5 s beside these sources of noise.
fn beside(noise: Vec<NoiseConfig>) -> Counters {
    let mut config = AirConfig::new(Standard::G, vec![station("ap", 0), station("laptop", 5_000)]);
    config.noise = noise;
    let mut air = Air::new(1, &config).unwrap();
    let packet = Packet::new(Destination::Station(StationId(1)), 1_500, 0);
    let end = Instant::from_secs(5);
    (0..2).for_each(|_| air.handle(Instant::ZERO, Input::Send(StationId(0), packet)));
    loop {
        let now = air.advance(end);
        while let Some((_, output)) = air.poll_due() {
            if matches!(output, Output::Done { .. }) {
                air.handle(now, Input::Send(StationId(0), packet));
            }
        }
        if now >= end {
            return air.counters(StationId(0));
        }
    }
}

#[test]
fn an_oven_nearby_leaves_half_of_the_time() {
    let free = beside(Vec::new()).acknowledged as f64;
    let oven = beside(vec![NoiseConfig::microwave("oven", at(2_000), 6)]);
    let share = oven.acknowledged as f64 / free;
    assert!((0.4..0.5).contains(&share), "{share}");
    // A pulse destroys only the frame that was on the air when it began.
    assert!(oven.failures < oven.attempts / 5, "{oven:?}");
}

#[test]
fn what_is_too_weak_to_be_sensed_still_disturbs() {
    let weak = NoiseConfig {
        power: Dbm::from_dbm(-5),
        random: true,
        ..NoiseConfig::microwave("link", at(8_000), 6)
    };
    let free = beside(Vec::new());
    let disturbed = beside(vec![weak]);
    assert_eq!(free.failures, 0);
    assert!(disturbed.failures > disturbed.attempts / 10, "{disturbed:?}");
}

#[test]
fn noise_on_another_channel_is_nothing() {
    let elsewhere = NoiseConfig::microwave("oven", at(2_000), 11);
    assert_eq!(beside(vec![elsewhere]), beside(Vec::new()));
}

#[test]
fn noise_that_cannot_be_is_refused() {
    let refused = |change: fn(&mut AirConfig)| {
        let mut config = AirConfig::new(Standard::G, vec![station("ap", 0)]);
        config.noise = vec![NoiseConfig::microwave("oven", at(0), 6)];
        change(&mut config);
        Air::new(1, &config).unwrap_err().to_string()
    };
    assert!(refused(|config| config.noise[0].name = "ap".into()).contains("a name of its own"));
    assert!(refused(|config| config.noise[0].off = Duration::ZERO).contains("an off time"));
    assert!(
        refused(|config| {
            config.propagation.shadowing = Some(crate::wifi::Shadowing {
                deviation: Db::from_db(4),
                distance_mm: 5_000,
            });
        })
        .contains("use walls instead")
    );
}

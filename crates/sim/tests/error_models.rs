//! Two stations that cannot hear each other send to a third one: which frames get through depends on the
//! error model. Compared with ns-3.
//!
//! The figures are from ns-3 3.37 (Debian package `libns3-dev` 3.37-2): three `AdhocWifiMac` stations of
//! 802.11a on a `YansWifiChannel` with a `MatrixPropagationLossModel`, for 20 s, run 1. Data and control
//! frames have 24 Mb/s, 7 attempts and 1,498 bytes above LLC. There is no frame capture model. The stronger
//! one arrives at −50 dBm. The goodput counts 1,470 bytes a frame.

use links::Position;
use links::air::{AirConfig, Input, Rules, StationConfig, StationId};
use links::wifi::ErrorModel;
use sim::World;
use sim::cells::saturated;
use units::wifi::Standard;
use units::{Bitrate, Db, Duration};

/// Goodput of the stronger and of the weaker one, in Mb/s.
fn hidden(model: ErrorModel, apart: Db) -> [f64; 2] {
    let station = |name: &str, x_mm| StationConfig {
        rate: Bitrate::from_mbps(24),
        ..StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 })
    };
    let mut weaker = station("weaker", -5_000);
    weaker.power = weaker.power - apart;
    let stations = vec![station("receiver", 0), station("stronger", 5_000), weaker];
    let mut config = AirConfig::new(Standard::A, stations);
    config.propagation.error_model = model;
    config.rules = Rules {
        capture: None,
        ..Rules::default()
    };
    let flows = vec![saturated(1, 0, 1_470), saturated(2, 0, 1_470)];
    let mut world = World::new(1, &config, flows).unwrap();
    world.handle(Input::Attenuate(StationId(1), StationId(2), Db::from_db(150)));
    let time = Duration::from_secs(20);
    world.run_for(time);
    let tallies = world.tallies();
    [tallies[0].mbps(time), tallies[1].mbps(time)]
}

const NS_3: [(ErrorModel, i32, [f64; 2]); 9] = [
    (ErrorModel::Nist, 500, [4.605, 4.494]),
    (ErrorModel::Yans, 500, [4.639, 4.559]),
    (ErrorModel::Table, 500, [4.665, 4.539]),
    (ErrorModel::Nist, 1_000, [4.605, 4.494]),
    (ErrorModel::Yans, 1_000, [15.189, 0.374]),
    (ErrorModel::Table, 1_000, [15.768, 0.264]),
    (ErrorModel::Nist, 1_340, [15.253, 0.322]),
    (ErrorModel::Yans, 1_340, [16.013, 0.270]),
    (ErrorModel::Table, 1_340, [16.013, 0.270]),
];

#[test]
fn hidden_stations_get_what_they_get_in_ns_3() {
    for (model, centi, theirs) in NS_3 {
        let ours = hidden(model, Db::from_centi(centi));
        println!(
            "{model:?}, {} dB: {ours:.3?}, ns-3 {theirs:.3?}",
            f64::from(centi) / 100.0
        );
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert!(
                (ours - theirs).abs() < 0.05 * theirs + 0.2,
                "{model:?}, {centi}: {ours} {theirs}"
            );
        }
    }
}

use super::*;
use crate::wifi::Shadowing;

fn at(x_m: i64, y_m: i64) -> Position {
    Position {
        x_mm: x_m * 1_000,
        y_mm: y_m * 1_000,
    }
}

fn radio(position: Position) -> Radio {
    Radio {
        position,
        ..Radio::default()
    }
}

#[test]
fn loss_grows_by_thirty_decibels_per_decade() {
    let propagation = Propagation::indoor(Standard::G);
    let loss = |metres| propagation.loss(at(0, 0), at(0, metres), &[]);
    assert_eq!(loss(0), loss(1));
    assert_eq!(loss(10), Db::from_centi(3_974 + 3_000));
    assert_eq!(loss(100), Db::from_centi(3_974 + 6_000));
}

#[test]
fn a_wall_costs_only_those_who_look_through_it() {
    let propagation = Propagation::indoor(Standard::G);
    let wall = Wall {
        from: at(5, -5),
        to: at(5, 5),
        loss: Db::from_db(7),
    };
    let extra = |to| propagation.loss(at(0, 0), to, &[wall]) - propagation.loss(at(0, 0), to, &[]);
    assert_eq!(extra(at(10, 0)), Db::from_db(7));
    assert_eq!(extra(at(4, 0)), Db::from_db(0));
    assert_eq!(extra(at(10, 30)), Db::from_db(0));
    assert_eq!(extra(at(-10, 0)), Db::from_db(0));
}

#[test]
fn each_direction_has_its_own_power() {
    let config = WifiConfig::new("w", at(0, 0));
    let here = radio(at(10, 0));
    let down = config.received(Direction::Down, here, &[]);
    // 20 dBm − 69.74 dB, and 5 dB less from the client.
    assert_eq!(down, Dbm::from_mbm(2_000 - 6_974));
    assert_eq!(config.received(Direction::Up, here, &[]), down - Db::from_db(5));
    assert_eq!(
        config.snr(Direction::Down, here, &[]),
        Db::from_centi(9_400 - 4_974 - 500)
    );
}

#[test]
fn the_rate_follows_the_signal() {
    let config = WifiConfig::new("w", at(0, 0));
    let rate = |metres| Signal::new(1, &config, radio(at(metres, 0)), &[]).rate(Direction::Down);
    let rates: Vec<_> = [1, 40, 60, 80, 120, 160].map(rate).to_vec();
    assert!(rates.is_sorted_by(|near, far| near >= far), "{rates:?}");
    assert_eq!(
        (rates[0], rates[5]),
        (Bitrate::from_mbps(54), Bitrate::from_mbps(6))
    );
}

#[test]
fn attenuation_lowers_the_mean_and_the_rate() {
    let config = WifiConfig::new("w", at(0, 0));
    let mut signal = Signal::new(1, &config, radio(at(10, 0)), &[]);
    let before = signal.mean(Direction::Down);
    signal.attenuate(Db::from_db(35));
    assert_eq!(before - signal.mean(Direction::Down), Db::from_db(35));
    assert!(signal.rate(Direction::Down) < Bitrate::from_mbps(54));
}

fn moments(draws: &[f64]) -> (f64, f64) {
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
    (mean, variance.sqrt())
}

#[test]
fn shadowing_has_its_deviation_and_its_correlation() {
    let config = Shadowing {
        deviation: Db::from_db(4),
        distance_mm: 5_000,
    };
    let mut shadow = Shadow::new(config, Rng::named(3, "shadow"));
    let draws: Vec<_> = (0..40_000)
        .map(|_| {
            shadow.walk(5_000.0);
            shadow.value
        })
        .collect();
    let (mean, deviation) = moments(&draws);
    assert!(
        mean.abs() < 0.15 && (deviation - 4.0).abs() < 0.15,
        "{mean} {deviation}"
    );
    let correlation = draws.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / 40_000.0 / 16.0;
    assert!((correlation - (-1.0_f64).exp()).abs() < 0.03, "{correlation}");
}

#[test]
fn fading_keeps_the_mean_power_and_is_milder_with_a_steady_path() {
    let powers = |k_factor| {
        let config = Fading {
            k_factor,
            coherence: Duration::from_millis(10),
        };
        let mut rice = Rice::new(config, Rng::named(5, "fading"));
        let draws: Vec<_> = (1..40_000)
            .map(|n| 10f64.powf(rice.gain_db(Instant::from_millis(n * 20)) / 10.0))
            .collect();
        moments(&draws)
    };
    // Rayleigh power is exponential: its deviation is its mean. With K the variance is (1 + 2K)/(1 + K)².
    let (mean, deviation) = powers(None);
    assert!(
        (mean - 1.0).abs() < 0.03 && (deviation - 1.0).abs() < 0.05,
        "{mean} {deviation}"
    );
    let (mean, deviation) = powers(Some(Db::from_db(10)));
    assert!(
        (mean - 1.0).abs() < 0.02 && (deviation - 21f64.sqrt() / 11.0).abs() < 0.02,
        "{mean} {deviation}"
    );
}

#[test]
fn fading_hardly_moves_within_its_coherence() {
    let config = Fading {
        k_factor: None,
        coherence: Duration::from_millis(100),
    };
    let mut rice = Rice::new(config, Rng::named(6, "fading"));
    let before = rice.gain_db(Instant::from_secs(1));
    assert_eq!(rice.gain_db(Instant::from_secs(1)), before);
    let near = rice.gain_db(Instant::from_nanos(1_000_010_000));
    assert!((near - before).abs() < 1.0, "{before} then {near}");
}

#[test]
fn fading_asks_for_a_slower_rate() {
    let mut config = WifiConfig::new("w", at(0, 0));
    let here = radio(at(45, 0));
    let steady = Signal::new(1, &config, here, &[]).rate(Direction::Down);
    config.propagation.fading = Some(Fading {
        k_factor: None,
        coherence: Duration::from_millis(10),
    });
    assert!(Signal::new(1, &config, here, &[]).rate(Direction::Down) < steady);
}

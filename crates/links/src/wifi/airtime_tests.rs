use super::*;

const FAST: Bitrate = Bitrate::from_mbps(54);

#[test]
fn one_attempt_takes_what_the_standard_says() {
    // 802.11g: DIFS 28, half of 15 slots of 9, frame 26 + 4·⌈(1536·8 + 22)/216⌉, SIFS 10, ACK 26 + 4·⌈134/96⌉
    // µs.
    let time = per_delivered(Standard::G, FAST, 1_500, 0.0).unwrap();
    assert_eq!(time.as_nanos(), 28_000 + 67_500 + 254_000 + 10_000 + 34_000);
}

#[test]
fn the_window_doubles_to_its_cap() {
    let windows: Vec<_> = (0..9)
        .map(|attempt| contention_window(Standard::A, attempt))
        .collect();
    assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1_023, 1_023, 1_023]);
    assert_eq!(contention_window(Standard::B, 0), 31);
}

#[test]
fn per_delivered_is_equation_1_with_what_is_never_delivered() {
    let (loss, attempts) = (0.4_f64, ATTEMPTS);
    let mut spent = 0.0;
    let (mut delivered, mut sum) = (0.0, 0.0);
    for number in 0..attempts {
        let slots = f64::from(contention_window(Standard::G, number)) / 2.0;
        spent += 28.0 + 9.0 * slots + 254.0 + 10.0 + 34.0;
        let odds = loss.powi(number as i32) * (1.0 - loss);
        (delivered, sum) = (delivered + odds, sum + odds * spent);
    }
    sum += spent * loss.powi(attempts as i32);
    let micros = per_delivered(Standard::G, FAST, 1_500, loss)
        .unwrap()
        .as_secs_f64()
        * 1e6;
    assert!(
        (micros - sum / delivered).abs() < 0.01,
        "{micros} against {}",
        sum / delivered
    );
    assert_eq!(per_delivered(Standard::G, FAST, 1_500, 1.0), None);
}

#[test]
fn tcp_reaches_its_analytic_maximum_and_no_more() {
    // 8·1448 / (393.5 + ½·181.5) µs = 23.92 Mb/s. Real contention takes more air than this formula assumes
    // (`tests/air.rs`).
    let most = goodput(Standard::G, None, Db::from_db(60)).as_bps();
    assert_eq!(most, 8 * 1_448 * 1_000_000_000 / 484_250);
    let b = goodput(Standard::B, None, Db::from_db(60));
    assert!((4_500_000..5_500_000).contains(&b.as_bps()), "{b}");
}

#[test]
fn a_fixed_rate_is_the_best_there_is_or_nothing_gets_through() {
    let at = |fixed, db| goodput(Standard::G, fixed, Db::from_db(db));
    let (six, fifty_four) = (Some(Bitrate::from_mbps(6)), Some(Bitrate::from_mbps(54)));
    assert_eq!(at(fifty_four, 60), at(None, 60));
    assert!(at(six, 60) < at(None, 60) && at(six, 60) > Bitrate::from_mbps(4));
    assert_eq!(at(fifty_four, 5), Bitrate::ZERO);
    assert_eq!(
        best(Standard::G, fifty_four, |_, _| 1.0),
        (Bitrate::from_mbps(54), Bitrate::ZERO)
    );
}

#[test]
fn goodput_falls_with_the_signal() {
    let goodputs: Vec<_> = (-10..40)
        .rev()
        .map(|db| goodput(Standard::G, None, Db::from_db(db)))
        .collect();
    assert!(goodputs.is_sorted_by(|a, b| a >= b), "{goodputs:?}");
    assert_eq!(goodputs.last(), Some(&Bitrate::ZERO));
}

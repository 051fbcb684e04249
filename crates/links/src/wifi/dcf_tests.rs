use super::*;
use units::Duration;

fn station() -> Dcf {
    Dcf::new(Standard::G, Rng::named(1, "station"))
}

#[test]
fn an_idle_medium_is_free_at_once() {
    let mut dcf = station();
    dcf.resume(Instant::ZERO);
    dcf.wants(false);
    assert_eq!(dcf.access(), Instant::from_micros(28));
}

#[test]
fn a_busy_medium_asks_for_a_backoff() {
    let drawn = (0..50).filter(|&seed| {
        let mut dcf = Dcf::new(Standard::G, Rng::named(seed, "station"));
        dcf.wants(true);
        dcf.backoff > 0
    });
    // One draw in 16 is zero.
    assert!(drawn.count() > 40);
}

#[test]
fn counting_freezes_while_others_transmit_and_goes_on_after_difs() {
    let mut dcf = station();
    dcf.resume(Instant::ZERO);
    dcf.backoff = 10;
    // Four whole slots and a fraction after DIFS.
    dcf.freeze(Instant::from_micros(28 + 4 * 9 + 3));
    assert_eq!(dcf.backoff, 6);
    dcf.resume(Instant::from_micros(500));
    assert_eq!(dcf.access(), Instant::from_micros(500 + 28 + 6 * 9));
    dcf.freeze(Instant::from_micros(510));
    assert_eq!(dcf.backoff, 6, "nothing counts within DIFS");
}

#[test]
fn the_window_doubles_with_failures_and_shrinks_with_success() {
    let mean = |dcf: &mut Dcf, failures| {
        let draws = 2_000;
        let sum: u32 = (0..draws)
            .map(|_| {
                dcf.failures = failures;
                dcf.draw();
                dcf.backoff
            })
            .sum();
        f64::from(sum) / f64::from(draws)
    };
    let mut dcf = station();
    for (failures, window) in [(0, 15.0), (1, 31.0), (2, 63.0), (6, 1_023.0), (9, 1_023.0)] {
        let mean = mean(&mut dcf, failures);
        assert!((mean / (window / 2.0) - 1.0).abs() < 0.06, "{failures}: {mean}");
    }
    dcf.failed();
    assert!(dcf.failures > 0);
    dcf.settled();
    assert_eq!((dcf.failures, dcf.standard.slot()), (0, Duration::from_micros(9)));
}

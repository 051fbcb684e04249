use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;
use units::wifi::ht::{Guard, Width};

const FORMS: [Form; 3] = [Form::Printed, Form::PrintedReal, Form::PerDelivered];

fn mode(mcs: u8, width: Width, guard: Guard) -> Mode {
    Mode::new(mcs, width, guard).unwrap()
}

fn micros(exchange: Exchange, form: Form, loss: f64) -> f64 {
    exchange
        .airtime(form, Ratio::clamped(loss))
        .unwrap()
        .as_secs_f64()
        * 1e6
}

fn legacy(standard: Standard, mbps: u64) -> Exchange {
    Exchange::legacy(standard, Bitrate::from_mbps(mbps), 1_500)
}

#[test]
fn a_packet_without_loss_takes_the_published_time() {
    // 802.11g, 54 Mb/s: DIFS 28, mean backoff 67.5, frame 254, SIFS 10, ACK 34.
    assert_eq!(micros(legacy(Standard::G, 54), Form::PerDelivered, 0.0), 393.5);
    // 802.11a: DIFS 34, 67.5, 248, SIFS 16, ACK 28.
    assert_eq!(micros(legacy(Standard::A, 54), Form::PerDelivered, 0.0), 393.5);
    // Jun, Peddabachagari, Sichitiu 2003, "Theoretical maximum throughput of IEEE 802.11", DSSS at 1 Mb/s:
    // 8·x + 1138 µs for an MSDU of x bytes under a header of 34 (ours, with LLC, has 36).
    for x in [40, 576, 1_500] {
        let exchange = Exchange::legacy(Standard::B, Bitrate::from_mbps(1), x - 2);
        assert_eq!(
            micros(exchange, Form::PerDelivered, 0.0),
            f64::from(8 * x + 1_138)
        );
    }
}

#[test]
fn equation_1_is_taken_at_its_word() {
    // The same paper at 11 Mb/s with its acknowledgement at 1 Mb/s: x·8/11 + 890.73 µs. 34·8/11 of it is the
    // header that Eq. 1 leaves out.
    let exchange = Exchange::legacy(Standard::B, Bitrate::from_mbps(11), 1_500);
    let expected = 1_500.0 * 8.0 / 11.0 + 890.73 - 34.0 * 8.0 / 11.0;
    assert!((micros(exchange, Form::Printed, 0.0) - expected).abs() < 0.01);
    // With one retry and half of the attempts lost: (A + C)·½ + (2·A + 3·C)·¼, A = 12000/54 + 20 + 16 + 34 +
    // 44 and C = 67.5 µs.
    let (a, c) = (12_000.0 / 54.0 + 20.0 + 16.0 + 34.0 + 44.0, 67.5);
    let expected = (a + c) / 2.0 + (2.0 * a + 3.0 * c) / 4.0;
    let exchange = legacy(Standard::A, 54).with_retries(1);
    assert!((micros(exchange, Form::Printed, 0.5) - expected).abs() < 0.001);
}

/// Eq. 1 and the default form, summed term by term.
fn summed(standard: Standard, mbps: u64, retries: u32, p: f64) -> (f64, f64) {
    let attempt = (standard.difs() + legacy(standard, mbps).busy).as_nanos() as f64 / 1e3;
    let (mut t, mut delivered, mut sum) = (0.0, 0.0, 0.0);
    for i in 0..=retries {
        let window = ((standard.cw_min() + 1) * 2_u32.pow(i) - 1).min(1_023);
        t += attempt + f64::from(window) / 2.0 * standard.slot().as_micros() as f64;
        delivered += p.powi(i as i32) * (1.0 - p);
        sum += t * p.powi(i as i32) * (1.0 - p);
    }
    (sum, (sum + t * p.powi(retries as i32 + 1)) / delivered)
}

#[test]
fn both_real_forms_equal_their_sums() {
    for (standard, mbps) in [(Standard::A, 6), (Standard::B, 11), (Standard::G, 54)] {
        for (retries, p) in [(0, 0.5), (3, 0.2), (6, 0.0), (6, 0.3), (6, 0.9), (15, 0.7)] {
            let exchange = legacy(standard, mbps).with_retries(retries);
            let (printed, delivered) = summed(standard, mbps, retries, p);
            let got = (
                micros(exchange, Form::PrintedReal, p),
                micros(exchange, Form::PerDelivered, p),
            );
            let close = |a: f64, b: f64| (a - b).abs() < 0.002 + 1e-9 * b;
            assert!(
                close(got.0, printed) && close(got.1, delivered),
                "{got:?} for {printed}, {delivered}"
            );
        }
    }
}

#[test]
fn the_forms_differ_where_packets_are_never_delivered() {
    let ratio = |mbps, p| {
        let exchange = legacy(Standard::A, mbps);
        micros(exchange, Form::PerDelivered, p) / micros(exchange, Form::PrintedReal, p)
    };
    for mbps in [6, 24, 54] {
        assert!((0..=30).all(|percent| (1.0..1.01).contains(&ratio(mbps, f64::from(percent) / 100.0))));
        assert!(
            ratio(mbps, 0.6) > 1.15 && ratio(mbps, 0.9) > 5.0,
            "{mbps}: {}",
            ratio(mbps, 0.9)
        );
    }
    // 1500 bytes at 54 Mb/s.
    assert!((ratio(54, 0.6) - 1.26).abs() < 0.01, "{}", ratio(54, 0.6));
    assert!((ratio(54, 0.9) - 8.26).abs() < 0.01, "{}", ratio(54, 0.9));
}

#[test]
fn only_the_default_recognises_a_dead_access_point() {
    let exchange = legacy(Standard::G, 54);
    assert_eq!(exchange.airtime(Form::PerDelivered, Ratio::ONE), None);
    for form in [Form::Printed, Form::PrintedReal] {
        assert_eq!(exchange.airtime(form, Ratio::ONE), Some(Duration::ZERO));
        assert!(micros(exchange, form, 0.99) < micros(exchange, form, 0.5));
    }
}

#[test]
fn an_aggregate_shares_the_overhead() {
    let fast = mode(15, Width::Mhz40, Guard::Short);
    let alone = micros(
        Exchange::ht(fast, Band::Ghz5, 1_500, 1_000),
        Form::PerDelivered,
        0.0,
    );
    // DIFS 34, 67.5, 40 + 4·⌈9·12/10⌉ (⌈12326/1080⌉ = 12 symbols), SIFS 16, ACK 28.
    assert_eq!(alone, 34.0 + 67.5 + 40.0 + 44.0 + 16.0 + 28.0);
    let many = micros(
        Exchange::ht(fast, Band::Ghz5, 1_500, 32_000),
        Form::PerDelivered,
        0.0,
    );
    // 32 subframes of 1,544 bytes are ⌈395286/1080⌉ = 367 symbols, 4·⌈330.3⌉ = 1324 µs. A block
    // acknowledgement takes 32.
    assert!(
        (many * 32.0 - (34.0 + 67.5 + 40.0 + 1_324.0 + 16.0 + 32.0)).abs() < 0.032,
        "{many}"
    );
    // 65,535 bytes hold 42 of them.
    let most = Exchange::ht(fast, Band::Ghz5, 1_500, 64_000);
    assert_eq!(most.frames_milli, 42_000);
}

#[test]
fn a_lost_frame_of_an_aggregate_costs_its_part_of_another() {
    let exchange = Exchange::ht(mode(7, Width::Mhz20, Guard::Long), Band::Ghz2, 1_500, 16_000);
    let (clean, half) = (
        micros(exchange, Form::PerDelivered, 0.0),
        micros(exchange, Form::PerDelivered, 0.5),
    );
    // The whole aggregate is hardly ever lost, so only the second attempts are added.
    assert!((half / clean - 2.0).abs() < 0.001, "{half} beside {clean}");
}

fn any_standard() -> impl Strategy<Value = Standard> {
    prop_oneof![Just(Standard::A), Just(Standard::B), Just(Standard::G)]
}

fn any_exchange() -> impl Strategy<Value = Exchange> {
    let standard = any_standard();
    let legacy = (standard, 0_usize..8, 1_u32..2_305).prop_map(|(standard, rate, bytes)| {
        let rates = standard.rates_kbps();
        Exchange::legacy(
            standard,
            Bitrate::from_kbps(rates[rate % rates.len()].into()),
            bytes,
        )
    });
    let ht = (0_u8..32, any::<[bool; 3]>(), 1_u32..2_305, 0_u32..70_000).prop_map(
        |(mcs, [wide, short, high], bytes, frames)| {
            let width = if wide { Width::Mhz40 } else { Width::Mhz20 };
            let guard = if short { Guard::Short } else { Guard::Long };
            let band = if high { Band::Ghz5 } else { Band::Ghz2 };
            Exchange::ht(mode(mcs, width, guard), band, bytes, frames)
        },
    );
    (prop_oneof![legacy, ht], 0_u32..40).prop_map(|(exchange, retries)| exchange.with_retries(retries))
}

proptest! {
    #[test]
    fn the_default_rises_with_the_loss(exchange in any_exchange(), a in 0_u32..1_000_000, b in 0_u32..1_000_000) {
        let time = |ppm| exchange.airtime(Form::PerDelivered, Ratio::from_ppm(ppm)).unwrap();
        prop_assert!(time(a.min(b)) <= time(a.max(b)));
    }

    #[test]
    fn no_form_exceeds_its_bounds(exchange in any_exchange(), ppm in 0_u32..=1_000_000) {
        let loss = Ratio::from_ppm(ppm);
        let clean = exchange.airtime(Form::PerDelivered, Ratio::ZERO).unwrap();
        for form in FORMS {
            let time = exchange.airtime(form, loss);
            prop_assert!(time.is_some() || form == Form::PerDelivered && loss == Ratio::ONE);
        }
        let real = exchange.airtime(Form::PrintedReal, loss).unwrap();
        if let Some(delivered) = exchange.airtime(Form::PerDelivered, loss) {
            prop_assert!(delivered >= clean && delivered + Duration::from_nanos(1) >= real);
        }
    }

    #[test]
    fn no_number_is_too_large(standard in any_standard(), bps: u64, bytes: u32, frames: u32, retries: u32, ppm in 0_u32..1_000_000) {
        let exchanges = [
            Exchange::legacy(standard, Bitrate::from_bps(bps), bytes),
            Exchange::ht(mode(7, Width::Mhz20, Guard::Long), Band::Ghz2, bytes, frames),
        ];
        for exchange in exchanges.map(|exchange| exchange.with_retries(retries)) {
            let time = exchange.airtime(Form::PerDelivered, Ratio::from_ppm(ppm)).unwrap();
            prop_assert!(time > Duration::ZERO);
            // 65,535 bytes at 1 Mb/s, with all overhead, a million times.
            prop_assert!(time < Duration::from_secs(600_000), "{time:?}");
        }
    }

    #[test]
    fn a_longer_packet_never_takes_less(standard in any_standard(), kbps in 0_u64..60_000, a: u16, b: u16, ppm in 0_u32..1_000_000) {
        let time = |bytes: u16| Exchange::legacy(standard, Bitrate::from_kbps(kbps), bytes.into())
            .airtime(Form::PerDelivered, Ratio::from_ppm(ppm)).unwrap();
        prop_assert!(time(a.min(b)) <= time(a.max(b)));
    }

    #[test]
    fn a_slower_rate_never_takes_less(bytes in 1_u32..2_305, ppm in 0_u32..1_000_000) {
        for standard in [Standard::A, Standard::B, Standard::G] {
            let time = |kbps: u32| Exchange::legacy(standard, Bitrate::from_kbps(kbps.into()), bytes)
                .airtime(Form::PerDelivered, Ratio::from_ppm(ppm)).unwrap();
            let times: Vec<_> = standard.rates_kbps().iter().map(|&kbps| time(kbps)).collect();
            prop_assert!(times.is_sorted_by(|slow, fast| slow >= fast));
        }
    }
}

/// Parses a row of `golden/airtime.csv`: PHY, payload, frames per aggregate, retries, loss, then the three
/// forms.
fn golden(cells: &[&str]) -> Exchange {
    let number = |at: usize| cells[at].parse::<u32>().unwrap();
    let how: Vec<&str> = cells[0].split_whitespace().collect();
    let rate = |text: &str| Bitrate::from_kbps(text.parse().unwrap());
    let exchange = match how[0] {
        "a" => Exchange::legacy(Standard::A, rate(how[1]), number(1)),
        "b" => Exchange::legacy(Standard::B, rate(how[1]), number(1)),
        "g" => Exchange::legacy(Standard::G, rate(how[1]), number(1)),
        "n" => {
            let width = if how[2] == "40" {
                Width::Mhz40
            } else {
                Width::Mhz20
            };
            let guard = if how[3] == "short" {
                Guard::Short
            } else {
                Guard::Long
            };
            let band = if how[4] == "5" { Band::Ghz5 } else { Band::Ghz2 };
            Exchange::ht(
                mode(how[1].parse().unwrap(), width, guard),
                band,
                number(1),
                number(2),
            )
        }
        other => panic!("no standard is called {other}"),
    };
    exchange.with_retries(number(3))
}

#[test]
fn golden_vectors_hold() {
    let rows = include_str!("../../../../../golden/airtime.csv")
        .lines()
        .filter(|line| !line.starts_with(['#', 'h']));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        let (exchange, loss) = (golden(&cells), Ratio::from_ppm(cells[4].parse().unwrap()));
        for (form, cell) in FORMS.into_iter().zip(&cells[5..]) {
            let time = exchange.airtime(form, loss).map(|time| time.as_nanos() as i64);
            // Sums of reals, rounded down to whole ns: the last one may differ.
            let close = |expected: i64| time.is_some_and(|time| (time - expected).abs() <= 1);
            assert!(
                cell.parse().map_or(time.is_none(), close),
                "{row}: {form:?} gives {time:?}"
            );
        }
        count += 1;
    }
    assert!(count >= 20, "only {count} vectors");
}

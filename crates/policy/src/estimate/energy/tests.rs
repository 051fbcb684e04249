use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

fn radio(set: Set, technology: Technology) -> Radio {
    set.radio(technology).unwrap()
}

fn step(millis: u64, down_kbps: u64, up_kbps: u64) -> Step {
    Step {
        lasts: Duration::from_millis(millis),
        down: Bitrate::from_kbps(down_kbps),
        up: Bitrate::from_kbps(up_kbps),
        signal: None,
    }
}

impl Energy {
    fn as_microjoules(self) -> u64 {
        u64::try_from(self.0 / 1_000_000).unwrap()
    }
}

fn metered(radio: Radio, steps: &[Step]) -> Meter {
    let mut meter = Meter::new(radio);
    steps.iter().for_each(|piece| meter.step(piece));
    meter
}

#[test]
fn the_published_efficiencies_follow_from_the_published_rates() {
    // mobiarch11 §3.3: 1.24 Mb/s at 1.16 Mb/J over 3G, 1.55 at 1.44 over WiFi, 2.79 at 1.30 over both. The
    // file is long, so the tail does not matter.
    let day = 86_400_000;
    let cellular = metered(radio(Set::Mobiarch11, Technology::ThreeG), &[step(day, 1_240, 0)]);
    let wifi = metered(radio(Set::Mobiarch11, Technology::Wifi), &[step(day, 1_550, 0)]);
    assert!((cellular.efficiency().unwrap() - 1.16).abs() < 0.01);
    assert!((wifi.efficiency().unwrap() - 1.44).abs() < 0.01);
    let bits = (cellular.moved() + wifi.moved()).bits() as f64;
    let both = bits / 1e6 / (cellular.settled() + wifi.settled()).as_joules_f64();
    assert!((both - 1.30).abs() < 0.01, "{both}");
}

#[test]
fn a_packet_over_lte_pays_promotion_and_tail() {
    // 1.211 W · 0.26 s + 1 s · (1.288 + 0.052 · 10) W + 1.06 W · 11.6 s
    let lte = radio(Set::Mobisys2012, Technology::Lte);
    let meter = metered(lte, &[step(1_000, 10_000, 0)]);
    assert_eq!(meter.spent().as_microjoules(), 314_860 + 1_808_000);
    assert_eq!(meter.settled().as_microjoules(), 314_860 + 1_808_000 + 12_296_000);
}

#[test]
fn data_inside_a_tail_needs_no_promotion() {
    let lte = radio(Set::Mobisys2012, Technology::Lte);
    let (burst, pause) = (step(1_000, 10_000, 0), step(5_000, 0, 0));
    let meter = metered(lte, &[burst, pause, burst]);
    assert_eq!(
        meter.spent().as_microjoules(),
        314_860 + 2 * 1_808_000 + 5_300_000
    );
    let meter = metered(lte, &[burst, pause, pause]);
    assert_eq!(meter.state(), State::Tail(Duration::from_millis(1_600)));
    let meter = metered(lte, &[burst, pause, pause, pause]);
    assert_eq!((meter.state(), meter.spent()), (State::Idle, meter.settled()));
    assert_eq!(meter.spent().as_microjoules(), 314_860 + 1_808_000 + 12_296_000);
}

#[test]
fn a_poor_signal_costs_up_to_half_more() {
    let at = |dbm| penalty_milli(Some(Dbm::from_dbm(dbm)));
    assert_eq!(
        [at(-40), at(-70), at(-75), at(-80), at(-90), at(-120)],
        [1_000, 1_000, 1_125, 1_250, 1_500, 1_500]
    );
    let wifi = radio(Set::Mobiarch11, Technology::Wifi);
    let uw = |signal| wifi.active_uw(Bitrate::from_mbps(1), Bitrate::ZERO, signal);
    assert_eq!((uw(None), uw(Some(Dbm::from_dbm(-90)))), (1_070_000, 1_605_000));
}

#[test]
fn a_set_without_a_radio_says_so() {
    assert_eq!(Set::Mobiarch11.radio(Technology::Lte), None);
    assert_eq!(
        [Set::Mobisys2012.name(), Set::Mobiarch11.name()],
        ["mobisys2012", "mobiarch11"]
    );
}

#[test]
fn a_tail_can_be_swept() {
    let three_g = radio(Set::Mobiarch11, Technology::ThreeG);
    let spent = [6, 9, 12].map(|seconds| {
        let radio = three_g.with_tail(Duration::from_secs(seconds));
        metered(radio, &[step(1_000, 1_240, 0)])
            .settled()
            .as_microjoules()
    });
    assert_eq!(spent, [7_490_000, 10_700_000, 13_910_000]);
}

/// Finds a radio by its names in the golden files.
fn named(set: &str, technology: &str) -> Radio {
    let set = [Set::Mobisys2012, Set::Mobiarch11]
        .into_iter()
        .find(|known| known.name() == set)
        .unwrap();
    let technology = match technology {
        "lte" => Technology::Lte,
        "3g" => Technology::ThreeG,
        "wifi" => Technology::Wifi,
        other => panic!("no technology is called {other}"),
    };
    radio(set, technology)
}

/// Rows of `golden/energy.csv`: set, technology, trace of `ms:down_kbps:up_kbps:dbm`, microjoules spent, with
/// the tail, bytes moved.
fn golden(row: &str) -> (Meter, Vec<u64>) {
    let cells: Vec<&str> = row.split(',').map(str::trim).collect();
    let piece = |text: &str| {
        let numbers: Vec<i64> = text.split(':').map(|number| number.parse().unwrap()).collect();
        let signal = numbers.get(3).map(|&dbm| Dbm::from_dbm(dbm as i32));
        Step {
            signal,
            ..step(numbers[0] as u64, numbers[1] as u64, numbers[2] as u64)
        }
    };
    let trace: Vec<Step> = cells[2].split_whitespace().map(piece).collect();
    (
        metered(named(cells[0], cells[1]), &trace),
        cells[3..].iter().map(|cell| cell.parse().unwrap()).collect(),
    )
}

#[test]
fn golden_vectors_hold() {
    let rows = include_str!("../../../../../golden/energy.csv")
        .lines()
        .filter(|line| !line.starts_with(['#', 's']));
    let mut count = 0;
    for row in rows {
        let (meter, expected) = golden(row);
        let got = [
            meter.spent().as_microjoules(),
            meter.settled().as_microjoules(),
            meter.moved().get(),
        ];
        assert_eq!(got.as_slice(), expected, "{row}");
        count += 1;
    }
    assert!(count >= 10, "only {count} vectors");
}

/// Rows of `golden/power.csv`: set, technology, kb/s down and up, signal, microwatts, bits per joule.
#[test]
fn golden_powers_hold() {
    let rows = include_str!("../../../../../golden/power.csv")
        .lines()
        .filter(|line| !line.starts_with(['#', 's']));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        let radio = named(cells[0], cells[1]);
        let rate = |cell: usize| Bitrate::from_kbps(cells[cell].parse().unwrap());
        let signal = cells[4].parse().ok().map(Dbm::from_dbm);
        let got = [
            radio.active_uw(rate(2), rate(3), signal),
            radio.bits_per_joule(rate(2), rate(3), signal),
        ];
        assert_eq!(got.map(|number| number.to_string()), cells[5..], "{row}");
        count += 1;
    }
    assert!(count >= 10, "only {count} vectors");
}

fn any_radio() -> impl Strategy<Value = Radio> {
    (any::<[u32; 6]>(), any::<[u32; 2]>()).prop_map(|(mw, millis)| Radio {
        idle_mw: mw[0],
        ..Radio::new(
            [mw[1], mw[2], mw[3]],
            phase(mw[4], millis[0].into()),
            phase(mw[5], millis[1].into()),
        )
    })
}

proptest! {
    #[test]
    fn energy_only_grows(radio in any_radio(), steps in proptest::collection::vec(any::<(u32, u64, u64, i32)>(), 0..40)) {
        let mut meter = Meter::new(radio);
        for (millis, down, up, mbm) in steps {
            let before = meter.spent();
            meter.step(&Step {
                lasts: Duration::from_millis(millis.into()),
                down: Bitrate::from_bps(down),
                up: Bitrate::from_bps(up),
                signal: Some(Dbm::from_mbm(mbm)),
            });
            prop_assert!(meter.spent() >= before && meter.settled() >= meter.spent());
        }
    }

    #[test]
    fn a_step_in_two_halves_costs_the_same(half_ms in 1_u64..100_000, down in 0_u64..100_000, up in 0_u64..100_000) {
        for technology in [Technology::Lte, Technology::ThreeG, Technology::Wifi] {
            let lte = radio(Set::Mobisys2012, technology);
            let burst = step(100, 1_000, 0);
            let whole = metered(lte, &[burst, step(2 * half_ms, down, up)]);
            let halves = metered(lte, &[burst, step(half_ms, down, up), step(half_ms, down, up)]);
            let apart = whole.settled().as_microjoules().abs_diff(halves.settled().as_microjoules());
            prop_assert!(apart <= 1, "{} µJ", apart);
        }
    }

    #[test]
    fn a_weaker_signal_never_costs_less(a in -12_000_i32..-3_000, b in -12_000_i32..-3_000) {
        let cost = |mbm| penalty_milli(Some(Dbm::from_mbm(mbm)));
        prop_assert!(cost(a.min(b)) >= cost(a.max(b)));
    }
}

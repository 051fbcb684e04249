//! Golden timelines; radios with the powers of `estimate::energy` along a walk.

use super::*;
use crate::estimate::energy::{Meter, Set, Step, Technology};
use proptest::prelude::*;
use units::Bitrate;

const WIFI: LinkId = LinkId(0);
const CELL: LinkId = LinkId(1);

fn variant(name: &str) -> Variant {
    match name {
        "probing" => Variant::Probing,
        "association-aware" => Variant::AssociationAware,
        "omniscient" => Variant::Omniscient,
        "damped" => Variant::Damped,
        other => panic!("no variant is called {other}"),
    }
}

fn radios(wifi: Option<u64>, cell: Option<u64>) -> [RadioView; 2] {
    let view = |link, kind, bits: Option<u64>| RadioView {
        link,
        kind,
        usable: bits.is_some(),
        bits_per_joule: bits.unwrap_or(0),
    };
    [
        view(WIFI, LinkKind::Wifi, wifi),
        view(CELL, LinkKind::Cellular, cell),
    ]
}

fn said(on: On) -> &'static str {
    match on {
        On::All => "all",
        On::Only(WIFI) => "wifi",
        On::Only(_) => "cell",
        On::AndCellular(_) => "wifi+cell",
    }
}

/// One line of `golden/energy-schedule.csv`: variant, mean association in s, `s:wifi:cell` of each look in Mb/J, what is on.
#[test]
fn golden_timelines() {
    let golden = include_str!("../../../../golden/energy-schedule.csv");
    let mut count = 0;
    for line in golden
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("variant;"))
    {
        let cells: Vec<&str> = line.split(';').collect();
        let mut schedule = EnergySchedule::new(variant(cells[0]));
        let mut look = |text: &str| {
            let numbers: Vec<Option<u64>> = text.split(':').map(|number| number.parse().ok()).collect();
            let bits = |mbits: Option<u64>| mbits.map(|mbits| mbits * 1_000_000);
            let radios = radios(bits(numbers[1]), bits(numbers[2]));
            let look = Look {
                radios: &radios,
                association: cells[1].parse().ok().map(Duration::from_secs),
                tail: Duration::from_secs(9),
            };
            said(schedule.plan(Instant::from_secs(numbers[0].unwrap()), &look).on)
        };
        let on: Vec<&str> = cells[2].split(' ').map(&mut look).collect();
        assert_eq!(on.join(" "), cells[3], "{line}");
        count += 1;
    }
    assert!(count >= 10, "only {count} timelines");
}

#[test]
fn says_when_to_look_again_and_why() {
    let mut schedule = EnergySchedule::new(Variant::Probing);
    assert_eq!(schedule.wake_at(), None);
    let radios = radios(Some(1_440_000), Some(1_160_000));
    let look = Look {
        radios: &radios,
        association: None,
        tail: Duration::ZERO,
    };
    schedule.plan(Instant::ZERO, &look);
    assert_eq!(schedule.wake_at(), Some(Instant::from_secs(10)));
    let plan = schedule.plan(Instant::from_secs(10), &look);
    assert_eq!(plan.because.to_string(), "it moves the most for a joule: 1.44 Mb");
    assert_eq!(schedule.wake_at(), Some(Instant::from_secs(110)));
}

#[test]
fn each_reason_is_a_sentence() {
    let short = Because::ShortAssociations {
        association: Duration::from_secs(5),
        tail: Duration::from_secs(9),
    };
    assert!(short.to_string().contains("5 s, less than the 9 s"));
    assert!(Because::Comparing.to_string().contains("all are on"));
    assert!(Because::NothingUsable.to_string().contains("none"));
}

/// Energy and data of a walk on which WiFi is good (5 Mb/s) for a quarter of each `period_s` and poor (0.4) for the rest, beside 3G at
/// 1.24 Mb/s: Mb/J and Mb/s.
fn walk(period_s: u64, on: &mut dyn FnMut(Instant, &Look<'_>) -> On) -> (f64, f64) {
    let set = Set::Mobiarch11;
    let powers = [Technology::Wifi, Technology::ThreeG].map(|technology| set.radio(technology).unwrap());
    let mut meters = powers.map(Meter::new);
    let (mut bits, seconds) = (0.0, 6_600);
    for second in 0..seconds {
        let wifi = if second % period_s < period_s / 4 {
            5_000
        } else {
            400
        };
        let rates = [Bitrate::from_kbps(wifi), Bitrate::from_kbps(1_240)];
        let efficiency = |at: usize| Some(powers[at].bits_per_joule(rates[at], Bitrate::ZERO, None));
        let radios = radios(efficiency(0), efficiency(1));
        let look = Look {
            radios: &radios,
            association: None,
            tail: powers[1].tail.lasts,
        };
        let on = on(Instant::from_secs(second), &look);
        for at in 0..2 {
            let down = if on.includes(&radios[at]) {
                rates[at]
            } else {
                Bitrate::ZERO
            };
            bits += down.as_bps() as f64;
            let lasts = Duration::from_secs(1);
            meters[at].step(&Step {
                lasts,
                down,
                up: Bitrate::ZERO,
                signal: None,
            });
        }
    }
    let joules: f64 = meters.iter().map(|meter| meter.spent().as_joules_f64()).sum();
    (bits / 1e6 / joules, bits / 1e6 / seconds as f64)
}

fn scheduled(period_s: u64, variant: Variant) -> (f64, f64) {
    let mut schedule = EnergySchedule::new(variant);
    walk(period_s, &mut |now, look| schedule.plan(now, look).on)
}

#[test]
fn the_simple_scheduler_has_its_place_in_mobiarch11s_table() {
    // Efficiency: 3G < both < WiFi < scheduler. Throughput: 3G < WiFi < scheduler < both.
    let fixed = |on| walk(450, &mut |_, _| on);
    let (cell, wifi, both) = (fixed(On::Only(CELL)), fixed(On::Only(WIFI)), fixed(On::All));
    let scheduler = scheduled(450, Variant::Probing);
    println!("Mb/J and Mb/s: 3G {cell:?}, WiFi {wifi:?}, both {both:?}, scheduler {scheduler:?}");
    assert!(cell.0 < both.0 && both.0 < wifi.0 && wifi.0 < scheduler.0);
    assert!(cell.1 < wifi.1 && wifi.1 < scheduler.1 && scheduler.1 < both.1);
}

#[test]
fn knowing_everything_costs_tails_and_damping_saves_them() {
    // WiFi is better for 5 s of each 20: less than the 3G radio's tail.
    let (omniscient, damped) = (scheduled(20, Variant::Omniscient), scheduled(20, Variant::Damped));
    let cell_on = walk(20, &mut |_, _| On::Only(CELL));
    println!(
        "Mb/J: omniscient {:.3}, damped {:.3}, 3G alone {:.3}",
        omniscient.0, damped.0, cell_on.0
    );
    let slow = (
        scheduled(450, Variant::Omniscient),
        scheduled(450, Variant::Damped),
    );
    println!(
        "slowly changing: omniscient {:.3}, damped {:.3}",
        slow.0.0, slow.1.0
    );
    // Where changes are rare, both are alike and beat the simple one.
    assert!((slow.0.0 / slow.1.0 - 1.0).abs() < 0.1 && slow.1.0 > scheduled(450, Variant::Probing).0);
    assert!(damped.0 == cell_on.0);
}

proptest! {
    #[test]
    fn never_is_everything_off(
        looks in prop::collection::vec((0u64..40, any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u8>>()), 1..100),
        which in 0usize..4,
    ) {
        let variants = [Variant::Probing, Variant::AssociationAware, Variant::Omniscient, Variant::Damped];
        let mut schedule = EnergySchedule::new(variants[which]);
        let mut now = Instant::ZERO;
        for (wait, wifi, cell, association) in looks {
            now += Duration::from_secs(wait);
            let radios = radios(wifi.map(u64::from), cell.map(u64::from));
            let association = association.map(|s| Duration::from_secs(s.into()));
            let look = Look { radios: &radios, association, tail: Duration::from_secs(9) };
            let plan = schedule.plan(now, &look);
            let usable = |radio: &&RadioView| radio.usable;
            let on = radios.iter().filter(usable).any(|radio| plan.on.includes(radio));
            prop_assert!(on || !radios.iter().any(|radio| radio.usable), "{:?} at {}", plan, now);
            prop_assert!(schedule.wake_at().is_none_or(|at| at > now));
        }
    }
}

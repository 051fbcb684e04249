//! The parts, one by one.

use super::super::lanes::Lanes;
use super::super::smooth::Smooth;
use crate::io::LinkId;
use crate::wifi::steer::*;
use proptest::prelude::*;
use units::{Bitrate, Duration, Instant, Ratio};

const GOLDEN: &str = include_str!("../../../../../../golden/steer.csv");

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn measured(packet: Duration, rtt: Duration, base_rtt: Duration) -> Measured {
    Measured {
        packet_time: packet,
        rtt,
        base_rtt,
    }
}

#[test]
fn golden_marking_rates() {
    let rows = GOLDEN
        .lines()
        .filter(|line| !line.starts_with(['#']) && !line.starts_with("form;"));
    let mut count = 0;
    for line in rows {
        let cells: Vec<&str> = line.split(';').collect();
        let form: Form = cells[0].parse().unwrap();
        assert_eq!(form.to_string(), cells[0]);
        let number = |at: usize| cells[at].parse::<u64>().unwrap();
        let rate = form.rate(measured(us(number(1)), us(number(2)), us(number(3))));
        // Each operation rounds down by one part in 2^31.
        let exact = number(4);
        let least = exact - exact / (1 << 27) - u64::from(exact > 0);
        assert!(
            (least..=exact).contains(&rate.as_raw()),
            "{line}: {} is not {exact}",
            rate.as_raw()
        );
        count += 1;
    }
    assert!(count >= 25, "only {count} vectors");
}

#[test]
fn a_form_without_a_name_is_refused() {
    for name in [
        "",
        "exact",
        "exact(100)",
        "exact(100,k=3)",
        "exact(x,k=1)",
        "printed(50,k=1)",
        "base-rtt(1,k=1",
    ] {
        assert_eq!(name.parse::<Form>(), Err(UnknownForm), "{name}");
    }
    assert!(UnknownForm.to_string().contains("base-rtt"));
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![Just(Model::One), Just(Model::ThreeHalves), Just(Model::Two)]
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Printed),
        Just(Form::PrintedCapped),
        Just(Form::Cap),
        (any::<u16>(), model()).prop_map(|(buffer, model)| Form::Exact { buffer, model }),
        (any::<u16>(), model()).prop_map(|(buffer, model)| Form::BaseRtt { buffer, model }),
    ]
}

fn real(form: Form, packet: f64, rtt: f64, base: f64) -> f64 {
    let square = |x: f64| x * x;
    let k = |model| match model {
        Model::One => 1.0,
        Model::ThreeHalves => 1.5,
        Model::Two => 2.0,
    };
    match form {
        Form::Printed => 0.5 * square(50.0 * packet * packet / (rtt * (rtt - 50.0 * packet))),
        Form::PrintedCapped if rtt <= 50.0 * packet => 1.0,
        Form::PrintedCapped => real(Form::Printed, packet, rtt, base),
        Form::Exact { buffer, .. } if rtt <= f64::from(buffer) * packet => 1.0,
        Form::Exact { buffer, model } => {
            k(model) * (square(packet / (rtt - f64::from(buffer) * packet)) - square(packet / rtt))
        }
        Form::BaseRtt { buffer, model } => {
            let short = base + packet;
            k(model) * (square(packet / short) - square(packet / (short + f64::from(buffer) * packet)))
        }
        Form::Cap => 1.0,
    }
}

proptest! {
    #[test]
    fn rates_are_those_of_the_equations(
        form in form(), packet in 50u64..20_000, rtt in 1_000u64..5_000_000, base in 1_000u64..2_000_000,
    ) {
        let rate = form.rate(measured(us(packet), us(rtt), us(base))).as_f64();
        let exact = real(form, packet as f64, rtt as f64, base as f64).min(0.05);
        // If nearly equal numbers are subtracted, the real-valued equation is less exact.
        prop_assert!((rate - exact).abs() <= 1e-6 * exact + 1e-9, "{form}: {rate} is not {exact}");
    }

    #[test]
    fn no_input_leaves_the_bounds(form in form(), packet: u64, rtt: u64, base: u64) {
        let nanos = Duration::from_nanos;
        let rate = form.rate(measured(nanos(packet), nanos(rtt), nanos(base)));
        prop_assert!(rate <= CAP);
    }

    #[test]
    fn a_worse_access_point_may_be_marked_more(
        packet in 100u64..10_000, more in 0u64..10_000, base in 1_000u64..1_000_000, model in model(),
    ) {
        let form = Form::BaseRtt { buffer: 100, model };
        let rate = |packet| form.rate(measured(us(packet), us(base), us(base)));
        // One step of rounding apart at most.
        prop_assert!(rate(packet + more).as_raw() + 8 >= rate(packet).as_raw());
    }

    #[test]
    fn a_ramp_never_jumps(targets in prop::collection::vec((0u64..3_000, 0u32..60_000), 1..60)) {
        let (mut ramp, mut now) = (Ramp::new(), Instant::ZERO);
        for (wait, ppm) in targets {
            now += Duration::from_millis(wait);
            let target = Ratio::from_ppm(ppm);
            let before = ramp.rate();
            let after = ramp.towards(now, target);
            let steps = (wait / 500 + 1) as i32;
            let most = (before.as_f64().max(1e-4) * 1.3f64.powi(steps)).max(before.as_f64());
            prop_assert!(after.as_f64() <= most * 1.000_001);
            prop_assert!(after <= before.max(target) && after >= before.min(target));
        }
    }

    #[test]
    fn a_smooth_value_lies_between_its_samples(values in prop::collection::vec((0u64..10_000, any::<u64>()), 1..50)) {
        let mut smooth = Smooth::over(Duration::from_secs(1));
        let (mut now, mut least, mut most) = (Instant::ZERO, u64::MAX, 0);
        for (wait, value) in values {
            now += Duration::from_millis(wait);
            (least, most) = (least.min(value), most.max(value));
            let got = smooth.read(now, value);
            prop_assert!((least..=most).contains(&got));
        }
    }
}

#[test]
fn a_ramp_reaches_the_cap_from_nothing_in_twelve_seconds() {
    let mut ramp = Ramp::new();
    let reached = (0..400).find(|n| ramp.towards(ms(n * 100), CAP) == CAP).unwrap();
    assert!((110..=130).contains(&reached), "{reached} tenths of a second");
    let gone = (0..400)
        .find(|n| ramp.towards(ms(40_000 + n * 100), Ratio::ZERO) == Ratio::ZERO)
        .unwrap();
    assert!((110..=130).contains(&gone), "{gone} tenths of a second");
}

#[test]
fn a_ramp_does_not_jump_after_a_pause() {
    let mut ramp = Ramp::new();
    assert_eq!(ramp.towards(ms(1_000), CAP), Ratio::from_ppm(100));
    let woken = ramp.towards(Instant::from_nanos(u64::MAX), CAP);
    assert!((woken.as_f64() - 0.000_169).abs() < 1e-8, "{woken}");
    ramp.release();
    assert_eq!(ramp.rate(), Ratio::ZERO);
}

#[test]
fn a_smooth_value_forgets_in_its_time() {
    let mut smooth = Smooth::over(Duration::from_secs(1));
    assert_eq!(smooth.get(), 0);
    assert_eq!(smooth.read(ms(0), 1_000), 1_000);
    for n in 1..=10 {
        smooth.read(ms(n * 100), 0);
    }
    // (10/11)^10 of it is left.
    assert_eq!(smooth.get(), 386);
}

pub(super) fn point(link: u16, packet_us: u64, mbps: u64) -> AccessPoint {
    AccessPoint {
        link: LinkId(link),
        packet_time: us(packet_us),
        goodput: Bitrate::from_mbps(mbps),
        rtt: us(400_000),
        base_rtt: us(25_000),
        backup: false,
    }
}

fn reading(points: &[AccessPoint]) -> Reading<'_> {
    Reading {
        points,
        busy: Ratio::ONE,
        wanting: true,
    }
}

fn orders(steps: &[Step]) -> Vec<(u16, Order)> {
    steps.iter().map(|step| (step.link.0, step.order)).collect()
}

#[test]
fn marks_only_what_is_a_fifth_worse_than_the_best() {
    let mut steering = Steering::Marking(Marking::new(Form::Cap));
    let mut steps = Vec::new();
    let points = [point(0, 1_000, 5), point(1, 1_199, 5), point(2, 1_200, 5)];
    for n in 0..200 {
        steering.look(ms(n * 100), &reading(&points), &mut steps);
    }
    assert!(steps.iter().all(|step| step.link == LinkId(2)), "{steps:?}");
    assert_eq!(steps.first().unwrap().order, Order::Mark(Ratio::from_ppm(100)));
    assert_eq!(steps.last().unwrap().order, Order::Mark(CAP));
    let before = steps.len();
    let points = [point(0, 1_000, 5), point(1, 1_199, 5), point(2, 500, 5)];
    steering.look(ms(20_000), &reading(&points), &mut steps);
    let least = Order::Mark(Ratio::from_ppm(100));
    assert_eq!(
        orders(&steps[before..]),
        [(0, least), (1, least), (2, Order::Mark(Ratio::ZERO))]
    );
}

#[test]
fn equal_access_points_are_never_marked_even_if_a_packet_costs_nothing() {
    let mut steering = Steering::Marking(Marking::new(Form::Cap));
    let mut steps = Vec::new();
    let points = [point(0, 0, 5), point(1, 0, 5)];
    steering.look(ms(0), &reading(&points), &mut steps);
    assert_eq!(steps, []);
}

#[test]
fn on_off_uses_one_at_a_time_and_keeps_it_while_it_is_good_enough() {
    let mut steering = Steering::OnOff(OnOff::default());
    let mut steps = Vec::new();
    steering.look(ms(0), &reading(&[point(0, 900, 5), point(1, 800, 5)]), &mut steps);
    assert_eq!(orders(&steps), [(0, Order::Backup(true))]);
    steps.clear();
    steering.look(
        ms(100),
        &reading(&[point(0, 700, 5), point(1, 800, 5)]),
        &mut steps,
    );
    assert_eq!(steps, []);
    steering.look(
        ms(200),
        &reading(&[point(0, 660, 5), point(1, 800, 5)]),
        &mut steps,
    );
    assert_eq!(
        orders(&steps),
        [(0, Order::Backup(false)), (1, Order::Backup(true))]
    );
    steps.clear();
    steering.look(ms(300), &reading(&[point(1, 800, 5)]), &mut steps);
    assert_eq!(orders(&steps), [(1, Order::Backup(false))]);
}

#[test]
fn idle_air_alone_leads_to_no_trial() {
    let promoted = |mbps| {
        let mut steering = Steering::default();
        let mut steps = Vec::new();
        let poor = AccessPoint {
            backup: true,
            ..point(1, 1_000, 0)
        };
        let points = [point(0, 500, mbps), poor];
        for n in 0..300 {
            let reading = Reading {
                busy: Ratio::from_fraction(1, 2),
                ..reading(&points)
            };
            steering.look(ms(n * 100), &reading, &mut steps);
        }
        orders(&steps).contains(&(1, Order::Backup(false)))
    };
    // The other could carry 11.6 Mb/s.
    assert!(promoted(4), "the efficient one carries less");
    assert!(!promoted(12), "it carries more, in half of the air");
}

#[test]
fn without_access_points_nothing_is_ordered() {
    for mut steering in [
        Steering::Off,
        Steering::Marking(Marking::new(Form::DEFAULT)),
        Steering::OnOff(OnOff::default()),
        Steering::default(),
    ] {
        let mut steps = Vec::new();
        steering.look(ms(0), &reading(&[]), &mut steps);
        assert_eq!(steps, []);
    }
}

#[test]
fn an_order_in_force_is_not_repeated() {
    let mut lanes = Lanes::new();
    let mut steps = Vec::new();
    let because = Steer::OnlyOne { chosen: us(500) };
    assert!(lanes.meet(&[point(3, 500, 1)]));
    assert!(!lanes.meet(&[point(3, 600, 1)]));
    for _ in 0..3 {
        lanes.backup(LinkId(3), true, because, &mut steps);
        lanes.mark(LinkId(3), CAP, because, &mut steps);
        lanes.backup(LinkId(9), true, because, &mut steps);
    }
    assert_eq!(orders(&steps), [(3, Order::Backup(true)), (3, Order::Mark(CAP))]);
}

#[test]
fn the_closed_loop_demotes_the_poor_at_once_and_says_why() {
    let mut steering = Steering::default();
    let mut steps = Vec::new();
    steering.look(
        ms(0),
        &reading(&[point(0, 3_000, 4), point(1, 500, 4)]),
        &mut steps,
    );
    assert_eq!(orders(&steps), [(0, Order::Backup(true))]);
    let poor = Steer::Poor {
        packet_time: Duration::from_millis(3),
        best: Duration::from_micros(500),
    };
    assert_eq!(steps[0].because, poor);
}

#[test]
fn the_next_best_is_promoted_before_the_best_is_gone() {
    let mut steering = Steering::default();
    let mut steps = Vec::new();
    let idle = |link, packet| AccessPoint {
        backup: true,
        ..point(link, packet, 0)
    };
    steering.look(ms(0), &reading(&[idle(0, 3_000), point(1, 500, 20)]), &mut steps);
    assert_eq!(steps, []);
    steering.look(ms(100), &reading(&[idle(0, 3_000)]), &mut steps);
    assert_eq!(orders(&steps), [(0, Order::Backup(false))]);
    assert!(matches!(steps[0].because, Steer::Efficient { .. }));
}

fn any_point() -> impl Strategy<Value = AccessPoint> {
    (
        0u16..6,
        any::<u64>(),
        any::<u64>(),
        any::<u64>(),
        any::<u64>(),
        any::<bool>(),
    )
        .prop_map(|(link, packet, goodput, rtt, base, backup)| AccessPoint {
            link: LinkId(link),
            packet_time: Duration::from_nanos(packet),
            goodput: Bitrate::from_bps(goodput),
            rtt: Duration::from_nanos(rtt),
            base_rtt: Duration::from_nanos(base),
            backup,
        })
}

type Look = (u64, Vec<AccessPoint>, u32, bool);

fn looks() -> impl Strategy<Value = Vec<Look>> {
    let points = prop::collection::vec(any_point(), 0..6).prop_map(|mut points| {
        points.sort_by_key(|point| point.link);
        points.dedup_by_key(|point| point.link);
        points
    });
    prop::collection::vec((0u64..5_000, points, 0u32..=1_000_000, any::<bool>()), 1..80)
}

/// Feeds all this to `steering`. Nothing is ordered twice, no rate exceeds the cap, and every order has its
/// reason. After each step, `carries` checks how many of how many are not backup.
fn obey(
    mut steering: Steering,
    looks: &[Look],
    carries: impl Fn(usize, usize) -> bool,
) -> Result<(), TestCaseError> {
    let mut backup = std::collections::BTreeMap::new();
    let (mut now, mut steps) = (Instant::ZERO, Vec::new());
    for (wait, points, busy, wanting) in looks {
        now += Duration::from_millis(*wait);
        backup.retain(|link, _| points.iter().any(|point| point.link == *link));
        for point in points {
            backup.entry(point.link).or_insert(point.backup);
        }
        let busy = Ratio::from_ppm(*busy);
        let reading = Reading {
            points,
            busy,
            wanting: *wanting,
        };
        steps.clear();
        steering.look(now, &reading, &mut steps);
        for step in &steps {
            match step.order {
                Order::Backup(now_backup) => {
                    prop_assert_ne!(backup.insert(step.link, now_backup), Some(now_backup));
                }
                Order::Mark(rate) => prop_assert!(rate <= CAP),
            }
        }
        let used = backup.values().filter(|backup| !**backup).count();
        prop_assert!(
            backup.is_empty() || carries(used, backup.len()),
            "{} of {}",
            used,
            backup.len()
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn one_access_point_is_always_in_use(looks in looks()) {
        obey(Steering::default(), &looks, |used, _| used > 0)?;
    }

    #[test]
    fn one_at_a_time_always_uses_exactly_one(looks in looks()) {
        obey(Steering::OnOff(OnOff::default()), &looks, |used, _| used == 1)?;
    }

    #[test]
    fn marks_never_demote(form in form(), looks in looks()) {
        let mut looks = looks;
        looks.iter_mut().flat_map(|look| &mut look.1).for_each(|point| point.backup = false);
        obey(Steering::Marking(Marking::new(form)), &looks, |used, all| used == all)?;
    }
}

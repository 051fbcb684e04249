use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

fn flow(cwnd: u32, srtt_us: u32) -> Flow {
    Flow {
        cwnd,
        srtt_us,
        ..Flow::default()
    }
}

fn q32(value: f64) -> f64 {
    (value * 4_294_967_296.0).min(4_294_967_296.0)
}

/// Parses a line of `golden/cc.csv`: controller, own index, `cwnd:srtt_us:mean:since:between` of each path,
/// growth, window after a loss.
fn golden(line: &str) -> (Controller, usize, Vec<Flow>, i64, u32) {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let controller = match fields[0] {
        "reno" => Controller::Reno,
        "lia" => Controller::Lia,
        "cla-printed" => Controller::ClaPrinted,
        "olia" => Controller::Olia,
        "balia" => Controller::Balia,
        other => panic!("no controller is called {other}"),
    };
    let flows = fields[2].split_whitespace().map(golden_flow).collect();
    (
        controller,
        fields[1].parse().unwrap(),
        flows,
        fields[3].parse().unwrap(),
        fields[4].parse().unwrap(),
    )
}

fn golden_flow(text: &str) -> Flow {
    let numbers: Vec<u64> = text.split(':').map(|number| number.parse().unwrap()).collect();
    let interval = Interval {
        since_loss: numbers[3],
        between_losses: numbers[4],
    };
    Flow {
        cwnd: numbers[0] as u32,
        srtt_us: numbers[1] as u32,
        mean: MeanWindow::of(numbers[2]),
        interval,
    }
}

#[test]
fn golden_vectors_hold() {
    let lines = include_str!("../../../../golden/cc.csv")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut count = 0;
    for line in lines {
        let (controller, own, flows, growth, left) = golden(line);
        assert_eq!(controller.increase(own, &flows), Increase(growth), "{line}");
        assert_eq!(controller.after_loss(own, &flows), left, "{line}");
        count += 1;
    }
    assert!(count >= 20, "only {count} vectors");
}

/// Rows of a file whose header starts with `head`, each split in two.
fn rows(file: &str, head: char) -> impl Iterator<Item = (&str, &str)> {
    let lines = file.lines().filter(move |line| !line.starts_with(['#', head]));
    lines.map(|line| line.split_once(';').unwrap())
}

#[test]
fn golden_credits_hold() {
    let mut count = 0;
    for (steps, expected) in rows(include_str!("../../../../golden/credit.csv"), 's') {
        let mut credit = Credit::default();
        let change = |step: &str| {
            let (growth, acked) = step.split_once('x').unwrap();
            credit.add(Increase(growth.parse().unwrap()), acked.parse().unwrap())
        };
        let changes: Vec<i32> = steps.split_whitespace().map(change).collect();
        let expected: Vec<i32> = expected
            .split_whitespace()
            .map(|change| change.parse().unwrap())
            .collect();
        assert_eq!(changes, expected, "{steps}");
        count += 1;
    }
    assert!(count >= 10, "only {count} rows");
}

#[test]
fn golden_means_hold() {
    let mut count = 0;
    for (parts, expected) in rows(include_str!("../../../../golden/mean.csv"), 'p') {
        let mut mean = MeanWindow::default();
        let after = |part: &str| {
            let (rounds, cwnd) = part.trim_end_matches('!').split_once('x').unwrap();
            let (rounds, cwnd): (u32, u32) = (rounds.parse().unwrap(), cwnd.parse().unwrap());
            (0..rounds).for_each(|_| mean.round(cwnd));
            if part.ends_with('!') {
                mean.lost();
            }
            mean.parts()
        };
        let means: Vec<u64> = parts.split_whitespace().map(after).collect();
        let expected: Vec<u64> = expected
            .split_whitespace()
            .map(|mean| mean.parse().unwrap())
            .collect();
        assert_eq!(means, expected, "{parts}");
        count += 1;
    }
    assert!(count >= 7, "only {count} rows");
}

#[test]
fn two_equal_paths_share_what_one_reno_would_take() {
    // w = 10 each, equal RTTs: α/w_tot = (w/r²)/(2w/r)² = 1/(4w), a quarter of Reno's growth on each.
    let flows = [flow(10, 20_000), flow(10, 20_000)];
    let growth = Controller::Lia.increase(0, &flows).0 as f64;
    assert!((growth - q32(1.0 / 40.0)).abs() < 16.0, "{growth}");
}

#[test]
fn a_single_path_is_reno_for_every_controller() {
    let flows = [flow(20, 30_000)];
    for controller in [Controller::Lia, Controller::Olia, Controller::Balia] {
        let growth = controller.increase(0, &flows).0 as f64;
        assert!(
            (growth - q32(1.0 / 20.0)).abs() <= 16.0,
            "{controller:?}: {growth}"
        );
        assert_eq!(controller.after_loss(0, &flows), 10);
        let larger_before = Flow {
            mean: MeanWindow::of(30 << 16),
            ..flows[0]
        };
        assert_eq!(controller.increase(0, &[larger_before]).0 as f64, growth);
    }
}

#[test]
fn olia_moves_windows_from_the_largest_to_the_best() {
    let best = Flow {
        interval: Interval {
            since_loss: 1_000_000,
            between_losses: 0,
        },
        ..flow(5, 20_000)
    };
    let large = Flow {
        interval: Interval {
            since_loss: 1_000,
            between_losses: 0,
        },
        ..flow(50, 20_000)
    };
    // With the two intervals swapped, the best path has the largest window, and nothing moves.
    let still = [
        Flow {
            interval: large.interval,
            ..best
        },
        Flow {
            interval: best.interval,
            ..large
        },
    ];
    let moved =
        |own| Controller::Olia.increase(own, &[best, large]).0 - Controller::Olia.increase(own, &still).0;
    assert!(moved(0) > 0 && moved(1) < 0);
}

#[test]
fn balia_takes_up_to_three_quarters_of_a_slow_path() {
    let flows = [flow(100, 10_000), flow(40, 100_000)];
    assert_eq!(Controller::Balia.after_loss(0, &flows), 50);
    assert_eq!(Controller::Balia.after_loss(1, &flows), 10);
}

/// Loss probability at which the window of the first path neither grows nor shrinks.
fn loss_in_balance(controller: Controller, flows: &[Flow]) -> f64 {
    let lost = flows[0].cwnd - controller.after_loss(0, flows);
    controller.increase(0, flows).0 as f64 / q32(1.0) / f64::from(lost)
}

#[test]
fn balia_holds_less_of_a_congested_path_than_lia_until_a_tenth_is_left() {
    let held = |times: u32| {
        let flows = [flow(1_000, 50_000), flow(1_000 * times, 50_000)];
        loss_in_balance(Controller::Balia, &flows) / loss_in_balance(Controller::Lia, &flows)
    };
    assert!(held(8) < 0.95, "{}", held(8));
    assert!((held(9) - 0.98).abs() < 0.03, "{}", held(9));
    assert!(held(12) > 1.1, "{}", held(12));
}

#[test]
fn equal_paths_take_no_more_because_of_their_sawtooth() {
    // Windows of 8 to 16 segments, mean 12, each a quarter of a sawtooth apart.
    let mut mean = MeanWindow::default();
    let saw = (0..8 * 20).map(|round| 8 + round % 8);
    for cwnd in saw {
        mean.round(cwnd);
        if cwnd == 15 {
            mean.lost();
        }
    }
    assert!((mean.parts() as f64 / 65_536.0 - 11.5).abs() < 0.1, "{mean:?}");
    let growth = |mean| {
        let flows = [8, 10, 12, 14].map(|cwnd| Flow {
            mean,
            ..flow(cwnd, 20_000)
        });
        Controller::Lia.increase(0, &flows).0 as f64 / q32(1.0)
    };
    let (of_the_moment, in_balance) = (growth(MeanWindow::default()), growth(mean));
    assert!((in_balance - 1.0 / (16.0 * 11.5)).abs() < 1e-4, "{in_balance}");
    assert!(of_the_moment > 1.25 * in_balance, "{of_the_moment}");
}

#[test]
fn lia_weights_mean_windows_by_themselves() {
    let path = |mean: u64| Flow {
        mean: MeanWindow::of(mean << 16),
        ..flow(20, 20_000)
    };
    let alpha = |first, second| {
        let growth = Controller::Lia.increase(0, &[path(first), path(second)]).0;
        growth as f64 / q32(1.0) * ((first + second) * (first + second)) as f64
    };
    // With equal round trips, α/w_tot times (Σw)² is the value used as the largest window.
    assert!((alpha(20, 20) - 20.0).abs() < 1e-3);
    assert!((alpha(30, 20) - 1_300.0 / 50.0).abs() < 1e-3, "{}", alpha(30, 20));
    assert!((alpha(40, 5) - 1_625.0 / 45.0).abs() < 1e-3, "{}", alpha(40, 5));
}

#[test]
fn a_mean_follows_a_lasting_change() {
    let mut mean = MeanWindow::default();
    (0..200).for_each(|_| mean.round(100));
    for round in 0..400 {
        mean.round(10);
        if round % 8 == 7 {
            mean.lost();
        }
    }
    assert!(mean.parts() < 11 * 65_536, "{mean:?}");
    let left = Flow {
        mean: MeanWindow::of(100 << 16),
        ..flow(10, 20_000)
    };
    let known = Flow {
        mean: MeanWindow::of(40 << 16),
        ..flow(10, 20_000)
    };
    let growth = |path| Controller::Lia.increase(1, &[path, flow(10, 20_000)]);
    assert_eq!(
        growth(left),
        growth(known),
        "no more than four times what it is now"
    );
}

#[test]
fn credit_adds_up_to_whole_segments() {
    let mut credit = Credit::default();
    let growth = Increase(1 << 30);
    let total: i32 = (0..400).map(|_| credit.add(growth, 1)).sum();
    assert_eq!(total, 100);
    let lost: i32 = (0..400).map(|_| credit.add(Increase(-(1 << 30)), 1)).sum();
    assert_eq!(lost, -100);
}

#[test]
fn cubic_has_its_plateau_where_the_loss_was() {
    let mut cubic = Cubic::default();
    let mut window = cubic.after_loss(1_000);
    assert_eq!(window, 700);
    // K = ∛(300/0.4) = 9.086 s: the window is W_max again. A 50 ms round trip acknowledges one window.
    let mut credit = Credit::default();
    for round in 0..181 {
        let acknowledged = window;
        for _ in 0..acknowledged {
            window = window
                .saturating_add_signed(credit.add(cubic.increase(round * 50_000, 1, window, 50_000), 1));
        }
    }
    assert!((985..=1_015).contains(&window), "{window}");
    assert_eq!(cubic.after_loss(1_000), 700);
    // Fast convergence: W_max shrinks further if the loss happens below the last loss's window.
    assert_eq!(cubic.after_loss(800), 560);
}

#[test]
fn a_fading_path_is_cut_once_and_the_others_gain_what_it_lost() {
    let fading = Report {
        rate: 1e6,
        base_rtt_s: 0.02,
        mi: -0.8,
        q: 0.3,
        queued: false,
    };
    let steady = Report {
        rate: 2e6,
        base_rtt_s: 0.06,
        mi: 0.0,
        q: 1.0,
        queued: false,
    };
    let mut stage = MobileStage::default();
    let windows = stage.report(&[fading, steady], 1_448).unwrap();
    // R_off = 1e6 · 0.7 · −0.8 = −5.6e5.
    assert_eq!(windows[0], (4.4e5 * 0.02 / 1_448.0) as u32);
    assert_eq!(windows[1], (2.56e6 * 0.06 / 1_448.0) as u32);
    assert_eq!(stage.report(&[fading, steady], 1_448), None);
    assert_eq!(
        stage.report(
            &[
                Report {
                    q: 0.6,
                    mi: 0.1,
                    ..fading
                },
                steady
            ],
            1_448
        ),
        None
    );
    assert!(stage.report(&[fading, steady], 1_448).is_some());
    assert_eq!(bdp_upper_bound(None), 10);
}

/// Ten parts in 2³⁰.
const TEN: f64 = 10.0 / 1_073_741_824.0;

/// OLIA's equation in real numbers, for paths that all count. `None` if a path is at the edge of a set.
fn olia(own: usize, flows: &[Flow]) -> Option<f64> {
    let square = |x: f64| x * x;
    let window = |f: &Flow| f64::from(f.cwnd);
    let rtt = |f: &Flow| f64::from(f.srtt_us);
    let quality = |f: &Flow| f.interval.since_loss.max(f.interval.between_losses) as f64 / square(rtt(f));
    let near = |measure: &dyn Fn(&Flow) -> f64| {
        let most = flows.iter().map(measure).fold(0.0, f64::max);
        let ratios: Vec<f64> = flows
            .iter()
            .map(|f| if most > 0.0 { measure(f) / most } else { 1.0 })
            .collect();
        let edge = ratios
            .iter()
            .any(|ratio| (ratio * 64.0 / 63.0 - 1.0).abs() < 1e-6);
        (!edge).then(|| {
            ratios
                .iter()
                .map(|ratio| *ratio >= 63.0 / 64.0)
                .collect::<Vec<bool>>()
        })
    };
    let (best, largest) = (near(&quality)?, near(&window)?);
    let collected: Vec<bool> = best
        .iter()
        .zip(&largest)
        .map(|(best, largest)| *best && !largest)
        .collect();
    let members = |set: &[bool]| set.iter().filter(|member| **member).count() as f64;
    let n = flows.len() as f64;
    let alpha = match members(&collected) {
        0.0 => 0.0,
        count if collected[own] => 1.0 / (n * count),
        _ if largest[own] => -1.0 / (n * members(&largest)),
        _ => 0.0,
    };
    let total: f64 = flows.iter().map(|f| window(f) / rtt(f)).sum();
    let own = &flows[own];
    Some(window(own) / square(rtt(own)) / square(total) + alpha / window(own))
}

proptest! {
    #[test]
    fn olia_agrees_with_its_equation(
        paths in prop::collection::vec((1u32..1 << 20, 1u32..10_000_000, 0u64..1 << 40, 0u64..1 << 40), 1..=MOST_PATHS), own_at: prop::sample::Index
    ) {
        let own = own_at.index(paths.len());
        let flows: Vec<Flow> = paths.iter().map(|&(cwnd, rtt, since_loss, between_losses)| Flow {
            interval: Interval { since_loss, between_losses }, ..flow(cwnd, rtt)
        }).collect();
        let Some(exact) = olia(own, &flows) else { return Ok(()) };
        let exact = exact * 4_294_967_296.0;
        let growth = Controller::Olia.increase(own, &flows).0 as f64;
        // Each of the two terms has its own error.
        prop_assert!((growth - exact).abs() <= (exact.abs() + 4_294_967_296.0 / f64::from(flows[own].cwnd)) * TEN + 3.0, "{} against {}", growth, exact);
        prop_assert_eq!(Controller::Olia.after_loss(own, &flows), (flows[own].cwnd / 2).max(2));
    }

    #[test]
    fn reno_agrees_with_its_equation(cwnd in 1u32..) {
        let growth = Controller::Reno.increase(0, &[flow(cwnd, 20_000)]).0 as f64;
        let exact = q32(1.0 / f64::from(cwnd));
        prop_assert!(growth <= exact && growth >= exact * (1.0 - 1.0 / 2_147_483_648.0) - 1.0, "{} against {}", growth, exact);
        prop_assert_eq!(Controller::Reno.after_loss(0, &[flow(cwnd, 20_000)]), (cwnd / 2).max(2));
    }

    #[test]
    fn lia_agrees_with_its_equation_and_never_beats_reno(
        windows in prop::collection::vec((1u32..1 << 20, 1u32..10_000_000), 1..8), own_at: prop::sample::Index
    ) {
        let own = own_at.index(windows.len());
        let flows: Vec<Flow> = windows.iter().map(|&(cwnd, rtt)| flow(cwnd, rtt)).collect();
        let real = |f: &Flow| (f64::from(f.cwnd), f64::from(f.srtt_us));
        let total: f64 = flows.iter().map(|f| real(f).0 / real(f).1).sum();
        let best = flows.iter().map(|f| real(f).0 / real(f).1 / real(f).1).fold(0.0, f64::max);
        let exact = q32((best / total / total).min(1.0 / real(&flows[own]).0));
        let growth = Controller::Lia.increase(own, &flows).0 as f64;
prop_assert!((growth - exact).abs() <= exact * TEN + 3.0, "{} against {}", growth, exact);
        prop_assert!(Controller::Lia.increase(own, &flows) <= Controller::Reno.increase(own, &flows));
    }

    #[test]
    fn balia_agrees_with_its_equation(a in (1u32..1 << 16, 100u32..1_000_000), b in (1u32..1 << 16, 100u32..1_000_000)) {
        let flows = [flow(a.0, a.1), flow(b.0, b.1)];
        let x = |f: &Flow| f64::from(f.cwnd) / f64::from(f.srtt_us);
        let total = x(&flows[0]) + x(&flows[1]);
        let ratio = x(&flows[0]).max(x(&flows[1])) / x(&flows[0]);
        let exact = q32(x(&flows[0]) / (f64::from(a.1) * total * total) * (1.0 + ratio) / 2.0 * (4.0 + ratio) / 5.0);
        let growth = Controller::Balia.increase(0, &flows).0 as f64;
        prop_assert!((growth - exact).abs() <= exact * 2.0 * TEN + 1.0, "{} against {}", growth, exact);
        let left = Controller::Balia.after_loss(0, &flows);
        let exact = f64::from(a.0) * (1.0 - ratio.min(1.5) / 2.0);
        prop_assert!((f64::from(left) - exact.max(2.0)).abs() <= 1.0, "{} segments, not {}", left, exact);
    }

    #[test]
    fn olia_alphas_sum_to_zero(paths in prop::collection::vec((1u32..1_000, 1_000u32..200_000, 0u64..1 << 30), 2..8)) {
        let with = |since_loss: bool| -> Vec<Flow> {
            paths.iter().map(|&(cwnd, rtt, bytes)| Flow {
                interval: Interval { since_loss: if since_loss { bytes } else { 0 }, between_losses: 0 }, ..flow(cwnd, rtt)
            }).collect()
        };
        let (flows, n) = (with(true), paths.len() as i64);
        // Σ α_r = Σ w_r · (growth with α − growth without) = 0, or +1/n − 1/n over the sets: no window is
        // created.
        let kelly = |own: usize| {
            let total = total_rate(&flows);
            flows[own].gradient().over(total).over(total).to_q32() as i64
        };
        let alpha: i64 = (0..flows.len()).map(|own| {
            (Controller::Olia.increase(own, &flows).0 - kelly(own)) * i64::from(flows[own].cwnd)
        }).sum();
        prop_assert!(alpha.abs() <= n * 1_001, "{}", alpha);
    }

    #[test]
    fn nothing_overflows(cwnd: u32, srtt_us: u32, mean: u64, other: u32, since_loss: u64, between_losses: u64) {
        let (mean, interval) = (MeanWindow::of(mean), Interval { since_loss, between_losses });
        let flows = [Flow { cwnd, srtt_us, mean, interval }, flow(other, other)];
        for controller in [Controller::Reno, Controller::Lia, Controller::ClaPrinted, Controller::Olia, Controller::Balia] {
            let growth = controller.increase(0, &flows).0;
            prop_assert!((-(1 << 32)..=2 << 32).contains(&growth));
            prop_assert!(controller.after_loss(0, &flows) >= 2);
        }
    }

    #[test]
    fn mobility_and_quality_stay_in_their_bounds(trend in -1e6f64..1e6, own in -5_000i32..10_000, other in -5_000i32..10_000) {
        prop_assert!((-1.0..=1.0).contains(&mobility_index(trend)));
        prop_assert_eq!(mobility_index(trend) < 0.0, trend < 0.0);
        let q = quality(Db::from_centi(own), Some(Db::from_centi(other)));
        prop_assert!(q >= Ratio::ZERO && q <= Ratio::ONE);
        prop_assert_eq!(quality(Db::from_centi(own), None), Ratio::ONE);
    }
}

use units::{Db, Ratio};

mod asked;
mod fluid;
mod missed;

use super::*;
use proptest::prelude::*;

fn need(mbps: u64, rtt_ms: u64) -> Need {
    Need {
        rate: Bitrate::from_mbps(mbps),
        goodput: Bitrate::from_mbps(mbps),
        under_way: Bitrate::from_mbps(mbps) * Duration::from_millis(rtt_ms),
        links: 1,
        queued: true,
        rtt: Duration::from_millis(rtt_ms),
        received: Bytes::from_kib(1_024),
        repair: Duration::ZERO,
        sinking: false,
        held: Bytes::ZERO,
        wired: false,
        drains: false,
        doubted: false,
    }
}

const LOOK: Duration = Duration::from_millis(50);

/// A sender whose goodput is limited by the window and the links. Below `enough` it falls.
struct Fluid {
    window: Window,
    now: Instant,
    received: Bytes,
    changes: Vec<Bytes>,
}

impl Fluid {
    fn new() -> Self {
        Self {
            window: Window::default(),
            now: Instant::ZERO,
            received: Bytes::from_kib(1_024),
            changes: Vec::new(),
        }
    }

    fn run(&mut self, seconds: u64, need: Need, enough: Bytes, demand_percent: u64) {
        for _ in 0..seconds * 20 {
            self.step(need, enough, demand_percent);
        }
    }

    fn step(&mut self, need: Need, enough: Bytes, demand_percent: u64) {
        let set = self.window.set.unwrap_or(MOST).min(enough);
        let share = Bitrate::from_bps(
            (u128::from(need.rate.as_bps()) * u128::from(set.get()) / u128::from(enough.get())) as u64,
        );
        self.bring(need, share.percent(demand_percent));
    }

    /// A tick after a twentieth of a second in which data arrived at `rate`.
    fn bring(&mut self, need: Need, rate: Bitrate) {
        self.now += LOOK;
        self.received += rate * LOOK;
        let received = self.received;
        let changed = self.window.update(self.now, Need { received, ..need });
        self.changes.extend(changed);
    }

    fn set(&self) -> Bytes {
        self.window.set.unwrap()
    }
}

/// `golden/window.csv`: rate, round trip, sixteenths, window.
#[test]
fn golden_vectors_hold() {
    let rows = include_str!("../../../../golden/window.csv")
        .lines()
        .filter(|line| !line.starts_with(['#', 'r']));
    let mut count = 0;
    for row in rows {
        let numbers: alloc::vec::Vec<u64> = row.split(',').map(|cell| cell.trim().parse().unwrap()).collect();
        let need = Need {
            rate: Bitrate::from_kbps(numbers[0]),
            ..need(0, numbers[1])
        };
        assert_eq!(need.target(numbers[2]), Bytes::new(numbers[3]), "{row}");
        count += 1;
    }
    assert!(count >= 8, "only {count} vectors");
}

#[test]
fn starts_wide_and_falls_to_the_formula() {
    let mut fluid = Fluid::new();
    let target = need(90, 50).target(USUAL);
    fluid.run(3, need(90, 50), target, 100);
    assert_eq!(fluid.changes[0], need(90, 50).growing_target());
    assert!(
        fluid.set() >= target && fluid.set() < target * 108 / 100,
        "{} for {target}",
        fluid.set()
    );
}

#[test]
fn a_new_connection_is_capped_from_the_start_and_may_grow() {
    let mut window = Window::default();
    let first = Need {
        received: Bytes::from_kib(40),
        ..need(40, 50)
    };
    let wide = |need: Need| Some(need.growing_target());
    assert_eq!(window.update(Instant::ZERO, first), wide(first));
    assert_eq!(
        window.update(Instant::from_millis(140), need(90, 50)),
        wide(need(90, 50))
    );
}

#[test]
fn growth_has_room_for_half_of_what_is_in_flight_and_for_the_latest_rate() {
    let [slow, fast] = [need(30, 50), need(60, 50)];
    assert_eq!(slow.growing_target(), slow.target(USUAL) + slow.under_way / 2);
    let soon = Need {
        goodput: fast.rate,
        under_way: fast.under_way,
        ..slow
    };
    assert_eq!(soon.growing_target(), fast.growing_target());
}

#[test]
fn only_slow_start_is_ticked_often() {
    let (mut window, ms) = (Window::default(), Instant::from_millis);
    assert!(window.is_due(ms(10)), "it may begin at once");
    let nothing = Need {
        received: Bytes::ZERO,
        ..need(30, 50)
    };
    assert_eq!(window.update(ms(90), nothing), None);
    assert!(!window.is_due(ms(95)) && window.is_due(ms(100)));
    assert!(!window.is_due(ms(2_000)), "of who receives nothing");
    window.update(ms(100), need(30, 50));
    assert!(!window.is_due(ms(105)) && window.is_due(ms(110)));
    for at in (150..3_000).step_by(50) {
        window.update(ms(at), need(30, 50));
    }
    assert!(!window.is_due(ms(60_000)), "nothing has grown for long");
}

#[test]
fn the_room_to_grow_ends_for_good_after_three_round_trips_without_growth() {
    let mut window = Window::default();
    let settled = |need: Need| need.target(USUAL);
    assert_eq!(
        window.update(Instant::ZERO, need(90, 50)),
        Some(need(90, 50).growing_target())
    );
    for ms in (50..2_000).step_by(50) {
        window.update(Instant::from_millis(ms), need(100, 50));
    }
    assert!(window.bound() < Some(settled(need(100, 50)) * 9 / 8));
    let more = need(200, 50);
    assert_eq!(
        window.update(Instant::from_millis(2_000), more),
        Some(settled(more))
    );
}

#[test]
fn a_short_round_trip_gets_extra_room_and_a_long_one_does_not() {
    let (rate, ms) = (Bitrate::from_mbps(60), Duration::from_millis);
    assert_eq!(need(60, 30).target(USUAL), rate * ms(30 + 16));
    assert_eq!(need(60, 100).target(USUAL), rate * ms(125));
    let sinking = Need {
        repair: Duration::ZERO,
        sinking: true,
        ..need(60, 30)
    };
    assert_eq!(sinking.target(16), rate * ms(30));
}

#[test]
fn rises_at_once() {
    let mut fluid = Fluid::new();
    fluid.run(3, need(30, 20), Bytes::from_kib(100), 100);
    let now = fluid.now + Duration::from_millis(1);
    let target = need(90, 50).target(USUAL);
    assert_eq!(fluid.window.update(now, need(90, 50)), Some(target));
}

#[test]
fn leaves_short_and_idle_connections_alone() {
    let mut window = Window::default();
    assert_eq!(
        window.update(
            Instant::ZERO,
            Need {
                received: Bytes::from_kib(10),
                ..need(90, 50)
            }
        ),
        None
    );
    assert_eq!(window.update(Instant::ZERO, need(0, 50)), None);
}

#[test]
fn low_demand_changes_no_window() {
    let mut fluid = Fluid::new();
    fluid.run(5, need(90, 50), Bytes::from_kib(64), 30);
    let settled = fluid.changes.len();
    fluid.run(120, need(90, 50), Bytes::from_kib(64), 30);
    assert_eq!(fluid.changes.len(), settled, "quiet when the links are not full");
}

#[test]
fn while_a_signal_falls_nothing_is_queued() {
    let mut fluid = Fluid::new();
    let (need, usual) = (need(90, 50), need(90, 50).target(USUAL));
    fluid.run(3, need, usual, 100);
    let settled = fluid.set();
    let sinking = Need {
        sinking: true,
        ..need
    };
    fluid.run(3, sinking, usual, 100);
    let product = Bitrate::from_mbps(90) * Duration::from_millis(50);
    assert!(
        fluid.set() >= product && fluid.set() <= product * 108 / 100,
        "{}",
        fluid.set()
    );
    fluid.run(1, need, usual, 100);
    assert!(fluid.set() >= settled * 9 / 10, "{} after {settled}", fluid.set());
}

proptest! {
    #[test]
    fn a_window_stays_within_limits_and_settles(mbps in 1u64..1_000, rtt_ms in 1u64..500, enough in 8u64..64) {
        let need = need(mbps, rtt_ms);
        let mut fluid = Fluid::new();
        fluid.run(30, need, need.target(enough), 100);
        prop_assert!(fluid.changes.iter().all(|&window| window >= LEAST && window <= MOST));
        let settled = fluid.changes.len();
        fluid.run(60, need, need.target(enough), 100);
        prop_assert_eq!(fluid.changes.len(), settled, "{:?}", &fluid.changes[settled..]);
    }

    #[test]
    fn the_target_grows_with_rate_and_delay(mbps in 1u64..1_000, rtt_ms in 1u64..500, more in 1u64..100) {
        let base = need(mbps, rtt_ms).target(USUAL);
        prop_assert!(need(mbps + more, rtt_ms).target(USUAL) >= base);
        prop_assert!(need(mbps, rtt_ms + more).target(USUAL) >= base);
    }
}

#[test]
fn a_standstill_behind_a_slow_link_extends_slow_start_but_not_forever() {
    // This percentage of the window is out-of-order data.
    let after = |waiting: u64, millis: u64| {
        let mut window = Window::default();
        for at in (0..=millis).step_by(50) {
            let held = window.set.unwrap_or_default() * waiting / 100;
            window.update(Instant::from_millis(at), Need { held, ..need(40, 50) });
        }
        window.set.unwrap()
    };
    let usual = need(40, 50).target(USUAL);
    let growing = need(40, 50).growing_target();
    assert_eq!(after(0, 100), growing);
    assert!(after(0, 1_000) < usual * 17 / 16, "nothing grows any more");
    assert!(
        after(60, 1_000) > growing * 3 / 2,
        "all wait: that much more has room"
    );
    assert!(after(60, 4_000) < usual * 17 / 16, "but not for ever");
}

#[test]
fn room_for_out_of_order_bytes_ends_with_slow_start() {
    let (mut window, ms) = (Window::default(), Instant::from_millis);
    let growing = need(40, 50).growing_target();
    let held = growing * 3 / 4;
    window.update(ms(0), need(40, 50));
    let waiting = Need { held, ..need(40, 50) };
    assert_eq!(window.update(ms(10), waiting), Some(growing + held));
    assert_eq!(window.update(ms(20), need(40, 50)), Some(growing));
}

#[test]
fn out_of_order_bytes_behind_a_demoted_link_have_room() {
    let mut window = Window::default();
    let need = need(60, 30);
    let mut run = |from: u64, to: u64, need: Need| {
        for at in (from..to).step_by(50) {
            window.update(Instant::from_millis(at), need);
        }
        window.set.unwrap()
    };
    let waiting = Need {
        held: Bytes::from_kib(300),
        drains: true,
        ..need
    };
    let before = run(0, 3_000, need);
    assert!(run(3_000, 3_050, waiting) >= before + Bytes::from_kib(280));
    assert!(run(3_050, 6_000, need) <= before * 17 / 16);
}

#[test]
fn over_cables_out_of_order_bytes_have_room() {
    let after = |wired: bool, millis: u64| {
        let mut window = Window::default();
        for at in (0..=millis).step_by(50) {
            let held = window.set.unwrap_or_default() * 60 / 100;
            let need = Need {
                held,
                wired,
                ..need(40, 50)
            };
            window.update(Instant::from_millis(at), need);
        }
        window.set.unwrap()
    };
    let formula = need(40, 50).target(USUAL);
    assert!(after(true, 4_000) > formula * 3 / 2);
    assert!(after(false, 4_000) < formula * 5 / 4);
    assert!(after(true, 8_000) > formula * 3 / 2);
}

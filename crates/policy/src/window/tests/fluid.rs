//! The controller against links and a sender ([`world`]).

mod link;
mod many;
mod world;

use super::*;
use link::Shape;
use proptest::test_runner::RngSeed;
use std::vec::Vec;
use world::{Change, World};

/// The window is 1.25 products, not with the 2 that survive a loss without a halt (RFC 6182
/// §5.3). All links wait for what one has lost, and what is sent at once when it has arrived overflows other
/// queues. In the worst case all congestion windows are halved together, to half of what is in flight when
/// the links are full. Reno then reaches three quarters on average, less the halts.
///
/// With 2 products and the same model, 95 sets of links of 100 reach at least 98 % of a stock host's goodput.
/// The worst of 300 reaches 86. Here 95 of 100 reach 88 or more, and the worst 78.
const HALVED_TOGETHER: u64 = 70;
/// Marks halve windows without a halt. Short queues overflow before they are marked.
const MARKED: u64 = 80;
/// No other link has to be waited for.
const ALONE: u64 = 92;

/// Some links, and whether they are cables.
#[derive(Debug, Clone)]
struct Place {
    shapes: Vec<Shape>,
    wired: bool,
}

impl Place {
    fn world(&self) -> World {
        World::new(&self.shapes, self.wired)
    }

    fn stock(&self) -> World {
        World::stock(&self.shapes)
    }

    /// With one fixed window: this many quarters of what is in flight when every link is full.
    fn fixed(&self, quarters: u64) -> World {
        let window = self.stock().product() * quarters / 4;
        World::fixed(&self.shapes, self.wired, window.clamp(LEAST, MOST))
    }

    fn scaled(&self, rate: u64, rtt: u64) -> Self {
        let scale = |shape: &Shape| Shape {
            mbps: shape.mbps * rate,
            rtt_ms: shape.rtt_ms * rtt,
            ..*shape
        };
        Self {
            shapes: self.shapes.iter().map(scale).collect(),
            ..*self
        }
    }
}

/// No link carries less than a seventh of all: one that does soon becomes a backup ([`crate::slow`]).
fn any_link() -> impl Strategy<Value = Shape> {
    (15u64..40, 10u64..100, 5u64..40).prop_map(|(mbps, rtt_ms, queue_tenths)| Shape {
        mbps,
        rtt_ms,
        queue_tenths,
    })
}

fn any_place(most: usize) -> impl Strategy<Value = Place> {
    let shapes = proptest::collection::vec(any_link(), 1..=most);
    (shapes, any::<bool>()).prop_map(|(shapes, wired)| Place { shapes, wired })
}

/// Goodput in the next seconds.
fn goodput(world: &mut World, seconds: u64) -> Bitrate {
    let before = world.received();
    world.run(seconds);
    (world.received() - before).per(Duration::from_secs(seconds))
}

/// Goodput in two minutes, after the first half.
fn steady(mut world: World) -> Bitrate {
    world.run(30);
    goodput(&mut world, 120)
}

/// The course of the window.
#[derive(Debug)]
struct Course {
    mean: f64,
    least: Bytes,
    most: Bytes,
    /// How often it rose after a fall, or fell after a rise.
    reversals: usize,
}

/// The course of the window in the next seconds.
fn course(world: &mut World, seconds: u64) -> Course {
    let (begins, first) = (world.now, world.bound());
    let settled = world.changes.len();
    world.run(seconds);
    let changes = &world.changes[settled..];
    let mut windows = std::vec![first];
    windows.extend(changes.iter().map(|change| change.window));
    let ends = changes.iter().map(|change| change.at).chain([world.now]);
    let (mut area, mut since) = (0.0, begins);
    for (window, until) in windows.iter().zip(ends) {
        area += window.get() as f64 * (until - since).as_secs_f64();
        since = until;
    }
    let steps = || changes.windows(3).map(|steps| [steps[0], steps[1], steps[2]]);
    Course {
        mean: area / (world.now - begins).as_secs_f64(),
        least: windows.iter().copied().min().unwrap(),
        most: windows.iter().copied().max().unwrap(),
        reversals: steps().filter(turns).count(),
    }
}

fn turns([first, second, third]: &[Change; 3]) -> bool {
    (first.window < second.window) != (second.window < third.window)
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(9),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// From the start, whatever the links and the demand are.
    #[test]
    fn a_window_stays_within_its_bounds(place in any_place(3), demand in 1u64..200) {
        let mut world = place.world();
        world.demand = demand;
        world.run(60);
        prop_assert!(!world.changes.is_empty());
        prop_assert!(world.changes.iter().all(|change| (LEAST..=MOST).contains(&change.window)), "{:?}", world.changes);
    }

    /// An idle connection says nothing about windows.
    #[test]
    fn where_nothing_is_asked_nothing_changes(place in any_place(3), busy_for in 5u64..40) {
        let mut world = place.world();
        world.run(busy_for);
        world.ask(0);
        world.run(5);
        let settled = world.changes.len();
        prop_assert!(settled > 0);
        world.run(60);
        prop_assert_eq!(world.changes.len(), settled, "{:?}", &world.changes[settled..]);
    }

    /// Low demand changes nothing either: the window is as before when demand rises again.
    #[test]
    fn where_little_is_asked_nothing_changes(place in any_place(3), busy_for in 20u64..40, demand in 1u64..=30) {
        let mut world = place.world();
        world.run(busy_for - 10);
        let before = goodput(&mut world, 10);
        world.ask(demand);
        world.run(5);
        let settled = world.changes.len();
        world.run(60);
        prop_assert_eq!(world.changes.len(), settled, "{:?}", &world.changes[settled..]);
        world.ask(1_000);
        world.run(3);
        let after = goodput(&mut world, 10);
        prop_assert!(after >= before.percent(90), "{after} after {before}");
    }

    /// A connection whose demand was always low gets all it asks for within ten seconds, as far as the links
    /// permit.
    #[test]
    fn who_asked_for_little_from_the_beginning_is_not_held_to_it(place in any_place(3), demand in 1u64..=30) {
        let after = |mut world: World| {
            world.demand = demand;
            world.run(60);
            world.ask(1_000);
            world.run(10);
            goodput(&mut world, 30)
        };
        let (ours, stock) = (after(place.world()), after(place.stock()));
        prop_assert!(ours >= stock.percent(HALVED_TOGETHER), "{ours} of {stock}");
    }

    /// It cannot stay constant. The rates shown follow the senders' congestion windows, and are forgotten in
    /// halves of ten seconds, with a reversal in each.
    #[test]
    fn a_window_does_not_swing(place in any_place(3)) {
        let mut world = place.world();
        // Over cables their room follows them.
        world.reports_held = !place.wired;
        world.run(60);
        let course = course(&mut world, 120);
        prop_assert!(course.reversals <= 120 / 5, "{course:?}");
        prop_assert!(course.most <= course.least * 2, "{course:?}");
    }

    /// Over cables the room of out-of-order bytes is up to twice the rest, and changes about once a second.
    #[test]
    fn the_room_of_out_of_order_bytes_has_bounds(place in any_place(3)) {
        let mut world = Place { wired: true, ..place }.world();
        world.run(60);
        let course = course(&mut world, 120);
        prop_assert!(course.reversals <= 120, "{course:?}");
        prop_assert!(course.most <= course.least * 2 * 3, "{course:?}");
    }

    /// Soon after a link has joined or left, the present links are busy.
    #[test]
    fn links_may_come_and_go(place in any_place(2), other in any_link()) {
        let both = |mut world: World| {
            world.run(30);
            world.join(other);
            world.run(10);
            let with = goodput(&mut world, 30);
            world.leave();
            world.run(10);
            (with, goodput(&mut world, 30), world.changes)
        };
        let (with, without, changes) = both(place.world());
        let (stock_with, stock_without, _) = both(place.stock());
        prop_assert!(with >= stock_with.percent(HALVED_TOGETHER), "{with} of {stock_with}");
        prop_assert!(without >= stock_without.percent(HALVED_TOGETHER), "{without} of {stock_without}");
        prop_assert!(changes.iter().all(|change| (LEAST..=MOST).contains(&change.window)), "{changes:?}");
    }

    #[test]
    fn one_link_is_kept_busy(place in any_place(1)) {
        let (ours, stock) = (steady(place.world()), steady(place.stock()));
        prop_assert!(ours >= stock.percent(ALONE), "{ours} of {stock}");
    }

    #[test]
    fn several_links_are_kept_busy(place in any_place(3)) {
        let (ours, stock) = (steady(place.world()), steady(place.stock()));
        let percent = if place.wired { MARKED } else { HALVED_TOGETHER };
        prop_assert!(ours >= stock.percent(percent), "{ours} of {stock}");
    }
}

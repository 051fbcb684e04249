//! The controller over many sets of links at once: its goodput in the median and at worst. A limit for each
//! single set would have to be as low as the worst needs.
//!
//! `cargo test -p policy many -- --nocapture` prints the figures of docs/readings/tried.csv.

use super::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestRng, TestRunner};
use std::{print, println};

/// Thousandths, sorted.
struct Parts(Vec<u64>);

impl Parts {
    fn of(parts: impl Iterator<Item = u64>) -> Self {
        let mut parts: Vec<u64> = parts.collect();
        parts.sort_unstable();
        Self(parts)
    }

    fn median(&self) -> u64 {
        self.0[self.0.len() / 2]
    }

    fn in_the_worst_twentieth(&self) -> u64 {
        self.0[self.0.len() / 20]
    }

    fn worst(&self) -> u64 {
        self.0[0]
    }

    fn most(&self) -> u64 {
        self.0[self.0.len() - 1]
    }

    fn print(&self, what: &str) {
        let Self(parts) = self;
        print!(
            "{what}: median {}, worst twentieth {}, ",
            self.median(),
            self.in_the_worst_twentieth()
        );
        println!(
            "worst {}, most {} (thousandths, {} sets)",
            self.worst(),
            self.most(),
            parts.len()
        );
    }
}

fn thousandths(part: u64, whole: u64) -> u64 {
    part * 1_000 / whole.max(1)
}

/// The same sets in every run.
fn sets<T: core::fmt::Debug>(count: usize, strategy: impl Strategy<Value = T>) -> Vec<T> {
    let config = ProptestConfig::default();
    let random = TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, random);
    (0..count)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect()
}

/// Goodput in the minute after a link has joined, and in the half minute that starts ten seconds after it
/// left.
fn comes_and_goes(mut world: World, other: Shape) -> [Bitrate; 2] {
    world.run(30);
    world.join(other);
    let with = goodput(&mut world, 60);
    world.leave();
    world.run(10);
    [with, goodput(&mut world, 30)]
}

#[test]
fn many_joining_links_carry_as_much_as_with_a_stock_host() {
    let radio = any_place(2).prop_map(|place| Place {
        wired: false,
        ..place
    });
    let parts = sets(60, (radio, any_link())).into_iter().map(|(place, other)| {
        let (ours, stock) = (
            comes_and_goes(place.world(), other),
            comes_and_goes(place.stock(), other),
        );
        [0, 1].map(|part| thousandths(ours[part].as_bps(), stock[part].as_bps()))
    });
    let parts: Vec<[u64; 2]> = parts.collect();
    let [with, without] = [0, 1].map(|part| Parts::of(parts.iter().map(|parts| parts[part])));
    with.print("the minute after a link has joined");
    without.print("after it is gone");
    assert!(with.median() >= 970 && with.in_the_worst_twentieth() >= 850 && with.worst() >= 780);
    assert!(without.median() >= 980 && without.in_the_worst_twentieth() >= 900 && without.worst() >= 830);
}

/// Quarters of what is in flight when every link is full.
const FIXED: [u64; 9] = [2, 3, 4, 5, 6, 8, 10, 12, 16];
/// As good as the best.
const NO_LESS: u64 = 980;

/// The controller against the best of all fixed windows: its goodput over the best one's, and its mean over
/// the smallest that is as good as the best.
fn against_fixed(place: &Place) -> [u64; 2] {
    let fixed = FIXED.map(|quarters| {
        let world = place.fixed(quarters);
        (world.bound(), steady(world))
    });
    let best = fixed.iter().map(|(_, goodput)| *goodput).max().unwrap();
    let is_good = |(_, goodput): &&(Bytes, Bitrate)| thousandths(goodput.as_bps(), best.as_bps()) >= NO_LESS;
    let (enough, _) = fixed.iter().find(is_good).unwrap();
    let mut world = place.world();
    world.run(30);
    let before = world.received();
    let course = course(&mut world, 120);
    let goodput = (world.received() - before).per(Duration::from_secs(120));
    [
        thousandths(goodput.as_bps(), best.as_bps()),
        thousandths(course.mean as u64, enough.get()),
    ]
}

#[test]
fn many_sets_of_links_carry_as_much_as_with_the_best_fixed_window() {
    for wired in [true, false] {
        let places = sets(24, any_place(3).prop_map(move |place| Place { wired, ..place }));
        let parts: Vec<[u64; 2]> = places.iter().map(against_fixed).collect();
        let [goodput, window] = [0, 1].map(|part| Parts::of(parts.iter().map(|parts| parts[part])));
        let kind = if wired { "cables" } else { "radio" };
        goodput.print(&std::format!("{kind}: goodput over that with the best window"));
        window.print(&std::format!("{kind}: window over the smallest that is as good"));
        let worst = goodput.in_the_worst_twentieth();
        assert!(
            goodput.median() >= 985 && worst >= 920 && goodput.worst() >= 900,
            "{kind}"
        );
        // The factor is a quarter more than what is in flight when every link is full. Of some links, less
        // than that is enough.
        assert!(window.median() <= 1_250, "{kind}");
    }
}

/// Twice the rate, or twice the round trips: what fits in flight doubles. One set alone says little: the
/// rates shown follow congestion windows. The room beyond a short round trip does not change.
#[test]
fn many_windows_double_with_the_rate_and_with_the_round_trip() {
    let mean = |place: &Place| {
        let mut world = place.world();
        world.run(60);
        course(&mut world, 60).mean as u64
    };
    let places = sets(40, any_place(3));
    let bases: Vec<u64> = places.iter().map(mean).collect();
    let over = |rate, rtt| {
        let scaled = places.iter().map(|place| mean(&place.scaled(rate, rtt)));
        Parts::of(
            scaled
                .zip(&bases)
                .map(|(scaled, &base)| thousandths(scaled, base)),
        )
    };
    let (fast, far) = (over(2, 1), over(1, 2));
    fast.print("twice the rate");
    far.print("twice the round trip");
    assert!((1_800..2_200).contains(&fast.median()) && (1_600..2_200).contains(&far.median()));
    assert!(fast.worst() >= 1_300 && far.worst() >= 1_300);
}

/// One set of links always has the same course.
#[test]
fn many_courses_are_reproducible() {
    for place in sets(12, any_place(3)) {
        let [once, again] = [(); 2].map(|()| {
            let mut world = place.world();
            world.run(60);
            (world.received(), world.changes)
        });
        assert!(!once.1.is_empty());
        assert_eq!(once, again, "{place:?}");
    }
}

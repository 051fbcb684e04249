//! Rate control over channels that waver: fading that is independent between access points is a gain by itself, and who gets the air
//! depends on who decides about rates (nsdi15 §4.2).

use links::Position;
use links::air::{AirConfig, Ht, RateControl, StationConfig, StationId};
use links::wifi::Fading;
use sim::World;
use sim::cells::saturated;
use units::wifi::Standard;
use units::wifi::ht::{Guard, Width};
use units::{Bitrate, Duration};

const SECONDS: u64 = 20;
const PAYLOAD: u32 = 1_470;

fn station(name: &str, x_mm: i64, control: RateControl) -> StationConfig {
    StationConfig {
        control,
        ..StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 })
    }
}

/// Two access points 20 m apart that sense each other, and a client between them, once for each.
struct Between {
    at_mm: i64,
    control: RateControl,
    fading: Option<Fading>,
}

impl Between {
    /// Goodput of each access point's flow with those that send, in Mb/s, in the mean of a few runs.
    fn goodputs(&self, pairs: &[(u32, u32)]) -> Vec<f64> {
        let mut sums = vec![0.0; pairs.len()];
        for seed in 0..SEEDS {
            for (sum, mbps) in sums.iter_mut().zip(self.run(seed, pairs)) {
                *sum += mbps / SEEDS as f64;
            }
        }
        sums
    }

    fn run(&self, seed: u64, pairs: &[(u32, u32)]) -> Vec<f64> {
        let stations = vec![
            station("ap-1", 0, self.control),
            station("ap-2", 2 * MIDDLE_MM, self.control),
            station("client", self.at_mm, self.control),
        ];
        let mut config = AirConfig::new(Standard::A, stations);
        config.propagation.fading = self.fading;
        let flows = pairs.iter().map(|&(from, to)| saturated(from, to, PAYLOAD));
        let mut world = World::new(seed, &config, flows.collect()).unwrap();
        let time = Duration::from_secs(SECONDS);
        world.run_for(time);
        world.tallies().iter().map(|tally| tally.mbps(time)).collect()
    }
}

const SEEDS: u64 = 3;
const MIDDLE_MM: i64 = 15_000;
/// From one access point to the other, in 802.11n.
const FAR_MM: i64 = 25_000;
const BOTH: [(u32, u32); 2] = [(0, 2), (1, 2)];

const RAYLEIGH: Fading = Fading {
    k_factor: None,
    coherence: Duration::from_millis(50),
};

fn between(at_mm: i64, fading: Option<Fading>) -> Between {
    Between {
        at_mm,
        control: RateControl::Minstrel,
        fading,
    }
}

/// nsdi15 §4.2, case I: both channels are equally good in the mean and waver by themselves; who has the better one at the moment fails less,
/// backs off less, and sends more.
#[test]
fn between_two_access_points_independent_fading_is_a_gain() {
    let fading = between(MIDDLE_MM, Some(RAYLEIGH));
    let (one, both) = (fading.goodputs(&BOTH[..1])[0], fading.goodputs(&BOTH));
    let gain = (both[0] + both[1]) / one;
    println!("one {one:.2}, both {both:?}, gain {gain:.3}");
    assert!((1.10..1.25).contains(&gain), "{gain}: {one} {both:?}");
    // Without fading there is nothing to gain.
    let steady = between(MIDDLE_MM, None);
    let (one, both) = (steady.goodputs(&BOTH[..1])[0], steady.goodputs(&BOTH));
    let none = (both[0] + both[1]) / one;
    println!("steady: one {one:.2}, both {both:?}, gain {none:.3}");
    assert!(none < 1.06, "{none}: {one} {both:?}");
    assert!(gain > none + 0.03, "{gain} {none}");
}

/// nsdi15 §4.2, case II: near one access point. Minstrel tries fast rates at the far one, which fail and cost it its turns.
#[test]
fn near_an_access_point_minstrel_leaves_the_air_to_it() {
    let near = between(3_000, Some(RAYLEIGH));
    let (alone, both) = (near.goodputs(&BOTH[..1])[0], near.goodputs(&BOTH));
    println!("alone {alone:.2}, both {both:?}");
    assert!(both[0] + both[1] > 0.8 * alone, "{both:?} against {alone}");
    assert!(both[0] > 3.0 * both[1], "{both:?}");
}

/// Near one of two access points with Minstrel-HT: what is left of its throughput alone, and the far one's part of what both have on the air.
fn near_with_ht(frames: u32) -> (f64, f64) {
    let goodputs = |pairs: &[(u32, u32)], seed| {
        let ht = Some(Ht {
            frames,
            ..Ht::new(1, Width::Mhz20, Guard::Long)
        });
        let stations = [("ap-1", 0), ("ap-2", FAR_MM), ("client", 3_000)];
        let stations = stations.map(|(name, x_mm)| StationConfig {
            ht,
            ..station(name, x_mm, RateControl::Minstrel)
        });
        let config = AirConfig::new(Standard::A, stations.into());
        let flows = pairs.iter().map(|&(from, to)| saturated(from, to, PAYLOAD));
        let mut world = World::new(seed, &config, flows.collect()).unwrap();
        let time = Duration::from_secs(SECONDS);
        world.run_for(time);
        let air = [0, 1].map(|ap| world.air().counters(StationId(ap)).airtime.as_secs_f64());
        (world.total().mbps(time), air[1] / (air[0] + air[1]))
    };
    let (mut alone, mut both, mut far_air) = (0.0, 0.0, 0.0);
    for seed in 0..SEEDS {
        alone += goodputs(&BOTH[..1], seed).0;
        let (mbps, share) = goodputs(&BOTH, seed);
        both += mbps;
        far_air += share / SEEDS as f64;
    }
    println!(
        "Minstrel-HT, {frames} frames: kept {}, air of the far one {far_air}",
        both / alone
    );
    (both / alone, far_air)
}

/// nsdi15 §4.2, case II, 802.11n: Minstrel-HT chooses what gets through, so that the far access point wins as many turns as the near one, and
/// its packets take longer: "any rate control algorithm that offers packet-level fairness greatly harms".
///
/// They report about half of what the near one has alone. Ours comes to three quarters when frames go one by one. With aggregates more is left:
/// a collision costs the far one its whole aggregate, and probes of modes that do not reach fail; after each its window doubles.
#[test]
fn near_an_access_point_minstrel_ht_gives_the_far_one_its_turns() {
    let (single, aggregates) = (near_with_ht(1), near_with_ht(64));
    assert!(single.0 < 0.8 && single.1 > 0.5, "{single:?}");
    assert!(aggregates.0 < 0.9 && aggregates.1 > 0.1, "{aggregates:?}");
}

#[test]
fn every_control_comes_close_to_the_best_fixed_rate_on_a_steady_channel() {
    for x_mm in [3_000, 15_000, 22_000] {
        let run = |control, mbps| {
            let mut stations = vec![station("ap", 0, control), station("client", x_mm, control)];
            stations[0].rate = Bitrate::from_mbps(mbps);
            let config = AirConfig::new(Standard::A, stations);
            let mut world = World::new(1, &config, vec![saturated(0, 1, PAYLOAD)]).unwrap();
            let time = Duration::from_secs(SECONDS);
            world.run_for(time);
            let counters = world.air().counters(StationId(0));
            assert!(counters.attempts > 0);
            world.total().mbps(time)
        };
        let rates = [6, 9, 12, 18, 24, 36, 48, 54];
        let best = rates
            .map(|mbps| run(RateControl::Fixed, mbps))
            .into_iter()
            .fold(0.0, f64::max);
        let (aarf, minstrel) = (run(RateControl::Aarf, 54), run(RateControl::Minstrel, 54));
        println!("{x_mm} mm: best {best:.2}, AARF {aarf:.2}, Minstrel {minstrel:.2}");
        assert!(minstrel > 0.85 * best, "{x_mm}: {minstrel} of {best}");
        assert!(aarf > 0.7 * best, "{x_mm}: {aarf} of {best}");
    }
}

//! Rate control over channels that waver: fading that is independent between access points is a gain by itself, and who gets the air
//! depends on who decides about rates (nsdi15 §4.2).

use links::Position;
use links::air::{AirConfig, Ht, RateControl, StationConfig, StationId};
use links::wifi::Fading;
use sim::World;
use sim::cells::saturated;
use units::wifi::Standard;
use units::wifi::ht::{Guard, Width};
use units::{Bitrate, Db, Dbm, Duration};

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

    /// What both access points have together, over what one of them has alone in the mean of the two: over so many seeds, with the standard error.
    fn gain(&self, seeds: u64) -> (f64, f64) {
        let total = |seed, pairs: &[(u32, u32)]| self.run(seed, pairs).iter().sum::<f64>();
        let runs = (0..seeds).map(|seed| {
            let alone = f64::midpoint(total(seed, &BOTH[..1]), total(seed, &BOTH[1..]));
            (total(seed, &BOTH), alone)
        });
        let runs: Vec<(f64, f64)> = runs.collect();
        let (both, alone) = runs
            .iter()
            .fold((0.0, 0.0), |sums, run| (sums.0 + run.0, sums.1 + run.1));
        let gain = both / alone;
        // Of a ratio of means, by what is left of each run without it.
        let squares: f64 = runs
            .iter()
            .map(|(both, alone)| (both - gain * alone).powi(2))
            .sum();
        let count = seeds as f64;
        (gain, (squares / (count - 1.0) / count).sqrt() / (alone / count))
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
/// Gains of single runs spread by 4 %.
const GAIN_SEEDS: u64 = 20;
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

/// Fading with a steady path so much stronger than the scattered ones.
fn rice(db: i32) -> Option<Fading> {
    Some(Fading {
        k_factor: Some(Db::from_db(db)),
        ..RAYLEIGH
    })
}

/// nsdi15 §4.2, case I: both channels are equally good in the mean and waver by themselves; who has the better one at the moment fails less,
/// backs off less, and sends more: 10 to 20 % more than one of them alone.
///
/// How much the channels wavered is not said. 60 seeds gave 18.5 % where a steady path is as strong as all others together, 14.9 % at 3 dB more, 8.8 % at
/// 6 dB, and 2.4 % at 10 dB (each ± 0.4 at most); 10 seeds gave 1.4 % on channels that do not waver at all.
#[test]
fn between_two_access_points_independent_fading_is_a_gain() {
    let (none, _) = between(MIDDLE_MM, None).gain(SEEDS);
    println!("steady: gain {none:.3}");
    assert!(none < 1.06, "{none}");
    for db in [0, 3] {
        let (gain, error) = between(MIDDLE_MM, rice(db)).gain(GAIN_SEEDS);
        println!("K = {db} dB: gain {gain:.3} ± {error:.3}");
        assert!((1.10..1.20).contains(&gain), "{db} dB: {gain} ± {error}");
        assert!(gain > none + 0.03, "{gain} {none}");
    }
}

/// Without a steady path fades are deepest, and the gain is a little over what they had: 21.1 ± 0.4 % with 60 seeds; with 20, 28.3 ± 1.5 % at a coherence of
/// 10 ms and 21.9 ± 0.7 % at one of 200 ms.
#[test]
fn without_a_steady_path_the_gain_is_larger() {
    let (gain, error) = between(MIDDLE_MM, Some(RAYLEIGH)).gain(GAIN_SEEDS);
    let (milder, _) = between(MIDDLE_MM, rice(3)).gain(GAIN_SEEDS);
    println!("gain {gain:.3} ± {error:.3}, with a steady path {milder:.3}");
    assert!(gain > milder + 4.0 * error, "{gain} ± {error} {milder}");
    assert!((gain - 1.211).abs() < 4.0 * error, "{gain} ± {error}");
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

/// Near one of two access points of 802.11n with Minstrel-HT.
struct NearHt {
    streams: u8,
    width: Width,
    /// Most frames in an aggregate: "as much as 20" in their measurements.
    frames: u32,
    far_mm: i64,
    energy: Dbm,
}

impl NearHt {
    /// What is left of the near one's throughput alone, and the far one's part of what both have on the air.
    fn kept(&self) -> (f64, f64) {
        let (mut alone, mut both, mut far_air) = (0.0, 0.0, 0.0);
        for seed in 0..SEEDS {
            alone += self.run(&BOTH[..1], seed).0;
            let (mbps, share) = self.run(&BOTH, seed);
            both += mbps;
            far_air += share / SEEDS as f64;
        }
        let Self {
            streams,
            width,
            far_mm,
            energy,
            ..
        } = self;
        println!(
            "Minstrel-HT, {streams} streams, {width:?}, {} frames, {far_mm} mm, {energy}: kept {:.2}, air of the far one {far_air:.2}",
            self.frames,
            both / alone
        );
        (both / alone, far_air)
    }

    fn run(&self, pairs: &[(u32, u32)], seed: u64) -> (f64, f64) {
        let ht = Some(Ht {
            frames: self.frames,
            ..Ht::new(self.streams, self.width, Guard::Short)
        });
        let stations = [("ap-1", 0), ("ap-2", self.far_mm), ("client", 3_000)];
        let stations = stations.map(|(name, x_mm)| StationConfig {
            ht,
            energy_detection: self.energy,
            ..station(name, x_mm, RateControl::Minstrel)
        });
        let config = AirConfig::new(Standard::A, stations.into());
        let flows = pairs.iter().map(|&(from, to)| saturated(from, to, PAYLOAD));
        let mut world = World::new(seed, &config, flows.collect()).unwrap();
        let time = Duration::from_secs(SECONDS);
        world.run_for(time);
        let air = [0, 1].map(|ap| world.air().counters(StationId(ap)).airtime.as_secs_f64());
        (world.total().mbps(time), air[1] / (air[0] + air[1]))
    }
}

/// The standard's: 20 dB over what a preamble is found at.
const ENERGY: Dbm = Dbm::from_dbm(-62);

const AS_THEY_HAD: NearHt = NearHt {
    streams: 2,
    width: Width::Mhz40,
    frames: 20,
    far_mm: FAR_MM,
    energy: ENERGY,
};

/// nsdi15 §4.2, case II, 802.11n at 5 GHz: Minstrel-HT chooses what gets through, so that the far access point wins about as many turns as the near one,
/// and its packets take longer: "only approximately half the throughput obtainable via the closest AP".
///
/// How many streams and how wide a channel they had is not said; that aggregates had "as much as 20" frames is. With two streams and 40 MHz, wherever
/// the far one is, half to two thirds are left, and the far one has as much of the air.
#[test]
fn near_an_access_point_minstrel_ht_halves_what_it_could_have() {
    let mut kept = Vec::new();
    for far_mm in [20_000, FAR_MM, 30_000] {
        let (left, far_air) = NearHt {
            far_mm,
            ..AS_THEY_HAD
        }
        .kept();
        assert!((0.45..0.7).contains(&left), "{far_mm}: {left}");
        assert!((0.4..0.65).contains(&far_air), "{far_mm}: {far_air}");
        kept.push(left);
    }
    assert!(
        kept[2] < 0.6 && kept[2] < kept[0],
        "the farther, the dearer: {kept:?}"
    );
}

/// More is left where aggregates are long and slow: access points that have begun together have missed each other's preamble, and feel the rest of it
/// only as energy over the threshold. Whose frame ends first sends into the other's. The near one captures the client, the far one loses everything
/// and its window doubles. With a threshold that feels the rest it has its turns.
#[test]
fn missed_preambles_of_long_aggregates_cost_the_far_one_its_turns() {
    let slow = NearHt {
        streams: 1,
        width: Width::Mhz20,
        ..AS_THEY_HAD
    };
    let (deaf, feels) = (
        slow.kept(),
        NearHt {
            energy: Dbm::from_dbm(-82),
            ..slow
        }
        .kept(),
    );
    assert!(
        deaf.0 > feels.0 + 0.03 && deaf.1 + 0.08 < feels.1,
        "{deaf:?} {feels:?}"
    );
}

/// The same place, the same steady channel: what differs is not that one of them wavers, but the standard with its control.
#[test]
fn on_a_steady_channel_too_minstrel_leaves_more_to_the_near_one_than_minstrel_ht() {
    let far_mm = 2 * MIDDLE_MM;
    let near = between(3_000, None);
    let minstrel = near.goodputs(&BOTH).iter().sum::<f64>() / near.goodputs(&BOTH[..1])[0];
    let (ht, _) = NearHt {
        far_mm,
        ..AS_THEY_HAD
    }
    .kept();
    println!("kept with Minstrel {minstrel:.2}, with Minstrel-HT {ht:.2}");
    assert!(minstrel > ht + 0.2, "{minstrel} {ht}");
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

//! Many cells on few channels: signals that are left out of interference sums have no effect, and one seed
//! gives one run.

use std::num::NonZeroUsize;

use links::Position;
use links::air::{AirError, Destination, NoiseConfig, StationId};
use sim::cells::network;
use sim::{Islands, Tally, World};
use units::{Db, Duration};

/// 400 access points on a square kilometre: two and a half times as far across as a sender's signal matters.
const ACCESS_POINTS: u32 = 400;
const CLIENTS: u32 = 10;
const TIME: Duration = Duration::from_millis(100);

fn played(negligible: Db) -> Vec<Tally> {
    let mut plan = network(ACCESS_POINTS, CLIENTS);
    plan.air.rules.negligible = negligible;
    let mut world = World::new(1, &plan.air, plan.flows).unwrap();
    world.run_for(TIME);
    world.tallies().to_vec()
}

fn received(tallies: &[Tally]) -> f64 {
    tallies.iter().map(|tally| tally.received as f64).sum()
}

/// `reception` in `links` limits what is left out: at most 0.4 dB of the interference where it is strongest.
#[test]
fn signals_left_out_of_interference_sums_hardly_matter() {
    let (usual, everything) = (played(Db::from_db(20)), played(Db::from_db(60)));
    let (left_out, whole) = (received(&usual), received(&everything));
    println!("{left_out} against {whole} packets");
    assert!(whole > 50_000.0, "{whole}");
    assert!((left_out / whole - 1.0).abs() < 0.02, "{left_out} {whole}");
    // The test is not vacuous: if everything below the noise floor is left out, more packets are received.
    let deaf = received(&played(Db::from_db(0)));
    println!("{deaf} without what is below the noise");
    assert!(deaf > whole, "{deaf} {whole}");
}

#[test]
fn equal_seeds_give_equal_runs() {
    assert_eq!(played(Db::from_db(20)), played(Db::from_db(20)));
}

/// Forty cells on four channels, with a microwave oven on one of them. The first client of the first cell may
/// tune to the channels in `also`.
fn forty_cells(also: &[u8]) -> sim::cells::Plan {
    let mut plan = network(40, CLIENTS);
    plan.air.noise = vec![NoiseConfig::microwave("oven", Position::default(), 40)];
    plan.air.stations[1].also = also.to_vec();
    plan
}

#[test]
fn channels_run_separately_give_the_same_results_as_together() {
    for (also, islands) in [(vec![], 4), (vec![44, 48], 2)] {
        let plan = forty_cells(&also);
        let mut whole = World::new(3, &plan.air, plan.flows.clone()).unwrap();
        whole.run_for(TIME);
        whole.run_for(TIME);
        let stations = || (0..plan.air.stations.len() as u32).map(StationId);
        let counters: Vec<_> = stations().map(|station| whole.air().counters(station)).collect();
        for cores in 1..=3 {
            let cores = NonZeroUsize::new(cores).unwrap();
            let mut parts = Islands::new(3, &plan.air, &plan.flows, cores).unwrap();
            assert_eq!(parts.count(), islands);
            parts.run_for(TIME);
            parts.run_for(TIME);
            assert!(parts.tallies().eq(whole.tallies().iter().copied()));
            assert!(
                stations()
                    .map(|station| parts.counters(station))
                    .eq(counters.iter().cloned())
            );
            assert_eq!(parts.transmissions(), whole.air().transmissions());
        }
    }
}

/// Index of a station on another channel than the first station.
fn elsewhere(plan: &sim::cells::Plan) -> usize {
    let mut stations = plan.air.stations.iter();
    stations.position(|station| station.channel == 48).unwrap()
}

#[test]
fn a_flow_between_two_channels_joins_them_in_one_part() {
    let mut plan = forty_cells(&[]);
    let elsewhere = elsewhere(&plan);
    plan.flows[0].to = Destination::Station(StationId(elsewhere as u32));
    let parts = Islands::new(3, &plan.air, &plan.flows, NonZeroUsize::MIN).unwrap();
    assert_eq!(parts.count(), 3);
}

#[test]
fn a_name_used_on_two_independent_channels_is_rejected() {
    let mut plan = forty_cells(&[]);
    let elsewhere = elsewhere(&plan);
    plan.air.stations[elsewhere].name = plan.air.stations[0].name.clone();
    let refused = Islands::new(3, &plan.air, &plan.flows, NonZeroUsize::MIN).unwrap_err();
    assert_eq!(
        refused,
        AirError::DuplicateName(plan.air.stations[0].name.clone())
    );
}
